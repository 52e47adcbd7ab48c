"""`mst` with its pairs chosen privately, and with cliques from a public table.

    python benchmarks/public_cliques.py [--data DIR] [--runs 5]

The public table is a random 3,000 of the rows, which a real one would not be: it is as
much like the private rows as a public table can be. Mean total variation distance of all
pairs and triples, with the standard error of the mean over the runs. With `--data` the
census table of benchmarks/coded_tables.py follows the survey.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from coded_tables import Coded, adult, statsmodels

import understudy as us
from understudy.synthesizers import make

sys.path.append(str(Path(__file__).parent / "peers"))
from score import distances

PUBLIC_ROWS = 3_000
EPSILONS = (0.3, 1.0, 3.0)


def describe_codes(table: Coded) -> us.Schema:
    columns = tuple(
        us.Categorical(name=name, values=tuple(map(str, range(size))), nullable=False)
        for name, size in table.sizes.items()
    )
    return us.Schema(columns=columns)


def measure_distances(table: Coded, runs: int) -> None:
    schema = describe_codes(table)
    frame = pd.DataFrame({name: c.astype(str) for name, c in table.codes.items()})
    public = frame.sample(PUBLIC_ROWS, random_state=1)
    tree = us.select_public_cliques(public, schema, triples=False)
    triples = us.select_public_cliques(public, schema)
    ways = {
        "the tree chosen privately": make("mst"),
        "the public tree (`triples=False`)": make("mst", public=tree),
        "with its triples": make("mst", public=triples),
    }
    print(f"| | {' | '.join(f'ε = {epsilon:g}' for epsilon in EPSILONS)} |")
    print(f"|---|{'---|' * len(EPSILONS)}")
    for name, way in ways.items():
        cells = []
        for epsilon in EPSILONS:
            found = []
            for _ in range(runs):
                release = us.synthesize(frame, schema, epsilon=epsilon, synthesizer=way)
                rows = release.sample(table.rows)
                codes = {n: rows[n].astype(int).to_numpy() for n in table.sizes}
                off = distances(table.codes, codes, table.sizes)
                found.append([off["pairs"], off["triples"]])
            mean = np.mean(found, axis=0)
            error = np.std(found, axis=0, ddof=1) / runs**0.5
            cells.append(
                ", ".join(
                    f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True)
                )
            )
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="with adult-coded.csv")
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    measure_distances(statsmodels("fair"), chosen.runs)
    if chosen.data is not None:
        print()
        measure_distances(adult(chosen.data), chosen.runs)


if __name__ == "__main__":
    main()
