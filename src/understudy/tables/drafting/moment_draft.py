"""The resolution of a column of moments or times of day. PRIVATE: exact counts, for the
owner's draft alone.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

from understudy.schema import Datetime, Time
from understudy.schema.columns.temporal import MICROSECOND_SPAN
from understudy.tables.drafting.cell_summary import MAX_DRAFT_ODD_SHARE, MIN_STEP_CELLS
from understudy.tables.reading.parse import number_reading
from understudy.tables.sources.source import TableSource
from understudy.tables.sql.let_columns import QueryLayers

PARTS_OF_HOUR = tuple(timedelta(minutes=minutes) for minutes in (30, 15, 10, 5))
"""What appointments and timetables keep to."""

USUAL_RESOLUTIONS = (
    timedelta(days=1),
    timedelta(hours=1),
    *PARTS_OF_HOUR,
    timedelta(minutes=1),
    timedelta(seconds=1),
    timedelta(milliseconds=1),
)
"""From coarse to fine: the units that clocks show, and parts of an hour."""

Moment = TypeVar("Moment", Datetime, Time)


def with_resolution(source: TableSource, column: Moment) -> Moment:
    """The coarsest usual resolution that nearly all moments, or times of day, keep to."""
    fine = replace(column, resolution=MICROSECOND_SPAN)
    layers = QueryLayers()
    reading = number_reading(layers, fine, source.stored_column(column.name))
    if reading is None:
        return column
    # A clock that shows nothing but midnights has hours all the same.
    is_clock = isinstance(column, Time)
    spans = USUAL_RESOLUTIONS[1:] if is_clock else USUAL_RESOLUTIONS
    cells = layers.query(source.relation, [f"{reading.value} AS v"])
    kept = ", ".join(
        f"count(*) FILTER (v % {span // MICROSECOND_SPAN} = 0)" for span in spans
    )
    ((filled, *counts),) = source.engine.run(
        f"SELECT count(v), {kept} FROM ({cells})",
        doing=f'looking at column "{column.name}"',
    )
    skipped = PARTS_OF_HOUR if filled < MIN_STEP_CELLS else ()
    enough = (
        span
        for span, count in zip(spans, counts, strict=True)
        if span not in skipped and filled - count <= MAX_DRAFT_ODD_SHARE * filled
    )
    return replace(column, resolution=next(enough, MICROSECOND_SPAN))
