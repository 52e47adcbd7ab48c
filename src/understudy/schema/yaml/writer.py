"""From a schema to plain data under the keys of a schema file, as the YAML file and
the release file both hold it.

Whatever equals its default is left out, so that files stay short and two equal schemas
are written alike.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from understudy.schema.unit import Unit
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
    columns = [
        {"name": column.name, **column_to_dict(column)} for column in schema.columns
    ]
    keeps_broken = schema.broken is BrokenRowPolicy.KEEP
    optional: dict[str, Any] = {
        "unit": _unit_to_dict(schema.unit),
        "rows": schema.rows,
        "columns": columns,
        "impossible": [str(predicate) for predicate in schema.impossible] or None,
        "rules": [rule_to_plain(rule) for rule in schema.rules] or None,
        "broken": None if keeps_broken else str(schema.broken),
        "count_broken": schema.count_broken or None,
    }
    return {"version": SCHEMA_FILE_VERSION} | _drop_unstated(optional)


def _drop_unstated(plain: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in plain.items() if value is not None}


def _unit_to_dict(unit: Unit) -> dict[str, Any] | None:
    if unit.id is None:
        return None
    return {"id": unit.id, "max_rows": unit.max_rows} | _drop_unstated(
        {"sizes": list(unit.sizes) or None, "learned": unit.learned or None}
    )


def column_to_dict(column: Column) -> dict[str, Any]:
    """A column without its name; what equals its default is left out."""
    # Identifiers have another default role than other columns.
    has_default_role = column.role is type(column).role
    generates = isinstance(column, Identifier) and column.generate
    before: dict[str, Any] = {
        "type": _COLUMN_TYPE_NAMES[type(column)],
        "role": None if has_default_role else str(column.role),
    }
    after: dict[str, Any] = {
        "nullable": None if column.nullable else False,
        "missing": list(column.missing) or None,
        "use": None if column.use else False,
        "learned": list(column.learned) or None,
        "dtype": column.dtype,
        "constant": column.constant or None,
        "generate": generates or None,
        "note": column.note or None,
    }
    return _drop_unstated(before | _type_fields_to_dict(column) | after)


def _type_fields_to_dict(column: Column) -> dict[str, Any]:
    match column:
        case Categorical():
            return _categories_to_dict(column)
        case Boolean():
            spellings = {"true": column.true, "false": column.false}
            return {
                side: list(words)
                for side, words in spellings.items()
                if words != getattr(Boolean, side)
            }
        case Lattice():
            return _lattice_to_dict(column)
    return {}


def _categories_to_dict(column: Categorical) -> dict[str, Any]:
    levels = {
        level: _group_values(column.values or (), groups)
        for level, groups in column.levels.items()
    }
    return {
        "values": LEARN_WORD if column.values is None else list(column.values),
        "ordered": column.ordered or None,
        "other": column.other,
        "levels": levels or None,
        "unfold": _unfold_to_plain(column.unfold) if column.unfold else None,
    }


def _unfold_to_plain(weights: Mapping[str, int]) -> list[str] | dict[str, int]:
    """A list if all weights are 1, else the weights."""
    return list(weights) if set(weights.values()) == {1} else dict(weights)


def _group_values(
    values: tuple[str, ...], groups: tuple[str, ...]
) -> dict[str, list[str]]:
    members: dict[str, list[str]] = {}
    for value, group in zip(values, groups, strict=True):
        # Groups in the order of their first value, so that a file reads back the same.
        members.setdefault(group, []).append(value)
    return members


def _lattice_to_dict(column: Lattice) -> dict[str, Any]:
    clips = column.outside is Lattice.outside
    bins = None if column.bins is None else _bins_to_plain(column, column.bins)
    return (
        _bounds_to_dict(column)
        | _step_to_dict(column)
        | {
            "bins": bins,
            "grain": _grain_to_plain(column.grain) or None,
            "beyond": None if column.beyond is None else list(column.beyond),
            "outside": None if clips else str(column.outside),
        }
    )


def _bounds_to_dict(column: Lattice) -> dict[str, Any]:
    bounds = {which: getattr(column, which) for which in ("min", "max")}
    if isinstance(column, Time):
        # A time always has bounds; those of the day go without saying.
        return {
            which: _scalar_to_plain(bound)
            for which, bound in bounds.items()
            if bound != getattr(Time, which)
        }
    if all(bound is None for bound in bounds.values()):
        return {"bounds": LEARN_WORD}
    return {
        which: LEARN_WORD if bound is None else _scalar_to_plain(bound)
        for which, bound in bounds.items()
    }


def _step_to_dict(column: Lattice) -> dict[str, Any]:
    """The step and the spelling of numbers; of dates and times the resolution, zone,
    weekdays and format.
    """
    match column:
        case Integer():
            return {
                "step": None if column.step == 1 else column.step,
                "thousands": column.thousands or None,
                "whole_point": column.whole_point,
            }
        case Real():
            return _real_step_to_dict(column) | {
                "decimal": None if column.decimal == "." else column.decimal,
                "thousands": column.thousands or None,
                "trailing_zeros": column.trailing_zeros,
                "whole_point": column.whole_point,
            }
        case Date():
            return {
                "weekdays": _weekdays_to_plain(column.weekdays),
                "format": column.format or None,
            }
        case Datetime():
            return {
                "resolution": span_text(column.resolution),
                "zone": column.zone,
                "weekdays": _weekdays_to_plain(column.weekdays),
                "format": column.format or None,
            }
        case Time():
            return {
                "resolution": span_text(column.resolution),
                "format": column.format or None,
            }
    return {}


def _real_step_to_dict(column: Real) -> dict[str, Any]:
    decimals = column.decimals
    # A step of 1/10^n is written as n decimals, as people declare it.
    if decimals is not None and column.step == Fraction(1, 10**decimals):
        return {"decimals": decimals}
    return {"step": _scalar_to_plain(column.step)}


def _weekdays_to_plain(weights: tuple[int, ...] | None) -> str | list[int] | None:
    if weights is None:
        return LEARN_WORD
    return list(weights) or None


def _grain_to_plain(grain: tuple[tuple[int, int], ...]) -> list[int]:
    """Starts and weights in turn; starts are counted from min, which keeps them short."""
    numbers: list[int] = []
    for start, weight in grain:
        numbers += (start - grain[0][0], weight)
    return numbers


def _bins_to_plain(column: Lattice, edges: tuple[int, ...]) -> int | str | list[Any]:
    """The number of bins if they are of equal width, the unit of the calendar if each
    is one, else where each begins.
    """
    # The shortest form that reads back as the same edges.
    if edges == equal_bins(edges[0], edges[-1] - 1, len(edges) - 1):
        return len(edges) - 1
    unit = unit_of_bins(column, edges)
    if unit is not None:
        return unit
    return [_scalar_to_plain(_exact_value(column, edge)) for edge in edges[:-1]]


def _exact_value(column: Lattice, index: int) -> object:
    """The value at an index without rounding, and in UTC: an hour that clocks repeat has
    one spelling in its zone, but two instants.
    """
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
