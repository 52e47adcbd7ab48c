"""The report's figure of one column: how often each value occurs.

Nothing is said by colour alone: real rows are filled bars, synthetic ones are dark
marks on them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
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

MIN_BAR_WIDTH, MISSING_BAR_WIDTH = 2.0, 10.0
"""Width of the narrowest bin, and of a code that is no bin, in pixels."""

MAX_CUT_RATIO = 3.0
"""A single value may be drawn this many times as tall as the tallest wide bin."""

GLYPH_WIDTH = 5.8
"""Mean width of a letter at font size 10, in pixels."""

Shares = NDArray[np.float64]


@dataclass(frozen=True)
class _ValueBar:
    """One bar: what it is about, where it stands and how wide it is, in pixels."""

    word: str
    synthetic: float
    real: float | None
    x: float
    width: float

    @property
    def tallest(self) -> float:
        """The larger of its two shares, for each pixel of width."""
        return max(self.synthetic, self.real or 0.0) / self.width


def column_chart(
    name: str,
    labels: Sequence[str],
    synthetic: Shares,
    real: Shares | None = None,
    widths: Sequence[float | None] | None = None,
) -> Markup:
    """One column: how often each value occurs, synthetic marks over real bars, or
    synthetic bars alone.

    With `widths`, the width of each code's bin (None for a code that is no bin, such as
    missing), bars are as wide as their bins and their areas are the shares. Without,
    all have one width, and heights are the shares.

    >>> chart = column_chart(
    ...     "<sex>", ["F", "M"], np.array([0.4, 0.6]), np.array([0.5, 0.5])
    ... )
    >>> chart.count("<rect"), chart.count("<line"), "&lt;sex&gt;" in chart
    (2, 4, True)
    """
    spans, words = _merge_codes(labels)
    bars = _lay_bars(spans, words, synthetic, real, widths)
    top = _top_density(bars, has_bins=widths is not None)
    left, right = COLUMN_CHART_MARGIN, COLUMN_CHART_WIDTH - COLUMN_CHART_MARGIN
    base = COLUMN_CHART_BASE
    parts = [svg_line(left, base, right, base, FAINT_COLOUR)]
    for bar in bars:
        parts += _draw_bar(bar, top)
    summit = base - MAX_BAR_HEIGHT
    parts.append(svg_line(left, summit, left + 4, summit, INK_COLOUR))
    scale = "areas are shares of rows"
    if widths is None:
        # All bars have one width, so the tallest is the largest share.
        pitch = bars[0].width if bars else 1.0
        scale = f"{top * pitch:.0%}"
    parts.append(svg_text(left, summit - 5, scale, size=10))
    parts += _tick_labels(bars)
    title = f"{name}: share of rows by value"
    if real is not None:
        title += ", real and synthetic"
    return svg_figure(
        *parts, width=COLUMN_CHART_WIDTH, height=COLUMN_CHART_HEIGHT, title=title
    )


def _lay_bars(
    spans: Sequence[tuple[int, int]],
    words: Sequence[str],
    synthetic: Shares,
    real: Shares | None,
    widths: Sequence[float | None] | None,
) -> list[_ValueBar]:
    """The bars from left to right, each over the codes of its span."""
    pixels = _share_width(spans, widths)
    bars, x = [], float(COLUMN_CHART_MARGIN)
    for (start, end), word, width in zip(spans, words, pixels, strict=True):
        real_share = None if real is None else float(real[start:end].sum())
        bars.append(
            _ValueBar(word, float(synthetic[start:end].sum()), real_share, x, width)
        )
        x += width
    return bars


def _share_width(
    spans: Sequence[tuple[int, int]], widths: Sequence[float | None] | None
) -> list[float]:
    """The width of each bar in pixels: all alike, or as wide as the bins are."""
    room = float(COLUMN_CHART_WIDTH - 2 * COLUMN_CHART_MARGIN)
    if widths is None:
        return [room / max(len(spans), 1)] * len(spans)
    own = [[widths[code] for code in range(*span)] for span in spans]
    # Codes that are no bins have no width of their own.
    lengths = [None if None in each else sum(filter(None, each)) for each in own]
    fixed = MISSING_BAR_WIDTH * sum(length is None for length in lengths)
    whole = sum(filter(None, lengths)) or 1.0
    spare = room - fixed - MIN_BAR_WIDTH * len(spans)
    return [
        MISSING_BAR_WIDTH + MIN_BAR_WIDTH
        if length is None
        else MIN_BAR_WIDTH + spare * length / whole
        for length in lengths
    ]


def _top_density(bars: Sequence[_ValueBar], *, has_bins: bool) -> float:
    """What is drawn at full height: the tallest bar, or, among bins, a multiple of the
    tallest one that is wide. A single frequent value would flatten all others: it is cut.
    """
    # An empty column still has a scale: nothing is divided by zero.
    top = max((bar.tallest for bar in bars), default=0.0)
    if has_bins:
        wide = [bar.tallest for bar in bars if bar.width > 2 * MIN_BAR_WIDTH]
        top = min(top, MAX_CUT_RATIO * max(wide, default=top))
    return max(top, 1e-9)


def _draw_bar(bar: _ValueBar, top: float) -> list[Markup]:
    """A bar and, where real rows are known, the synthetic mark on it."""
    width = max(bar.width * 0.8, 1.0)
    x = bar.x + (bar.width - width) / 2
    caption = f"{bar.word}: {bar.synthetic:.1%} synthetic"
    if bar.real is not None:
        caption += f", {bar.real:.1%} real"

    def height_of(share: float) -> float:
        return MAX_BAR_HEIGHT * min(share / bar.width / top, 1.0)

    height = height_of(bar.synthetic if bar.real is None else bar.real)
    drawn = svg_element(
        "rect",
        svg_title(caption),
        x=x,
        y=COLUMN_CHART_BASE - height,
        width=width,
        # A bar of no height could not be pointed at to read its caption.
        height=max(height, 0.4),
        fill=OKABE_ITO_BLUE if bar.real is None else REAL_BAR_COLOUR,
    )
    parts = [drawn]
    if bar.tallest > top:
        # What is cut says its share, which its height no longer does.
        share = max(bar.synthetic, bar.real or 0.0)
        summit = COLUMN_CHART_BASE - MAX_BAR_HEIGHT
        parts.append(svg_text(x + width + 3, summit + 9, f"{share:.0%}", size=10))
    if bar.real is None:
        return parts
    y = COLUMN_CHART_BASE - height_of(bar.synthetic)
    mark = svg_line(x - 1, y, x + width + 1, y, OKABE_ITO_BLUE, stroke_width=2.5)
    return [*parts, mark]


def _merge_codes(labels: Sequence[str]) -> tuple[list[tuple[int, int]], list[str]]:
    """The codes of each bar and its label: one each, or neighbours together if there
    are too many.
    """
    bars = min(len(labels), MAX_CHART_BARS)
    # Shares are added up, so nothing is lost, only drawn coarser.
    cuts = np.linspace(0, len(labels), bars + 1).astype(int).tolist()
    spans = list(pairwise(cuts))
    words = [
        labels[a] if b - a == 1 else f"{labels[a]} … {labels[b - 1]}" for a, b in spans
    ]
    return spans, words


def _tick_labels(bars: Sequence[_ValueBar]) -> list[Markup]:
    """Labels below the bars, as many as there is room for, none beyond the edge."""
    words = [_shorten_tick(bar.word) for bar in bars]
    longest = max((len(word) for word in words), default=0)
    widths = {bar.width for bar in bars}
    # Bars of one width have labels at one distance; others wherever there is room.
    every = 1
    if len(widths) == 1:
        every = max(1, ceil((GLYPH_WIDTH * longest + 8) / widths.pop()))
    labels: list[Markup] = []
    taken = 0.0
    for bar, word in list(zip(bars, words, strict=True))[::every]:
        half = GLYPH_WIDTH * len(word) / 2
        centre = bar.x + bar.width / 2
        # A label at the edge moves inwards instead of being cut off.
        x = min(max(centre, half + 2), COLUMN_CHART_WIDTH - half - 2)
        if labels and x - half < taken + 4:
            continue
        taken = x + half
        y = COLUMN_CHART_BASE + 14
        labels.append(svg_text(x, y, word, size=10, anchor="middle"))
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
    # A day needs one letter more than other words have.
    most = 10 if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else 9
    return shorten_text(text, most)
