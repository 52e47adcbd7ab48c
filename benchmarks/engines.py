"""The same rows in a Parquet file, a CSV file, PostgreSQL, SQLite, a DuckDB file and
Spark: processor seconds and peak memory to open them, encode them and count all pairs of
15 columns.

    python benchmarks/engines.py                 1,000,000 rows
    python benchmarks/engines.py --rows 1e7      another number of rows
    python benchmarks/engines.py --only spark    the Parquet file and Spark; or postgresql
    python benchmarks/engines.py --only parquet  the Parquet file alone

Processor seconds and not those of a clock: of this process, and of the server or the Java
machine beside it. Peak memory is resident, of this process ("here") and of the processes
beside it, whose peaks are added up, pages that they share with each. Every engine has to
count what the Parquet file counts, cell by cell. Last, synthetic rows are drawn into a
table of Spark's. Goals at 1,000,000 rows, as a ratio to the Parquet file: PostgreSQL 3,
Spark 6 once warm.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from threading import Event, Thread
from typing import Any

import duckdb
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from kit.postgres import PostgresServer, run_postgres  # noqa: E402
from understudy import synthesize  # noqa: E402
from understudy.schema import Integer, Schema  # noqa: E402
from understudy.tables import describe_rows  # noqa: E402
from understudy.workflow.open import open_source  # noqa: E402

SIZES = (2, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 33, 33, 42)
GOALS = {"PostgreSQL": 3.0, "Spark, warm": 6.0}
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


SECONDS_BETWEEN_LOOKS = 0.5


@dataclass
class Usage:
    """What a block took."""

    seconds: float = 0.0
    """Of the processor, here and beside."""

    seconds_here: float = 0.0
    memory_here: int = 0
    memory_beside: int = 0


def find_family(*roots: int) -> dict[int, list[str]]:
    """Trees of processes by their roots, each with its line of `stat`: Spark's Python
    workers are grandchildren of the Java machine.
    """
    fields = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        # A process may end while the others are looked at.
        with suppress(OSError):
            fields[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
    wanted = set(roots)
    while more := {p for p, of in fields.items() if int(of[1]) in wanted} - wanted:
        wanted |= more
    return {process: fields[process] for process in wanted if process in fields}


def sum_seconds(*roots: int) -> float:
    # Own and waited-for children, user and system.
    ticks = sum(sum(map(int, of[11:15])) for of in find_family(*roots).values())
    return ticks / TICKS_PER_SECOND


def find_peak(process: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return 0


@contextmanager
def measure(*roots: int) -> Iterator[Usage]:
    """What a block takes, in this process and in the trees below others."""
    usage = Usage()
    for process in (os.getpid(), *find_family(*roots)):
        # Its peak starts again from what it holds now.
        with suppress(FileNotFoundError, ProcessLookupError):
            Path(f"/proc/{process}/clear_refs").write_text("5")
    over = Event()

    def look() -> None:
        peaks = sum(map(find_peak, find_family(*roots)))
        usage.memory_beside = max(usage.memory_beside, peaks)

    def watch() -> None:
        # A server's process may be gone when the block ends.
        while not over.wait(SECONDS_BETWEEN_LOOKS):
            look()

    watching = Thread(target=watch)
    beside, here = sum_seconds(*roots), time.process_time()
    if roots:
        watching.start()
    try:
        yield usage
        usage.seconds_here = time.process_time() - here
        usage.seconds = usage.seconds_here + sum_seconds(*roots) - beside
        usage.memory_here = find_peak(os.getpid())
        look()
    finally:
        over.set()
        if roots:
            watching.join()


def count_pairs(data: Any, schema: Schema) -> list[np.ndarray]:
    with open_source(data) as source:
        return describe_rows(source, schema).counts(list(combinations(schema, 2)))


def write_table(folder: Path, rows: int) -> Path:
    columns = ", ".join(
        f"(hash(i, {k}) % {n})::INT AS c{k}" for k, n in enumerate(SIZES)
    )
    path = folder / "rows.parquet"
    # A connection of its own, so that its memory is given back.
    with duckdb.connect() as connection:
        query = f"SELECT {columns} FROM range({rows}) r(i)"
        connection.execute(f"COPY ({query}) TO '{path}'")
    return path


@contextmanager
def run_spark(folder: str) -> Iterator[Any]:
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.warehouse.dir", folder)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


class Comparison:
    """Seconds and memory of each engine, beside the seconds of the first."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.expected: list[np.ndarray] = []
        self.first = 0.0

    def run(self, name: str, data: Any, *processes: Callable[[], int]) -> None:
        with measure(*(find() for find in processes)) as usage:
            counts = count_pairs(data, self.schema)
        if not self.expected:
            self.expected = counts
            self.first = usage.seconds
        same = all(map(np.array_equal, counts, self.expected))
        goal = f"  goal {GOALS[name]:g}" if name in GOALS else ""
        print(
            f"{name:<14}{usage.seconds:7.1f} s  {usage.seconds / self.first:5.1f} ×"
            f"  {usage.memory_here / 1e6:6,.0f} MB here"
            f"  {usage.memory_beside / 1e6:6,.0f} MB beside{goal}",
            flush=True,
        )
        assert same, f"{name} counts other cells"


def report_floor(name: str, drain: Callable[[], int], rows: int, process: int) -> None:
    """What it takes to hand all cells to Python and throw them away."""
    with measure(process) as usage:
        assert drain() == rows
    print(f"{name:<14}{usage.seconds:7.1f} s  handed over alone", flush=True)


def drain_spark(frame: Any) -> int:
    def count(batches: Any) -> Iterator[Any]:
        import pyarrow as pa

        yield pa.RecordBatch.from_pydict({"n": [sum(b.num_rows for b in batches)]})

    return sum(frame.mapInArrow(count, "n long").toArrow()["n"].to_pylist())


def drain_postgres(server: PostgresServer) -> int:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM rows")
        return sum(batch.num_rows for batch in cursor.fetch_record_batch())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--only", choices=("parquet", "spark", "postgresql"))
    arguments = parser.parse_args()
    rows = int(arguments.rows)
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
        if arguments.only is None:
            csv = parquet.with_suffix(".csv")
            with duckdb.connect() as connection:
                connection.execute(f"COPY (FROM '{parquet}') TO '{csv}'")
            compared.run("CSV file", csv)
            compare_database_files(compared, Path(folder), parquet)
        if arguments.only in (None, "postgresql"):
            compare_postgres(compared, parquet)
        if arguments.only in ("parquet", "postgresql"):
            return
        if find_spec("pyspark") is None or shutil.which("java") is None:
            print(
                "Spark         not run: it needs pyspark and Java (understudy doctor)"
            )
            return
        with run_spark(folder) as session:
            frame = session.read.parquet(str(parquet))
            java = session.sparkContext._gateway.proc.pid
            compared.run("Spark, first", frame, lambda: java)
            compared.run("Spark, warm", frame, lambda: java)
            report_floor("Spark", lambda: drain_spark(frame), rows, java)
            write_synthetic(parquet, compared.schema, rows, java)


def write_synthetic(parquet: Path, schema: Schema, rows: int, java: int) -> None:
    """Synthetic rows, drawn by the workers into a table of Spark's."""
    release = synthesize(parquet, schema, epsilon=1, synthesizer="independent")
    with measure(java) as usage:
        release.write("spark:made", rows, seed=1)
    print(
        f"Spark, write  {usage.seconds:7.1f} s, of which {usage.seconds_here:.1f} s in"
        f" the driver's Python; {usage.memory_here / 1e6:,.0f} MB here,"
        f" {usage.memory_beside / 1e6:,.0f} MB beside"
    )


def compare_database_files(compared: Comparison, folder: Path, parquet: Path) -> None:
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


def compare_postgres(compared: Comparison, parquet: Path) -> None:
    with run_postgres() as server:
        with server.connect() as connection, connection.cursor() as cursor:
            reader = duckdb.read_parquet(str(parquet)).to_arrow_reader()
            cursor.adbc_ingest("rows", reader)
        compared.run("PostgreSQL", server.address("rows"), lambda: server.process)
        rows = sum(compared.expected[0].ravel().tolist())
        report_floor("PostgreSQL", lambda: drain_postgres(server), rows, server.process)


if __name__ == "__main__":
    main()
