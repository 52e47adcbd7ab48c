"""The server on a real socket: who is answered, who is charged, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import understudy as us
from kit.queries.corpus import PEOPLE_SCHEMA, make_people
from kit.server.hostile import (
    ASKED,
    HOSTILE_BODIES,
    HOSTILE_PATHS,
    HostileRequest,
    list_forged_frames,
)
from kit.server.running import (
    PEOPLE_ROWS,
    RunningServer,
    add_analyst,
    send_frame,
    send_raw,
    start_server,
    sum_spent,
    write_office,
)
from understudy.errors import BudgetExceeded, Refused
from understudy.server.catalogue import ERROR_CATALOGUE, MAX_QUESTION_BYTES
from understudy.server.client import Connection
from understudy.server.tokens import TokenFile

BY_SEX = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


@dataclass(frozen=True)
class Office:
    """A running server and the token of one of its analysts."""

    server: RunningServer
    token: str

    @property
    def ada(self) -> Connection:
        return us.connect(self.server.url, self.token)

    def add(self, name: str, epsilon: float = 1, days: int = 1) -> Connection:
        token = add_analyst(self.server.ledger, name, epsilon=epsilon, days=days)
        return us.connect(self.server.url, token)

    def send(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, object]:
        given = {"Authorization": f"Bearer {self.token}", **headers}
        return send_raw(self.server.url, method, path, body, given)

    def spent_by(self, name: str) -> float:
        with us.Ledger.open(self.server.ledger) as account:
            by_name = {one.analyst: one for one in account.statements()}
        return float(by_name[name].epsilon)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    ledger = write_office(tmp_path_factory.mktemp("office"), epsilon=20)
    token = add_analyst(ledger, "ada", epsilon=3)
    server = start_server(ledger)
    yield Office(server, token)
    log = server.stop()
    assert "Traceback" not in log


def test_a_question_is_answered_and_charged_to_who_asks(office: Office) -> None:
    grace = office.add("grace")
    before = sum_spent(office.server.ledger)
    priced = grace.price(BY_SEX, within=60)
    assert sum_spent(office.server.ledger) == before, "a price is free"
    answer = grace.ask(BY_SEX, within=60, purpose="a test")
    assert sum_spent(office.server.ledger) - before == pytest.approx(priced["amount"])
    assert [row.keys for row in answer.rows] == [("F",), ("M",), ("X",)]
    assert answer.half_width <= 60
    # Noise of deviation 31 exceeds 155 with probability below 1e-6.
    assert abs(sum(answer.to_dict()["n"]) - PEOPLE_ROWS) < 3 * 155
    assert 0 < office.spent_by("grace") == pytest.approx(grace.account()["epsilon"])
    assert [one["purpose"] for one in grace.answers()] == ["a test"]
    assert grace.schema() == PEOPLE_SCHEMA


def test_a_stored_answer_is_the_same_and_free_but_counts_for_another_analyst(
    office: Office,
) -> None:
    first = office.ada.ask(BY_SEX, within=90)
    spent, own = sum_spent(office.server.ledger), office.spent_by("ada")
    again = office.ada.ask(BY_SEX, within=90)
    assert (again.rows, again.cost) == (first.rows, None)
    hedy = office.add("hedy")
    other = hedy.ask(BY_SEX, within=90)
    assert (other.rows, other.cost) == (first.rows, None)
    assert sum_spent(office.server.ledger) == spent
    assert office.spent_by("ada") == own
    assert office.spent_by("hedy") > 0


def test_a_limit_is_refused_and_nothing_more_is_charged(office: Office) -> None:
    poor = office.add("poor", epsilon=0.01)
    before = sum_spent(office.server.ledger)
    with pytest.raises(BudgetExceeded, match="left of your limit"):
        poor.ask("SELECT COUNT(*) AS x FROM people WHERE age > 11", within=20)
    assert sum_spent(office.server.ledger) == before
    assert office.spent_by("poor") == 0


def test_an_analyst_without_a_limit_is_refused(office: Office) -> None:
    token = TokenFile(office.server.ledger).add("nobody")
    with pytest.raises(BudgetExceeded):
        us.connect(office.server.url, token).ask(BY_SEX, within=50)


def test_wrong_expired_and_revoked_tokens_are_refused_alike(office: Office) -> None:
    url, ledger = office.server.url, office.server.ledger
    expired = TokenFile(ledger).add("ada", days=-1)
    gone = office.add("gone")
    gone.account()
    TokenFile(ledger).revoke("gone")
    refusals = []
    for connection in (us.connect(url, "wrong"), us.connect(url, expired), gone):
        with pytest.raises(Refused) as refused:
            connection.ask(BY_SEX, within=50)
        refusals.append(str(refused.value))
    assert refusals == [ERROR_CATALOGUE["token"].message] * 3


def test_a_question_that_is_refused_costs_nothing(office: Office) -> None:
    before = sum_spent(office.server.ledger)
    for question in (
        "SELECT * FROM people",
        "SELECT MAX(income) FROM people",
        "SELECT COUNT(*) FROM people; DROP TABLE people",
        "SELECT COUNT(*) FROM people WHERE nonsense = 1",
    ):
        with pytest.raises(Refused):
            office.ada.ask(question, within=50)
    assert sum_spent(office.server.ledger) == before


def test_no_hostile_request_succeeds_over_a_socket(office: Office) -> None:
    """Those that a client can write, of tests/kit/server/hostile.py; test_hostile.py
    sends all of them without a socket.
    """
    before = sum_spent(office.server.ledger)
    bodies = [HostileRequest(body=body) for body in HOSTILE_BODIES]
    paths = [HostileRequest(method, path) for method, path in HOSTILE_PATHS]
    for request in (*bodies, *paths):
        status, received = office.send(request.method, request.path, request.body)
        assert 400 <= status < 500, (request, received)
        if received is not None:  # HEAD has no body
            assert ERROR_CATALOGUE[received["error"]].status == status  # type: ignore[index]
    assert sum_spent(office.server.ledger) == before
    assert office.ada.account()["analyst"] == "ada", "and it still answers"


def test_no_request_hides_in_another(office: Office) -> None:
    before = sum_spent(office.server.ledger)
    for frame in list_forged_frames(office.token):
        answered = send_frame(office.server.url, frame)
        lines = [line for line in answered.splitlines() if line.startswith(b"HTTP/")]
        statuses = [int(line.split()[1]) for line in lines]
        assert statuses, frame[:300]
        assert all(400 <= status < 500 for status in statuses), (frame[:300], statuses)
    assert sum_spent(office.server.ledger) == before
    assert office.ada.account()["analyst"] == "ada", "and it still answers"


def test_a_body_beyond_its_size_is_refused(office: Office) -> None:
    large = json.dumps({**ASKED, "purpose": " " * MAX_QUESTION_BYTES}).encode()
    status, received = office.send("POST", "/v1/ask", large)
    assert (status, received["error"]) == (413, "size")  # type: ignore[index]


def test_the_rows_are_those_of_the_start_and_the_log_holds_no_number(
    tmp_path: Path,
) -> None:
    """A Parquet file that is replaced while it is served changes no answer; the same
    server has a rate, a socket file and a log.
    """
    ledger = write_office(tmp_path)
    ledger.unlink()
    make_people(PEOPLE_ROWS).write_parquet(tmp_path / "people.parquet")
    us.Ledger.create(ledger, dataset="people").close()
    token = add_analyst(ledger, "ada", epsilon=30)
    socket_path = tmp_path / "s"
    server = start_server(
        ledger,
        *("--budget", 50, "--socket", socket_path, "--rate", 4),
        file="people.parquet",
    )
    pl.DataFrame(make_people(1)).write_parquet(tmp_path / "people.parquet")
    assert socket_path.stat().st_mode & 0o777 == 0o600
    ada = us.connect(server.url, token)
    answer = ada.ask("SELECT COUNT(*) AS n FROM people", within=5)
    assert abs(answer.value - PEOPLE_ROWS) < 30
    for _ in range(3):
        ada.account()
    with pytest.raises(Refused, match="in a minute"):
        ada.account()
    log = server.stop()
    (line,) = [line for line in log.splitlines() if " ada " in line]
    assert answer.cost is not None
    amount = f"{float(answer.cost.amount):.3g}"
    assert line.split(" ada ")[1].split()[1:] == ["gdp", amount, "answered"]
    assert len(line.split(" ada ")[1].split()[0]) == 16, "the digest of the question"
    assert not socket_path.exists()
