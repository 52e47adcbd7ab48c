"""A standalone cluster of two workers gives the same integers as a file: also where an
executor is killed in the middle of a job, and where a slow task is run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from kit.spark import (
    PEOPLE_SCHEMA,
    disturb_work,
    open_session,
    read_people,
    run_cluster,
)
from understudy.tables import Table, describe_rows, open_table
from understudy.tables.carriers.spark import SparkCarrier
from understudy.testing.table_conformance import check_table
from understudy.workflow.open import open_source

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    # No job begins before both workers are there.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "200ms",
    "spark.python.task.killTimeout": "100ms",
}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    with (
        run_cluster(tmp_path_factory.mktemp("cluster")) as master,
        open_session(SparkSession.builder.master(master), SETTINGS) as running,
    ):
        running.sparkContext.setLogLevel("OFF")
        yield running


def compare_people(session: Any) -> None:
    people = read_people()
    with open_source(session.createDataFrame(people).repartition(3)) as source:
        expected = Table(open_table(people), PEOPLE_SCHEMA)
        check_table(describe_rows(source, PEOPLE_SCHEMA), expected)


def disturb_carrier(
    monkeypatch: pytest.MonkeyPatch, name: str, first: Callable[[], None]
) -> None:
    plain = getattr(SparkCarrier, name)
    monkeypatch.setattr(
        SparkCarrier,
        name,
        lambda self, work, **more: plain(self, disturb_work(work, first), **more),
    )


def test_both_workers_count_as_one_machine(session: Any) -> None:
    compare_people(session)
    executors = session.sparkContext._jsc.sc().getExecutorMemoryStatus()
    assert executors.size() == 3, "the driver and two executors"


def test_a_partition_larger_than_an_executors_memory_is_counted(session: Any) -> None:
    """160 MB of numbers that no compression makes smaller, where 127 MB may be kept."""
    rows = 2_000_000

    def draw_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for start in batch.column(0).to_pylist():
                drawn = np.random.default_rng(start).integers(0, 2**50, (10, 10_000))
                yield pa.RecordBatch.from_arrays(list(drawn), names=list("abcdefghij"))

    starts = session.range(0, rows // 10_000, 1, 1)
    columns = ", ".join(f"{name} long" for name in "abcdefghij")
    schema = us.Schema(columns=(us.Integer(name="a", min=0, max=2**50),))
    with open_source(starts.mapInArrow(draw_rows, columns)) as source:
        source.check(["a"])
        table = describe_rows(source, schema)
        assert table.count_valid("a") == rows
    executors = session.sparkContext._jsc.sc().getExecutorMemoryStatus()
    assert executors.size() == 3


def test_counts_are_exact_when_executors_are_killed(
    session: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Once while units are brought together, once while a question is answered: what
    an executor kept is made again.
    """

    def make_killer(flag: Path) -> Callable[[], None]:
        def kill() -> None:
            import os
            import signal
            import time

            try:
                flag.touch(exist_ok=False)
            except FileExistsError:
                return
            # This process, Spark's daemon, and the executor that started it.
            number = os.getpid()
            while b"CoarseGrainedExecutorBackend" not in (
                Path(f"/proc/{number}/cmdline").read_bytes()
            ):
                status = Path(f"/proc/{number}/stat").read_text()
                number = int(status.rpartition(")")[2].split()[1])
                assert number > 1
            os.kill(number, signal.SIGKILL)
            time.sleep(60)

        return kill

    for name in ("change_parts", "add_up"):
        disturb_carrier(monkeypatch, name, make_killer(tmp_path / name))
    compare_people(session)
    assert {flag.name for flag in tmp_path.iterdir()} == {"change_parts", "add_up"}


def test_counts_are_exact_when_a_slow_task_is_run_twice(
    session: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run_slowly() -> None:
        import time

        from pyspark import TaskContext

        task = TaskContext.get()
        name = f"{task.stageId()} {task.partitionId()} {task.attemptNumber()}"
        (tmp_path / name).touch()
        try:
            (tmp_path / "slow").touch(exist_ok=False)
        except FileExistsError:
            return
        time.sleep(60)

    disturb_carrier(monkeypatch, "add_up", run_slowly)
    compare_people(session)
    names = {flag.name for flag in tmp_path.iterdir()}
    # A first copy may be stopped before it has begun: then the second ran alone.
    copies = {name[:-2] for name in names if name.endswith(" 1")}
    assert copies & {name[:-2] for name in names if name.endswith(" 0")}
