"""The figures of a census: expected error and bias of a place's total, by its size, one
line for each level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from understudy.censuses.bias import SizeError
from understudy.svg.axis import LogAxis, format_axis_number
from understudy.svg.colours import (
    FAINT_COLOUR,
    OKABE_ITO_BLUE,
    OKABE_ITO_GREEN,
    OKABE_ITO_ORANGE,
    OKABE_ITO_PURPLE,
    OKABE_ITO_SKY,
    OKABE_ITO_VERMILION,
)
from understudy.svg.markup import (
    Markup,
    svg_element,
    svg_figure,
    svg_line,
    svg_text,
    svg_title,
)

_LEVEL_COLOURS = (
    OKABE_ITO_BLUE,
    OKABE_ITO_VERMILION,
    OKABE_ITO_GREEN,
    OKABE_ITO_PURPLE,
    OKABE_ITO_ORANGE,
    OKABE_ITO_SKY,
)
_PLOT_LEFT, _PLOT_TOP, _PLOT_WIDTH, _PLOT_HEIGHT = 60, 20, 420, 220
_LARGEST_SIZE = 30_000.0


@dataclass(frozen=True)
class _Upwards:
    """The vertical axis: its ends, and the values that have a line."""

    low: float
    high: float
    marks: tuple[float, ...]

    def at(self, value: float) -> float:
        """Where a value is drawn."""
        share = (value - self.low) / (self.high - self.low)
        return _PLOT_TOP + _PLOT_HEIGHT * (1 - share)


def draw_error_by_size(errors: Mapping[str, Sequence[SizeError]]) -> Markup:
    """The mean absolute error of totals against the size of places."""
    largest = max(
        (e.mean_absolute_error for rows in errors.values() for e in rows), default=1.0
    )
    top = max(largest, 1.0)
    return _draw_by_size(
        errors,
        lambda error: error.mean_absolute_error,
        _Upwards(0.0, 1.1 * top, (0.0, 0.5 * top, top)),
        spell=lambda error: f"±{error.mean_absolute_error:.1f}",
        title="Mean absolute error of totals by size of place",
    )


def draw_imbalance_by_size(errors: Mapping[str, Sequence[SizeError]]) -> Markup:
    """B against the size of places: 1 where all errors are upwards, below 0 where those
    downwards are larger.
    """
    return _draw_by_size(
        errors,
        lambda error: error.imbalance,
        _Upwards(-1.1, 1.1, (-1.0, 0.0, 1.0)),
        spell=lambda error: f"B = {error.imbalance:+.2f}, mean error {error.bias:+.1f}",
        title="Bias B of totals by size of place",
    )


def _draw_by_size(
    errors: Mapping[str, Sequence[SizeError]],
    value: Callable[[SizeError], float],
    upwards: _Upwards,
    *,
    spell: Callable[[SizeError], str],
    title: str,
) -> Markup:
    """One line for each level."""
    across = LogAxis(1.0, _LARGEST_SIZE, start=_PLOT_LEFT, length=_PLOT_WIDTH)
    marks: list[str] = [_draw_axes(across, upwards)]
    for place, (level, rows) in enumerate(errors.items()):
        colour = _LEVEL_COLOURS[place % len(_LEVEL_COLOURS)]
        points = [(across.at(_middle_size(e)), upwards.at(value(e)), e) for e in rows]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
        marks.append(svg_element("polyline", points=path, fill="none", stroke=colour))
        for x, y, each in points:
            words = f"{level}, {each.size} persons: {spell(each)}"
            marks.append(
                svg_element("circle", svg_title(words), cx=x, cy=y, r=4, fill=colour)
            )
        beside = _PLOT_LEFT + _PLOT_WIDTH + 10
        marks.append(
            svg_text(beside, _PLOT_TOP + 14 + 18 * place, level, size=12, fill=colour)
        )
    return svg_figure(
        *marks,
        width=_PLOT_LEFT + _PLOT_WIDTH + 120,
        height=_PLOT_TOP + _PLOT_HEIGHT + 50,
        title=title,
    )


def _draw_axes(across: LogAxis, upwards: _Upwards) -> Markup:
    floor = _PLOT_TOP + _PLOT_HEIGHT
    marks = []
    for value in upwards.marks:
        y = upwards.at(value)
        marks.append(svg_line(_PLOT_LEFT, y, _PLOT_LEFT + _PLOT_WIDTH, y, FAINT_COLOUR))
        label = format_axis_number(round(value, 1))
        marks.append(svg_text(_PLOT_LEFT - 6, y + 4, label, size=11, anchor="end"))
    for size in (1, 10, 100, 1000, 10_000):
        label = format_axis_number(size)
        marks.append(
            svg_text(across.at(size), floor + 16, label, size=11, anchor="middle")
        )
    middle = _PLOT_LEFT + _PLOT_WIDTH / 2
    words = "persons in the place"
    marks.append(svg_text(middle, floor + 36, words, size=12, anchor="middle"))
    return svg_element("g", *marks)


def _middle_size(error: SizeError) -> float:
    """Where a class of sizes is drawn: the geometric mean of its ends."""
    high = _LARGEST_SIZE if error.high is None else float(error.high)
    return float((max(error.low, 1) * high) ** 0.5)
