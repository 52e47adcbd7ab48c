"""From a schema to plain data, in the words of a schema file: what the YAML page and
the release file both hold.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from fractions import Fraction
from typing import Any

from understudy.schema.columns.base import Column
from understudy.schema.columns.calendar import unit_of_bins
from understudy.schema.columns.code_layout import equal_bins
from understudy.schema.columns.discrete import Boolean, Categorical, Identifier
from understudy.schema.columns.lattice import Lattice
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.columns.temporal import EPOCH_MOMENT, Date, Datetime, Time
from understudy.schema.predicates.rules import BrokenRowPolicy
from understudy.schema.schema import Schema
from understudy.schema.yaml.keys import (
    COLUMN_CLASSES,
    LEARN_WORD,
    SCHEMA_FILE_VERSION,
    fraction_text,
    span_text,
)
from understudy.schema.yaml.rules_io import rule_to_plain

_COLUMN_TYPE_NAMES = {kind: name for name, kind in COLUMN_CLASSES.items()}


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    """A schema as plain data that JSON can hold; `schema_from_dict` reads the same
    schema back.

    >>> from understudy.schema import Boolean
    >>> schema_to_dict(Schema(columns=(Boolean(name="smoker"),)))
    {'version': 1, 'columns': [{'name': 'smoker', 'type': 'boolean'}]}
    """
    plain: dict[str, Any] = {"version": SCHEMA_FILE_VERSION}
    if schema.unit.id is not None:
        plain["unit"] = {"id": schema.unit.id, "max_rows": schema.unit.max_rows}
        if schema.unit.sizes:
            plain["unit"]["sizes"] = list(schema.unit.sizes)
        if schema.unit.learned:
            plain["unit"]["learned"] = True
    if schema.rows is not None:
        plain["rows"] = schema.rows
    plain["columns"] = [
        {"name": column.name, **column_to_dict(column)} for column in schema.columns
    ]
    if schema.impossible:
        plain["impossible"] = [str(predicate) for predicate in schema.impossible]
    if schema.rules:
        plain["rules"] = [rule_to_plain(rule) for rule in schema.rules]
    if schema.broken is not BrokenRowPolicy.KEEP:
        plain["broken"] = str(schema.broken)
    if schema.count_broken:
        plain["count_broken"] = True
    return plain


def column_to_dict(column: Column) -> dict[str, Any]:
    """A column without its name; what is as it would be unsaid is left out."""
    plain: dict[str, Any] = {"type": _COLUMN_TYPE_NAMES[type(column)]}
    if column.role is not type(column).role:
        plain["role"] = str(column.role)
    match column:
        case Categorical():
            plain |= _categories_to_dict(column)
        case Boolean():
            plain |= {
                side: list(getattr(column, side))
                for side in ("true", "false")
                if getattr(column, side) != getattr(Boolean, side)
            }
        case Lattice():
            plain |= _lattice_to_dict(column)
    if not column.nullable:
        plain["nullable"] = False
    if column.missing:
        plain["missing"] = list(column.missing)
    if not column.use:
        plain["use"] = False
    if column.learned:
        plain["learned"] = list(column.learned)
    if column.dtype is not None:
        plain["dtype"] = column.dtype
    if column.constant:
        plain["constant"] = True
    if isinstance(column, Identifier) and column.generate:
        plain["generate"] = True
    if column.note:
        plain["note"] = column.note
    return plain


def _categories_to_dict(column: Categorical) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "values": LEARN_WORD if column.values is None else list(column.values)
    }
    if column.ordered:
        plain["ordered"] = True
    if column.other is not None:
        plain["other"] = column.other
    if column.levels:
        plain["levels"] = {
            level: _group_values(column.values or (), groups)
            for level, groups in column.levels.items()
        }
    if column.unfold:
        even = set(column.unfold.values()) == {1}
        plain["unfold"] = list(column.unfold) if even else dict(column.unfold)
    return plain


def _group_values(
    values: tuple[str, ...], groups: tuple[str, ...]
) -> dict[str, list[str]]:
    members: dict[str, list[str]] = {}
    for value, group in zip(values, groups, strict=True):
        members.setdefault(group, []).append(value)
    return members


def _lattice_to_dict(column: Lattice) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    bounds = {which: getattr(column, which) for which in ("min", "max")}
    if isinstance(column, Time):
        plain |= {
            which: _scalar_to_plain(b)
            for which, b in bounds.items()
            if b != getattr(Time, which)
        }
    elif all(bound is None for bound in bounds.values()):
        plain["bounds"] = LEARN_WORD
    else:
        plain |= {
            which: LEARN_WORD if bound is None else _scalar_to_plain(bound)
            for which, bound in bounds.items()
        }
    match column:
        case Integer() if column.step != 1:
            plain["step"] = column.step
        case Real():
            decimals = column.decimals
            exact = decimals is not None and column.step == Fraction(1, 10**decimals)
            plain |= (
                {"decimals": decimals}
                if exact
                else {"step": _scalar_to_plain(column.step)}
            )
        case Datetime() | Time():
            plain["resolution"] = span_text(column.resolution)
    if isinstance(column, Datetime) and column.zone is not None:
        plain["zone"] = column.zone
    if isinstance(column, Date | Datetime) and column.weekdays != ():
        plain["weekdays"] = (
            LEARN_WORD if column.weekdays is None else list(column.weekdays)
        )
    if column.bins is not None:
        plain["bins"] = _bins_to_plain(column, column.bins)
    if column.grain:
        plain["grain"] = [
            number
            for start, weight in column.grain
            for number in (start - column.grain[0][0], weight)
        ]
    if column.outside is not Lattice.outside:
        plain["outside"] = str(column.outside)
    return plain


def _bins_to_plain(column: Lattice, edges: tuple[int, ...]) -> int | str | list[Any]:
    """The number of bins where they are of equal width, the unit of the calendar where
    they are one, else where each begins.
    """
    if edges == equal_bins(edges[0], edges[-1] - 1, len(edges) - 1):
        return len(edges) - 1
    unit = unit_of_bins(column, edges)
    if unit is not None:
        return unit
    return [_scalar_to_plain(_exact_value(column, edge)) for edge in edges[:-1]]


def _exact_value(column: Lattice, index: int) -> object:
    if isinstance(column, Real):
        return index * column.step
    if isinstance(column, Datetime) and column.zone is not None:
        return (EPOCH_MOMENT + index * column.resolution).replace(tzinfo=UTC)
    return column.value_at(index)


def _scalar_to_plain(value: object) -> int | str:
    """An exact value as JSON holds it: whole numbers as numbers, everything else as
    text.
    """
    match value:
        case int():
            return value
        case Fraction():
            return fraction_text(value)
        case datetime():
            return value.isoformat(" ")
        case date() | time():
            return value.isoformat()
    raise TypeError(f"no text for {type(value).__name__}")
