"""The report's figures, as SVG written by hand: nothing to load, nothing to run, they
print, and a screen reader reads their titles.

A plotting library would bring a megabyte of script for bars and squares. Colours are
from Okabe and Ito's colour-blind safe set, and nothing is told by colour alone: real
rows are filled bars, synthetic ones are dark marks on them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.typing import NDArray

CHART_REAL_COLOUR, CHART_SYNTHETIC_COLOUR, CHART_INK_COLOUR, CHART_FAINT_COLOUR = (
    "#b8c1cc",
    "#0072b2",
    "#1f2933",
    "#e4e7eb",
)

COLUMN_CHART_WIDTH, COLUMN_CHART_HEIGHT = 340, 150
"""The size of a column's chart."""

MAX_CHART_BARS = 40
"""Codes beyond which neighbours are drawn together."""

SHARE_BAR_BLUES = ("#cfe1ee", "#5b9bc8", "#003c78")
"""Three blues, pale to dark."""

GLYPH_WIDTH = 5.8
"""How wide a letter of the small print is."""

Shares = NDArray[np.float64]

_XML_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold, not even escaped; one such character would turn a whole figure
into an error.
"""


def escape_svg_text(text: str) -> str:
    """Somebody else's text as a figure may hold it, between tags and in attributes.

    >>> escape_svg_text('<b onload="x">'), escape_svg_text("a\x0bb")
    ('&lt;b onload=&quot;x&quot;&gt;', 'a\ufffdb')
    """
    return escape(_XML_UNWRITABLE.sub("\ufffd", text))


def column_chart(
    name: str, labels: Sequence[str], synthetic: Shares, real: Shares | None = None
) -> str:
    """One column: how often each value occurs, synthetic marks over real bars, or
    synthetic bars alone.

    >>> drawn = column_chart("<sex>", ["F", "M"], np.array([0.4, 0.6]), np.array([0.5, 0.5]))
    >>> drawn.count("<rect"), drawn.count("<line"), "&lt;sex&gt;" in drawn
    (2, 4, True)
    """
    words, stacked = _merge_codes(labels, synthetic, real)
    made, true = stacked[0], stacked[1] if real is not None else None
    top = max(
        float(
            max(made.max(initial=0.0), 0.0 if true is None else true.max(initial=0.0))
        ),
        1e-9,
    )
    left, bottom, room = 8, COLUMN_CHART_HEIGHT - 24, COLUMN_CHART_HEIGHT - 40
    pitch = (COLUMN_CHART_WIDTH - 2 * left) / max(len(words), 1)
    width = max(pitch * 0.8, 1.0)
    parts = [
        f'<line x1="{left}" y1="{bottom}" x2="{COLUMN_CHART_WIDTH - left}"'
        f' y2="{bottom}" stroke="{CHART_FAINT_COLOUR}"/>'
    ]
    for i, word in enumerate(words):
        x = left + i * pitch + (pitch - width) / 2
        tall = room * float(made[i] if true is None else true[i]) / top
        said = f"{word}: {made[i]:.1%} synthetic" + (
            "" if true is None else f", {true[i]:.1%} real"
        )
        fill = CHART_SYNTHETIC_COLOUR if true is None else CHART_REAL_COLOUR
        parts.append(
            f'<rect x="{x:.1f}" y="{bottom - tall:.1f}" width="{width:.1f}"'
            f' height="{max(tall, 0.4):.1f}"'
            f' fill="{fill}"><title>{escape_svg_text(said)}</title></rect>'
        )
        if true is not None:
            y = bottom - room * float(made[i]) / top
            parts.append(
                f'<line x1="{x - 1:.1f}" y1="{y:.1f}" x2="{x + width + 1:.1f}"'
                f' y2="{y:.1f}" stroke="{CHART_SYNTHETIC_COLOUR}" stroke-width="2.5"/>'
            )
    parts.append(
        f'<line x1="{left}" y1="{bottom - room}" x2="{left + 4}" y2="{bottom - room}"'
        f' stroke="{CHART_INK_COLOUR}"/><text x="{left}" y="{bottom - room - 5}"'
        f' font-size="10">{top:.0%}</text>'
    )
    parts += _tick_labels(words, left, pitch, bottom)
    told = f"{name}: share of rows by value" + (
        "" if real is None else ", real and synthetic"
    )
    return svg_figure(COLUMN_CHART_WIDTH, COLUMN_CHART_HEIGHT, told, parts)


def scatter_chart(
    points: Sequence[tuple[str, float, float]], *, x: str, y: str, title: str
) -> str:
    """Releases by two measures, each point with its name; both lower is better, so the
    good corner is bottom left.

    >>> scatter_chart([("a", 0.1, 0.2), ("b", 0.3, 0.1)], x="error", y="risk", title="trade-off").count("<circle")
    2
    """
    left, top, wide, high = 60, 16, 420, 260
    far_x = 1.15 * max((p[1] for p in points), default=0) or 1.0
    far_y = 1.15 * max((p[2] for p in points), default=0) or 1.0
    parts = [
        (
            f'<line x1="{left}" y1="{top + high}" x2="{left + wide}" y2="{top + high}"'
            f' stroke="{CHART_INK_COLOUR}"/>'
        ),
        (
            f'<line x1="{left}" y1="{top}" x2="{left}" y2="{top + high}"'
            f' stroke="{CHART_INK_COLOUR}"/>'
        ),
        (
            f'<text x="{left + wide / 2}" y="{top + high + 34}" font-size="12" '
            f'text-anchor="middle">{escape_svg_text(x)} (lower is better)</text>'
        ),
        (
            f'<text x="14" y="{top + high / 2}" font-size="12" text-anchor="middle"'
            f' transform="rotate(-90 14 {top + high / 2})">{escape_svg_text(y)} (lower'
            " is better)</text>"
        ),
    ]
    for share in (0.0, 0.5, 1.0):
        parts.append(
            f'<text x="{left + wide * share:.0f}" y="{top + high + 16}" font-size="10"'
            f' text-anchor="middle">{far_x * share:.3g}</text><text x="{left - 6}"'
            f' y="{top + high * (1 - share) + 4:.0f}" font-size="10"'
            f' text-anchor="end">{far_y * share:.3g}</text>'
        )
    written: list[tuple[float, float]] = []
    for name, here, there in sorted(points, key=lambda p: -p[2]):
        px, py = left + wide * here / far_x, top + high * (1 - there / far_y)
        # A name goes below one that stands where it would.
        line = max(
            [
                py,
                *(y + 13 for x, y in written if abs(x - px) < 120 and abs(y - py) < 13),
            ]
        )
        written.append((px, line))
        said = escape_svg_text(f"{name}: {here:.4g}, {there:.4g}")
        parts.append(
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="6"'
            f' fill="{CHART_SYNTHETIC_COLOUR}"><title>{said}</title></circle><text'
            f' x="{px + 10:.1f}" y="{line + 4:.1f}"'
            f' font-size="12">{shorten_svg_text(name, 24)}</text>'
        )
    return svg_figure(left + wide + 150, top + high + 44, title, parts)


def share_bar(shares: Sequence[tuple[str, float]], *, title: str) -> str:
    """One bar in parts, each with its name and share below it; darker from left to
    right, so that grey tells them apart too.

    >>> share_bar([("low", 0.75), ("high", 0.25)], title="groups").count("<rect")
    4
    """
    left, wide, tall = 4, 340, 26
    parts, at = [], 0.0
    for i, (name, share) in enumerate(shares):
        fill = SHARE_BAR_BLUES[min(i, len(SHARE_BAR_BLUES) - 1)]
        x, under = left + wide * at, left + i * wide / len(shares)
        parts.append(
            f'<rect x="{x:.1f}" y="4" width="{max(wide * share - 1, 0):.1f}"'
            f' height="{tall}" fill="{fill}">'
            f"<title>{escape_svg_text(f'{name}: {share:.1%}')}</title></rect>"
            f'<rect x="{under:.1f}" y="{tall + 13}" width="9" height="9" fill="{fill}"'
            f' stroke="{CHART_INK_COLOUR}" stroke-width="0.5"/>'
            f'<text x="{under + 14:.1f}" y="{tall + 22}"'
            f' font-size="11">{shorten_svg_text(name)} {share:.1%}</text>'
        )
        at += share
    return svg_figure(left * 2 + wide, tall + 30, title, parts)


def scale_bar(
    value: float, best: float | None, worst: float | None, baseline: float | None
) -> str:
    """Where a number stands between the best and the worst it can be, with a tick at
    the baseline.

    >>> scale_bar(0.5, 1.0, 0.0, 0.25).count("<line")
    2
    """
    if best is None or worst is None or best == worst:
        return ""
    at = min(max((value - worst) / (best - worst), 0.0), 1.0)
    parts = [
        (
            f'<line x1="6" y1="8" x2="114" y2="8" stroke="{CHART_FAINT_COLOUR}"'
            ' stroke-width="6"/>'
        ),
        (
            f'<circle cx="{6 + 108 * at:.1f}" cy="8" r="5"'
            f' fill="{CHART_SYNTHETIC_COLOUR}"/>'
        ),
    ]
    if baseline is not None:
        tick = 6 + 108 * min(max((baseline - worst) / (best - worst), 0.0), 1.0)
        parts.append(
            f'<line x1="{tick:.1f}" y1="2" x2="{tick:.1f}" y2="14"'
            f' stroke="{CHART_INK_COLOUR}"/>'
        )
    return svg_figure(120, 16, f"{value:.4g}, worst {worst:g}, best {best:g}", parts)


def _merge_codes(
    labels: Sequence[str], synthetic: Shares, real: Shares | None
) -> tuple[list[str], Shares]:
    """Codes as they are, or neighbours drawn together where there are many."""
    both = np.stack([synthetic, synthetic if real is None else real]).astype(np.float64)
    if len(labels) <= MAX_CHART_BARS:
        return list(labels), both
    cuts = np.linspace(0, len(labels), MAX_CHART_BARS + 1).astype(int)
    words = [
        labels[a] if b - a == 1 else f"{labels[a]} … {labels[b - 1]}"
        for a, b in pairwise(cuts)
    ]
    return words, np.add.reduceat(both, cuts[:-1], axis=1)


def _tick_labels(
    words: Sequence[str], left: float, pitch: float, bottom: float
) -> list[str]:
    """Labels below the bars, as many as there is room for, none beyond the edge."""
    shown = [_shorten_tick(word) for word in words]
    room = GLYPH_WIDTH * max((len(word) for word in shown), default=0) + 8
    found = []
    for i in range(0, len(shown), max(1, ceil(room / pitch))):
        half = GLYPH_WIDTH * len(shown[i]) / 2
        x = min(max(left + (i + 0.5) * pitch, half + 2), COLUMN_CHART_WIDTH - half - 2)
        found.append(
            f'<text x="{x:.1f}" y="{bottom + 14}" font-size="10"'
            f' text-anchor="middle">{escape_svg_text(shown[i])}</text>'
        )
    return found


def _shorten_tick(word: str) -> str:
    """A label in little room: of a range where it begins, of a number four digits.

    >>> _shorten_tick("24.5 to 27.9"), _shorten_tick("0.0081920001"), _shorten_tick("back to work"), _shorten_tick("25-00503")
    ('24.5', '0.008192', 'back to …', '25-00503')
    """
    begins = re.match(r"-?\d\S*(?= (?:to|…) )", word)
    text = word if begins is None else begins[0]
    if re.fullmatch(r"-?\d+\.\d+", text) and len(text) > 6:
        text = (
            f"{float(text):.4g}"
            if abs(float(text)) < 10_000
            else text.partition(".")[0]
        )
    return text if len(text) <= 9 else f"{text[:8]}…"


def shorten_svg_text(text: str, most: int = 16) -> str:
    """Somebody else's text, escaped, and no longer than there is room for."""
    return escape_svg_text(text if len(text) <= most else f"{text[: most - 1]}…")


def svg_figure(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """A whole figure with its title."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f}'
        f' {height:.0f}" '
        f'width="{width:.0f}" role="img" fill="{CHART_INK_COLOUR}">'
        f"<title>{escape_svg_text(title)}</title>{''.join(parts)}</svg>"
    )
