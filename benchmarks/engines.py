"""The same rows in a Parquet file, a CSV file, PostgreSQL, SQLite, a DuckDB file and
Spark: processor seconds to open them, encode them and count all pairs of 15 columns.

    python benchmarks/engines.py                 1,000,000 rows
    python benchmarks/engines.py --rows 100000   fewer, for a look

Processor seconds and not those of a clock: of this process, and of the server or the Java
machine beside it. Every engine has to count what the Parquet file counts, cell by cell.
Goals at 1,000,000 rows, as a ratio to the Parquet file: PostgreSQL 3, Spark 6 once warm.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from kit.postgres import run_postgres  # noqa: E402
from understudy.schema import Integer, Schema  # noqa: E402
from understudy.tables import Table  # noqa: E402
from understudy.workflow.open import open_source  # noqa: E402

SIZES = (2, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 33, 33, 42)
GOALS = {"PostgreSQL": 3.0, "Spark, warm": 6.0}
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def processor_seconds(*others: int) -> float:
    """Seconds of this process and of other trees of processes, by their root."""
    ticks = 0
    for process in others:
        # After the name in brackets; own and waited-for children, user and system.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return time.process_time() + ticks / TICKS_PER_SECOND


def count_pairs(data: Any, schema: Schema) -> list[np.ndarray]:
    with open_source(data) as source:
        return Table(source, schema).counts(list(combinations(schema, 2)))


def write_table(folder: Path, rows: int) -> Path:
    columns = ", ".join(
        f"(hash(i, {k}) % {n})::INT AS c{k}" for k, n in enumerate(SIZES)
    )
    path = folder / "rows.parquet"
    duckdb.sql(f"SELECT {columns} FROM range({rows}) r(i)").write_parquet(str(path))
    return path


@contextmanager
def run_spark() -> Iterator[Any]:
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


class Comparison:
    """Seconds of each engine beside those of the first."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.expected: list[np.ndarray] = []
        self.first = 0.0

    def run(self, name: str, data: Any, *processes: Callable[[], int]) -> None:
        roots = [find() for find in processes]
        before = processor_seconds(*roots)
        counts = count_pairs(data, self.schema)
        took = processor_seconds(*roots) - before
        if not self.expected:
            self.expected = counts
            self.first = took
        same = all(map(np.array_equal, counts, self.expected))
        goal = f"goal {GOALS[name]:g}" if name in GOALS else ""
        print(
            f"{name:<14}{took:7.1f} s  {took / self.first:5.1f} ×  {goal}", flush=True
        )
        assert same, f"{name} counts other cells"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    names = [f"c{k}" for k in range(len(SIZES))]
    schema = Schema(
        columns=tuple(
            Integer(name=name, min=0, max=size - 1, nullable=False)
            for name, size in zip(names, SIZES, strict=True)
        )
    )
    compared = Comparison(schema)
    with tempfile.TemporaryDirectory() as folder:
        parquet = write_table(Path(folder), rows)
        compared.run("Parquet file", parquet)
        csv = parquet.with_suffix(".csv")
        duckdb.sql(f"COPY (FROM '{parquet}') TO '{csv}'")
        compared.run("CSV file", csv)
        compare_databases(compared, Path(folder), parquet)
        if find_spec("pyspark") is None or shutil.which("java") is None:
            print(
                "Spark         not run: it needs pyspark and Java (understudy doctor)"
            )
            return
        with run_spark() as session:
            frame = session.read.parquet(str(parquet))
            java = session.sparkContext._gateway.proc.pid
            compared.run("Spark, first", frame, lambda: java)
            compared.run("Spark, warm", frame, lambda: java)


def compare_databases(compared: Comparison, folder: Path, parquet: Path) -> None:
    with duckdb.connect(f"{folder}/rows.duckdb") as connection:
        connection.execute(f"CREATE TABLE rows AS FROM '{parquet}'")
    compared.run("DuckDB file", f"{folder}/rows.duckdb::rows")
    import adbc_driver_sqlite.dbapi

    with (
        adbc_driver_sqlite.dbapi.connect(f"{folder}/rows.db") as connection,
        connection.cursor() as cursor,
    ):
        cursor.adbc_ingest("rows", duckdb.read_parquet(str(parquet)).to_arrow_reader())
        connection.commit()
    compared.run("SQLite", f"sqlite:///{folder}/rows.db?table=rows")
    with run_postgres() as server:
        with server.connect() as connection, connection.cursor() as cursor:
            reader = duckdb.read_parquet(str(parquet)).to_arrow_reader()
            cursor.adbc_ingest("rows", reader)
        compared.run("PostgreSQL", server.address("rows"), lambda: server.process)


if __name__ == "__main__":
    main()
