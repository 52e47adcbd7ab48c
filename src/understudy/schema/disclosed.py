"""What the owner declared, what was learned, and what is still open: the lines that
stand under every guarantee.

Everything about a table is in one of three states. Public: the owner wrote it into the
schema. Learned: the curator measured it inside the privacy budget, and it is listed in
`learned`. Open: not known yet, and only those two can close it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from understudy.schema.columns.base import Column, OutOfBoundsPolicy
from understudy.schema.columns.discrete import (
    Boolean,
    Categorical,
    Identifier,
    UndeclaredColumn,
)
from understudy.schema.columns.lattice import Lattice
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.columns.temporal import Date, Datetime, Time
from understudy.schema.predicates.rules import (
    AllowedCombinations,
    BrokenRowPolicy,
    FunctionalDependency,
    NeverRule,
    Rule,
)
from understudy.schema.schema import Schema
from understudy.schema.unit import Unit
from understudy.text import format_count

LOST_COLUMN_NOTE = "nothing stood out of the noise, so the column is left empty"
"""The note on a column whose part of the budget was too small to find its bounds."""


@dataclass(frozen=True)
class OpenDomain:
    """Something about a column that is not known yet: its "type", "values" or "bounds"."""

    column: str
    what: str


def open_domains(schema: Schema) -> tuple[OpenDomain, ...]:
    """What is left to learn about the columns of a release.

    >>> open_domains(Schema(columns=(Categorical(name="sex"), UndeclaredColumn(name="x"))))
    (OpenDomain(column='sex', what='values'), OpenDomain(column='x', what='type'))
    """
    return tuple(
        OpenDomain(name, _open_part(schema[name]))
        for name in schema
        if not schema[name].is_closed
    )


def _open_part(column: Column) -> str:
    if isinstance(column, UndeclaredColumn):
        return "type"
    return "values" if isinstance(column, Categorical) else "bounds"


def describe_declared(schema: Schema) -> tuple[str, ...]:
    """What is public by the owner's declaration, one fact a line.

    >>> age = Integer(name="age", min=0, max=90)
    >>> for line in describe_declared(Schema(columns=(age, Categorical(name="sex")))):
    ...     print(line)
    the names and order of 2 columns
    the types of 2 columns
    the bounds of age
    """
    columns = [schema[name] for name in schema]
    lines = _describe_names(schema)
    for template, applies in _PUBLIC_FACTS.items():
        named = [column.name for column in columns if applies(column)]
        if named:
            lines.append(_fill_template(template, named))
    stored = [column.name for column in columns if column.dtype is not None]
    if stored:
        lines.append(f"the storage types of {', '.join(stored)}")
    if schema.rows is not None:
        lines.append(f"the number of rows ({schema.rows:,})")
    return (*lines, *_describe_unit(schema.unit), *_describe_rules(schema))


def _describe_names(schema: Schema) -> list[str]:
    # An identifier may have been guessed from its name, so its type declares nothing.
    typed = [
        column
        for column in schema.columns
        if not isinstance(column, UndeclaredColumn | Identifier)
        and "type" not in column.learned
    ]
    lines = [f"the names and order of {format_count(len(schema.columns), 'column')}"]
    if typed:
        lines.append(f"the types of {format_count(len(typed), 'column')}")
    return lines


def _fill_template(template: str, names: list[str]) -> str:
    is_single = len(names) == 1
    return template.format(
        columns=", ".join(names),
        has="has" if is_single else "have",
        is_="is" if is_single else "are",
    )


def _describe_unit(unit: Unit) -> list[str]:
    lines = []
    if unit.id is not None:
        lines.append(
            f"that {unit.id} tells apart whom the guarantee protects, with at"
            f" most {format_count(unit.max_rows, 'row')} each (enforced)"
        )
    if unit.sizes and not unit.learned:
        lines.append(f"how many rows each {unit.id} has")
    return lines


def _describe_rules(schema: Schema) -> list[str]:
    lines = [f"that no row has {predicate}" for predicate in schema.impossible]
    lines += [_describe_rule(rule) for rule in schema.rules]
    fate = _BROKEN_ROW_FATES.get(schema.broken)
    if schema.named_breaches and fate is not None:
        lines.append(f"that rows which break a rule {fate}")
    return lines


_BROKEN_ROW_FATES = {
    BrokenRowPolicy.DROP: "are left out",
    BrokenRowPolicy.MISSING: "lose the cells it speaks of",
}


def describe_learned(schema: Schema) -> tuple[str, ...]:
    """What was learned inside the privacy budget, one fact a line.

    >>> sex = Categorical(name="sex", values=("F",), learned=("values",))
    >>> describe_learned(Schema(columns=(sex,)))
    ('the values of sex',)
    """
    # What was learned was paid for; it is listed apart from what the owner declared.
    names_by_fact: dict[str, list[str]] = {}
    for column in schema.columns:
        for fact in column.learned:
            names_by_fact.setdefault(fact, []).append(column.name)
    lines = [
        f"the {fact} of {', '.join(names)}" for fact, names in names_by_fact.items()
    ]
    if schema.unit.learned:
        lines.append(f"how many rows each {schema.unit.id} has")
    for rule in schema.rules:
        if isinstance(rule, FunctionalDependency) and rule.learned:
            lines.append(f"the map from {rule.source} to {rule.target}")
    return tuple(lines)


def _describe_rule(rule: Rule) -> str:
    match rule:
        case NeverRule(predicate=predicate):
            return f"that no row has {predicate}"
        case AllowedCombinations(names=names, combinations=combinations):
            return (
                f"which {len(combinations):,} combinations of {', '.join(names)}"
                " there are"
            )
        case FunctionalDependency(source=source, target=target, map=pairs) if (
            pairs is not None and not rule.learned
        ):
            return f"which {target} goes with each {source}"
    return f"that in every row {rule}"


def is_spelled_specially(column: Lattice) -> bool:
    """Whether texts of the column spell its values otherwise than as usual."""
    match column:
        case Integer() | Real():
            return not column.number_spelling.is_plain
        case Date() | Datetime() | Time():
            return bool(column.format)
    return False


def _has_values(column: Column) -> bool:
    return (
        isinstance(column, Categorical)
        and column.values is not None
        and "values" not in column.learned
    )


def _has_levels(column: Column) -> bool:
    return isinstance(column, Categorical) and bool(column.levels)


def _has_bounds(column: Column) -> bool:
    # A time has the bounds of the day unless others are declared.
    if isinstance(column, Time):
        return (column.min, column.max) != (Time.min, Time.max)
    return (
        isinstance(column, Lattice)
        and column.is_closed
        and "bounds" not in column.learned
    )


def _has_one_bound(column: Column) -> bool:
    if not isinstance(column, Lattice) or column.is_closed:
        return False
    return column.low is not None or column.high is not None


def _has_step(column: Column) -> bool:
    """Whether the step was declared: one other than whole numbers, days or seconds."""
    # A learned type brings its own step.
    if "type" in column.learned:
        return False
    if isinstance(column, Datetime | Time):
        return column.resolution != Datetime.resolution
    if isinstance(column, Integer):
        return column.step != 1
    return isinstance(column, Real)


def _has_bins(column: Column) -> bool:
    return (
        isinstance(column, Lattice)
        and column.bins is not None
        and "bins" not in column.learned
    )


# In the order of the lines under a guarantee.
_PUBLIC_FACTS: dict[str, Callable[[Column], bool]] = {
    "the values of {columns}": _has_values,
    "the levels of {columns}": _has_levels,
    "the bounds of {columns}": _has_bounds,
    "one bound of {columns}": _has_one_bound,
    "the bins of {columns}": _has_bins,
    "the step of {columns}": _has_step,
    "the time zone of {columns}": lambda column: (
        isinstance(column, Datetime) and column.zone is not None
    ),
    "where values of {columns} beyond the bounds go": lambda column: (
        isinstance(column, Lattice) and column.outside is not OutOfBoundsPolicy.CLIP
    ),
    "what unlisted values of {columns} are called": lambda column: (
        isinstance(column, Categorical)
        and column.other is not None
        and "values" not in column.learned
    ),
    "which values {columns} may have beyond those that are shown, and how often": (
        lambda column: isinstance(column, Categorical) and bool(column.unfold)
    ),
    "the spelling of {columns}": lambda column: (
        isinstance(column, Lattice)
        and is_spelled_specially(column)
        and "type" not in column.learned
    ),
    "the words for yes and no in {columns}": lambda column: (
        isinstance(column, Boolean)
        and (column.true, column.false) != (Boolean.true, Boolean.false)
    ),
    "the weekdays of {columns}": lambda column: (
        bool(getattr(column, "weekdays", ())) and "weekdays" not in column.learned
    ),
    "that {columns} {is_} the same in all rows of a unit": lambda column: (
        column.constant
    ),
    "the missing codes of {columns}": lambda column: (
        bool(column.missing) and "missing codes" not in column.learned
    ),
    "that {columns} {has} no missing values": lambda column: (
        not column.nullable and not column.missing
    ),
    "that {columns} {has} no empty cells": lambda column: (
        not column.nullable and bool(column.missing)
    ),
}
