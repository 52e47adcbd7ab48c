"""The stored quality of `adaptive` on five small made tables, and what is worse than it.

    python benchmarks/quality.py               runs, and compares with the stored errors
    python benchmarks/quality.py --refresh     stores the errors of this version

Every cell is a table and an ε. Its error is the geometric mean of the mean total
variation distances over all pairs and over all triples, as a logarithm. A version is
worse if the mean of its errors over all cells, weighted by their precision, or the error
of one cell exceeds the stored one by more than chance explains: both tests together
raise a false alarm with a probability below 1e-6. tests/synthesizers/adaptive/test_quality.py runs them.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import coded_tables as tables
import numpy as np
from adaptive import Judge, job
from scipy.stats import t as student

BASELINE = (
    Path(__file__).resolve().parent.parent
    / "tests"
    / "synthesizers"
    / "adaptive"
    / "quality_baseline.json"
)
EPSILONS = ("0.5", "5")
FALSE_ALARM = 1e-6

TABLES: dict[str, Callable[[], tables.Coded]] = {
    "chain": lambda: tables.chain(rows=3_000, columns=7, size=4, seed=21),
    "clique": lambda: tables.clique(rows=3_000, columns=6, size=4, kinds=5, seed=22),
    "binary": lambda: tables.binary(rows=3_000, columns=10, seed=23),
    "parity": lambda: tables.parity(rows=3_000, triples=2, size=3, seed=24),
    "tree": lambda: tables.tree(rows=3_000, sizes=(9, 7, 5, 4, 3, 2), seed=25),
}

RUNS = {
    "chain@0.5": 1,
    "chain@5": 7,
    "clique@0.5": 12,
    "clique@5": 8,
    "binary@0.5": 1,
    "binary@5": 1,
    "parity@0.5": 20,
    "parity@5": 1,
    "tree@0.5": 1,
    "tree@5": 8,
}
"""Runs of each cell: most where a processor second tells most, because runs are short or
vary little. Their weighted mean has a standard error of 0.7 %, so that five of these and
two more are below a loss of 5 %.
"""

STORED_RUNS = 4
"""Times as many are stored: the comparison has little of their chance."""

MIN_STORED_RUNS = 12
"""Of a cell: its deviation is estimated from them."""

Errors = dict[str, list[float]]


@dataclass(frozen=True)
class StoredError:
    """The mean of a cell's logarithmic error, and the deviation of one run."""

    mean: float
    deviation: float
    runs: int


def measure(runs: Mapping[str, int] = RUNS) -> Errors:
    """Logarithmic errors of so many runs of each cell."""
    errors: Errors = {}
    for cell, count in runs.items():
        title, epsilon = cell.split("@")
        judge = Judge.of(TABLES[title]())
        logs = errors.setdefault(cell, [])
        for _ in range(count):
            codes, _ = job("adaptive", epsilon, judge.table)
            logs.append(float(np.mean(np.log(judge.errors(codes)))))
    return errors


def read_baseline(path: Path = BASELINE) -> dict[str, StoredError]:
    """The stored errors."""
    cells = json.loads(path.read_text())["cells"]
    return {cell: StoredError(**stored) for cell, stored in cells.items()}


def find_regressions(errors: Errors, baseline: Mapping[str, StoredError]) -> list[str]:
    """What is worse than stored beyond chance, in words; empty if nothing is."""
    cells = [cell for cell in errors if cell in baseline]
    excess, variance, freedom = {}, {}, {}
    for cell in cells:
        stored, logs = baseline[cell], errors[cell]
        excess[cell] = float(np.mean(logs)) - stored.mean
        variance[cell] = stored.deviation**2 * (1 / len(logs) + 1 / stored.runs)
        freedom[cell] = stored.runs - 1
    found = []
    # Weighted by precision: some cells vary five times as much from run to run.
    precision = sum(1 / v for v in variance.values())
    mean = sum(excess[cell] / variance[cell] for cell in cells) / precision
    error = 1 / math.sqrt(precision)
    limit = error * float(student.isf(FALSE_ALARM / 2, sum(freedom.values())))
    if mean > limit:
        found.append(
            f"all cells: errors {math.expm1(mean):+.1%}, at most {math.expm1(limit):+.1%}"
        )
    for cell in cells:
        tail = FALSE_ALARM / 2 / len(cells)
        limit = math.sqrt(variance[cell]) * float(student.isf(tail, freedom[cell]))
        if excess[cell] > limit:
            found.append(
                f"{cell}: error {math.expm1(excess[cell]):+.1%},"
                f" at most {math.expm1(limit):+.1%}"
            )
    return found


def store(errors: Errors, path: Path = BASELINE) -> None:
    """Write the errors as the new baseline."""
    cells = {
        cell: {
            "mean": round(float(np.mean(logs)), 5),
            "deviation": round(float(np.std(logs, ddof=1)), 5),
            "runs": len(logs),
        }
        for cell, logs in errors.items()
    }
    path.write_text(json.dumps({"cells": cells}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--refresh", action="store_true", help="store these errors")
    parser.add_argument("--times", type=int, help="times the usual number of runs")
    options = parser.parse_args()
    times = options.times or (STORED_RUNS if options.refresh else 1)
    fewest = MIN_STORED_RUNS if options.refresh else 1
    errors = measure({cell: max(fewest, times * n) for cell, n in RUNS.items()})
    baseline = read_baseline()
    for cell, logs in errors.items():
        stored = baseline[cell]
        spread = stored.deviation / math.sqrt(len(logs))
        print(
            f"{cell:<12}{math.exp(np.mean(logs)):.4f} ± {spread:.1%}"
            f"   stored {math.exp(stored.mean):.4f}"
        )
    found = find_regressions(errors, baseline)
    print("\n".join(found) or "no worse than stored")
    if options.refresh:
        store(errors)
        return
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
