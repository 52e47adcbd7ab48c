"""Tokens of analysts: 256 random bits each, of which only a SHA-256 digest is stored.

They lie in a file of the owner's alone beside the ledger, whose grants are the limits.
A token has 256 bits of its own, so a plain digest of it cannot be inverted by guessing
and needs no salt. A transaction for each change: a revocation is never lost to somebody
who adds an analyst at the same moment. The file is read at every request, so that a
revocation holds from the next one on.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from understudy.errors import LedgerError, Refused

TOKEN_BYTES = 32
"""256 bits: too many to guess."""

MAX_ANALYST_NAME = 100
"""Characters in the name of an analyst: a line of a log holds it."""

DEFAULT_TOKEN_DAYS = 90
"""Days until a token expires where nothing else is said: about a quarter."""

MAX_TOKEN_DAYS = 3_650

_CREATE_TABLE_SQL = (
    "CREATE TABLE IF NOT EXISTS token (digest TEXT PRIMARY KEY, analyst TEXT NOT NULL,"
    " expires TEXT NOT NULL, revoked TEXT)"
)


@dataclass(frozen=True)
class TokenRecord:
    """One token as it is stored; `revoked` is None while it is in force."""

    digest: str
    analyst: str
    expires: datetime
    revoked: datetime | None

    def is_valid_at(self, moment: datetime) -> bool:
        """Whether it lets its analyst in at this moment."""
        return self.revoked is None and moment < self.expires


class TokenFile:
    """The tokens of the analysts of one ledger.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> tokens = TokenFile(Path(folder.name, "people.ledger"))
    >>> token = tokens.add("ada", days=30)
    >>> tokens.find_analyst(token), tokens.find_analyst(token + "x")
    ('ada', None)
    >>> tokens.revoke("ada"), tokens.find_analyst(token)
    (1, None)
    >>> folder.cleanup()
    """

    def __init__(self, ledger: Path) -> None:
        self.path = ledger.with_name(ledger.name + ".tokens")

    def add(self, analyst: str, *, days: int = DEFAULT_TOKEN_DAYS) -> str:
        """A new token for an analyst. It is shown this once and stored nowhere."""
        check_analyst_name(analyst)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        expires = read_clock() + timedelta(days=days)
        with self._change_tokens() as connection:
            connection.execute(
                "INSERT INTO token VALUES (?, ?, ?, NULL)",
                (digest_token(token), analyst, expires.isoformat()),
            )
        return token

    def revoke(self, analyst: str) -> int:
        """End all tokens of an analyst that are in force; returns how many there were."""
        with self._change_tokens() as connection:
            ended = connection.execute(
                "UPDATE token SET revoked = ? WHERE analyst = ? AND revoked IS NULL",
                (read_clock().isoformat(), analyst),
            )
            return ended.rowcount

    def list_tokens(self) -> list[TokenRecord]:
        """Every token there ever was, in the order of their analysts."""
        if not self.path.exists():
            return []
        self._refuse_shared_file()
        with closing(self._connect()) as connection:
            rows = connection.execute(
                "SELECT digest, analyst, expires, revoked FROM token"
                " ORDER BY analyst, expires"
            ).fetchall()
        return [_read_record(*row) for row in rows]

    def find_analyst(self, shown: str) -> str | None:
        """Whose valid token this is; None if it is nobody's, expired or revoked."""
        digest, now = digest_token(shown), read_clock()
        analyst = None
        for record in self.list_tokens():
            # All are compared, each in constant time: how long it takes says nothing
            # about how much of a digest was right.
            is_same = secrets.compare_digest(digest, record.digest)
            if is_same and record.is_valid_at(now):
                analyst = record.analyst
        return analyst

    @contextmanager
    def _change_tokens(self) -> Iterator[sqlite3.Connection]:
        # Made before SQLite opens it, so that only its owner may ever read it.
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        self._refuse_shared_file()
        with closing(self._connect()) as connection:
            connection.execute("PRAGMA synchronous=EXTRA")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_CREATE_TABLE_SQL)
            yield connection
            connection.execute("COMMIT")

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, isolation_level=None, timeout=30)

    def _refuse_shared_file(self) -> None:
        """Refuse a file that other users may change: they could let themselves in."""
        if os.name == "posix" and self.path.stat().st_mode & 0o077:
            raise LedgerError(
                f"{self.path.name} may be read or written by others: chmod 600. Nothing"
                " was done"
            )


def digest_token(token: str) -> str:
    """What is stored of a token.

    >>> digest_token("")[:8]
    'e3b0c442'
    """
    # Surrogates: what is no text is nobody's token, and no error.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def check_analyst_name(name: str) -> None:
    """Refuse a name that a log or a ledger could not show in a line, and the empty one,
    which is the owner's.
    """
    is_text = name.isprintable() and name == name.strip()
    if not name or not is_text or len(name) > MAX_ANALYST_NAME:
        raise Refused(
            f"The name of an analyst has 1 to {MAX_ANALYST_NAME} printable characters"
            " and no space at its ends. Nothing was done"
        )


def read_clock() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


def _read_record(
    digest: str, analyst: str, expires: str, revoked: str | None
) -> TokenRecord:
    ended = None if revoked is None else datetime.fromisoformat(revoked)
    return TokenRecord(digest, analyst, datetime.fromisoformat(expires), ended)
