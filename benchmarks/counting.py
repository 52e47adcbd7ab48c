"""Counting all pairs of a table: ours beside the np.bincount loop and DuckDB's GROUP
BY, on the same rows in the same run.

    python benchmarks/counting.py                      1,000,000 coded rows in memory, 15 columns, 105 pairs
    python benchmarks/counting.py --rows 100000000     Parquet files of 10^6, 10^7, … rows, counted in bounded memory

The first must be at least 2.5 times as fast as the loop; the second must stay below 2
GB of memory and be linear in rows.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import duckdb
import numpy as np

from understudy.schema import Integer, Schema
from understudy.tables import Table, open_table
from understudy.tables.counting import Tally

SIZES = {
    "a survey, codes of mixed size": (
        2,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        10,
        12,
        16,
        24,
        33,
        33,
        42,
    ),
    "ten codes in each column": (10,) * 15,
    "33 codes in each column": (33,) * 15,
}
LEAST_RATIO = 2.5
MOST_MEMORY = 2e9
ROUNDS = 3


def best(job: Callable[[], object]) -> float:
    """Seconds of the fastest of some rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)


def in_memory(rows: int) -> bool:
    """Ours, the loop and the database on codes in memory."""
    rng = np.random.default_rng(0)
    met = True
    print(f"{rows:,} rows, 15 columns, 105 pairs; best of {ROUNDS}")
    print(f"{'':<32}{'ours':>9}{'bincount loop':>20}{'DuckDB GROUP BY':>22}")
    for title, sizes in SIZES.items():
        names = [f"c{i}" for i in range(len(sizes))]
        size = dict(zip(names, sizes, strict=True))
        columns = {
            name: rng.integers(0, size[name], rows).astype(np.uint8) for name in names
        }
        pairs = list(combinations(names, 2))

        def ours(size=size, columns=columns, pairs=pairs) -> list[np.ndarray]:
            tally = Tally(pairs, size)
            tally.add(columns)
            return tally.counts()

        def loop(size=size, columns=columns, pairs=pairs) -> list[np.ndarray]:
            return [
                np.bincount(
                    columns[a].astype(np.int64) * size[b] + columns[b],
                    minlength=size[a] * size[b],
                )
                for a, b in pairs
            ]

        connection = duckdb.connect()
        connection.register("arrays", columns)
        connection.execute("CREATE TABLE coded AS SELECT * FROM arrays")

        def database(connection=connection, pairs=pairs) -> list[list[tuple[int, ...]]]:
            return [
                connection.execute(
                    f"SELECT {a}, {b}, count(*) FROM coded GROUP BY ALL"
                ).fetchall()
                for a, b in pairs
            ]

        for mine, theirs in zip(ours(), loop(), strict=True):
            assert (mine.ravel() == theirs).all()
        mine, theirs, grouped = best(ours), best(loop), best(database)
        met = met and theirs / mine >= LEAST_RATIO
        print(
            f"{title:<32}{mine:>7.3f} s{theirs:>10.3f} s {theirs / mine:>5.1f} ×{grouped:>12.3f} s {grouped / mine:>5.1f} ×"
        )
    return met


SCHEMA = Schema(
    columns=tuple(
        Integer(name=f"c{i}", min=0, max=size - 1, nullable=False)
        for i, size in enumerate(SIZES["a survey, codes of mixed size"])
    )
)


def from_parquet(rows: int) -> bool:
    """All pairs from Parquet files of growing size, each in a process of its own."""
    print(f"{'rows':>12}{'file':>10}{'time':>10}{'rows/s':>14}{'peak memory':>14}")
    met, speeds = True, []
    for count in [n for n in (10**6, 10**7, 10**8, 10**9) if n < rows] + [rows]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            select = ", ".join(
                f"(hash(range * 15 + {i}) % {c.max + 1})::UTINYINT AS {c.name}"
                for i, c in enumerate(SCHEMA.columns)
            )
            duckdb.connect(
                config={"preserve_insertion_order": False, "memory_limit": "1GB"}
            ).execute(
                f"COPY (SELECT {select} FROM range({count})) TO '{path}' (FORMAT parquet)"
            )
            size = path.stat().st_size
            done = subprocess.run(
                [sys.executable, __file__, "--count", str(path)],
                capture_output=True,
                text=True,
                check=True,
            )
        seconds, memory, total = (float(word) for word in done.stdout.split())
        assert total == count
        speeds.append(count / seconds)
        met = met and memory < MOST_MEMORY
        print(
            f"{count:>12,}{size / 1e6:>7.0f} MB{seconds:>8.1f} s{count / seconds:>14,.0f}{memory / 1e6:>11.0f} MB"
        )
    print(
        f"rows/s at the largest size are {speeds[-1] / speeds[0]:.2f} times those at the smallest"
    )
    return met


def count(path: str) -> None:
    """Count all pairs of one file; print seconds, peak memory and rows."""
    start = time.perf_counter()
    with open_table(path) as source:
        tables = Table(source, SCHEMA).counts(list(combinations(SCHEMA, 2)))
    seconds = time.perf_counter() - start
    print(
        seconds,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        tables[0].sum(),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", type=int, help="count Parquet files of up to so many rows"
    )
    parser.add_argument("--count", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count:
        count(options.count)
        return 0
    met = (
        from_parquet(options.rows)
        if options.rows
        else in_memory(1_000_000) and from_parquet(10**6)
    )
    print("as promised" if met else "NOT as promised")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
