"""Numbers with their intervals: a line for each, a dot at the number, a bar from one end
of its interval to the other, over one axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from understudy.svg.axis import LinearAxis, format_axis_number
from understudy.svg.colours import FAINT_COLOUR, INK_COLOUR, OKABE_ITO_BLUE
from understudy.svg.markup import (
    Markup,
    shorten_text,
    svg_element,
    svg_figure,
    svg_line,
    svg_text,
    svg_title,
)

MAX_INTERVAL_LINES = 60
"""Lines of one figure: what a screen or two of a telephone shows."""

_LABEL_WIDTH, _PLOT_WIDTH, _MARGIN = 150, 420, 30
_LINE_HEIGHT, _TOP, _AXIS_HEIGHT = 24, 26, 30
_CAP_HEIGHT, _DOT_RADIUS = 5.0, 4.0


@dataclass(frozen=True)
class IntervalPoint:
    """A number, the ends of its interval, and what it is a number of. An interval
    without an end has an infinite one.
    """

    label: str
    value: float
    low: float
    high: float


def draw_intervals(points: Sequence[IntervalPoint], *, title: str) -> Markup:
    """The figure of some numbers and their intervals.

    >>> drawn = draw_intervals([IntervalPoint("F", 5.0, 3.0, 7.0)], title="n by sex")
    >>> drawn.count("<circle"), "F: 5 (3 to 7)" in drawn
    (1, True)
    """
    shown = points[:MAX_INTERVAL_LINES]
    axis = _choose_axis(shown)
    bottom = _TOP + _LINE_HEIGHT * len(shown)
    parts = [svg_text(0, 14, _spell_heading(title, len(points)), size=13)]
    parts += _draw_grid(axis, bottom)
    for place, point in enumerate(shown):
        parts += _draw_point(point, axis, _TOP + _LINE_HEIGHT * (place + 0.5))
    width = _LABEL_WIDTH + _PLOT_WIDTH + _MARGIN
    return svg_figure(*parts, width=width, height=bottom + _AXIS_HEIGHT, title=title)


def _choose_axis(points: Sequence[IntervalPoint]) -> LinearAxis:
    """From 0, or the lowest end if that is less, to the highest end."""
    numbers = [end for p in points for end in (p.value, p.low, p.high)]
    finite = [0.0, *(number for number in numbers if math.isfinite(number))]
    low, high = min(finite), max(finite)
    if low == high:
        high = low + 1.0
    return LinearAxis(low, high, start=_LABEL_WIDTH, length=_PLOT_WIDTH)


def _spell_heading(title: str, lines: int) -> str:
    short = shorten_text(title, 60)
    if lines <= MAX_INTERVAL_LINES:
        return short
    return f"{short}: the first {MAX_INTERVAL_LINES} of {lines:,}"


def _draw_grid(axis: LinearAxis, bottom: float) -> list[Markup]:
    parts = []
    for tick in axis.ticks():
        x = axis.at(tick)
        parts.append(svg_line(x, _TOP, x, bottom, FAINT_COLOUR))
        words = format_axis_number(tick)
        parts.append(svg_text(x, bottom + 18, words, size=11, anchor="middle"))
    return parts


def _draw_point(point: IntervalPoint, axis: LinearAxis, y: float) -> list[Markup]:
    ends = f"{_spell_end(point.low)} to {_spell_end(point.high)}"
    words = f"{point.label}: {_spell_end(point.value)} ({ends})"
    left, right = axis.at(point.low), axis.at(point.high)
    label = shorten_text(point.label, 22)
    strokes = [svg_line(left, y, right, y, INK_COLOUR, stroke_width=1.5)]
    for end, x in ((point.low, left), (point.high, right)):
        # An interval without an end runs off the axis and has no cap.
        if math.isfinite(end):
            cap = (x, y - _CAP_HEIGHT, x, y + _CAP_HEIGHT)
            strokes.append(svg_line(*cap, INK_COLOUR, stroke_width=1.5))
    dot = svg_element(
        "circle", cx=axis.at(point.value), cy=y, r=_DOT_RADIUS, fill=OKABE_ITO_BLUE
    )
    name = svg_text(_LABEL_WIDTH - 10, y + 4, label, size=12, anchor="end")
    return [svg_element("g", svg_title(words), name, *strokes, dot)]


def _spell_end(end: float) -> str:
    return format_axis_number(end) if math.isfinite(end) else "no end"
