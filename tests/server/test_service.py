"""The service without its addresses: turns, and what is said of a failure behind the
charge.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import understudy as us
from kit.server.running import add_analyst, sum_spent, write_office
from understudy.server.catalogue import ERROR_CATALOGUE, ServiceError
from understudy.server.messages import QuestionMessage, read_answer
from understudy.server.service import QuestionService
from understudy.server.tokens import TokenFile
from understudy.tables import TableSource, open_table
from understudy.workflow.asking.questions import session

COUNT = QuestionMessage("SELECT COUNT(*) AS n FROM people", 50.0, None, "")
OLD = QuestionMessage("SELECT COUNT(*) AS n FROM people WHERE age > 60", 50.0, None, "")


@dataclass(frozen=True)
class Bench:
    """A service, the rows behind it, its ledger and its log."""

    service: QuestionService
    source: TableSource
    ledger: Path
    log: list[str]


ZONES = us.PublicTable(
    "zones", "region", {"North": {"zone": "a"}, "South": {"zone": "b"}}
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    ledger = write_office(tmp_path)
    add_analyst(ledger, "ada")
    log: list[str] = []
    with (
        open_table(tmp_path / "people.csv").freeze_rows() as source,
        us.Ledger.open(ledger) as account,
        session(
            source, tmp_path / "people.yaml", ledger=ledger, public=[ZONES]
        ) as questions,
    ):
        service = QuestionService(
            questions, account, TokenFile(ledger), write_log=log.append
        )
        yield Bench(service, source, ledger, log)


def test_a_second_question_of_an_analyst_is_refused_while_the_first_is_counted(
    bench: Bench,
) -> None:
    service = bench.service
    answers: list[object] = []

    def ask() -> None:
        answers.append(service.answer_question("ada", COUNT))

    thread = threading.Thread(target=ask)
    with service._counting:  # somebody else's rows are counted
        thread.start()
        while "ada" not in service._busy:
            time.sleep(0.001)
        with pytest.raises(ServiceError) as refused:
            service.answer_question("ada", OLD)
        with pytest.raises(ServiceError):
            service.price_question("ada", OLD)
    thread.join()
    assert refused.value.code == "busy"
    assert len(answers) == 1
    assert service.answer_question("ada", OLD), "and then it is her turn again"


def test_a_failure_behind_the_charge_is_one_sentence_and_stays_charged(
    bench: Bench,
) -> None:
    bench.source.close()  # the rows cannot be counted any more
    with pytest.raises(ServiceError) as failed:
        bench.service.answer_question("ada", COUNT)
    assert failed.value.code == "failed"
    assert str(failed.value) == ERROR_CATALOGUE["failed"].message
    assert sum_spent(bench.ledger) > 0
    assert bench.log[-1].endswith(" failed")


def test_analysts_see_and_join_the_public_tables(bench: Bench) -> None:
    sql = "SELECT zone, COUNT(*) AS n FROM people JOIN zones USING (region) GROUP BY 1"
    joined = QuestionMessage(sql, 60.0, None, "")
    assert bench.service.price_question("ada", joined)["groups"] == 2
    for answer in (
        bench.service.try_question("ada", joined),
        bench.service.answer_question("ada", joined),
    ):
        assert [row["keys"] for row in answer["rows"]] == [["a"], ["b"]]
    assert bench.service.describe_schema()["public_tables"] == [
        {"name": "zones", "key": "region", "attributes": ["zone"]}
    ]


def test_nobody_is_the_owner(bench: Bench) -> None:
    """The owner's name is empty and has no limit, so no token may stand for it."""
    with pytest.raises(ServiceError) as refused:
        bench.service.answer_question("", COUNT)
    assert refused.value.code == "limit"
    assert sum_spent(bench.ledger) == 0


def test_an_answer_says_what_it_took_from_a_limit(bench: Bench) -> None:
    """Stored for somebody else, it costs the run nothing and this analyst its price."""
    add_analyst(bench.ledger, "grace")
    first = read_answer(bench.service.answer_question("ada", COUNT))
    other = read_answer(bench.service.answer_question("grace", COUNT))
    again = read_answer(bench.service.answer_question("grace", COUNT))
    assert first.cost is not None
    assert (first.limit_cost, other.cost) == (None, None)
    assert other.limit_cost == first.cost
    assert other.account_line().startswith("From the analyst's limit: μ² = 0.0015")
    assert again.account_line().startswith("Free (stored")
