"""The report's figures of one column, of several releases and of one number.

Nothing is said by colour alone: real rows are filled bars, synthetic ones are dark
marks on them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.typing import NDArray

from understudy.svg import (
    Markup,
    shorten_text,
    svg_element,
    svg_figure,
    svg_text,
    svg_title,
)
from understudy.svg.colours import FAINT_COLOUR, INK_COLOUR, OKABE_ITO_BLUE

REAL_BAR_COLOUR = "#b8c1cc"

COLUMN_CHART_WIDTH, COLUMN_CHART_HEIGHT = 340, 150
"""Of a column's chart, in pixels."""

COLUMN_CHART_MARGIN = 8
COLUMN_CHART_BASE = COLUMN_CHART_HEIGHT - 24
"""Where bars stand, in pixels from the top; tick labels need the rest."""

MAX_BAR_HEIGHT = COLUMN_CHART_HEIGHT - 40

MAX_CHART_BARS = 40
"""Codes beyond which neighbours are drawn as one bar."""

SHARE_BAR_BLUES = ("#cfe1ee", "#5b9bc8", "#003c78")
"""Three blues, pale to dark."""

GLYPH_WIDTH = 5.8
"""Mean width of a letter at font size 10, in pixels."""

Shares = NDArray[np.float64]


def column_chart(
    name: str, labels: Sequence[str], synthetic: Shares, real: Shares | None = None
) -> Markup:
    """One column: how often each value occurs, synthetic marks over real bars, or
    synthetic bars alone.

    >>> chart = column_chart("<sex>", ["F", "M"], np.array([0.4, 0.6]), np.array([0.5, 0.5]))
    >>> chart.count("<rect"), chart.count("<line"), "&lt;sex&gt;" in chart
    (2, 4, True)
    """
    words, merged_synthetic, merged_real = _merge_codes(labels, synthetic, real)
    bars = merged_synthetic if merged_real is None else merged_real
    highest = max(merged_synthetic.max(initial=0.0), bars.max(initial=0.0))
    # An empty column still has a scale: nothing is divided by zero.
    top = max(float(highest), 1e-9)
    left, right = COLUMN_CHART_MARGIN, COLUMN_CHART_WIDTH - COLUMN_CHART_MARGIN
    pitch = (right - left) / max(len(words), 1)
    parts = [_line(left, COLUMN_CHART_BASE, right, COLUMN_CHART_BASE, FAINT_COLOUR)]
    for i, word in enumerate(words):
        real_share = None if merged_real is None else float(merged_real[i])
        parts += _draw_value(
            word, float(merged_synthetic[i]), real_share, left + i * pitch, pitch, top
        )
    summit = COLUMN_CHART_BASE - MAX_BAR_HEIGHT
    parts.append(_line(left, summit, left + 4, summit, INK_COLOUR))
    parts.append(svg_text(left, summit - 5, f"{top:.0%}", size=10))
    parts += _tick_labels(words, left, pitch)
    title = f"{name}: share of rows by value"
    if real is not None:
        title += ", real and synthetic"
    return svg_figure(
        *parts, width=COLUMN_CHART_WIDTH, height=COLUMN_CHART_HEIGHT, title=title
    )


def _draw_value(
    word: str,
    synthetic: float,
    real: float | None,
    start: float,
    pitch: float,
    top: float,
) -> list[Markup]:
    """The bar of one value and, where real rows are known, the synthetic mark on it."""
    width = max(pitch * 0.8, 1.0)
    x = start + (pitch - width) / 2
    caption = f"{word}: {synthetic:.1%} synthetic"
    if real is not None:
        caption += f", {real:.1%} real"
    height = MAX_BAR_HEIGHT * (synthetic if real is None else real) / top
    bar = svg_element(
        "rect",
        svg_title(caption),
        x=x,
        y=COLUMN_CHART_BASE - height,
        width=width,
        # A bar of no height could not be pointed at to read its caption.
        height=max(height, 0.4),
        fill=OKABE_ITO_BLUE if real is None else REAL_BAR_COLOUR,
    )
    if real is None:
        return [bar]
    y = COLUMN_CHART_BASE - MAX_BAR_HEIGHT * synthetic / top
    return [bar, _line(x - 1, y, x + width + 1, y, OKABE_ITO_BLUE, stroke_width=2.5)]


def scatter_chart(
    points: Sequence[tuple[str, float, float]], *, x: str, y: str, title: str
) -> Markup:
    """Releases by two measures, each point with its name; both lower is better, so the
    good corner is bottom left.

    >>> scatter_chart([("a", 0.1, 0.2), ("b", 0.3, 0.1)], x="error", y="risk", title="trade-off").count("<circle")
    2
    """
    left, top, width, height = 60, 16, 420, 260
    bottom, middle = top + height, top + height / 2
    far_x = 1.15 * max((point[1] for point in points), default=0) or 1.0
    far_y = 1.15 * max((point[2] for point in points), default=0) or 1.0
    upright = f"rotate(-90 14 {middle})"
    x_words, y_words = f"{x} (lower is better)", f"{y} (lower is better)"
    parts = [
        _line(left, bottom, left + width, bottom, INK_COLOUR),
        _line(left, top, left, bottom, INK_COLOUR),
        svg_text(left + width / 2, bottom + 34, x_words, size=12, anchor="middle"),
        svg_text(14, middle, y_words, size=12, anchor="middle", transform=upright),
    ]
    for share in (0.0, 0.5, 1.0):
        across, up = round(left + width * share), round(bottom - height * share + 4)
        x_tick, y_tick = f"{far_x * share:.3g}", f"{far_y * share:.3g}"
        parts.append(svg_text(across, bottom + 16, x_tick, size=10, anchor="middle"))
        parts.append(svg_text(left - 6, up, y_tick, size=10, anchor="end"))
    places = [
        (left + width * here / far_x, bottom - height * there / far_y)
        for _, here, there in points
    ]
    for i, baseline in _stack_names(places):
        name, here, there = points[i]
        at_x, at_y = places[i]
        caption = svg_title(f"{name}: {here:.4g}, {there:.4g}")
        words = shorten_text(name, 24)
        parts.append(
            svg_element("circle", caption, cx=at_x, cy=at_y, r=6, fill=OKABE_ITO_BLUE)
        )
        parts.append(svg_text(at_x + 10, baseline + 4, words, size=12))
    return svg_figure(*parts, width=left + width + 150, height=bottom + 44, title=title)


def _stack_names(places: Sequence[tuple[float, float]]) -> list[tuple[int, float]]:
    """From top to bottom, each point's index and the height of its name, which goes
    below one that stands where it would.
    """
    stacked: list[tuple[int, float]] = []
    for i in sorted(range(len(places)), key=lambda i: places[i][1]):
        x, y = places[i]
        taken = [
            height
            for other, height in stacked
            if abs(places[other][0] - x) < 120 and abs(height - y) < 13
        ]
        stacked.append((i, max([y, *(height + 13 for height in taken)])))
    return stacked


def share_bar(shares: Sequence[tuple[str, float]], *, title: str) -> Markup:
    """One bar in parts, each with its name and share below it; darker from left to
    right, so that grey distinguishes them too.

    >>> share_bar([("low", 0.75), ("high", 0.25)], title="groups").count("<rect")
    4
    """
    left, width, height = 4, 340, 26
    parts, before = [], 0.0
    for i, (name, share) in enumerate(shares):
        fill = SHARE_BAR_BLUES[min(i, len(SHARE_BAR_BLUES) - 1)]
        segment = svg_element(
            "rect",
            svg_title(f"{name}: {share:.1%}"),
            x=left + width * before,
            y=4,
            width=float(max(width * share - 1, 0)),
            height=height,
            fill=fill,
        )
        key_x = left + i * width / len(shares)
        swatch = svg_element(
            "rect",
            x=key_x,
            y=height + 13,
            width=9,
            height=9,
            fill=fill,
            stroke=INK_COLOUR,
            stroke_width=0.5,
        )
        words = f"{shorten_text(name)} {share:.1%}"
        parts += [segment, swatch, svg_text(key_x + 14, height + 22, words, size=11)]
        before += share
    return svg_figure(*parts, width=left * 2 + width, height=height + 30, title=title)


def scale_bar(
    value: float, best: float | None, worst: float | None, baseline: float | None
) -> Markup:
    """Where a number stands between the best and the worst it can be, with a tick at
    the baseline.

    >>> scale_bar(0.5, 1.0, 0.0, 0.25).count("<line")
    2
    """
    if best is None or worst is None or best == worst:
        return Markup("")

    def place(number: float) -> float:
        share = (number - worst) / (best - worst)
        return 6 + 108 * min(max(share, 0.0), 1.0)

    parts = [
        _line(6, 8, 114, 8, FAINT_COLOUR, stroke_width=6),
        svg_element("circle", cx=place(value), cy=8, r=5, fill=OKABE_ITO_BLUE),
    ]
    if baseline is not None:
        tick = place(baseline)
        parts.append(_line(tick, 2, tick, 14, INK_COLOUR))
    title = f"{value:.4g}, worst {worst:g}, best {best:g}"
    return svg_figure(*parts, width=120, height=16, title=title)


def _line(
    x1: float,
    y1: float,
    x2: float,
    y2: float,
    stroke: str,
    *,
    stroke_width: float | None = None,
) -> Markup:
    return svg_element(
        "line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, stroke_width=stroke_width
    )


def _merge_codes(
    labels: Sequence[str], synthetic: Shares, real: Shares | None
) -> tuple[list[str], Shares, Shares | None]:
    """Codes as they are, or neighbours as one bar if there are too many."""
    if len(labels) <= MAX_CHART_BARS:
        return list(labels), synthetic, real
    cuts = np.linspace(0, len(labels), MAX_CHART_BARS + 1).astype(int)
    words = [
        labels[a] if b - a == 1 else f"{labels[a]} … {labels[b - 1]}"
        for a, b in pairwise(cuts)
    ]
    merged_real = None if real is None else np.add.reduceat(real, cuts[:-1])
    return words, np.add.reduceat(synthetic, cuts[:-1]), merged_real


def _tick_labels(words: Sequence[str], left: float, pitch: float) -> list[Markup]:
    """Labels below the bars, as many as there is room for, none beyond the edge."""
    shortened = [_shorten_tick(word) for word in words]
    longest = max((len(word) for word in shortened), default=0)
    every = max(1, ceil((GLYPH_WIDTH * longest + 8) / pitch))
    labels = []
    for i in range(0, len(shortened), every):
        half = GLYPH_WIDTH * len(shortened[i]) / 2
        centre = left + (i + 0.5) * pitch
        x = min(max(centre, half + 2), COLUMN_CHART_WIDTH - half - 2)
        y = COLUMN_CHART_BASE + 14
        labels.append(svg_text(x, y, shortened[i], size=10, anchor="middle"))
    return labels


def _shorten_tick(word: str) -> str:
    """A label in little room: of a range where it begins, of a number four digits.

    >>> _shorten_tick("24.5 to 27.9"), _shorten_tick("0.0081920001"), _shorten_tick("back to work"), _shorten_tick("25-00503")
    ('24.5', '0.008192', 'back to …', '25-00503')
    """
    range_start = re.match(r"-?\d\S*(?= (?:to|…) )", word)
    text = word if range_start is None else range_start[0]
    if re.fullmatch(r"-?\d+\.\d+", text) and len(text) > 6:
        # From 10,000 on four digits would need an exponent.
        small = abs(float(text)) < 10_000
        text = f"{float(text):.4g}" if small else text.partition(".")[0]
    return shorten_text(text, 9)
