"""What decides which rows are counted, and which of their cells are emptied, besides the
cells themselves: the unit, and rules by which rows are dropped or cells emptied. Answers
are taken for one another, and cells of a column for disjoint parts of a table, only where
this is the same.
"""

from __future__ import annotations

from dataclasses import replace

from understudy.schema.predicates.rules import BrokenRowPolicy
from understudy.schema.schema import Schema
from understudy.schema.yaml.writer import schema_to_dict


def describe_counted_rows(schema: Schema) -> list[object]:
    """The unit with the words that mean no id, and what becomes of rows that break a
    rule, as plain data.

    >>> from understudy.schema import Integer
    >>> describe_counted_rows(Schema(columns=(Integer(name="age", min=0, max=99),)))
    [None, 1]
    """
    unit = schema.unit
    facts: list[object] = [unit.id, unit.max_rows]
    absent = [] if unit.id is None else sorted(schema[unit.id].missing)
    if absent:
        facts.append(["no id", absent])
    return [*facts, *describe_broken_rows(schema)]


def describe_broken_rows(schema: Schema) -> list[object]:
    """What becomes of rows that break a rule, with the rules and their columns; nothing
    where they are counted as they are.
    """
    breaches = [predicate for _, predicate in schema.named_breaches]
    if schema.broken is BrokenRowPolicy.KEEP or not breaches:
        return []
    named = set().union(*(predicate.columns for predicate in breaches))
    columns = tuple(
        replace(column, constant=False, note="")
        for column in schema.columns
        if column.name in named
    )
    rules = sorted(map(str, breaches))
    return [str(schema.broken), rules, schema_to_dict(Schema(columns=columns))]
