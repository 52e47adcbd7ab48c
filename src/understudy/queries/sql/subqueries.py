"""Subqueries that choose rows and columns, in FROM or by a name before the SELECT.

    WITH older AS (SELECT sex, age FROM people WHERE age > 60)
    SELECT sex, COUNT(*) FROM older GROUP BY sex

They say what WHERE says, and which columns are left to ask about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from understudy.queries.sql.conditions import find_schema_column
from understudy.queries.sql.literals import column_name
from understudy.queries.sql.refusals import refuse_node
from understudy.schema import Schema

_CHOICE_PARTS = frozenset({"expressions", "from_", "where"})


def name_subqueries(select: Any) -> dict[str, Any]:
    """The subqueries of WITH by their names."""
    with_ = select.args.get("with_")
    named: dict[str, Any] = {}
    for each in [] if with_ is None else with_.expressions:
        name = str(each.alias).casefold()
        if name in named or type(each.this).__name__ != "Select":
            raise refuse_node(each)
        named[name] = each.this
    return named


def find_subquery(source: Any, named: Mapping[str, Any]) -> Any | None:
    """The SELECT that a FROM is about; None if it is about a table."""
    if source is None:
        return None
    if type(source.this).__name__ == "Subquery":
        inner = source.this.this
        if type(inner).__name__ != "Select" or inner.args.get("with_"):
            raise refuse_node(source.this)
        return inner
    if source.this.args.get("db"):
        return None
    found = named.get(str(source.this.name).casefold())
    # A subquery that is from its own name is from the table of this name.
    return None if found is None or _is_inside(source, found) else found


def _is_inside(node: Any, select: Any) -> bool:
    while node is not None and node is not select:
        node = node.parent
    return node is not None


def is_choice(select: Any) -> bool:
    """Whether a subquery chooses rows and columns, and does nothing else."""
    parts = {part for part, value in select.args.items() if value}
    kinds = {type(item).__name__ for item in select.expressions}
    return parts <= _CHOICE_PARTS and kinds <= {"Star", "Column"}


def choose_columns(select: Any, schema: Schema, joined: Iterable[str]) -> Schema:
    """The columns that a subquery leaves to ask about, beside those that are joined."""
    if any(type(item).__name__ == "Star" for item in select.expressions):
        return schema
    chosen = {find_schema_column(column_name(i), schema) for i in select.expressions}
    # The privacy unit stays what it is.
    chosen.update(joined, [schema.unit.id or ""])
    kept = tuple(column for column in schema.columns if column.name in chosen)
    return replace(schema, columns=kept, rules=(), impossible=())
