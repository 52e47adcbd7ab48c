"""Figures of attacks: bars and curves.

Every line and bar carries its label, so nothing has to be matched with a legend by
colour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise
from math import ceil, log10

from understudy.attacks.finding import AttackFigure, AttackFinding, Bars, Curve, Curves
from understudy.svg import Markup, svg_element, svg_line, svg_root, svg_text
from understudy.svg.axis import LogAxis, axis_ticks, format_axis_number
from understudy.svg.colours import (
    OKABE_ITO_BLUE,
    OKABE_ITO_GREEN,
    OKABE_ITO_ORANGE,
    OKABE_ITO_PURPLE,
    OKABE_ITO_SKY,
    OKABE_ITO_VERMILION,
)

SVG_WIDTH_PIXELS = 760
SVG_TEXT_COLOUR = "#222222"
SVG_GRID_COLOUR = "#d5d5d5"
SVG_BACKGROUND_COLOUR = "#ffffff"
SVG_EXPOSED_COLOUR, SVG_SAFE_COLOUR = OKABE_ITO_VERMILION, OKABE_ITO_BLUE
"""What an attack gets from unprotected numbers, and from protected ones."""

SVG_CURVE_COLOURS = (
    OKABE_ITO_VERMILION,
    OKABE_ITO_PURPLE,
    OKABE_ITO_GREEN,
    OKABE_ITO_ORANGE,
    OKABE_ITO_SKY,
)
PAGE_FONT = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"
PAGE_STYLE = (
    f"body{{font:16px/1.5 {PAGE_FONT.replace(', ', ',')};color:#222;max-width:48rem;"
    "margin:2rem auto;padding:0 1rem}svg{max-width:100%;height:auto}"
)

FIGURE_TOP = 64
"""Room above the axes for the title, in pixels."""

BAR_LEFT, BAR_RIGHT, BAR_PITCH = 250, 150, 34
"""Room for labels left and right of the bars, and from one bar to the next."""

CURVE_LEFT, CURVE_RIGHT, CURVE_HEIGHT = 66, 200, 300
"""Room for labels left and right of the curves, and the height of the axes."""

CURVE_WIDTH = SVG_WIDTH_PIXELS - CURVE_LEFT - CURVE_RIGHT
CURVE_BOTTOM = FIGURE_TOP + CURVE_HEIGHT


def figure_to_svg(figure: AttackFigure) -> str:
    """The figure as one SVG element.

    >>> figure_to_svg(Bars(title="Two <bars>", axis="people", bars=())).startswith("<svg xmlns=")
    True
    """
    draw = _draw_bars(figure) if isinstance(figure, Bars) else _draw_curves(figure)
    body, height = draw
    root = svg_root(
        svg_element(
            "rect",
            width="100%",
            height="100%",
            fill=SVG_BACKGROUND_COLOUR,
        ),
        _outlined_text(
            24,
            34,
            figure.title,
            size=17,
            weight="600",
        ),
        *body,
        view=(0, 0, SVG_WIDTH_PIXELS, height),
        width=SVG_WIDTH_PIXELS,
        height=height,
        role="img",
        aria_label=figure.title,
        font_family=PAGE_FONT,
    )
    return f"{root}\n"


def finding_to_html(finding: AttackFinding) -> str:
    """One HTML file with the sentences and the figure; it loads nothing."""
    title = escape(finding.title)
    text = "".join(f"<p>{escape(line)}</p>" for line in finding.text)
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        f"<title>{title}</title><style>{PAGE_STYLE}</style></head>"
        f"<body><h1>{title}</h1>{text}"
        f"<figure style='margin:0'>{figure_to_svg(finding.figure)}</figure>"
        "</body></html>\n"
    )


def _draw_bars(figure: Bars) -> tuple[list[Markup], int]:
    """The bars with their axis, and the height of it all."""
    room = SVG_WIDTH_PIXELS - BAR_LEFT - BAR_RIGHT
    bottom = FIGURE_TOP + BAR_PITCH * len(figure.bars)
    marks, bar_length = _bar_axis(figure, room)
    parts = []
    for mark in marks:
        x = BAR_LEFT + bar_length(mark)
        words = format_axis_number(mark)
        # Grid lines first, so that bars and words lie above them.
        parts.append(_grid_line(x, FIGURE_TOP - 8, x, bottom))
        parts.append(
            _outlined_text(
                x,
                bottom + 18,
                words,
                size=12,
                anchor="middle",
            )
        )
    for i, bar in enumerate(figure.bars):
        y = FIGURE_TOP + i * BAR_PITCH
        # A bar of nothing is drawn two pixels long, so that its colour is seen.
        length = max(bar_length(bar.value), 2.0)
        colour = SVG_SAFE_COLOUR if bar.safe else SVG_EXPOSED_COLOUR
        note = bar.note or format_axis_number(bar.value)
        parts += [
            _outlined_text(
                BAR_LEFT - 10,
                y + 17,
                bar.label,
                size=13,
                anchor="end",
            ),
            svg_element(
                "rect", x=BAR_LEFT, y=y + 3, width=length, height=20, fill=colour
            ),
            _outlined_text(
                BAR_LEFT + length + 7,
                y + 17,
                note,
                size=13,
            ),
        ]
    middle = BAR_LEFT + room / 2
    parts.append(
        _outlined_text(
            middle,
            bottom + 40,
            figure.axis,
            size=13,
            anchor="middle",
        )
    )
    return parts, bottom + 58


def _bar_axis(
    figure: Bars, room: float
) -> tuple[list[float], Callable[[float], float]]:
    """The marks of a bar chart's axis, and how long a value's bar is."""
    if not figure.log:
        end = figure.end
        return axis_ticks(end, most=5), lambda value: room * min(value, end) / end
    decades = ceil(log10(max(figure.end, 10)))
    axis = LogAxis(
        1.0,
        10.0**decades,
        start=0.0,
        length=room,
    )
    marks = [10.0**k for k in range(decades + 1)]
    # No people, or half of one, have no logarithm on an axis that begins at one.
    return marks, lambda value: axis.at(max(value, 1.0))


def _draw_curves(figure: Curves) -> tuple[list[Markup], int]:
    """The curves with their axes, and the height of it all."""
    parts = _draw_curve_axes(figure)
    ends = [_curve_point(figure, *curve.points[-1])[1] for curve in figure.curves]
    colours, label_heights = _curve_colours(figure.curves), _separate_labels(ends)
    for i, curve in enumerate(figure.curves):
        points = [_curve_point(figure, *point) for point in curve.points]
        parts += _draw_curve(curve, points, colours[i], label_heights[i])
    middle = CURVE_LEFT + CURVE_WIDTH / 2
    parts.append(
        _outlined_text(
            middle,
            CURVE_BOTTOM + 42,
            figure.x,
            size=13,
            anchor="middle",
        )
    )
    parts.append(
        _outlined_text(
            CURVE_LEFT - 42,
            FIGURE_TOP - 12,
            figure.y,
            size=13,
        )
    )
    return parts, CURVE_BOTTOM + 60


def _curve_point(figure: Curves, x: float, y: float) -> tuple[float, float]:
    """Where a point lies, in pixels; one beyond the axis lies at its end."""
    low, high = figure.x_range
    across = (x - low) / ((high - low) or 1)
    up = min(max(y, 0.0), figure.end) / figure.end
    return CURVE_LEFT + CURVE_WIDTH * across, CURVE_BOTTOM - CURVE_HEIGHT * up


def _draw_curve_axes(figure: Curves) -> list[Markup]:
    """Grid lines with their numbers, and numbers where something was measured."""
    low, _ = figure.x_range
    parts = []
    for mark in axis_ticks(figure.end):
        _, y = _curve_point(figure, low, mark)
        words = format_axis_number(mark)
        parts.append(_grid_line(CURVE_LEFT, y, CURVE_LEFT + CURVE_WIDTH, y))
        parts.append(
            _outlined_text(
                CURVE_LEFT - 8,
                y + 4,
                words,
                size=12,
                anchor="end",
            )
        )
    # A bound has points wherever it bends, and they are no measurements.
    measured = [curve for curve in figure.curves if not curve.dashed]
    for x_mark in sorted({x for curve in measured for x, _ in curve.points}):
        x, _ = _curve_point(figure, x_mark, 0)
        words = format_axis_number(x_mark)
        parts.append(
            _outlined_text(
                x,
                CURVE_BOTTOM + 18,
                words,
                size=12,
                anchor="middle",
            )
        )
    return parts


def _curve_colours(curves: Sequence[Curve]) -> list[str]:
    """One colour for all safe curves, ink for bounds, one each for the others."""
    unused = iter(SVG_CURVE_COLOURS)
    colours = []
    for curve in curves:
        if curve.safe:
            colours.append(SVG_SAFE_COLOUR)
        elif curve.dashed:
            colours.append(SVG_TEXT_COLOUR)
        else:
            colours.append(next(unused, SVG_TEXT_COLOUR))
    return colours


def _draw_curve(
    curve: Curve, points: list[tuple[float, float]], colour: str, label: float
) -> list[Markup]:
    path = svg_element(
        "polyline",
        points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points),
        fill="none",
        stroke=colour,
        stroke_width=2.5,
        stroke_dasharray="6 5" if curve.dashed else None,
    )
    dots = [
        svg_element(
            "circle",
            cx=x,
            cy=y,
            r=4,
            fill=colour,
        )
        for x, y in points
    ]
    end_x, end_y = points[-1]
    lead = svg_element(
        "line", x1=end_x + 5, y1=end_y, x2=end_x + 12, y2=label, stroke=colour
    )
    words = _outlined_text(
        end_x + 15,
        label + 4,
        curve.label,
        size=13,
        colour=colour,
    )
    return [path, *([] if curve.dashed else dots), lead, words]


def _separate_labels(heights: list[float], apart: float = 18) -> list[float]:
    """The same heights, moved as little as it takes for labels not to overlap."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed = list(heights)
    # From top to bottom: each is pushed below the one before it.
    for before, after in pairwise(order):
        placed[after] = max(placed[after], placed[before] + apart)
    return placed


def _grid_line(x1: float, y1: float, x2: float, y2: float) -> Markup:
    return svg_line(x1, y1, x2, y2, SVG_GRID_COLOUR)


def _outlined_text(
    x: float,
    y: float,
    words: str,
    *,
    size: int,
    anchor: str = "start",
    weight: str = "400",
    colour: str = SVG_TEXT_COLOUR,
) -> Markup:
    """Words with an outline of the background's colour: readable across grid lines."""
    return svg_text(
        float(x),
        float(y),
        words,
        size=size,
        anchor=anchor,
        font_weight=weight,
        fill=colour,
        stroke=SVG_BACKGROUND_COLOUR,
        stroke_width="3",
        paint_order="stroke",
        stroke_linejoin="round",
    )
