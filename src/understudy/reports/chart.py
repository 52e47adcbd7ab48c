"""The report's figure of one column: how often each value occurs.

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
    svg_line,
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

GLYPH_WIDTH = 5.8
"""Mean width of a letter at font size 10, in pixels."""

Shares = NDArray[np.float64]


def column_chart(
    name: str, labels: Sequence[str], synthetic: Shares, real: Shares | None = None
) -> Markup:
    """One column: how often each value occurs, synthetic marks over real bars, or
    synthetic bars alone.

    >>> chart = column_chart(
    ...     "<sex>", ["F", "M"], np.array([0.4, 0.6]), np.array([0.5, 0.5])
    ... )
    >>> chart.count("<rect"), chart.count("<line"), "&lt;sex&gt;" in chart
    (2, 4, True)
    """
    words, merged_synthetic, merged_real = _merge_codes(labels, synthetic, real)
    bars = merged_synthetic if merged_real is None else merged_real
    highest = max(merged_synthetic.max(initial=0.0), bars.max(initial=0.0))
    # An empty column still has a scale: nothing is divided by zero.
    top = max(float(highest), 1e-9)
    left, right = COLUMN_CHART_MARGIN, COLUMN_CHART_WIDTH - COLUMN_CHART_MARGIN
    # Bars share the width evenly; a column without values has none.
    pitch = (right - left) / max(len(words), 1)
    parts = [
        svg_line(
            left,
            COLUMN_CHART_BASE,
            right,
            COLUMN_CHART_BASE,
            FAINT_COLOUR,
        )
    ]
    for i, word in enumerate(words):
        real_share = None if merged_real is None else float(merged_real[i])
        parts += _draw_value(
            word, float(merged_synthetic[i]), real_share, left + i * pitch, pitch, top
        )
    summit = COLUMN_CHART_BASE - MAX_BAR_HEIGHT
    parts.append(
        svg_line(
            left,
            summit,
            left + 4,
            summit,
            INK_COLOUR,
        )
    )
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
    return [
        bar,
        svg_line(
            x - 1,
            y,
            x + width + 1,
            y,
            OKABE_ITO_BLUE,
            stroke_width=2.5,
        ),
    ]


def _merge_codes(
    labels: Sequence[str], synthetic: Shares, real: Shares | None
) -> tuple[list[str], Shares, Shares | None]:
    """Codes as they are, or neighbours as one bar if there are too many."""
    if len(labels) <= MAX_CHART_BARS:
        return list(labels), synthetic, real
    # Shares are added up, so nothing is lost, only drawn coarser.
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
        # A label at the edge moves inwards instead of being cut off.
        x = min(max(centre, half + 2), COLUMN_CHART_WIDTH - half - 2)
        y = COLUMN_CHART_BASE + 14
        labels.append(
            svg_text(
                x,
                y,
                shortened[i],
                size=10,
                anchor="middle",
            )
        )
    return labels


def _shorten_tick(word: str) -> str:
    """A label in little room: of a range where it begins, of a number four digits.

    >>> (
    ...     _shorten_tick("24.5 to 27.9"),
    ...     _shorten_tick("0.0081920001"),
    ...     _shorten_tick("back to work"),
    ...     _shorten_tick("25-00503"),
    ... )
    ('24.5', '0.008192', 'back to …', '25-00503')
    """
    range_start = re.match(r"-?\d\S*(?= (?:to|…) )", word)
    text = word if range_start is None else range_start[0]
    if re.fullmatch(r"-?\d+\.\d+", text) and len(text) > 6:
        # From 10,000 on four digits would need an exponent.
        small = abs(float(text)) < 10_000
        text = f"{float(text):.4g}" if small else text.partition(".")[0]
    return shorten_text(text, 9)
