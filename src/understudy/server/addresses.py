"""Addresses of a server: a port of this machine, a socket file, or, where that is asked
for, a host that other machines reach.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import Refused

UNIX_PREFIX = "unix:"
"""How the address of a socket file begins."""

DEFAULT_SERVER_HOST = "127.0.0.1"
DEFAULT_SERVER_PORT = 8470


@dataclass(frozen=True, kw_only=True)
class ServerAddress:
    """Where to listen: a port of a host, or a socket file."""

    host: str = DEFAULT_SERVER_HOST
    port: int = DEFAULT_SERVER_PORT
    socket_path: Path | None = None
    allow_remote: bool = False

    def refuse_exposed_host(self) -> None:
        """Refuse a host that other machines reach, unless that was asked for."""
        if self.socket_path is not None or self.allow_remote:
            return
        if not is_loopback(self.host):
            raise Refused(
                f"{self.host} can be reached from other machines, and tokens would"
                " travel unencrypted: put a proxy with TLS before a loopback address,"
                " or say --allow-remote. Nothing was started"
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0")]
    [True, True, True, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
