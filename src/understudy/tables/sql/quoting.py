"""SQL text: the one place where names and values are quoted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path


def name(identifier: str) -> str:
    """A quoted identifier.

    >>> name('a "b" c')
    '"a ""b"" c"'
    """
    return '"' + identifier.replace('"', '""') + '"'


def text(value: str) -> str:
    """A quoted string.

    >>> text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def texts(values: Iterable[str]) -> str:
    """A list of quoted strings, without brackets.

    >>> texts(["a", "b"])
    "'a', 'b'"
    """
    return ", ".join(text(v) for v in values)


def path(file: Path) -> str:
    """A file's path, its characters taken literally where the database would look for patterns.

    >>> path(Path("/data/a[1]*.csv"))
    '/data/a[[]1][*].csv'
    """
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(file.resolve()))


def double(value: float) -> str:
    """A double, to the last bit.

    >>> double(0.1), double(float("-inf"))
    ("CAST('0.1' AS DOUBLE)", "CAST('-inf' AS DOUBLE)")
    """
    return f"CAST('{value!r}' AS DOUBLE)"


def whole(value: int) -> str:
    """A whole number of up to 127 bits.

    >>> whole(-5)
    '(-5)'
    """
    return str(value) if value >= 0 else f"({value})"


def struct(fields: Mapping[str, str]) -> str:
    """Column names and types, as `read_csv` wants them.

    >>> struct({"a": "VARCHAR"})
    "{'a': 'VARCHAR'}"
    """
    return "{" + ", ".join(f"{text(k)}: {text(v)}" for k, v in fields.items()) + "}"
