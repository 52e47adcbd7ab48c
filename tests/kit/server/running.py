"""A server of questions that runs as a custodian runs it: its own process, its own
port.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import polars as pl

import understudy as us
from kit.queries.corpus import PEOPLE_SCHEMA, make_people
from understudy.server.tokens import TokenFile

PEOPLE_ROWS = 400


@dataclass(frozen=True)
class RunningServer:
    """A server, its ledger and its address."""

    process: subprocess.Popen[str]
    ledger: Path
    url: str

    def stop(self) -> str:
        """End it politely; what it wrote to its log."""
        self.process.terminate()
        _, err = self.process.communicate(timeout=60)
        return err

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=60)


def write_office(
    folder: Path, *, epsilon: float = 5, people: pl.DataFrame | None = None
) -> Path:
    """A table, its schema, and a ledger on which a run of questions is open."""
    rows = make_people(PEOPLE_ROWS) if people is None else people
    rows.write_csv(folder / "people.csv")
    PEOPLE_SCHEMA.save(folder / "people.yaml")
    ledger = folder / "people.ledger"
    opened = us.session(
        folder / "people.csv", folder / "people.yaml", ledger=ledger, budget=epsilon
    )
    opened.close()
    return ledger


def add_analyst(ledger: Path, name: str, *, epsilon: float = 1, days: int = 1) -> str:
    """A limit and a token."""
    with us.Ledger.open(ledger) as account:
        account.grant(us.Budget.of(epsilon), analyst=name)
    return TokenFile(ledger).add(name, days=days)


def start_server(
    ledger: Path, *options: object, file: str = "people.csv"
) -> RunningServer:
    """Serve the table beside a ledger on a free port."""
    folder = ledger.parent
    words = ["serve", folder / file, "--schema", folder / "people.yaml"]
    words += ["--ledger", ledger, "--port", 0, "--rate", 100_000, *options]
    process = subprocess.Popen(
        [sys.executable, "-c", "from understudy.cli import main; main()"]
        + [str(word) for word in words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests run side by side: threads of the algebra library would only wait.
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if " at " not in line:
        _, err = process.communicate(timeout=60)
        raise AssertionError(f"the server did not start: {err}")
    return RunningServer(process, ledger, line.split(" at ")[1].strip())


def send_raw(
    url: str, method: str, path: str, body: bytes | None, headers: dict[str, str]
) -> tuple[int, Any]:
    """Status and JSON of one request, as it stands."""
    place = url.removeprefix("http://")
    with closing(HTTPConnection(place, timeout=60)) as connection:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else None


def send_frame(url: str, frame: bytes) -> bytes:
    """What comes back for bytes that may be no request, until the server hangs up."""
    host, port = url.removeprefix("http://").split(":")
    received = b""
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        with suppress(ConnectionError):
            connection.sendall(frame)
        with suppress(ConnectionError):
            while part := connection.recv(1 << 16):
                received += part
    return received


def sum_spent(ledger: Path) -> float:
    """What all questions have spent."""
    with us.Ledger.open(ledger) as account:
        return float(sum(run.filter.spent for run in account.runs()))


def count_unpaid(
    ledger: Path, received: dict[str, us.AnswerTable], *, within: float
) -> int:
    """How many answers the ledger does not hold: asked again by the owner, one that was
    paid for is free and the same.
    """
    unpaid = 0
    table = (ledger.with_name("people.csv"), ledger.with_name("people.yaml"))
    with us.session(*table, ledger=ledger) as questions:
        for question, answer in received.items():
            price = questions.price(question, within=within)
            stored = questions.ask(question, within=within)
            unpaid += not price.is_free or stored.rows != answer.rows
    # Opened again: the chain, the totals and the limits are checked.
    us.Ledger.open(ledger).close()
    return unpaid
