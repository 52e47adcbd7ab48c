"""Who asks: the user at the other end of a connection, where the system says so.

Linux lists every TCP socket with the user who opened it (proc(5), `/proc/net/tcp`). The
other end of a connection within this machine is in that list too, with its own address
first and the studio's second. A socket that its process has closed belongs to nobody
any more and is not counted. Other systems have no such list: there nobody is known, and
so nobody is refused.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable
from pathlib import Path

SocketEndpoint = tuple[str, int]

SOCKET_LISTS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""The second has the sockets of the newer protocol, which can reach an address of the
older one too.
"""

ROOT_UID = 0

_ADDRESS_FIELD, _PEER_FIELD, _UID_FIELD, _INODE_FIELD = 1, 2, 7, 9
_MAPPED_PREFIX = bytes(10) + b"\xff\xff"
"""How an address of the older protocol begins when it is written as one of the newer
(RFC 4291, 2.5.5.2).
"""


def find_own_uid() -> int | None:
    """The user whose connections this process opens; None on Windows, where users have
    no number.
    """
    return os.geteuid() if sys.platform != "win32" else None


def is_other_user(client: SocketEndpoint, server: SocketEndpoint, owner: int) -> bool:
    """Whether the client's end is known to belong to a user who is neither the owner
    nor root, who can read everything anyway.
    """
    uid = find_peer_uid(client, server)
    return uid is not None and uid not in {owner, ROOT_UID}


def find_peer_uid(client: SocketEndpoint, server: SocketEndpoint) -> int | None:
    """The user who opened the client's end of a connection within this machine; None
    where the system does not say.
    """
    for path in SOCKET_LISTS:
        try:
            with path.open(encoding="ascii") as lines:
                uid = find_uid_in(lines, client, server)
        except (OSError, ValueError):
            continue
        if uid is not None:
            return uid
    return None


def find_uid_in(
    lines: Iterable[str], client: SocketEndpoint, server: SocketEndpoint
) -> int | None:
    """The same from the lines of such a list.

    >>> client, server = ("127.0.0.1", 40000), ("127.0.0.1", 8000)
    >>> ends = f"{spell_endpoint(client)[0]} {spell_endpoint(server)[0]}"
    >>> line = f"0: {ends} 01 0:0 00:0 0 1000 0 77123 1"
    >>> find_uid_in([line], client, server), find_uid_in([line], server, client)
    (1000, None)
    """
    addresses, peers = spell_endpoint(client), spell_endpoint(server)
    for line in lines:
        fields = line.split()
        if (
            len(fields) <= _INODE_FIELD
            or fields[_ADDRESS_FIELD] not in addresses
            or fields[_PEER_FIELD] not in peers
        ):
            continue
        # Inode 0: its process has closed it, and the user that is listed means nothing.
        if int(fields[_INODE_FIELD]) != 0:
            return int(fields[_UID_FIELD])
    return None


def spell_endpoint(endpoint: SocketEndpoint) -> tuple[str, str]:
    """An address and port as the two lists spell them: words of four bytes, each as
    this machine would read it as a number.

    >>> spell_endpoint(("127.0.0.1", 80))[0] == (
    ...     "0100007F:0050" if sys.byteorder == "little" else "7F000001:0050"
    ... )
    True
    """
    host, port = endpoint
    # The kernel prints each word of four bytes as a number of this machine.
    short = socket.inet_pton(socket.AF_INET, host)
    return (
        f"{_spell_words(short)}:{port:04X}",
        f"{_spell_words(_MAPPED_PREFIX + short)}:{port:04X}",
    )


def _spell_words(packed: bytes) -> str:
    words = [packed[i : i + 4] for i in range(0, len(packed), 4)]
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
