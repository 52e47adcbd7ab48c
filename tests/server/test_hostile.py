"""Hostile requests to the real application: none succeeds, none costs anything, and no
error says more about one table than about another.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest
from starlette.applications import Starlette

import understudy as us
from kit.queries.corpus import make_people
from kit.server.asgi import Received, send_all
from kit.server.hostile import (
    ASKED,
    HostileRequest,
    list_forged_identities,
    list_forged_requests,
    list_hostile_sql,
)
from kit.server.running import add_analyst, sum_spent, write_office
from understudy.server.app import ANSWER_TICK_SECONDS, make_app
from understudy.server.catalogue import ERROR_CATALOGUE
from understudy.server.messages import QuestionMessage
from understudy.server.service import QuestionService
from understudy.server.tokens import TokenFile
from understudy.tables import open_table

LANES = 8
"""Analysts that send at once: answers wait for a tick, and one analyst for an answer."""


@dataclass(frozen=True)
class Inside:
    """The application in this process, its ledger and the tokens of its analysts."""

    app: Starlette
    service: QuestionService
    ledger: Path
    tokens: list[str]

    def send(self, requests: list[HostileRequest]) -> list[Received]:
        """Requests that bring tokens already."""
        received: list[Received] = []
        for first in range(0, len(requests), LANES):
            received += send_all(self.app, requests[first : first + LANES])
        return received

    def send_named(self, requests: list[HostileRequest]) -> list[Received]:
        """Requests in the names of the analysts, in turn."""
        named = [
            request.with_token(self.tokens[place % LANES])
            for place, request in enumerate(requests)
        ]
        return self.send(named)


@contextmanager
def open_inside(folder: Path, people: pl.DataFrame | None = None) -> Iterator[Inside]:
    ledger = write_office(folder, people=people)
    tokens = [add_analyst(ledger, f"lane{i}", epsilon=2) for i in range(LANES)]
    with (
        open_table(folder / "people.csv").freeze_rows() as source,
        us.Ledger.open(ledger) as account,
        us.session(source, folder / "people.yaml", ledger=ledger) as questions,
    ):
        service = QuestionService(
            questions,
            account,
            TokenFile(ledger),
            write_log=lambda _: None,
            requests_per_minute=10**6,
        )
        yield Inside(make_app(service), service, ledger, tokens)


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with open_inside(tmp_path_factory.mktemp("inside")) as opened:
        yield opened


def check_refused(request: HostileRequest, received: Received) -> None:
    """One of the catalogue, in its words, and without a header that opens a door."""
    seen = (request, received.status, received.content)
    assert 400 <= received.status < 500, seen
    entry = ERROR_CATALOGUE[received.content["error"]]
    assert received.status == entry.status, seen
    if received.content["error"] != "question":
        assert received.content["message"] == entry.message, seen
    names = {name for name in received.headers if name.startswith("access-control")}
    assert not names, seen
    assert "set-cookie" not in received.headers, seen
    assert "location" not in received.headers, seen
    assert received.headers["cache-control"] == "no-store", seen


def test_no_hostile_request_succeeds_or_costs_anything(inside: Inside) -> None:
    identities = list(list_forged_identities(inside.tokens[0]))
    for days in (-1, 1):
        token = TokenFile(inside.ledger).add("gone", days=days)
        identities.append(HostileRequest().with_token(token))
    TokenFile(inside.ledger).revoke("gone")
    forged = list(list_forged_requests())
    assert len({*identities, *forged}) >= 150
    entries = _count_entries(inside.ledger)
    answers = inside.send(identities) + inside.send_named(forged)
    for request, received in zip([*identities, *forged], answers, strict=True):
        check_refused(request, received)
    codes = {received.content["error"] for received in answers[: len(identities)]}
    assert codes == {"token"}
    assert sum_spent(inside.ledger) == 0
    assert _count_entries(inside.ledger) == entries, "nothing was written either"


def _count_entries(ledger: Path) -> int:
    with us.Ledger.open(ledger) as account:
        return len(account.entries())


@pytest.mark.parametrize("path", ["/v1/price", "/v1/try"])
def test_hostile_sql_has_no_price_and_cannot_be_tried(
    inside: Inside, path: str
) -> None:
    requests = [replace(request, path=path) for request in list_hostile_sql()]
    for request, received in zip(requests, inside.send_named(requests), strict=True):
        check_refused(request, received)


def test_a_sincere_request_succeeds(inside: Inside) -> None:
    """Or the tests above would pass on a server that refuses everybody."""
    (received,) = inside.send_named([HostileRequest(path="/v1/price")])
    assert received.status == 200
    assert received.content["groups"] == 3


def test_errors_are_the_same_for_another_table(inside: Inside, tmp_path: Path) -> None:
    """What is said of a question is said of it for every table with this schema: also
    for one in which nobody is 93 and one in which everybody is.
    """
    requests = list(list_hostile_sql())
    here = [received.content for received in inside.send_named(requests)]
    people = make_people(300, seed=2).with_columns(pl.lit(93).alias("age"))
    with open_inside(tmp_path, people) as other:
        there = [received.content for received in other.send_named(requests)]
    assert here == there


def test_answers_and_refusals_leave_on_ticks(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is ready within a tick leaves at its end, not before."""
    ready: list[float] = []
    answer_question = inside.service.answer_question

    def answer_and_note(analyst: str, message: QuestionMessage) -> dict[str, object]:
        try:
            return answer_question(analyst, message)
        finally:
            ready.append(time.monotonic())

    monkeypatch.setattr(inside.service, "answer_question", answer_and_note)
    questions = [
        "SELECT COUNT(*) FROM people WHERE age > 9",
        "SELECT * FROM people",
    ] * 2
    for question in questions:
        body = json.dumps({"question": question, "within": 200}).encode()
        inside.send_named([HostileRequest(body=body)])
        # Clocks differ by less than this: loops wake a millisecond early at most.
        left = time.monotonic() + 0.001
        assert left // ANSWER_TICK_SECONDS > ready[-1] // ANSWER_TICK_SECONDS
    assert len(ready) == len(questions)


def test_nobody_sees_the_answers_of_another(inside: Inside) -> None:
    """Whatever is added to the address, an analyst sees their own account alone."""
    purpose = "what lane0 alone knows"
    body = json.dumps({**ASKED, "within": 300, "purpose": purpose}).encode()
    inside.send_named([HostileRequest(body=body)])
    paths = [
        f"/v1/{name}?{query}"
        for name in ("answers", "account")
        for query in ("", "analyst=lane0", "analyst=", "name=lane0&all=true")
    ]
    requests = [
        HostileRequest("GET", path, b"").with_token(self_or_other)
        for path in paths
        for self_or_other in inside.tokens[1:3]
    ]
    for received in inside.send(requests):
        assert received.status == 200
        assert "lane0" not in json.dumps(received.content)
    (own,) = inside.send_named([HostileRequest("GET", "/v1/answers", b"")])
    assert purpose in json.dumps(own.content)
