"""Describe a table: the owner's draft of what is public about it."""

from __future__ import annotations

from understudy.schema import Schema
from understudy.tables.drafting.draft import draft_schema
from understudy.tables.drafting.draft_domain import declare_non_nullable
from understudy.workflow.open import open_source


def describe(data: object, *, public_domains: bool = False) -> Schema:
    """A draft schema of a table, for its owner to read and edit.

    The types come from a look at the rows; values and bounds are left open, unless
    `public_domains` says that those in the table are public knowledge, and which
    columns have no empty cell. It costs nothing and is not private: it becomes public
    by being used.

    >>> import duckdb
    >>> people = duckdb.sql("SELECT i % 90 AS age, i % 2 = 0 AS smoker, 'p' || i AS patient_id FROM range(1000) t(i)")
    >>> [(column.name, column.type) for column in describe(people).columns]
    [('age', 'integer'), ('smoker', 'boolean'), ('patient_id', 'identifier')]
    """
    source = open_source(data)
    source.check_header()
    drafted = draft_schema(source, public_domains=public_domains)
    return declare_non_nullable(source, drafted) if public_domains else drafted
