"""Which engines and optional dependencies are ready on this machine, and what to do
about those that are not.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from understudy.version import install_command

MIN_JAVA_VERSION = 17
"""Spark 4 needs this version of Java, or a later one."""

JAVA_ANSWER_SECONDS = 20
"""How long Java may take to say its version."""

DISTRIBUTIONS_BY_USE = {
    "files: CSV, Parquet, DuckDB": ("", ("duckdb", "numpy", "scipy")),
    "PostgreSQL": ("postgres", ("adbc-driver-postgresql", "pyarrow")),
    "SQLite": ("sqlite", ("adbc-driver-sqlite", "pyarrow")),
    "Spark": ("spark", ("pyspark", "pyarrow")),
    "Arrow and Feather files": ("arrow", ("pyarrow",)),
    "Excel files": ("excel", ("openpyxl",)),
    "files of Stata, SPSS and SAS": ("statistics", ("pyreadstat", "pandas")),
    "questions in SQL": ("sql", ("sqlglot",)),
    "classifiers of evaluate": ("evaluate", ("scikit-learn", "statsmodels")),
    "studio": ("studio", ("starlette", "uvicorn", "python-multipart")),
    "serve": ("serve", ("starlette", "uvicorn", "sqlglot")),
    "a second noise sampler": ("opendp", ("opendp",)),
}
"""What each use needs: the extra that installs it, and the distributions in it."""


@dataclass(frozen=True)
class Readiness:
    """Whether one use is possible here; `detail` says with which versions, or what to
    do.

    >>> check_readiness()[0].ready
    True
    """

    use: str
    extra: str
    ready: bool
    detail: str

    def to_dict(self) -> dict[str, object]:
        """The same for a program."""
        return {
            "use": self.use,
            "extra": self.extra,
            "ready": self.ready,
            "detail": self.detail,
        }


def check_readiness() -> list[Readiness]:
    """Every use, in the order in which they are listed."""
    return [
        _check_use(use, extra, distributions)
        for use, (extra, distributions) in DISTRIBUTIONS_BY_USE.items()
    ]


def _check_use(use: str, extra: str, distributions: tuple[str, ...]) -> Readiness:
    versions = {name: _find_version(name) for name in distributions}
    if None in versions.values():
        return Readiness(use, extra, False, install_command(extra))
    shown = ", ".join(f"{name} {number}" for name, number in versions.items())
    if extra != "spark":
        return Readiness(use, extra, True, shown)
    java = find_java_version()
    if java is None or java < MIN_JAVA_VERSION:
        remedy = (
            f"install Java {MIN_JAVA_VERSION}: apt-get install openjdk-17-jre-headless"
        )
        return Readiness(use, extra, False, remedy)
    return Readiness(use, extra, True, f"{shown}, Java {java}")


def _find_version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def find_java_version() -> int | None:
    """The major version of Java on the path; None where there is none."""
    java = shutil.which("java")
    if java is None:
        return None
    try:
        said = subprocess.run(  # noqa: S603
            [java, "-version"],
            capture_output=True,
            text=True,
            check=False,
            timeout=JAVA_ANSWER_SECONDS,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(\d+)', said)
    return None if found is None else int(found[1])
