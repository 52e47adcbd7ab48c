"""Many analysts at once, whose limits together are more than the run has."""

from __future__ import annotations

import threading
from pathlib import Path

import understudy as us
from kit.server.running import (
    count_unpaid,
    start_server,
    sum_spent,
    write_office,
)
from understudy.errors import BudgetExceeded
from understudy.queries.results import AnswerTable
from understudy.server.client import Connection
from understudy.server.tokens import TokenFile

ANALYSTS = 64
QUESTIONS_EACH = 2
RUN_EPSILON = 0.3
LIMIT_EPSILON = 0.06
WIDTH = 200.0


def ask_in_turn(
    place: int,
    connection: Connection,
    answers: dict[str, AnswerTable],
    outcomes: list[str],
) -> None:
    """Some questions of one analyst; each is asked by several others too."""
    for i in range(QUESTIONS_EACH):
        income = 1000 * ((7 * place + i) % 50)
        question = f"SELECT COUNT(*) AS n FROM people WHERE income < {income}"
        try:
            answers[question] = connection.ask(question, within=WIDTH)
            outcomes.append("answered")
        except BudgetExceeded:
            outcomes.append("refused")


def test_sixty_four_analysts_spend_no_more_than_there_is(tmp_path: Path) -> None:
    ledger = write_office(tmp_path, epsilon=RUN_EPSILON)
    names = [f"crowd{i}" for i in range(ANALYSTS)]
    with us.Ledger.open(ledger) as account:
        for name in names:
            account.grant(us.Budget.of(LIMIT_EPSILON), analyst=name)
    tokens = [TokenFile(ledger).add(name) for name in names]
    server = start_server(ledger)
    answers: dict[str, AnswerTable] = {}
    outcomes: list[str] = []
    threads = []
    for place, token in enumerate(tokens):
        connection = us.connect(server.url, token)
        given = (place, connection, answers, outcomes)
        threads.append(threading.Thread(target=ask_in_turn, args=given))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "Traceback" not in server.stop()
    assert len(outcomes) == ANALYSTS * QUESTIONS_EACH
    assert set(outcomes) == {"answered", "refused"}
    # Opening follows the chain: every charge was within the limit of its analyst.
    with us.Ledger.open(ledger) as account:
        statements = {one.analyst: one for one in account.statements()}
        (run,) = account.runs()
        assert run.filter.amount_left >= 0
    charged = sum(statements[name].questions for name in names)
    recalled = sum(statements[name].replays for name in names)
    assert charged + recalled == outcomes.count("answered")
    for name in names:
        limit = statements[name].limit
        assert limit is not None
        assert statements[name].epsilon <= limit.epsilon
    assert sum_spent(ledger) > 0
    assert count_unpaid(ledger, answers, within=WIDTH) == 0
