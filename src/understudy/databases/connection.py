"""Connections to databases by ADBC, whose errors become one line without the address.

A driver's message may quote a cell, or the address and the password in it. So no message
of a driver is repeated, and its exception is not chained to ours.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from understudy.databases.address import DatabaseAddress
from understudy.errors import TableError
from understudy.version import install_command

T = TypeVar("T")

EXTRA_OF_SYSTEM = {"postgresql": "postgres", "sqlite": "sqlite"}
"""The optional dependencies that hold the driver of a system."""

ABSENT_TABLE_STATE = "42P01"
"""PostgreSQL's code of a table that does not exist (SQLSTATE)."""

FORBIDDEN_STATE = "42501"
"""PostgreSQL's code of a right that the user does not have."""

ABSENT_SCHEMA_STATE = "3F000"
READ_ONLY_STATE = "25006"
"""PostgreSQL's codes of a schema that does not exist, and of a copy of a database that
another server keeps.
"""


def connect_database(
    address: DatabaseAddress, *, writes: bool = False, outcome: str = "Nothing was read"
) -> Any:
    """A new ADBC connection to the database of an address, in a transaction; where
    `writes` is False, a file is opened for reading alone.
    """
    failed = ""
    try:
        driver = import_module(f"adbc_driver_{address.system}.dbapi")
        import_module("pyarrow")
    except ImportError:
        extra = EXTRA_OF_SYSTEM[address.system]
        failed = f"needs a driver that is not here: {install_command(extra)}"
    if failed:
        raise TableError(f"{address.title}: {failed}. {outcome}")
    try:
        return driver.connect(_connection_text(address, writes), autocommit=False)
    except Exception:
        failed = (
            "the database does not take the connection. Check its address, user and"
        )
        failed += (
            " password (PGPASSWORD or a password file keeps it out of the address)"
        )
    raise TableError(f"{address.title}: {failed}. {outcome}")


def _connection_text(address: DatabaseAddress, writes: bool) -> str:
    if address.path is None:
        return address.location
    mode = "rwc" if writes else "ro"
    return f"{address.path.resolve().as_uri()}?mode={mode}"


def ask_quietly(ask: Callable[[], T], title: str, outcome: str) -> T:
    """What a database answers; what it raises becomes a TableError of one line that ends
    with `outcome`.
    """
    try:
        return ask()
    except TableError:
        raise
    except Exception as error:
        failed = _explain_failure(error)
    # Outside the handler: a chained exception would carry the driver's message.
    raise TableError(f"{title}: {failed}. {outcome}")


def _explain_failure(error: BaseException) -> str:
    """What went wrong, by the kind of an error and never by its message."""
    state = getattr(error, "sqlstate", None)
    if state == ABSENT_TABLE_STATE:
        return "the database has no table of that name"
    if state == FORBIDDEN_STATE:
        return "the database's user may not do that"
    if state == ABSENT_SCHEMA_STATE:
        return "the database has no schema of that name"
    if state == READ_ONLY_STATE:
        return "the database is for reading alone"
    return f"the database did not answer ({type(error).__name__})"
