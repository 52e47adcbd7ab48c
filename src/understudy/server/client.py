"""Ask a server: `connect` and its questions. Needs nothing but the standard library."""

from __future__ import annotations

import json
import socket
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from understudy.errors import BudgetExceeded, Refused
from understudy.queries.results import AnswerTable
from understudy.schema import Schema, schema_from_dict
from understudy.server.addresses import UNIX_PREFIX, is_loopback
from understudy.server.messages import read_answer

CLIENT_TIMEOUT_SECONDS = 300.0


class Connection:
    """Questions to a server, in the name of the analyst whose token this is. Made by
    `connect`.
    """

    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        is_socket = url.startswith(UNIX_PREFIX)
        # A proxy may keep other services, which are to see no token, at its root.
        self._root = "" if is_socket else urlsplit(self.url).path
        self._token = token

    def price(
        self,
        question: str,
        *,
        within: float | None = None,
        epsilon: float | None = None,
    ) -> dict[str, Any]:
        """What a question would cost, and its ±. Nothing is spent."""
        asked = {"question": question, "within": within, "epsilon": epsilon}
        return dict(self._send("POST", "/v1/price", asked))

    def ask(
        self,
        question: str,
        *,
        within: float | None = None,
        epsilon: float | None = None,
        purpose: str = "",
    ) -> AnswerTable:
        """The answer to one SELECT, with intervals: within a ± at 95 %, or at an ε of
        its own.
        """
        asked = {
            "question": question,
            "within": within,
            "epsilon": epsilon,
            "purpose": purpose,
        }
        return read_answer(self._send("POST", "/v1/ask", asked))

    def try_question(
        self,
        question: str,
        *,
        within: float | None = None,
        epsilon: float | None = None,
    ) -> AnswerTable:
        """The answer to a question about made-up rows with the same schema: free, as
        wide as the real one, and its numbers mean nothing.
        """
        asked = {"question": question, "within": within, "epsilon": epsilon}
        return read_answer(self._send("POST", "/v1/try", asked))

    def account(self) -> dict[str, Any]:
        """Your limit, what you were answered, and what is left."""
        return dict(self._send("GET", "/v1/account"))

    def answers(self) -> list[dict[str, Any]]:
        """What was charged to you. Asked again, a question is free."""
        return list(self._send("GET", "/v1/answers"))

    def schema(self) -> Schema:
        """What may be asked about."""
        return schema_from_dict(self._send("GET", "/v1/schema"))

    def _send(self, method: str, path: str, content: object = None) -> Any:
        body = None if content is None else json.dumps(content)
        headers = {"Authorization": f"Bearer {self._token}"}
        try:
            with closing(self._open()) as connection:
                connection.request(method, self._root + path, body, headers)
                response = connection.getresponse()
                received = json.loads(response.read())
        # ValueError too: a proxy may answer with a page instead of JSON.
        except (OSError, HTTPException, ValueError) as error:
            raise Refused(
                f"{self.url} did not answer ({type(error).__name__}). If the question"
                " was charged, its answer is stored: ask again"
            ) from None
        if response.status == 200:
            return received
        # A proxy may answer with JSON of its own.
        facts = received if isinstance(received, dict) else {}
        # The same exceptions as in-process, so that a program need not know where it
        # asks.
        kind = BudgetExceeded if facts.get("error") == "limit" else Refused
        raise kind(str(facts.get("message", "The server refused it")))

    def _open(self) -> HTTPConnection:
        if self.url.startswith(UNIX_PREFIX):
            return UnixConnection(self.url.removeprefix(UNIX_PREFIX))
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        if parts.scheme == "https":
            return HTTPSConnection(host, parts.port, timeout=CLIENT_TIMEOUT_SECONDS)
        return HTTPConnection(host, parts.port, timeout=CLIENT_TIMEOUT_SECONDS)


class UnixConnection(HTTPConnection):
    """HTTP over a socket file."""

    def __init__(self, path: str) -> None:
        # The name goes into the Host header only; nothing is looked up.
        super().__init__("localhost", timeout=CLIENT_TIMEOUT_SECONDS)
        self._socket_path = path

    def connect(self) -> None:
        """Open the socket file."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._socket_path)


def connect(url: str, token: str) -> Connection:
    """Questions to a server that `understudy serve` runs: an address, and the token
    that its custodian gave you.

    The token is sent over TLS (https), or within this machine (http to localhost,
    unix:PATH), and nowhere else.

    >>> connect("http://127.0.0.1:8470", "my-token").url
    'http://127.0.0.1:8470'
    >>> connect("http://survey.example", "my-token")
    Traceback (most recent call last):
    ...
    understudy.errors.Refused: http://survey.example is not encrypted: ...
    """
    if url.startswith(UNIX_PREFIX):
        return Connection(url, token)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused("An address begins with https:, http: or unix:. Nothing was sent")
    # Not quoted: it may be a password, and what is quoted ends up in logs.
    if "@" in parts.netloc:
        raise Refused(
            "An address names no user and no password: the token says who asks. Nothing"
            " was sent"
        )
    # Before anything is sent: a token that was sent in clear cannot be taken back.
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise Refused(
            f"{url} is not encrypted: whoever listens could ask in your name. Use"
            " https. Nothing was sent"
        )
    return Connection(url, token)
