"""What a stray quote costs: seconds of processor time to read a CSV file, beside the
same file without one.

    python benchmarks/reading.py
    python benchmarks/reading.py --rows 1e5

A file that DuckDB reads by our rules is read as it is; any other from a private copy
(tables/sources/csv.py). One odd row is enough for that, so the copy must not be slow.
The goal is two and a half times for a single odd row; the last line says whether it was
met.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from understudy.tables import open_table

GOAL_RATIO = 2.5
JOBS = ("clerk", "nurse", "cook", "teacher")
NOTES = ("", "ok", '"a, b"')
HEADER = "age,sex,job,city,income,day,note,score"


def make_rows(count: int) -> list[str]:
    """Rows of eight columns, a third of them with a quoted cell."""
    rng = random.Random(1)
    rows = []
    for _ in range(count):
        person = f"{rng.randint(0, 99)},{rng.choice('MF')},{rng.choice(JOBS)},city {rng.randint(0, 500)}"
        rows.append(
            f"{person},{rng.randint(0, 90_000)},2024-05-1{rng.randint(0, 9)},{rng.choice(NOTES)},{rng.random():.4f}"
        )
    return rows


def read_seconds(path: Path, rows: list[str], encoding: str, ending: str) -> float:
    """Processor time for one reading, the best of three."""
    path.write_bytes(ending.join([HEADER, *rows, ""]).encode(encoding))
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        with open_table(path, encoding=encoding) as source:
            source.engine.run(
                f"SELECT count(*) FROM {source.relation}", doing="reading"
            )
        best = min(best, time.process_time() - start)
    return best


def main() -> int:
    """One line for each kind of file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=float, default=1e6)
    rows = make_rows(int(parser.parse_args().rows))
    middle = len(rows) // 2
    one = [*rows[:middle], rows[middle].replace("city", '5" city'), *rows[middle + 1 :]]
    every = [row.replace("city", '5" city') for row in rows]
    files = {
        "as it should be": (rows, "utf-8", "\n"),
        "one stray quote": (one, "utf-8", "\n"),
        "a stray quote in each row": (every, "utf-8", "\n"),
        "cp1252": (rows, "cp1252", "\n"),
        "shift_jis": (rows, "shift_jis", "\n"),
        "utf-16": (rows, "utf-16", "\n"),
        "lines of old Macs": (rows, "utf-8", "\r"),
    }
    print(f"{'file':<26} {'seconds':>8} {'ratio':>6}")
    seconds = {}
    with tempfile.TemporaryDirectory() as directory:
        for label, (lines, encoding, ending) in files.items():
            seconds[label] = read_seconds(
                Path(directory, "t.csv"), lines, encoding, ending
            )
            print(
                f"{label:<26} {seconds[label]:>8.2f} {seconds[label] / seconds['as it should be']:>6.2f}"
            )
    ratio = seconds["one stray quote"] / seconds["as it should be"]
    print(
        f"\nOne stray quote: {ratio:.2f} times (goal {GOAL_RATIO:g}). {'Met.' if ratio <= GOAL_RATIO else 'Not met.'}"
    )
    return 0 if ratio <= GOAL_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
