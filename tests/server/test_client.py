"""What the client sends where, and that an answer survives the way."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import ClassVar

import pytest

import understudy as us
from understudy.accounting.cost import Accounting, Cost
from understudy.errors import Refused
from understudy.queries.answer_rows import AnswerRow
from understudy.queries.estimates import NumberEstimate
from understudy.server.messages import read_answer, write_answer


@pytest.mark.parametrize(
    "url", ["http://survey.example", "ftp://127.0.0.1", "people.csv", "http://"]
)
def test_a_token_goes_nowhere_unencrypted(url: str) -> None:
    with pytest.raises(Refused, match="Nothing was sent"):
        us.connect(url, "token")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_password_in_an_address_is_refused_and_not_quoted(scheme: str) -> None:
    with pytest.raises(Refused, match="Nothing was sent") as refusal:
        us.connect(f"{scheme}://ann:canary@survey.example", "token")
    assert "canary" not in str(refusal.value)


class _ForeignJson(BaseHTTPRequestHandler):
    """A proxy whose root is somebody else's, and who answers with JSON of its own."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(502)
        self.end_headers()
        self.wfile.write(b'["bad gateway"]')

    def log_message(self, *args: object) -> None:
        pass


def test_a_service_below_a_path_is_asked_there() -> None:
    with HTTPServer(("127.0.0.1", 0), _ForeignJson) as proxy:
        thread = Thread(target=proxy.handle_request)
        thread.start()
        address = f"http://127.0.0.1:{proxy.server_port}/survey/"
        with pytest.raises(Refused, match="The server refused it"):
            us.connect(address, "token").account()
        thread.join()
    assert _ForeignJson.asked == ["/survey/v1/account"]


def test_a_server_that_is_not_there_is_one_line(tmp_path: object) -> None:
    with pytest.raises(Refused, match="did not answer"):
        us.connect(f"unix:{tmp_path}/none", "token").account()


@pytest.mark.parametrize("cost", [None, Cost(Accounting.GDP, Fraction(1, 3))])
def test_an_answer_arrives_as_it_was(cost: Cost | None) -> None:
    numbers = (NumberEstimate(0.1, -math.inf, math.inf), NumberEstimate(3, 2, 4))
    rows = tuple(AnswerRow((key, 7), numbers) for key in ("F", None, True, 1.5))
    answer = us.AnswerTable(
        "q", ("a", "b"), ("m", "n"), rows, "measured", cost, counted="all"
    )
    sent = json.dumps(write_answer(answer), allow_nan=False)
    assert read_answer(json.loads(sent)) == answer
