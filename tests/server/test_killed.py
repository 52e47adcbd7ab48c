"""A server that is killed in mid-answer has given nothing that was not paid for."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import pytest

import understudy as us
from kit.server.running import (
    add_analyst,
    count_unpaid,
    start_server,
    write_office,
)
from understudy.errors import Refused
from understudy.queries.results import AnswerTable
from understudy.server.client import Connection

WIDTH = 400
QUESTIONS_A_LIFE = 400
"""More than a server answers an analyst before it is killed."""


def ask_until_killed(
    connection: Connection, received: dict[str, AnswerTable], first: int
) -> None:
    """New questions, one after the other, until the server is gone."""
    for number in range(first, first + QUESTIONS_A_LIFE):
        question = f"SELECT COUNT(*) AS n FROM people WHERE income > {number}"
        try:
            received[question] = connection.ask(question, within=WIDTH)
        except Refused:
            return


def kill_in_mid_answer(folder: Path, kills: int) -> tuple[int, int]:
    """How many answers arrived, and how many of them the ledger does not hold, each
    charged and as it was given.
    """
    chance = random.Random(5)
    ledger = write_office(folder, epsilon=100)
    tokens = [add_analyst(ledger, name, epsilon=50) for name in ("ada", "grace")]
    received: dict[str, AnswerTable] = {}
    for kill in range(kills):
        server = start_server(ledger)
        threads = []
        for place, token in enumerate(tokens):
            # No question twice: a stored answer would need no charge.
            first = QUESTIONS_A_LIFE * (2 * kill + place)
            given = (us.connect(server.url, token), received, first)
            threads.append(threading.Thread(target=ask_until_killed, args=given))
        enough = len(received) + 2
        for thread in threads:
            thread.start()
        while len(received) < enough and any(thread.is_alive() for thread in threads):
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.1))
        server.kill()
        for thread in threads:
            thread.join()
    return len(received), count_unpaid(ledger, received, within=WIDTH)


def test_a_few_kills_leave_no_unpaid_answer(tmp_path: Path) -> None:
    answers, unpaid = kill_in_mid_answer(tmp_path, 3)
    assert answers > 3
    assert unpaid == 0


@pytest.mark.slow
def test_two_hundred_kills_leave_no_unpaid_answer(tmp_path: Path) -> None:
    answers, unpaid = kill_in_mid_answer(tmp_path, 200)
    assert answers > 200
    assert unpaid == 0


def test_an_answer_that_was_not_paid_for_would_be_found(tmp_path: Path) -> None:
    ledger = write_office(tmp_path)
    forged = AnswerTable("", (), ("n",), (), "measured")
    question = "SELECT COUNT(*) AS n FROM people WHERE income > 7"
    assert count_unpaid(ledger, {question: forged}, within=WIDTH) == 1
