"""How long an assessment of utility takes: 50 columns of mixed types with missing
cells, a million rows each side.

    python benchmarks/utility.py [--rows 1000000] [--columns 50]

Prints the CPU seconds of all threads and the wall time of every measure; the CPU
seconds are judged, for a busy machine stretches the other. Memory is the peak of the
whole process, making the tables included.
"""

from __future__ import annotations

import argparse
import resource
import time
from itertools import pairwise

import numpy as np
import pyarrow as pa

from understudy.evaluation.utility import assess_utility
from understudy.schema import (
    Boolean,
    Categorical,
    Column,
    Integer,
    Real,
    Schema,
    parse_predicate,
)
from understudy.tables import Table, open_table

TARGET = 120.0
"""Seconds in which 50 columns × 1,000,000 rows are to be done, even on one core."""


def schema_of(columns: int) -> Schema:
    """Whole numbers, amounts, labels with and without an order, and truth values, in
    turn.
    """
    made: list[Column] = []
    for i in range(columns):
        name = f"c{i}"
        kinds: tuple[Column, ...] = (
            Integer(name=name, min=0, max=99),
            Real(name=name, min=0, max=100_000, step=1),
            Categorical(name=name, values=tuple(f"v{j}" for j in range(4 + i % 13))),
            Categorical(
                name=name, values=("none", "low", "middle", "high"), ordered=True
            ),
            Boolean(name=name),
        )
        made.append(kinds[i % 5])
    rule = (parse_predicate("c0 < 10 and c1 > 90000"),) if columns > 1 else ()
    return Schema(columns=tuple(made), impossible=rule)


def table_of(schema: Schema, rows: int, seed: int) -> Table:
    """Rows around a common factor, so that columns go together; one cell in fifty is
    missing.
    """
    rng = np.random.default_rng(seed)
    common = rng.normal(size=rows)
    arrays = {}
    for i, column in enumerate(schema.columns):
        z = 0.5 * common + rng.normal(size=rows) + 0.02 * seed
        gone = rng.random(rows) < 0.02
        if isinstance(column, Integer):
            arrays[column.name] = pa.array(
                np.clip(50 + 15 * z, 0, 99).astype(np.int64), mask=gone
            )
        elif isinstance(column, Real):
            arrays[column.name] = pa.array(
                np.clip(20_000 * np.exp(z / 2), 0, 100_000), mask=gone
            )
        elif isinstance(column, Categorical):
            assert column.values is not None
            size = len(column.values)
            codes = np.clip((z + 2) * size / 4, 0, size - 1).astype(np.int32)
            dictionary = pa.DictionaryArray.from_arrays(
                pa.array(codes, mask=gone), pa.array(list(column.values))
            )
            arrays[column.name] = dictionary.cast(pa.string())
        else:
            arrays[column.name] = pa.array(z > 0.1 * (i % 3), mask=gone)
    return Table(open_table(pa.table(arrays)), schema)


def main() -> None:
    """Make both tables, assess, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    given = parser.parse_args()
    schema = schema_of(given.columns)
    real, synthetic = table_of(schema, given.rows, 0), table_of(schema, given.rows, 1)
    stages: list[tuple[str, float, float]] = []

    def progress(stage: str, _: float) -> None:
        stages.append((stage, time.perf_counter(), time.process_time()))

    began, cpu = time.perf_counter(), time.process_time()
    for table in (real, synthetic):
        table.encode()
    print(
        f"{'encoding both tables':44s} {time.perf_counter() - began:7.1f} s wall {time.process_time() - cpu:7.1f} s CPU"
    )
    found = assess_utility(
        real,
        synthetic,
        schema,
        formulas={"c0 ~ c1 + c2 + c3": "gaussian"},
        progress=progress,
    )
    for (stage, wall, used), (_, wall_end, used_end) in pairwise(stages):
        print(f"{stage:44s} {wall_end - wall:7.1f} s wall {used_end - used:7.1f} s CPU")
    wall, used = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    verdict = "within" if used <= TARGET else "beyond"
    print(
        f"{given.columns} columns × {given.rows:,} rows: {used:.1f} s CPU, {verdict} {TARGET:.0f} s; {wall:.1f} s wall; {peak:.1f} GiB"
    )
    print(found)
    for title, reason in found.not_computed:
        print(f"not computed: {title}: {reason}")


if __name__ == "__main__":
    main()
