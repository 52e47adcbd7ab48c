"""Real Spark for tests: sessions, and a standalone cluster of processes of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

import understudy as us

START_SECONDS = 120.0
WORKER_HOSTS = ("127.0.0.1", "127.0.0.2")
"""Two names of this machine: Spark runs no second copy of a slow task on the host of the
first.
"""

PLAIN_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
}


PEOPLE_SCHEMA = us.Schema.parse("""\
columns:
  age: {type: integer, min: 0, max: 90}
  sex: {type: categorical, values: [F, M]}
  person: identifier
unit: {id: person, max_rows: 3}
""")


def read_people() -> pa.Table:
    """No person has more than three rows, and those of each lie apart."""
    return pa.table(
        {
            "age": [34, None, -5, 12, 2**31 - 1] * 40,
            "sex": ["F", None, "", "Ω", "M"] * 40,
            "person": [f"p{i % 67}" for i in range(200)],
        }
    )


@contextmanager
def open_session(builder: Any, settings: dict[str, str]) -> Iterator[Any]:
    """A session that is there as long as the block; its workers run this Python."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    for name, value in {**PLAIN_SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def run_cluster(folder: Path) -> Iterator[str]:
    """A master and two workers of one core each; the address of the master."""
    port = _find_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        start = [
            "master.Master",
            *("--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"),
        ]
        log = folder / "master.log"
        stack.enter_context(_run_daemon(start, log))
        _await_text(log, "ALIVE", 1)
        for number, host in enumerate(WORKER_HOSTS):
            start = [
                "worker.Worker",
                *("--host", host, "--cores", "1", "--memory", "1g"),
                *("--webui-port", "0", "--work-dir", str(folder / f"work{number}")),
                master,
            ]
            stack.enter_context(_run_daemon(start, folder / f"worker{number}.log"))
        _await_text(log, "Registering worker", len(WORKER_HOSTS))
        yield master


@contextmanager
def _run_daemon(start: list[str], log: Path) -> Iterator[None]:
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    program = [str(home / "bin/spark-class"), f"org.apache.spark.deploy.{start[0]}"]
    with log.open("wb") as lines:
        running = subprocess.Popen(
            [*program, *start[1:]],
            env=environment,
            stdout=lines,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield
    finally:
        # Its executors too, which it would take with it only if it had the time.
        running.terminate()
        try:
            running.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def _find_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_text(log: Path, text: str, times: int) -> None:
    until = time.monotonic() + START_SECONDS
    while log.read_text(errors="replace").count(text) < times:
        assert time.monotonic() < until, f"Spark's {log.stem} does not start"
        time.sleep(0.1)


def disturb_work(work: Any, first: Any) -> Any:
    """Work that calls `first` in the middle of each task: where the first of its blobs
    was made, or before it answers.
    """

    class Disturbed:
        def answer_part(self, blobs: Iterable[bytes]) -> bytes:
            first()
            return work.answer_part(blobs)

        def change_part(self, blobs: Iterable[bytes]) -> Iterator[Any]:
            made = list(work.change_part(blobs))
            yield from made[:1]
            first()
            yield from made[1:]

        def merge_answers(self, answers: Any) -> bytes:
            return work.merge_answers(answers)

    return Disturbed()
