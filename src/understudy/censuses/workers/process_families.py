"""Parents of a census fitted by several processes of this machine.

Threads were tried before: a fit is many short steps of numpy, and Python's lock lets them
take turns. So each worker is a process of its own, started by name and not as
`multiprocessing` starts them, which would run the caller's script once more, with its
charges. A worker gets tasks through a socket that it shares with this process alone, and
sends tables back; what travels is noisy or declared public, as on Spark
(spark_families.py). It ends when the socket is closed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from queue import SimpleQueue

from understudy.censuses.top_down import (
    FamilyTask,
    FittedFamilies,
    MapFamilies,
    fit_families,
)
from understudy.errors import Refused, ReleaseError

TASKS_AHEAD = 4
"""Tasks that wait for each worker: enough to keep it busy, some megabytes each."""

MAX_WORKERS = 256
"""Processes: more than a machine has cores."""

_START_WORKER = (
    f"import sys; from {__name__} import serve_tasks; serve_tasks(sys.argv[1])"
)


def check_workers(workers: int) -> None:
    """Refuse what is no number of workers, before anything is spent."""
    if not 1 <= workers <= MAX_WORKERS:
        raise Refused(
            f"census: workers is a whole number from 1 to {MAX_WORKERS}. Nothing was spent"
        )


@contextmanager
def fit_on_processes(workers: int) -> Iterator[MapFamilies]:
    """A map over the parents of a level by so many processes, in the order of the tasks.

    >>> with fit_on_processes(1) as map_families:
    ...     list(map_families(fit_families, []))
    []
    """
    with ExitStack() as stack:
        idle: SimpleQueue[Connection] = SimpleQueue()
        for _ in range(workers):
            idle.put(stack.enter_context(_start_worker()))
        threads = stack.enter_context(ThreadPoolExecutor(workers))
        # After a failure nothing that waits is begun any more.
        stack.callback(threads.shutdown, cancel_futures=True)

        def fit_elsewhere(task: FamilyTask) -> FittedFamilies:
            worker = idle.get()
            try:
                return _hand_over(worker, task)
            finally:
                idle.put(worker)

        def map_families(
            _fit: Callable[[FamilyTask], FittedFamilies], tasks: Iterable[FamilyTask]
        ) -> Iterator[FittedFamilies]:
            coming = iter(tasks)
            pending = [
                threads.submit(fit_elsewhere, task)
                for task in islice(coming, workers * TASKS_AHEAD)
            ]
            while pending:
                found = pending.pop(0).result()
                pending += [
                    threads.submit(fit_elsewhere, task) for task in islice(coming, 1)
                ]
                yield found

        yield map_families


@contextmanager
def _start_worker() -> Iterator[Connection]:
    ours, theirs = Pipe()
    number = theirs.fileno()
    # -P: a file of the current folder must not be taken for a module of the package.
    words = [sys.executable, "-P", "-c", _START_WORKER, str(number)]
    with ours, subprocess.Popen(words, pass_fds=[number]) as worker:  # noqa: S603
        theirs.close()
        try:
            yield ours
        finally:
            worker.kill()


def _hand_over(worker: Connection, task: FamilyTask) -> FittedFamilies:
    try:
        worker.send(task)
        fitted: FittedFamilies = worker.recv()
    except (EOFError, OSError):
        raise ReleaseError(
            "census: a process that fitted places came to its end. What was measured is"
            " kept in the ledger: resume the run with fewer workers"
        ) from None
    return fitted


def serve_tasks(number: str) -> None:
    """Fit what comes through the socket of this number until it is closed: all that a
    worker does.
    """
    # Ctrl-C goes to all processes of a terminal; the one that was called decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Connection(int(number)) as tasks:
        answer_tasks(tasks)


def answer_tasks(tasks: Connection) -> None:
    """Read each task and send its tables."""
    while True:
        try:
            task: FamilyTask = tasks.recv()
        except EOFError:
            return
        tasks.send(fit_families(task))
