"""One option of a synthesizer at several values, on the tables of benchmarks/coded_tables.py:
which value is a good default?

    python benchmarks/settings.py privmrf theta 2 4 6 --data DIR                  every table, ε = 1 and 10
    python benchmarks/settings.py aim rounds 15 30 --table chain --epsilon 1      one table

Errors are the mean total variation distance over all pairs and all triples of columns
(benchmarks/adaptive.py), means over the runs; δ = 1e-9, add/remove. Beside every value
but the first: + where it is better than the first by more than two standard errors of
the difference, - where it is worse, = in between, for pairs and for triples. At the end
the geometric mean of its errors over the first's.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from adaptive import Judge, verdict
from coded_tables import load, names

from understudy.schema import Integer, Schema
from understudy.synthesizers import SYNTHESIZER_CLASSES, make
from understudy.synthesizers.base import Synthesizer
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize


def rows_of(method: Synthesizer, epsilon: str, judge: Judge) -> dict[str, np.ndarray]:
    """Synthetic rows of one run."""
    table = judge.table
    frame = pa.table(
        {n: pa.array(column.astype(np.int32)) for n, column in table.codes.items()}
    )
    schema = Schema(
        columns=tuple(
            Integer(name=n, min=0, max=size - 1, nullable=False)
            for n, size in table.sizes.items()
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        release = synthesize(
            frame,
            schema,
            epsilon=epsilon,
            delta="1e-9",
            synthesizer=method,
            ledger=Path(folder) / "bench.ledger",
            run=RunOptions(dataset="bench"),
        )
    sampled = release.sample()
    return {
        n: sampled[n].to_numpy().astype(codes.dtype) for n, codes in table.codes.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("synthesizer", choices=list(SYNTHESIZER_CLASSES))
    parser.add_argument("option")
    parser.add_argument(
        "values", nargs="+", type=json.loads, help="as JSON; the first is compared with"
    )
    parser.add_argument(
        "--data", type=Path, help="a folder with adult-coded.csv and acs-ma2019.csv"
    )
    parser.add_argument("--table", action="append", help="this table; may be repeated")
    parser.add_argument(
        "--epsilon", action="append", help="this ε; may be repeated; default 1 and 10"
    )
    parser.add_argument("--runs", type=int, default=3, help="runs to take the mean of")
    options = parser.parse_args()
    ratios: dict[str, list[list[float]]] = {}
    print(f"{'table':<9}{'ε':>5} {options.option:<10}{'pairs':>18}{'triples':>18}")
    for title in options.table or names(options.data):
        judge = Judge.of(load(title, options.data))
        for epsilon in options.epsilon or ("1", "10"):
            first: dict[str, object] | None = None
            for value in options.values:
                method = make(options.synthesizer, **{options.option: value})
                found = np.array(
                    [
                        judge.errors(rows_of(method, epsilon, judge))
                        for _ in range(options.runs)
                    ]
                )
                off = (
                    found.std(axis=0, ddof=1) / math.sqrt(options.runs)
                    if options.runs > 1
                    else np.zeros(2)
                )
                mean = found.mean(axis=0)
                told: dict[str, object] = {"mean": mean.tolist(), "error": off.tolist()}
                marks = "" if first is None else verdict(told, first)
                first = first or told
                ratios.setdefault(str(value), []).append(
                    np.log(mean / np.array(first["mean"])).tolist()
                )
                cells = "".join(
                    f"{m:>9.4f} ± {e:.4f}" for m, e in zip(mean, off, strict=True)
                )
                print(
                    f"{title:<9}{epsilon:>5} {value!s:<10}{cells}  {marks}", flush=True
                )
    for name, logs in ratios.items():
        pairs, triples = np.exp(np.mean(logs, axis=0))
        print(
            f"{options.option} = {name}: {pairs:.3f} of the first in pairs, {triples:.3f} in triples"
        )


if __name__ == "__main__":
    main()
