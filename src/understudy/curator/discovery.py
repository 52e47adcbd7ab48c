"""Discovery: what nobody declared, bought. Types by a noisy vote, values by a stability histogram, bounds by two noisy histograms.

A declared column costs nothing. What was bought is written into the column (`learned`), so a guarantee can list it, and stays in `known`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from understudy.curator.bounds import bounds
from understudy.curator.room import Room, Rows
from understudy.curator.stability import labels
from understudy.curator.vote import types
from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.schema import Categorical, Column, Date, Datetime, Integer, Lattice, Real, Schema, Undeclared
from understudy.schema.column import LATTICE_LIMIT

VOTE_SHARE = Fraction(1, 4)
"""Part of discovery that the vote on types gets, where one is needed."""

VALUES_WEIGHT, BOUNDS_WEIGHT = 3, 2
"""A list of values needs somewhat sharper counts than a pair of bounds."""

OTHER = "other"
"""Where values go that stayed below the threshold."""


def open_columns(schema: Schema) -> list[Column]:
    """Columns of a release about which something is left to learn."""
    return [schema[name] for name in schema if not schema[name].closed]


def needs_delta(schema: Schema) -> bool:
    """Whether closing this schema takes a threshold, and so some δ."""
    return any(isinstance(column, Categorical | Undeclared) for column in open_columns(schema))


def close(
    room: Room, schema: Schema, *, amount: Fraction, delta: Fraction, progress: Callable[[str, float], None]
) -> tuple[Schema, Measurements, Rows]:
    """The schema without holes, what was bought on the way, and the rows under it."""
    table, known = room.table, Measurements()
    if not open_columns(schema):
        return schema, known, table
    if needs_delta(schema) and delta <= 0:
        name = next(c.name for c in open_columns(schema) if isinstance(c, Categorical | Undeclared))
        remedy = "Declare them in the schema, or allow a small δ such as 1e-9"
        raise Refused(
            f"{name}: its values have to be learned, which cannot be done with δ = 0. {remedy}. Nothing was spent"
        )
    undeclared = [c for c in open_columns(schema) if isinstance(c, Undeclared)]
    if undeclared:
        for column in types(room, undeclared, amount=amount * VOTE_SHARE):
            schema = schema.with_column(column)
        amount *= 1 - VOTE_SHARE
        table = table.described(schema)
    holes = open_columns(schema)
    weights = [VALUES_WEIGHT if isinstance(c, Categorical) else BOUNDS_WEIGHT for c in holes]
    lists = sum(isinstance(c, Categorical) for c in holes)
    here = replace(room, table=table)
    for done, (column, weight) in enumerate(zip(holes, weights, strict=True)):
        progress("schema", done / len(holes))
        part = amount * weight / sum(weights)
        if isinstance(column, Categorical):
            shown, bought = labels(here, column.name, amount=part, delta=delta / lists)
            other = column.other if column.other is not None else OTHER
            while other in shown or other in column.missing:
                other += "_"
            found: Column = replace(column, values=shown, other=other, learned=(*column.learned, "values"))
            known = known + Measurements((), (bought,))
        else:
            assert isinstance(column, Lattice)
            found = _bounded(column, *bounds(here, column.name, amount=part))
        schema = schema.with_column(found)
    progress("schema", 1.0)
    return schema, known, table.described(schema)


def _bounded(column: Lattice, low: int, high: int) -> Column:
    """The column with bought bounds; a bound the owner declared stands."""
    low, high = max(low, 1 - LATTICE_LIMIT), min(high, LATTICE_LIMIT - 1)
    if column.low is not None:
        low = column.low
        high = max(high, low)
    if column.high is not None:
        high = column.high
        low = min(low, high)
    learned = (*column.learned, "bounds")
    if isinstance(column, Integer):
        return replace(column, min=low * column.step, max=high * column.step, learned=learned)
    if isinstance(column, Real):
        return replace(column, min=low * column.step, max=high * column.step, learned=learned)
    assert isinstance(column, Date | Datetime)
    earliest, latest = _calendar(column)
    low, high = max(low, earliest), min(max(high, earliest), latest)
    return replace(column, min=column.value_at(low), max=column.value_at(max(high, low)), learned=learned)  # type: ignore[arg-type]


def _calendar(column: Date | Datetime) -> tuple[int, int]:
    """The years 1 to 9999 as lattice indices: what Python's calendar can write."""
    first, last = (-719_162, 2_932_896) if isinstance(column, Date) else (-719_160 * 86_400, 2_932_894 * 86_400)
    if isinstance(column, Date):
        return first, last
    step = column.resolution.total_seconds()
    return int(first / step), int(last / step)
