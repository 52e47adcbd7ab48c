"""SQL text: the one place where names and values are quoted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path


def quoted_identifier(identifier: str) -> str:
    """A quoted identifier.

    >>> quoted_identifier('a "b" c')
    '"a ""b"" c"'
    """
    return '"' + identifier.replace('"', '""') + '"'


def name_relation(schema: str | None, table: str) -> str:
    """A table in a query, in its schema where one is named.

    >>> name_relation("clinic", "odd.name"), name_relation(None, "people")
    ('"clinic"."odd.name"', '"people"')
    """
    names = [name for name in (schema, table) if name is not None]
    return ".".join(map(quoted_identifier, names))


def text_literal(value: str) -> str:
    """A quoted string.

    >>> text_literal("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def text_literals(values: Iterable[str]) -> str:
    """A list of quoted strings, without brackets.

    >>> text_literals(["a", "b"])
    "'a', 'b'"
    """
    return ", ".join(text_literal(v) for v in values)


def literal_path(file: Path) -> str:
    """A file's path, its characters taken literally where the database would look for
    patterns.

    >>> literal_path(Path("/data/a[1]*.csv"))
    '/data/a[[]1][*].csv'
    """
    return "".join(
        f"[{letter}]" if letter in "*?[" else letter for letter in str(file.resolve())
    )


def double_literal(value: float) -> str:
    """A double, to the last bit.

    >>> double_literal(0.1), double_literal(float("-inf"))
    ("CAST('0.1' AS DOUBLE)", "CAST('-inf' AS DOUBLE)")
    """
    return f"CAST('{value!r}' AS DOUBLE)"


def whole_literal(value: int) -> str:
    """A whole number of up to 127 bits.

    >>> whole_literal(-5)
    '(-5)'
    """
    return str(value) if value >= 0 else f"({value})"


def struct_literal(fields: Mapping[str, str]) -> str:
    """Column names and types, as `read_csv` wants them.

    >>> struct_literal({"a": "VARCHAR"})
    "{'a': 'VARCHAR'}"
    """
    return (
        "{"
        + ", ".join(f"{text_literal(k)}: {text_literal(v)}" for k, v in fields.items())
        + "}"
    )
