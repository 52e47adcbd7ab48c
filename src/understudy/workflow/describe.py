"""Describe a table: the owner's draft of what is public about it."""

from __future__ import annotations

from understudy.errors import Refused
from understudy.schema import Schema
from understudy.tables.drafting.draft import draft_schema
from understudy.tables.drafting.draft_domain import (
    DEFAULT_RARE_BELOW,
    declare_non_nullable,
)
from understudy.workflow.open import TableLike, open_source


def describe(
    data: TableLike,
    *,
    public_domains: bool = False,
    rare_below: int = DEFAULT_RARE_BELOW,
) -> Schema:
    """A draft schema of a table, for its owner to read and edit.

    Types are read off the rows; values and bounds are left open, unless
    `public_domains` says that those in the table are public knowledge, and so is which
    columns have no empty cell. Even then values of fewer than `rare_below` rows, and
    extremes of fewer, are left to the owner. The draft costs nothing and is not private:
    using it makes what it says public.

    >>> import duckdb
    >>> people = duckdb.sql(
    ...     "SELECT i % 90 AS age, i % 2 = 0 AS smoker, 'p' || i AS patient_id"
    ...     " FROM range(1000) t(i)"
    ... )
    >>> [(column.name, column.type) for column in describe(people).columns]
    [('age', 'integer'), ('smoker', 'boolean'), ('patient_id', 'identifier')]
    """
    if rare_below < 1:
        raise Refused("describe: `rare_below` must be at least 1. Nothing was read")
    source = open_source(data)
    # A header line that is a row would put its cells into the draft as names.
    source.check_header()
    drafted = draft_schema(source, public_domains=public_domains, rare_below=rare_below)
    return declare_non_nullable(source, drafted) if public_domains else drafted
