"""Serve the studio on this machine alone."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import Refused
from understudy.version import install_command

LISTEN_HOST = "127.0.0.1"


@dataclass(frozen=True)
class StudioAddress:
    """Where the studio answers, and the token that lets one visitor in, once. `first`
    until somebody came.
    """

    port: int
    token: str
    first: bool = True

    @property
    def url(self) -> str:
        """What to open in a browser."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"


def _ignore_cut_runs(cut: int) -> None:
    """The default of `closed`."""


def serve_studio(
    folder: Path,
    *,
    port: int = 0,
    ready: Callable[[StudioAddress], None],
    closed: Callable[[int], None] = _ignore_cut_runs,
) -> None:
    """Serve the tables of a folder until interrupted. `ready` is called with the address
    once it can be opened, and with the next one when that was used up; `closed` at the
    end with the number of runs that were cut off.
    """
    try:
        import uvicorn

        from understudy.studio.app import Studio
    except ImportError:
        raise Refused(
            "The studio needs more packages:"
            f" {install_command('studio', 'evaluate')}. Nothing was started."
        ) from None
    from understudy.scratch import sweep_orphans
    from understudy.studio.guard import Door
    from understudy.studio.peer import find_own_uid
    from understudy.studio.workspace import Workspace

    if not folder.is_dir():
        raise Refused(
            f"{folder}: there is no such folder. Make it first. Nothing was started."
        )
    sweep_orphans(folder)  # uploads that a killed studio left half-received
    # Bound here and not by the server, so that the port is known before it starts.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind((LISTEN_HOST, port))
    except OSError:
        listener.close()
        raise Refused(
            f"Port {port} is taken. Choose another, or none for a free one. Nothing was"
            " started."
        ) from None
    with listener:
        free = listener.getsockname()[1]

        def announce_next_token(token: str) -> None:
            with suppress(OSError):  # a terminal that is gone keeps nobody out
                ready(StudioAddress(free, token, first=False))

        door = Door(announce_next_token)
        studio = Studio(Workspace(folder.resolve()), door, free, find_own_uid())
        config = uvicorn.Config(
            studio.app,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            # Or a header would say who asks, and whoever asks writes the headers.
            proxy_headers=False,
        )
        server = uvicorn.Server(config)
        listener.listen(128)  # whoever comes before the server is up waits
        ready(StudioAddress(free, door.launch))
        try:
            server.run(sockets=[listener])
        finally:
            closed(studio.jobs.close())
