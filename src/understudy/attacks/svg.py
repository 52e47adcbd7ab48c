"""Figures as SVG, written by hand: no dependency, no script, no font to fetch. Colours
are from Okabe and Ito's colour-blind safe set.

Every line and bar carries its label, so nothing has to be matched with a legend by
colour.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from math import ceil, floor, log10

from understudy.attacks.finding import AttackFigure, AttackFinding, Bars, Curve, Curves

SVG_WIDTH_PIXELS = 760
SVG_TEXT_COLOUR, SVG_GRID_COLOUR, SVG_BACKGROUND_COLOUR = (
    "#222222",
    "#d5d5d5",
    "#ffffff",
)
SVG_EXPOSED_COLOUR, SVG_SAFE_COLOUR = "#d55e00", "#0072b2"
"""What an attack gets from unprotected numbers, and from protected ones."""

SVG_CURVE_COLOURS = ("#d55e00", "#cc79a7", "#009e73", "#e69f00", "#56b4e9")
_SVG_FONT = (
    "font-family='system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif'"
)


def figure_to_svg(figure: AttackFigure) -> str:
    """The figure as one SVG element.

    >>> figure_to_svg(Bars(title="Two <bars>", axis="people", bars=())).startswith("<svg xmlns=")
    True
    """
    body, height = (
        _draw_bars(figure) if isinstance(figure, Bars) else _draw_curves(figure)
    )
    title = _text_element(24, 34, figure.title, size=17, weight="600")
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{SVG_WIDTH_PIXELS}'"
        f" height='{height}' viewBox='0 0 {SVG_WIDTH_PIXELS} {height}' role='img'"
        f" aria-label='{escape(figure.title, quote=True)}' {_SVG_FONT}><rect"
        " width='100%' height='100%'"
        f" fill='{SVG_BACKGROUND_COLOUR}'/>{title}{body}</svg>\n"
    )


def finding_to_html(finding: AttackFinding) -> str:
    """One HTML file with the sentences and the figure; it loads nothing."""
    text = "".join(f"<p>{escape(line)}</p>" for line in finding.text)
    style = (
        "body{font:16px/1.5 system-ui,-apple-system,Segoe"
        " UI,Helvetica,Arial,sans-serif;color:#222;max-width:48rem;margin:2rem"
        " auto;padding:0 1rem}svg{max-width:100%;height:auto}"
    )
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta"
        " name='viewport'"
        f" content='width=device-width'><title>{escape(finding.title)}</title><style>{style}</style></head><body><h1>{escape(finding.title)}</h1>{text}<figure"
        f" style='margin:0'>{figure_to_svg(finding.figure)}</figure></body></html>\n"
    )


def format_axis_number(value: float) -> str:
    """A number on an axis.

    >>> format_axis_number(0.5), format_axis_number(3.0), format_axis_number(20000)
    ('0.5', '3', '20,000')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:.3g}"


def axis_ticks(end: float, *, most: int = 6) -> list[float]:
    """Round numbers from 0 to `end`.

    >>> axis_ticks(1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    size = 10 ** floor(log10(end / most)) if end > 0 else 1.0
    step = next(size * m for m in (1, 2, 5, 10) if end / (size * m) <= most)
    return [round(i * step, 10) for i in range(floor(end / step + 1e-9) + 1)]


def _draw_bars(figure: Bars) -> tuple[str, int]:
    left, right, top, pitch = 250, 150, 64, 34
    room = SVG_WIDTH_PIXELS - left - right
    bottom = top + pitch * len(figure.bars)
    end = 10 ** ceil(log10(max(figure.end, 10))) if figure.log else figure.end

    def bar_length(value: float) -> float:
        if figure.log:
            return room * log10(max(value, 1)) / log10(end)
        return room * min(value, end) / end

    marks = (
        [float(10**k) for k in range(ceil(log10(end)) + 1)]
        if figure.log
        else axis_ticks(end, most=5)
    )
    parts = []
    for mark in marks:
        x = left + bar_length(mark)
        parts.append(
            f"<line x1='{x:.1f}' y1='{top - 8}' x2='{x:.1f}' y2='{bottom}'"
            f" stroke='{SVG_GRID_COLOUR}'/>"
        )
        parts.append(
            _text_element(
                x, bottom + 18, format_axis_number(mark), size=12, anchor="middle"
            )
        )
    for i, bar in enumerate(figure.bars):
        y, length = top + i * pitch, max(bar_length(bar.value), 2.0)
        colour = SVG_SAFE_COLOUR if bar.safe else SVG_EXPOSED_COLOUR
        parts.append(_text_element(left - 10, y + 17, bar.label, size=13, anchor="end"))
        parts.append(
            f"<rect x='{left}' y='{y + 3}' width='{length:.1f}' height='20'"
            f" fill='{colour}'/>"
        )
        parts.append(
            _text_element(
                left + length + 7,
                y + 17,
                bar.note or format_axis_number(bar.value),
                size=13,
            )
        )
    parts.append(
        _text_element(
            left + room / 2, bottom + 40, figure.axis, size=13, anchor="middle"
        )
    )
    return "".join(parts), bottom + 58


def _draw_curves(figure: Curves) -> tuple[str, int]:
    left, right, top, room_y = 66, 200, 64, 300
    room_x, bottom = SVG_WIDTH_PIXELS - left - right, top + room_y
    low, high = figure.x_range
    end = figure.end

    def point_at(x: float, y: float) -> tuple[float, float]:
        return (
            left + room_x * (x - low) / ((high - low) or 1),
            bottom - room_y * min(max(y, 0.0), end) / end,
        )

    parts = []
    for mark in axis_ticks(end):
        _, y = point_at(low, mark)
        parts.append(
            f"<line x1='{left}' y1='{y:.1f}' x2='{left + room_x}' y2='{y:.1f}'"
            f" stroke='{SVG_GRID_COLOUR}'/>"
        )
        parts.append(
            _text_element(
                left - 8, y + 4, format_axis_number(mark), size=12, anchor="end"
            )
        )
    for x_mark in sorted(
        {x for curve in figure.curves for x, _ in curve.points if not curve.dashed}
    ):
        x, _ = point_at(x_mark, 0)
        parts.append(
            _text_element(
                x, bottom + 18, format_axis_number(x_mark), size=12, anchor="middle"
            )
        )
    labels = _separate_labels(
        [point_at(*curve.points[-1])[1] for curve in figure.curves]
    )
    exposed = iter(SVG_CURVE_COLOURS)
    for curve, label in zip(figure.curves, labels, strict=True):
        colour = (
            SVG_SAFE_COLOUR
            if curve.safe
            else SVG_TEXT_COLOUR
            if curve.dashed
            else next(exposed, SVG_TEXT_COLOUR)
        )
        parts.append(
            _draw_curve(curve, [point_at(*p) for p in curve.points], colour, label)
        )
    parts.append(
        _text_element(
            left + room_x / 2, bottom + 42, figure.x, size=13, anchor="middle"
        )
    )
    parts.append(_text_element(left - 42, top - 12, figure.y, size=13))
    return "".join(parts), bottom + 60


def _draw_curve(
    curve: Curve, points: list[tuple[float, float]], colour: str, label: float
) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = " stroke-dasharray='6 5'" if curve.dashed else ""
    drawn = (
        f"<polyline points='{path}' fill='none' stroke='{colour}'"
        f" stroke-width='2.5'{dash}/>"
    )
    if not curve.dashed:
        drawn += "".join(
            f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4' fill='{colour}'/>"
            for x, y in points
        )
    end_x, end_y = points[-1]
    lead = (
        f"<line x1='{end_x + 5:.1f}' y1='{end_y:.1f}' x2='{end_x + 12:.1f}'"
        f" y2='{label:.1f}' stroke='{colour}'/>"
    )
    return (
        drawn
        + lead
        + _text_element(end_x + 15, label + 4, curve.label, size=13, colour=colour)
    )


def _separate_labels(heights: list[float], apart: float = 18) -> list[float]:
    """The same heights, moved as little as it takes for labels not to overlap."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed = list(heights)
    for before, after in pairwise(order):
        placed[after] = max(placed[after], placed[before] + apart)
    return placed


def _text_element(
    x: float,
    y: float,
    text: str,
    *,
    size: int,
    anchor: str = "start",
    weight: str = "400",
    colour: str = SVG_TEXT_COLOUR,
) -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' font-weight='{weight}'"
        f" text-anchor='{anchor}' fill='{colour}' stroke='{SVG_BACKGROUND_COLOUR}'"
        " stroke-width='3' paint-order='stroke'"
        f" stroke-linejoin='round'>{escape(text)}</text>"
    )
