"""Real tables of mixed types, from CSV to CSV, scored on 20 quantile bins of the real one whatever bins the run chose.

    python benchmarks/mixed.py --data DIR [--synthesizer adaptive] [--epsilon 1] [--runs 3]

DIR holds adult.csv and acs-ma2019.csv. A number's bins are 20 quantiles of the real column, a missing cell or code is a value of its own,
labels are themselves. Printed: the mean total variation distance of all columns and all pairs, with the domains declared (drafted from the
file as public knowledge) and with no schema at all; CPU seconds of the whole way; and what went to "other".
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np

import understudy as us

TABLES = ("adult.csv", "acs-ma2019.csv")
BEST = {"adult.csv": (0.013, 0.053), "acs-ma2019.csv": (0.044, 0.138)}
"""The best figures known of others at ε = 1."""

MISSING = {"", "?", "N", "NA"}
BINS = 20


def read(path: Path) -> dict[str, list[str]]:
    """The columns of a CSV file as text."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    names = [name.strip() for name in rows[0]]
    return {name: [row[i].strip() for row in rows[1:]] for i, name in enumerate(names)}


def number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def codes(real: list[str], synthetic: list[str]) -> tuple[np.ndarray, np.ndarray, int]:
    """Both columns in the real one's terms: quantile bins of numbers, labels, missing codes; anything else is a value of its own."""
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
    return np.array([place(v) for v in real]), np.array([place(v) for v in synthetic]), size


def _plain(text: str) -> str:
    """1 and 1.0 are one value."""
    value = number(text)
    return text if value is None else repr(value)


def score(real: dict[str, list[str]], synthetic: dict[str, list[str]]) -> tuple[float, float]:
    """Mean distance of columns and of pairs."""
    coded = {name: codes(real[name], synthetic[name]) for name in real if name in synthetic}

    def distance(names: tuple[str, ...]) -> float:
        sizes = [coded[n][2] for n in names]
        tables = []
        for side in (0, 1):
            flat = np.ravel_multi_index([coded[n][side] for n in names], sizes)
            counts = np.bincount(flat, minlength=int(np.prod(sizes)))
            tables.append(counts / max(counts.sum(), 1))
        return float(np.abs(tables[0] - tables[1]).sum() / 2)

    ones = [distance((n,)) for n in coded]
    return float(np.mean(ones)), float(np.mean([distance(p) for p in combinations(coded, 2)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--synthesizer", nargs="+", default=["adaptive"])
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    asked = parser.parse_args()
    print(
        f"{'table':<16}{'synthesizer':<13}{'domains':<10}{'1-way':>8}{'2-way':>8}{'best known':>16}{'CPU s':>8}{'wall s':>8}"
    )
    for table in asked.tables:
        path = asked.data / table
        real = read(path)
        declared = us.describe(path, public_domains=True)
        for name in asked.synthesizer:
            for kind, schema in (("declared", declared), ("learned", None)):
                found, cpu, wall, folded = [], [], [], 0
                for _ in range(asked.runs):
                    with tempfile.TemporaryDirectory() as folder:
                        began, clock = time.process_time(), time.perf_counter()
                        release = us.synthesize(
                            path, schema, epsilon=asked.epsilon, synthesizer=name, ledger=Path(folder, "ledger")
                        )
                        release.write(Path(folder, "out.csv"))
                        cpu.append(time.process_time() - began)
                        wall.append(time.perf_counter() - clock)
                        found.append(score(real, read(Path(folder, "out.csv"))))
                        folded = sum("values" in release.schema[n].learned for n in release.schema)
                ones, twos = np.mean(found, axis=0)
                best = BEST.get(table)
                known = f"{best[0]:.3f} / {best[1]:.3f}" if best and asked.epsilon == "1" else ""
                note = f"   {folded} lists of values learned; rarer ones are 'other'" if folded else ""
                print(
                    f"{table:<16}{name:<13}{kind:<10}{ones:>8.4f}{twos:>8.4f}{known:>16}{np.mean(cpu):>8.1f}{np.mean(wall):>8.1f}{note}"
                )


if __name__ == "__main__":
    main()
