"""Small plots for the benchmarks, by the package's own SVG writer.

Points or lines on logarithmic axes, one panel beside the other, every series named
where it is drawn. Colours are Okabe and Ito's, and no series is told by colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from understudy.svg import Markup, svg_element, svg_root, svg_text
from understudy.svg.axis import LogAxis

INK, FAINT, OURS = "#222222", "#d9d9d9", "#D55E00"
COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
WIDE, HIGH, LEFT, TOP, GAP, BELOW = 300, 260, 64, 62, 100, 52
LETTER, LINE = 6.1, 13
"""Roughly the width and height of a label's letters."""


@dataclass(frozen=True)
class Series:
    """A name and its points; several points are joined. A bold one is ours."""

    name: str
    points: Sequence[tuple[float, float]]
    bold: bool = False
    colour: str = ""


class Axis(LogAxis):
    """A logarithmic axis from one power of ten (or a third of one) to another."""

    @classmethod
    def of(cls, values: Sequence[float], start: float, length: float) -> Axis:
        """Wide enough for the values, to the next 1 or 3 on both sides."""
        steps = [
            10**e * m
            for e in range(floor(log10(min(values))) - 1, ceil(log10(max(values))) + 2)
            for m in (1, 3)
        ]
        low = max(s for s in steps if s <= min(values) * 0.95)
        high = min(s for s in steps if s >= max(values) * 1.05)
        return cls(low, high, start, length)

    @property
    def ticks(self) -> list[float]:
        """Powers of ten; threes as well where there are few of them."""
        powers = range(floor(log10(self.low)) - 1, ceil(log10(self.high)) + 1)
        found = [
            10.0**e for e in powers if self.low * 0.999 <= 10.0**e <= self.high * 1.001
        ]
        threes = [
            3 * 10.0**e
            for e in powers
            if self.low * 0.999 <= 3 * 10.0**e <= self.high * 1.001
        ]
        return found if len(found) > 2 else sorted(found + threes)


def scatter(
    panels: Mapping[str, Sequence[Series]],
    *,
    title: str,
    across: str | Sequence[str],
    up: str | Sequence[str],
) -> str:
    """Panels side by side, each with axes of its own across; those whose label is the
    same share the axis up.
    """
    width = LEFT + len(panels) * (WIDE + GAP) + 20
    height = TOP + HIGH + BELOW
    parts: list[Markup] = []
    acrosses = [across] * len(panels) if isinstance(across, str) else list(across)
    ups = [up] * len(panels) if isinstance(up, str) else list(up)
    for i, (name, series) in enumerate(panels.items()):
        alike = [
            s
            for (_, some), label in zip(panels.items(), ups, strict=True)
            if label == ups[i]
            for s in some
        ]
        x = LEFT + i * (WIDE + GAP)
        h = Axis.of([p[0] for s in series for p in s.points], x, WIDE)
        v = Axis.of([p[1] for s in alike for p in s.points], TOP + HIGH, -HIGH)
        parts += _frame(h, v, name, acrosses[i], ups[i]) + _draw_series(series, h, v)
    return _document(parts, width, height, title)


@dataclass(frozen=True)
class Ratios:
    """How many times ours something is, by measure; or, where there is no number, what
    became of it.
    """

    name: str
    times: Mapping[str, float]
    instead: str = ""


def ratios(
    groups: Mapping[str, Sequence[Ratios]],
    measures: Sequence[str],
    *,
    title: str,
    ours: str,
) -> str:
    """A row for each name, in groups; for each measure a bar from 1, which is ours, on
    a logarithmic axis, with the number beside it.
    """
    wide, names, row, head = 190, 168, 22, 66
    axes = {}
    for i, measure in enumerate(measures):
        found = [
            r.times[measure]
            for rows in groups.values()
            for r in rows
            if measure in r.times
        ]
        start = names + i * (wide + 62)
        axes[measure] = Axis(
            min([0.9, *found]) * 0.9, max([1.5, *found]) * 1.1, start, wide
        )
    height = head + sum(26 + row * len(rows) for rows in groups.values()) + 34
    width = names + len(measures) * (wide + 62)
    parts = [
        _text(axis.at(1), head - 14, measure, weight=600)
        for measure, axis in axes.items()
    ]
    y = float(head)
    for group, rows in groups.items():
        parts.append(_text(10, y + 16, group, weight=600))
        y += 26
        for r in rows:
            parts.append(_text(20, y + 14, r.name))
            if r.instead:
                parts.append(
                    _text(axes[measures[0]].at(1) + 6, y + 14, r.instead, size=11)
                )
            for measure, value in r.times.items():
                axis = axes[measure]
                low, high = sorted((axis.at(1), axis.at(value)))
                bar = svg_element(
                    "rect",
                    x=low,
                    y=y + 4,
                    width=float(max(high - low, 1)),
                    height=13,
                    fill=COLOURS[0],
                )
                parts += [bar, _text(high + 5, y + 14, times(value), size=11)]
            y += row
    for axis in axes.values():
        ends = {"x1": axis.at(1), "y1": head - 6, "x2": axis.at(1), "y2": y}
        parts.append(svg_element("line", **ends, stroke=OURS, stroke_width=2))
    words = f"The line is {ours}; bars to the right of it are worse. Logarithmic."
    parts.append(_text(10, y + 22, words, size=11))
    return _document(parts, width, height, title)


def _document(parts: Sequence[Markup], width: float, height: float, title: str) -> str:
    """A whole file: background, heading, and what is drawn."""
    root = svg_root(
        svg_element("title", title, id="what"),
        svg_element("rect", width=width, height=height, fill="#ffffff"),
        _text(10, 22, title, size=13, weight=600),
        *parts,
        view=(0, 0, width, height),
        width=width,
        height=height,
        font_family="system-ui, sans-serif",
        font_size=12,
        fill=INK,
        role="img",
        aria_labelledby="what",
    )
    # One element a line: the file is under version control, and is read as a difference.
    return root.replace("><", ">\n<") + "\n"


def times(value: float) -> str:
    """How many times, in two figures.

    >>> times(0.567), times(4.52), times(163.4)
    ('×0.57', '×4.5', '×160')
    """
    return f"×{value:.2g}" if value < 100 else f"×{float(f'{value:.2g}'):.0f}"


def _frame(h: Axis, v: Axis, name: str, across: str, up: str) -> list[Markup]:
    bottom, right = v.start, h.start + h.length
    parts = [_text(h.start + h.length / 2, TOP - 12, name, anchor="middle", weight=600)]
    for tick in h.ticks:
        parts.append(_line(h.at(tick), TOP, h.at(tick), bottom))
        parts.append(_text(h.at(tick), bottom + 16, _short(tick), anchor="middle"))
    for tick in v.ticks:
        parts.append(_line(h.start, v.at(tick), right, v.at(tick)))
        parts.append(_text(h.start - 6, v.at(tick) + 4, _short(tick), anchor="end"))
    parts.append(_text(h.start + h.length / 2, bottom + 36, across, anchor="middle"))
    turned, middle = h.start - 46, TOP + HIGH / 2
    parts.append(
        _text(
            turned,
            middle,
            up,
            anchor="middle",
            transform=f"rotate(-90 {turned:.1f} {middle:.1f})",
        )
    )
    return parts


def _draw_series(series: Sequence[Series], h: Axis, v: Axis) -> list[Markup]:
    """Marks and lines, then a label at the end of each, moved until it covers nothing
    that is there already.
    """
    parts: list[Markup] = []
    marks = [(h.at(x), v.at(y)) for s in series for x, y in s.points]
    taken: list[tuple[float, float, float, float]] = [
        (x - 5, y - 5, x + 5, y + 5) for x, y in marks
    ]
    for i, s in enumerate(sorted(series, key=lambda s: not s.bold)):
        colour = OURS if s.bold else COLOURS[i % len(COLOURS)]
        # A name has one colour in all panels.
        colour = s.colour or colour
        points = [(h.at(x), v.at(y)) for x, y in s.points]
        if len(points) > 1:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            stroke_width = 2.4 if s.bold else 1.6
            line = {"fill": "none", "stroke": colour, "stroke_width": stroke_width}
            parts.append(svg_element("polyline", points=path, **line))
        parts += [_point(x, y, colour, s.bold) for x, y in points]
        x, y = points[-1]
        long = LETTER * len(s.name) * (1.08 if s.bold else 1)
        places = [
            (x + side * 9 - (long if side < 0 else 0), y + 4 + down)
            for down in (0, -12, 12, -22, 22, -34, 34, -46, 46)
            for side in (1, -1)
        ]
        places = [
            p
            for p in places
            if p[0] >= h.start - 2 and p[0] + long <= h.start + h.length + GAP - 60
        ] or places[:1]
        free = [
            p
            for p in places
            if not any(
                _meet((p[0], p[1] - LINE + 3, p[0] + long, p[1] + 2), box)
                for box in taken
            )
        ]
        left, base = (free or places)[0]
        taken.append((left, base - LINE + 3, left + long, base + 2))
        parts.append(
            _text(
                left,
                base,
                s.name,
                weight=700 if s.bold else 400,
                colour=colour if s.bold else INK,
                size=11,
            )
        )
    return parts


def _meet(
    a: tuple[float, float, float, float], b: tuple[float, float, float, float]
) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _short(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def _point(x: float, y: float, colour: str, bold: bool) -> Markup:
    """A disc, or a square on its corner for a bold series."""
    if not bold:
        return svg_element("circle", cx=x, cy=y, r=4.2, fill=colour)
    return svg_element(
        "rect",
        x=x - 5,
        y=y - 5,
        width=10,
        height=10,
        transform=f"rotate(45 {x:.1f} {y:.1f})",
        fill=colour,
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> Markup:
    return svg_element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=FAINT)


def _text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    weight: int = 400,
    size: int = 12,
    colour: str = INK,
    transform: str | None = None,
) -> Markup:
    return svg_text(
        float(x),
        float(y),
        words,
        size=size,
        anchor=anchor,
        font_weight=weight,
        fill=colour,
        transform=transform,
    )
