"""Serve questions: rows are read once, an address is bound, and uvicorn runs until it
is interrupted.

By default the address is this machine's alone, or a socket file of the owner's. TLS is
the office's proxy's: another host is listened on only where that is asked for.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlunsplit

from understudy.accounting.budget import Number
from understudy.accounting.ledger import Ledger
from understudy.errors import Refused
from understudy.queries.lookups import PublicTable
from understudy.releases.release import Release
from understudy.server.addresses import UNIX_PREFIX, ServerAddress
from understudy.server.service import DEFAULT_REQUESTS_PER_MINUTE, QuestionService
from understudy.server.tokens import TokenFile
from understudy.version import install_command
from understudy.workflow.asking.questions import session
from understudy.workflow.open import open_source

MAX_OPEN_CONNECTIONS = 256
"""Connections at once; further ones are turned away."""

SOCKET_BACKLOG = 128


def serve_questions(
    data: str | Path,
    schema: str | Path,
    *,
    ledger: Path,
    address: ServerAddress,
    ready: Callable[[str], None],
    write_log: Callable[[str], None],
    release: Release | None = None,
    budget: Number | None = None,
    delta: Number | None = None,
    accounting: str | None = None,
    private_keys: bool = False,
    public: Sequence[PublicTable] = (),
    anchor: str | None = None,
    requests_per_minute: int = DEFAULT_REQUESTS_PER_MINUTE,
) -> None:
    """Answer questions about a table until interrupted. `ready` is called with the
    address once it can be opened; `anchor` is a digest that the ledger must still hold.
    """
    try:
        import uvicorn

        from understudy.server.app import make_app
    except ImportError:
        raise Refused(
            f"Serving needs more packages: {install_command('serve')}. Nothing was"
            " started"
        ) from None
    address.refuse_exposed_host()
    with (
        Ledger.open(ledger, anchor=anchor) as account,
        open_source(data, schema=schema).freeze_rows() as source,
        session(
            source,
            schema,
            ledger=ledger,
            budget=budget,
            delta=delta,
            accounting=accounting,
            private_keys=private_keys,
            neighbours=account.neighbours,
            release=release,
            public=public,
        ) as questions,
        listen_at(address) as listener,
    ):
        service = QuestionService(
            questions,
            account,
            TokenFile(ledger),
            write_log=write_log,
            requests_per_minute=requests_per_minute,
        )
        config = uvicorn.Config(
            make_app(service),
            log_level="critical",
            access_log=False,
            server_header=False,
            # Or a header would say who asks, and whoever asks writes the headers.
            proxy_headers=False,
            limit_concurrency=MAX_OPEN_CONNECTIONS,
            lifespan="off",
            ws="none",
        )
        ready(_spell_address(address, listener))
        uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def listen_at(address: ServerAddress) -> Iterator[socket.socket]:
    """A socket that listens: whoever comes before the server is up waits."""
    path = address.socket_path
    listener = _bind_port(address) if path is None else _bind_file(path)
    with listener:
        listener.listen(SOCKET_BACKLOG)
        try:
            yield listener
        finally:
            if path is not None:
                path.unlink(missing_ok=True)


def _bind_port(address: ServerAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    # A server that is started again does not wait for connections of the last one.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
    except OSError:
        listener.close()
        raise Refused(
            f"{address.host}:{address.port} is taken or no address of this machine."
            " Choose another. Nothing was started"
        ) from None
    return listener


def _bind_file(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The file is made with this mode: there is no moment at which others could connect.
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError:
        listener.close()
        raise Refused(
            f"{path.name}: a socket cannot be made there. Remove what has this name, or"
            " choose another. Nothing was started"
        ) from None
    finally:
        os.umask(before)
    return listener


def _spell_address(address: ServerAddress, listener: socket.socket) -> str:
    if address.socket_path is not None:
        return f"{UNIX_PREFIX}{address.socket_path}"
    host = f"[{address.host}]" if ":" in address.host else address.host
    place = f"{host}:{listener.getsockname()[1]}"
    return urlunsplit(("http", place, "", "", ""))
