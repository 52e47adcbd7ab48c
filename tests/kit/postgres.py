"""A real PostgreSQL for tests: a server of its own, on a socket file, without a port."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

PASSWORD = "hunter2-canary"
"""The password in every address; no file, message or name may hold it."""

SERVER_OPTIONS = ("listen_addresses=", "fsync=off", "max_connections=20")
START_SECONDS = 60.0


class PostgresServer:
    """Where a server listens, its process, and one of its databases."""

    def __init__(self, folder: Path, process: int, database: str = "postgres") -> None:
        self.folder = folder
        self.process = process
        self.database = database

    @property
    def location(self) -> str:
        """How to connect, without a table."""
        host = quote(str(self.folder), safe="")
        return f"postgresql://owner:{PASSWORD}@/{self.database}?host={host}"

    def address(self, table: str) -> str:
        return f"{self.location}&table={table}"

    def connect(self) -> Any:
        import adbc_driver_postgresql.dbapi

        return adbc_driver_postgresql.dbapi.connect(self.location, autocommit=True)

    def run(self, *statements: str) -> None:
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())


def find_program(name: str) -> str:
    """A program of PostgreSQL; Debian does not put them on the path."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = str(versions[-1]) if versions else shutil.which(name)
    assert found, "the tests need PostgreSQL: apt-get install postgresql"
    return found


@contextmanager
def run_postgres() -> Iterator[PostgresServer]:
    """A server that is there as long as the block."""
    # A short path: the name of a socket has at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        # PostgreSQL refuses to run as root.
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    data = folder / "data"
    initialise = [find_program("initdb"), "-D", str(data), "-U", "owner", "-A", "trust"]
    initialise += ["-N", "--locale=C.UTF-8", "-E", "UTF8"]
    subprocess.run(
        initialise, check=True, cwd=folder, stdout=subprocess.DEVNULL, **user
    )
    serve = [find_program("postgres"), "-D", str(data), "-k", str(folder)]
    for option in SERVER_OPTIONS:
        serve += ["-c", option]
    server = subprocess.Popen(serve, cwd=folder, stderr=subprocess.DEVNULL, **user)
    try:
        running = PostgresServer(folder, server.pid)
        _await_server(running)
        yield running
    finally:
        server.terminate()
        server.wait(timeout=START_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _await_server(server: PostgresServer) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            server.fetch("SELECT 1")
            return
        except Exception:
            assert time.monotonic() < until, "PostgreSQL does not start"
            time.sleep(0.05)
