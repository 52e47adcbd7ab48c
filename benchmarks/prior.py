"""What a public table is worth as a prior: half of a table is released, with the other
half, or a worse one, as the public table.

    python benchmarks/prior.py [--data DIR] [--table adult] [--epsilon 0.1] [--runs 3]
    [--only half]

    half        the other half: people of the same kind
    few         500 rows of it
    biased      it, with the rows of the last column's upper codes four times
    uniform     codes at random: a table that says nothing

Mean total variation distance over all pairs and triples of columns from the half that
is released, with standard errors; beside it that of the public table itself, and
processor seconds. δ = 1e-9.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from adaptive import Judge
from coded_tables import Coded, load

from understudy.schema import Integer, Schema
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize

KINDS = ("none", "half", "few", "biased", "uniform")
FEW = 500

Codes = dict[str, np.ndarray]


def public(kind: str, table: Coded, other: np.ndarray) -> Codes | None:
    """The public table of a kind, from the rows that are not released."""
    if kind == "none":
        return None
    if kind == "uniform":
        draw = np.random.default_rng(1)
        return {
            name: draw.integers(0, size, other.size)
            for name, size in table.sizes.items()
        }
    if kind == "biased":
        label = table.codes[list(table.sizes)[-1]][other]
        upper = other[label > np.median(label)]
        other = np.concatenate([other, upper, upper, upper])
    return {
        name: codes[other[:FEW] if kind == "few" else other]
        for name, codes in table.codes.items()
    }


def frame(codes: Codes) -> pa.Table:
    """Codes as a table of whole numbers."""
    return pa.table(
        {name: pa.array(column.astype(np.int32)) for name, column in codes.items()}
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with adult-coded.csv")
    parser.add_argument(
        "--table", help="this table (default adult with --data, else fair)"
    )
    parser.add_argument(
        "--epsilon", action="append", help="this ε; may be repeated (default 0.1)"
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=KINDS,
        help="this public table; may be repeated",
    )
    parser.add_argument("--runs", type=int, default=3, help="runs to take the mean of")
    options = parser.parse_args()
    table = load(options.table or ("adult" if options.data else "fair"), options.data)
    mine, other = np.split(
        np.random.default_rng(0).permutation(table.rows), [table.rows // 2]
    )
    judge = Judge.of(
        Coded({name: codes[mine] for name, codes in table.codes.items()}, table.sizes)
    )
    schema = Schema(
        columns=tuple(
            Integer(name=n, min=0, max=size - 1, nullable=False)
            for n, size in table.sizes.items()
        )
    )
    print(
        f"{'ε':>5} {'':<9}{'pairs':>17}{'triples':>17}{'public itself':>20}{'processor s':>13}"
    )
    for epsilon in options.epsilon or ["0.1"]:
        for kind in options.only or KINDS:
            given = public(kind, table, other)
            found = []
            for _ in range(options.runs):
                start = time.process_time()
                with tempfile.TemporaryDirectory() as folder:
                    release = synthesize(
                        frame(judge.table.codes),
                        schema,
                        epsilon=epsilon,
                        delta="1e-9",
                        ledger=Path(folder, "bench.ledger"),
                        run=RunOptions(dataset="bench"),
                        public=None if given is None else frame(given),
                    )
                    sampled = release.sample()
                assert isinstance(sampled, pa.Table)
                busy = time.process_time() - start
                found.append(
                    [
                        *judge.errors({n: sampled[n].to_numpy() for n in table.sizes}),
                        busy,
                    ]
                )
            mean, off = np.mean(found, axis=0), np.zeros(3)
            if len(found) > 1:
                off = np.std(found, axis=0, ddof=1) / math.sqrt(len(found))
            own = (
                ""
                if given is None
                else ", ".join(f"{e:.4f}" for e in judge.errors(given))
            )
            cells = "".join(
                f"{m:>9.4f} ±{o:.4f}" for m, o in zip(mean[:2], off[:2], strict=True)
            )
            print(f"{epsilon:>5} {kind:<9}{cells}{own:>20}{mean[2]:>13.1f}", flush=True)


if __name__ == "__main__":
    main()
