"""Real tables of mixed types, from CSV to CSV, scored on 20 quantile bins of the real
one whatever bins the run chose.

    python benchmarks/mixed.py --data DIR [--synthesizer adaptive] [--epsilon 1] [--runs 3]
    python benchmarks/mixed.py --tables clinic orders                       made-up tables (benchmarks/made.py) need no DIR
    python benchmarks/mixed.py --tables clinic orders --discovery           other constants of discovery, without a schema
    python benchmarks/mixed.py --data DIR --groups 6                        pairs of numbers on merged bins where that gains more

DIR holds adult.csv and acs-ma2019.csv. A number's bins are 20 quantiles of the real
column, dates and times are numbers, a missing cell or code is a value of its own,
labels are themselves. Printed: the mean total variation distance of all columns and all
pairs, with the domains declared (drafted from the file as public knowledge) and with no
schema at all; CPU seconds of the whole way; and what went to "other". With --discovery,
the same without a schema for other constants that learning a schema is made with, one
at a time. With --groups N, the default beside a run that may measure a pair by N groups
of neighbouring bins of its numbers, which hold about as many rows each, where the
distance from the model says that this gains more: as it does for labels that have
levels.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
from made import MADE, write

import understudy as us
import understudy.curator.discovery.bounds
import understudy.curator.discovery.shares
import understudy.synthesizers.adaptive.questions
from understudy.measurements import AxisMap, Clique, Identity, Partition
from understudy.schema import Lattice, Schema
from understudy.synthesizers.adaptive.hierarchies import coarse_maps

TABLES = ("adult.csv", "acs-ma2019.csv")
BEST = {"adult.csv": (0.013, 0.053), "acs-ma2019.csv": (0.044, 0.138)}
"""The best figures known of others at ε = 1."""

MISSING = {"", "?", "N", "NA"}
BINS = 20

DISCOVERY: dict[str, tuple[object, str, list[Fraction | float]]] = {
    "part for types, values, bounds": (
        understudy.curator.discovery.shares, "OPEN_SHARE", [Fraction(1, 5), Fraction(2, 5), Fraction(3, 5)],
    ),
    "part for bins": (understudy.curator.discovery.shares, "BINS_SHARE", [Fraction(1, 10), Fraction(1, 5), Fraction(3, 10)]),
    "density of an outer piece": (understudy.curator.discovery.bounds, "MIN_DENSITY_RATIO", [0.1, 0.25, 0.5]),
}  # fmt: skip
"""What a schema is learned with: where it stands, and values to compare; the middle one
is the default.
"""


def read(path: Path) -> dict[str, list[str]]:
    """The columns of a CSV file as text."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    names = [name.strip() for name in rows[0]]
    return {name: [row[i].strip() for row in rows[1:]] for i, name in enumerate(names)}


def number(text: str) -> float | None:
    """A number, or a date, moment or time of day as one."""
    try:
        return float(text)
    except ValueError:
        pass
    if not text[:1].isdigit():
        return None
    try:
        return datetime.fromisoformat(
            f"1970-01-01 {text}" if text[2:3] == ":" else text
        ).timestamp()
    except ValueError:
        return None


def codes(real: list[str], synthetic: list[str]) -> tuple[np.ndarray, np.ndarray, int]:
    """Both columns in the real one's terms: quantile bins of numbers, labels, missing
    codes; anything else is a value of its own.
    """
    numbers = [x for x in map(number, real) if x is not None]
    rest = {v for v in real if number(v) is None}
    if numbers and rest <= MISSING and len(set(numbers)) > BINS:
        cuts = np.unique(np.quantile(numbers, np.linspace(0, 1, BINS + 1)[1:-1]))
        labels = {word: len(cuts) + 1 + i for i, word in enumerate(sorted(rest))}

        def place(text: str) -> int:
            value = number(text)
            return (
                labels.get(text, len(cuts) + 1 + len(labels))
                if value is None
                else int(np.searchsorted(cuts, value, "right"))
            )

        size = len(cuts) + 2 + len(labels)
    else:
        words = {word: i for i, word in enumerate(sorted({_plain(v) for v in real}))}

        def place(text: str) -> int:
            return words.get(_plain(text), len(words))

        size = len(words) + 1
    return (
        np.array([place(v) for v in real]),
        np.array([place(v) for v in synthetic]),
        size,
    )


def _plain(text: str) -> str:
    """1 and 1.0 are one value."""
    value = number(text)
    return text if value is None else repr(value)


def score(
    real: dict[str, list[str]], synthetic: dict[str, list[str]]
) -> tuple[float, float]:
    """Mean distance of columns and of pairs."""
    coded = {
        name: codes(real[name], synthetic[name]) for name in real if name in synthetic
    }

    def distance(names: tuple[str, ...]) -> float:
        sizes = [coded[n][2] for n in names]
        tables = []
        for side in (0, 1):
            flat = np.ravel_multi_index([coded[n][side] for n in names], sizes)
            counts = np.bincount(flat, minlength=int(np.prod(sizes)))
            tables.append(counts / max(counts.sum(), 1))
        return float(np.abs(tables[0] - tables[1]).sum() / 2)

    ones = [distance((n,)) for n in coded]
    return float(np.mean(ones)), float(
        np.mean([distance(p) for p in combinations(coded, 2)])
    )


def measured(
    path: Path,
    real: dict[str, list[str]],
    schema: Schema | None,
    name: str,
    asked: argparse.Namespace,
) -> dict:
    """Scores, seconds and learned lists of some runs."""
    found, cpu, wall, folded = [], [], [], 0
    for _ in range(asked.runs):
        with tempfile.TemporaryDirectory() as folder:
            began, clock = time.process_time(), time.perf_counter()
            release = us.synthesize(
                path,
                schema,
                epsilon=asked.epsilon,
                synthesizer=name,
                ledger=Path(folder, "ledger"),
            )
            release.write(Path(folder, "out.csv"))
            cpu.append(time.process_time() - began)
            wall.append(time.perf_counter() - clock)
            found.append(score(real, read(Path(folder, "out.csv"))))
            folded = sum("values" in release.schema[n].learned for n in release.schema)
    spread = (
        np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
        if len(found) > 1
        else np.zeros(2)
    )
    return {
        "mean": np.mean(found, axis=0),
        "error": spread,
        "cpu": np.mean(cpu),
        "wall": np.mean(wall),
        "lists": folded,
    }


def merged(
    schema: Schema, cliques: Sequence[Clique], groups: int
) -> dict[Clique, tuple[AxisMap, ...]]:
    """As `coarse_maps`, and pairs of numbers through so many groups of neighbouring
    bins; what is missing stays apart.
    """
    found = coarse_maps(schema, cliques)
    maps: dict[str, AxisMap] = {}
    for name in schema:
        size, bins = schema.codecs[name].size, len(schema.codecs[name].bins)
        if isinstance(schema[name], Lattice) and bins > groups:
            maps[name] = Partition(
                (
                    *(i * groups // bins for i in range(bins)),
                    *range(groups, groups + size - bins),
                )
            )
    for pair in cliques:
        if len(pair) == 2 and pair not in found and any(name in maps for name in pair):
            found[pair] = tuple(
                maps.get(name) or Identity(schema.codecs[name].size) for name in pair
            )
    return found


def coarsen(paths: list[Path], asked: argparse.Namespace) -> None:
    """The default beside runs with merged bins, table by table."""
    print(
        f"{'table':<16}{'domains':<10}{'bins':<12}{'1-way':>8}{'±':>8}{'2-way':>8}{'±':>8}"
    )
    for path in paths:
        for kind, schema in (
            ("declared", us.describe(path, public_domains=True)),
            ("learned", None),
        ):
            for groups in (0, asked.groups):
                made = coarse_maps if not groups else partial(merged, groups=groups)
                understudy.synthesizers.adaptive.questions.coarse_maps = made
                got = measured(path, read(path), schema, "adaptive", asked)
                (ones, twos), (one, two) = got["mean"], got["error"]
                words = f"{groups} groups" if groups else "as they are"
                print(
                    f"{path.stem:<16}{kind:<10}{words:<12}{ones:>8.4f}{one:>8.4f}{twos:>8.4f}{two:>8.4f}",
                    flush=True,
                )


def compare(paths: list[Path], asked: argparse.Namespace) -> None:
    """Mean distances of columns and pairs without a schema, for other constants of
    discovery.
    """
    print(f"{'':<32}{'':<7}" + "".join(f"{path.stem[:18]:>20}" for path in paths))
    for what, (module, name, values) in DISCOVERY.items():
        default = getattr(module, name)
        for value in values:
            setattr(module, name, value)
            cells = [
                measured(path, read(path), None, asked.synthesizer[0], asked)
                for path in paths
            ]
            row = "".join(f"{c['mean'][0]:>12.4f} {c['mean'][1]:.4f} " for c in cells)
            print(
                f"{what:<32}{float(value):<5}{'*' if value == default else ' ':<2}{row}",
                flush=True,
            )
        setattr(module, name, default)
    print("* is the default")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--synthesizer", nargs="+", default=["adaptive"])
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--tables", nargs="+", help=f"files in DIR, or {', '.join(MADE)}"
    )
    parser.add_argument(
        "--discovery",
        action="store_true",
        help="other constants of discovery, without a schema",
    )
    parser.add_argument(
        "--groups",
        type=int,
        help="merge the bins of numbers into so many groups where pairs gain by it",
    )
    asked = parser.parse_args()
    tables = asked.tables or [*(TABLES if asked.data else ()), *MADE]
    if asked.data is None and any(table not in MADE for table in tables):
        parser.error(f"--data DIR is needed for tables other than {', '.join(MADE)}")
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            write(table, Path(folder)) if table in MADE else asked.data / table
            for table in tables
        ]
        if asked.discovery or asked.groups:
            (compare if asked.discovery else coarsen)(paths, asked)
            return
        print(f"{'table':<16}{'synthesizer':<13}{'domains':<10}", end="")
        print(
            f"{'1-way':>8}{'±':>8}{'2-way':>8}{'±':>8}{'best known':>16}{'CPU s':>8}{'wall s':>8}"
        )
        for path in paths:
            real = read(path)
            declared = us.describe(path, public_domains=True)
            for name in asked.synthesizer:
                for kind, schema in (("declared", declared), ("learned", None)):
                    got = measured(path, real, schema, name, asked)
                    (ones, twos), (one, two) = got["mean"], got["error"]
                    best = BEST.get(path.name)
                    known = (
                        f"{best[0]:.3f} / {best[1]:.3f}"
                        if best and asked.epsilon == "1"
                        else ""
                    )
                    note = (
                        f"   {got['lists']} lists of values learned; rarer ones are 'other'"
                        if got["lists"]
                        else ""
                    )
                    figures = (
                        f"{ones:>8.4f}{one:>8.4f}{twos:>8.4f}{two:>8.4f}{known:>16}"
                    )
                    print(
                        f"{path.name:<16}{name:<13}{kind:<10}{figures}{got['cpu']:>8.1f}{got['wall']:>8.1f}{note}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
