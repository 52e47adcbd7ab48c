"""Few columns: a run with δ = 0 (Laplace noise) beside one with δ = 1e-9 (Gaussian
noise) at the same ε, where plans advise the first.

    python benchmarks/few.py [--data DIR] [--parts 24] [--runs 3] [--epsilon 1]

Random parts of the tables of benchmarks/coded_tables.py: 2 to 8 columns, 200, 1,000, 5,000 or
all rows. Printed for each ε: on how many parts it is advised, and the error of pairs
and triples by the first in parts of that by the second, as geometric mean and as the
largest of all.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from adaptive import EPSILONS, Judge
from coded_tables import Coded, load

from understudy.accounting import Accounting, Budget, Neighbours
from understudy.schema import Integer, Schema
from understudy.synthesizers import make
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize

WITHOUT = ("fair", "randhie", "chain", "tree", "clique", "parity", "binary")
WITH = ("adult", "acs")


def part(table: Coded, rng: np.random.Generator) -> Coded:
    """Some columns and some rows."""
    names = list(table.sizes)
    kept = [
        names[i]
        for i in sorted(
            rng.choice(
                len(names), min(int(rng.choice([2, 3, 4, 5, 6, 8])), len(names)), False
            )
        )
    ]
    rows = rng.choice(
        table.rows,
        min(int(rng.choice([200, 1000, 5000, table.rows])), table.rows),
        replace=False,
    )
    return Coded(
        {name: table.codes[name][rows] for name in kept},
        {name: table.sizes[name] for name in kept},
    )


def error(
    table: Coded, schema: Schema, judge: Judge, epsilon: str, delta: str, runs: int
) -> np.ndarray:
    """Mean error of pairs and triples."""
    frame = pa.table(
        {name: codes.astype(np.int32) for name, codes in table.codes.items()}
    )
    found = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            release = synthesize(
                frame,
                schema,
                epsilon=epsilon,
                delta=delta,
                ledger=Path(folder, "l"),
                run=RunOptions(dataset="few"),
            )
        sampled = release.sample()
        assert isinstance(sampled, pa.Table)
        found.append(
            judge.errors(
                {
                    name: sampled[name].to_numpy().astype(np.int64)
                    for name in table.codes
                }
            )
        )
    return np.mean(found, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="a folder with adult-coded.csv and acs-ma2019.csv"
    )
    parser.add_argument("--parts", type=int, default=24)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilon", action="append", help="this ε; may be repeated")
    options = parser.parse_args()
    rng = np.random.default_rng(7)
    titles = [*WITHOUT, *(WITH if options.data else ())]
    ratios: dict[str, list[np.ndarray]] = {}
    for _ in range(options.parts):
        table = part(load(titles[rng.integers(len(titles))], options.data), rng)
        judge = Judge.of(table)
        schema = Schema(
            columns=tuple(
                Integer(name=n, min=0, max=size - 1, nullable=False)
                for n, size in table.sizes.items()
            )
        )
        for epsilon in options.epsilon or EPSILONS:
            advised = make("adaptive").smallest_noise(
                schema, Budget.of(epsilon), Neighbours.ADD_REMOVE
            )
            if advised is Accounting.PURE:
                first, second = (
                    error(table, schema, judge, epsilon, delta, options.runs)
                    for delta in ("0", "1e-9")
                )
                ratios.setdefault(epsilon, []).append(
                    np.maximum(first, 1e-6) / np.maximum(second, 1e-6)
                )
    print(
        "| ε | advised | pairs | at most | triples | at most |\n|---|---|---|---|---|---|"
    )
    for epsilon, some in sorted(ratios.items(), key=lambda item: float(item[0])):
        mean, most = np.exp(np.log(some).mean(axis=0)), np.max(some, axis=0)
        cells = " | ".join(f"{mean[i]:.2f} | {most[i]:.2f}" for i in range(2))
        print(f"| {epsilon} | {len(some)} of {options.parts} | {cells} |")
    assert all(
        math.isfinite(value)
        for some in ratios.values()
        for each in some
        for value in each
    )


if __name__ == "__main__":
    main()
