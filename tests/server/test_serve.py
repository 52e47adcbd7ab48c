"""Where a server listens, and what it refuses to start on."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kit.server.running import write_office
from understudy.errors import LedgerTampered, Refused
from understudy.server.addresses import ServerAddress
from understudy.server.serve import listen_at, serve_questions


def start(ledger: Path, address: ServerAddress, **given: object) -> None:
    """Start a server that must not come up."""

    def fail(_: str) -> None:
        raise AssertionError("it came up")

    folder = ledger.parent
    serve_questions(
        folder / "people.csv",
        folder / "people.yaml",
        ledger=ledger,
        address=address,
        ready=fail,
        write_log=fail,
        **given,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "survey.example"])
def test_a_host_that_others_reach_is_refused(host: str) -> None:
    with pytest.raises(Refused, match="--allow-remote"):
        ServerAddress(host=host).refuse_exposed_host()
    ServerAddress(host=host, allow_remote=True).refuse_exposed_host()


def test_a_ledger_that_lacks_the_anchor_is_not_served(tmp_path: Path) -> None:
    with pytest.raises(LedgerTampered):
        start(write_office(tmp_path), ServerAddress(port=0), anchor="0" * 64)


def test_an_address_that_is_taken_is_refused(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(Refused, match="is taken"),
            listen_at(ServerAddress(port=port)),
        ):
            pass
    (tmp_path / "s").write_text("in the way")
    with (
        pytest.raises(Refused, match="choose another"),
        listen_at(ServerAddress(socket_path=tmp_path / "s")),
    ):
        pass
    assert (tmp_path / "s").read_text() == "in the way"
