"""One job, as every peer does it: codes in memory, synthetic codes in memory, and what
that took.

    python with_NAME.py METHOD rows.csv domain.json EPSILON DELTA synthetic.csv
    report.json

A script for a peer imports what it needs, so that imports are not timed, and hands its
methods to `main`. It runs in the peer's own environment, which has numpy and need not
have understudy. The report holds seconds, those the processor was busy (children
included), and the peak of memory.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Task:
    """What a peer is given: codes by column, the number of codes of each, and the
    budget.
    """

    codes: dict[str, np.ndarray]
    sizes: dict[str, int]
    epsilon: float
    delta: float

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.codes.values())))

    @property
    def rho(self) -> float:
        """The zero-concentrated budget of (ε, δ): the largest that implies it (Canonne,
        Kamath, Steinke 2020, corollary 13).
        """
        low, high = 0.0, self.epsilon + 1.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (
                (middle, high)
                if _delta(middle, self.epsilon) <= self.delta
                else (low, middle)
            )
        return low


def _delta(rho: float, epsilon: float) -> float:
    """The smallest δ for which ρ implies (ε, δ); the best order is found by halving, as
    the exponent is convex in it.
    """
    if rho == 0:
        return 0.0
    low, high = 1.01, (epsilon + 1) / (2 * rho) + 2
    for _ in range(200):
        order = (low + high) / 2
        slope = (2 * order - 1) * rho - epsilon + math.log1p(-1.0 / order)
        low, high = (order, high) if slope < 0 else (low, order)
    return math.exp(
        (order - 1) * (order * rho - epsilon) + order * math.log1p(-1 / order)
    ) / (order - 1)


Method = Callable[[Task], "dict[str, np.ndarray]"]


def read(path: str | Path, names: list[str]) -> dict[str, np.ndarray]:
    """Columns of whole numbers of a CSV file with a header; an empty cell is 0."""
    with Path(path).open() as file:
        head = file.readline().strip().split(",")
        body = np.genfromtxt(
            file, delimiter=",", dtype=np.int64, filling_values=0, ndmin=2
        )
    return {name: body[:, head.index(name)] for name in names}


def write(path: str | Path, codes: dict[str, np.ndarray]) -> None:
    """The same, the other way."""
    table = np.stack(
        [np.asarray(column, np.int64) for column in codes.values()], axis=1
    )
    np.savetxt(
        path, table, fmt="%d", delimiter=",", header=",".join(codes), comments=""
    )


def main(methods: dict[str, Method]) -> None:
    """Do the job that the command line names."""
    name, data, domain, epsilon, delta, out, report = sys.argv[1:]
    sizes = json.loads(Path(domain).read_text())
    codes = {n: np.clip(c, 0, sizes[n] - 1) for n, c in read(data, list(sizes)).items()}
    task = Task(codes, sizes, float(epsilon), float(delta))
    start, busy = time.perf_counter(), _busy()
    made = methods[name](task)
    found = {
        "seconds": time.perf_counter() - start,
        "busy": _busy() - busy,
        "rows": len(next(iter(made.values()))),
    }
    found["peak"] = _peak()
    write(out, {n: made[n] for n in sizes})
    Path(report).write_text(json.dumps(found))


def _busy() -> float:
    """Processor seconds of this process and of its children that have ended."""
    used = [
        resource.getrusage(who)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return sum(u.ru_utime + u.ru_stime for u in used)


def _peak() -> int:
    """Bytes this process has held at most. The usage the system keeps starts from what
    the parent held, so it is the second choice.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(
            next(
                line
                for line in status.read_text().splitlines()
                if line.startswith("VmHWM")
            ).split()[1]
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
