"""One job of benchmarks/answers.py, as every peer does it.

    python answer_with_NAME.py task.json

The task names a Parquet file of rows, which questions of the workload to ask, how often,
and the budget of one round of them. Printed as JSON: the answers of every round, groups
in the order of the public labels, the seconds that each question took by the clock and
of the processor, and how many counts are answered within ±100 under the same budget. A
question that a peer does not answer has None.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Protocol

from workload import LABELS, Question, list_questions


class Peer(Protocol):
    """What a script has to offer."""

    def answer(self, question: Question) -> list[float] | None:
        """The number of each group."""

    def count_affordable(self, within: float) -> int:
        """How many counts are answered within a ± at 95 % under the whole budget."""


def list_groups(question: Question) -> list[tuple[str, ...]]:
    """The keys of all groups, in the order of the labels."""
    return list(product(*(LABELS[name] for name in question.by)))


def order_groups(
    question: Question, found: dict[tuple[str, ...], float]
) -> list[float]:
    """Numbers by group; a group that is not there is 0."""
    return [float(found.get(keys, 0.0)) for keys in list_groups(question)]


def main(open_peer: Callable[[dict[str, object], list[Question]], Peer]) -> None:
    """Do the job."""
    task = json.loads(Path(sys.argv[1]).read_text())
    asked = [list_questions()[place] for place in task["questions"]]
    rounds, seconds, busy = [], [], []
    for _ in range(task["rounds"]):
        peer = open_peer(task, asked)
        answers = []
        for question in asked:
            start = time.perf_counter(), time.process_time()
            answers.append(peer.answer(question))
            seconds.append(time.perf_counter() - start[0])
            busy.append(time.process_time() - start[1])
        rounds.append(answers)
    affordable = peer.count_affordable(100.0) if task["affordable"] else None
    found = {"rounds": rounds, "affordable": affordable}
    found |= {"seconds": seconds, "busy": busy}
    print(json.dumps(found))
