"""The report's bars: a whole in parts, and where a number stands on its scale."""

from __future__ import annotations

from collections.abc import Sequence

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

SHARE_BAR_BLUES = ("#cfe1ee", "#5b9bc8", "#003c78")
"""Three blues, pale to dark."""


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
        # The key below has equal room for each, whatever its share.
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
    return svg_figure(
        *parts,
        width=left * 2 + width,
        height=height + 30,
        title=title,
    )


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

    # A value may lie beyond its scale, by noise; the dot stays on it.
    def place(number: float) -> float:
        share = (number - worst) / (best - worst)
        return 6 + 108 * min(max(share, 0.0), 1.0)

    parts = [
        svg_line(
            6,
            8,
            114,
            8,
            FAINT_COLOUR,
            stroke_width=6,
        ),
        svg_element(
            "circle",
            cx=place(value),
            cy=8,
            r=5,
            fill=OKABE_ITO_BLUE,
        ),
    ]
    if baseline is not None:
        tick = place(baseline)
        parts.append(
            svg_line(
                tick,
                2,
                tick,
                14,
                INK_COLOUR,
            )
        )
    title = f"{value:.4g}, worst {worst:g}, best {best:g}"
    return svg_figure(
        *parts,
        width=120,
        height=16,
        title=title,
    )
