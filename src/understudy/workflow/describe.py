"""Describe a table: the owner's draft of what is public about it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from understudy.errors import Refused
from understudy.schema import Schema, dump_schema
from understudy.schema.yaml.commented import comment_suggestions
from understudy.tables import TableSource
from understudy.tables.drafting.draft import draft_schema
from understudy.tables.drafting.draft_domain import (
    DEFAULT_RARE_BELOW,
    declare_non_nullable,
)
from understudy.tables.drafting.suggested_rules import RuleSuggestions, suggest_rules
from understudy.workflow.open import TableLike, open_source


@dataclass(frozen=True)
class TableDraft:
    """A draft for the owner of a table, and what all its rows keep, which is not part
    of it until it is accepted.
    """

    schema: Schema
    suggestions: RuleSuggestions

    def accept_rules(self) -> Schema:
        """The schema with all suggested rules."""
        return replace(self.schema, rules=(*self.schema.rules, *self.suggestions.rules))

    def to_text(self) -> str:
        """The draft as a page to edit, with what is suggested as comments."""
        return dump_schema(self.schema) + comment_suggestions(
            self.suggestions.rules,
            person_id=self.suggestions.person_id,
            constant=self.suggestions.constant,
        )


def draft_table(
    data: TableLike,
    *,
    public_domains: bool = False,
    rare_below: int = DEFAULT_RARE_BELOW,
) -> TableDraft:
    """The draft that `describe` returns, together with the rules that rows suggest.

    >>> import duckdb
    >>> stays = duckdb.sql(
    ...     "SELECT i % 50 AS first_day, i % 50 + i % 7 AS last_day FROM range(1000) t(i)"
    ... )
    >>> [str(rule) for rule in draft_table(stays).suggestions.rules]
    ['first_day <= last_day']
    """
    source, drafted = _draft(data, public_domains, rare_below)
    return TableDraft(drafted, suggest_rules(source, drafted))


def _draft(
    data: TableLike, public_domains: bool, rare_below: int
) -> tuple[TableSource, Schema]:
    if rare_below < 1:
        raise Refused("describe: `rare_below` must be at least 1. Nothing was read")
    source = open_source(data)
    # A header line that is a row would put its cells into the draft as names.
    source.check_header()
    drafted = draft_schema(source, public_domains=public_domains, rare_below=rare_below)
    if public_domains:
        drafted = declare_non_nullable(source, drafted)
    return source, drafted


def describe(
    data: TableLike,
    *,
    public_domains: bool = False,
    rare_below: int = DEFAULT_RARE_BELOW,
    accept_rules: bool = False,
) -> Schema:
    """A draft schema of a table, for its owner to read and edit.

    Types are read off the rows; values and bounds are left open but for natural limits
    (an age is at most 120), unless `public_domains` says that those in the table are
    public knowledge, and so is which columns have no empty cell. Even then values of
    fewer than `rare_below` rows, and extremes of fewer, are left to the owner. With
    `accept_rules` the draft has the rules that all rows keep (`draft_table` returns them
    beside it). The draft costs nothing and is not private: using it makes what it says
    public.

    >>> import duckdb
    >>> people = duckdb.sql(
    ...     "SELECT i % 90 AS age, i % 2 = 0 AS smoker, 'p' || i AS patient_id"
    ...     " FROM range(1000) t(i)"
    ... )
    >>> [(column.name, column.type) for column in describe(people).columns]
    [('age', 'integer'), ('smoker', 'boolean'), ('patient_id', 'identifier')]
    """
    source, drafted = _draft(data, public_domains, rare_below)
    # Looking for rules takes a few scans more.
    if not accept_rules:
        return drafted
    return TableDraft(drafted, suggest_rules(source, drafted)).accept_rules()
