"""Who opened a connection: real sockets, and a real second user where the tests may
become one.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from kit.studio.other_user import LEAVE, OTHER_UID, ROOT, STUDIO_UID
from understudy.studio.peer import (
    SocketEndpoint,
    find_own_uid,
    find_peer_uid,
    is_other_user,
    spell_endpoint,
)

CONNECT = """
line = socket.create_connection(("127.0.0.1", said))
line.recv(1)
"""


@contextmanager
def accepted(
    family: int = socket.AF_INET, host: str = "127.0.0.1"
) -> Iterator[tuple[SocketEndpoint, SocketEndpoint, socket.socket]]:
    """A connection of this process to itself: both ends as the server sees them, and
    the client's socket.
    """
    with socket.socket() as listener, socket.socket(family) as client:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        client.connect((host, listener.getsockname()[1]))
        server, peer = listener.accept()
        with server:
            yield peer, server.getsockname(), client


@pytest.mark.parametrize(
    ("family", "host"),
    [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")],
)
def test_a_connection_is_its_users(family: int, host: str) -> None:
    with accepted(family, host) as (client, server, _):
        assert find_peer_uid(client, server) == os.geteuid() == find_own_uid()
        assert not is_other_user(client, server, os.geteuid())
        assert (
            is_other_user(client, server, os.geteuid() + 1) is not ROOT
        )  # root may, whoever the studio's user is


def test_a_connection_that_was_closed_is_nobodys() -> None:
    with accepted() as (client, server, line):
        line.close()
        assert find_peer_uid(client, server) is None
        assert not is_other_user(client, server, os.geteuid() + 1)


def test_what_is_no_connection_is_nobodys() -> None:
    assert find_peer_uid(("127.0.0.1", 1), ("127.0.0.1", 1)) is None
    with accepted() as (client, server, _):
        assert find_peer_uid(("127.0.0.2", client[1]), server) is None


def test_another_user_is_known() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(60)
        port = listener.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-c", LEAVE + CONNECT], stdin=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        with closing(process.stdin):
            process.stdin.write(str(port))
        server, client = listener.accept()
        with server:
            found, other = (
                find_peer_uid(client, server.getsockname()),
                is_other_user(client, server.getsockname(), STUDIO_UID),
            )
        process.wait(timeout=60)
    assert found == (OTHER_UID if ROOT else os.geteuid())
    assert other


def test_an_address_is_spelled_as_the_system_spells_it() -> None:
    with accepted() as (client, server, _), Path("/proc/net/tcp").open() as lines:
        listed = {tuple(line.split()[1:3]) for line in lines}
    assert (spell_endpoint(client)[0], spell_endpoint(server)[0]) in listed
