"""The report's figure of several releases: risk against utility."""

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
from understudy.svg.colours import INK_COLOUR, OKABE_ITO_BLUE

SCATTER_LEFT, SCATTER_BOTTOM = 60, 276
"""Where the axes meet, in pixels."""

SCATTER_WIDTH, SCATTER_HEIGHT = 420, 260
"""Of the axes, in pixels."""

NAME_WIDTH, NAME_HEIGHT = 120, 13
"""Room that the name beside a point takes, in pixels."""


def scatter_chart(
    points: Sequence[tuple[str, float, float]], *, x: str, y: str, title: str
) -> Markup:
    """Releases by two measures, each point with its name; both lower is better, so the
    good corner is bottom left.

    >>> scatter_chart(
    ...     [("a", 0.1, 0.2), ("b", 0.3, 0.1)], x="error", y="risk", title="trade-off"
    ... ).count("<circle")
    2
    """
    # A little room beyond the farthest point, so that none lies on the frame.
    far_x = 1.15 * max((point[1] for point in points), default=0) or 1.0
    far_y = 1.15 * max((point[2] for point in points), default=0) or 1.0
    parts = _draw_frame(x, y) + _draw_ticks(far_x, far_y)
    places = [
        (
            SCATTER_LEFT + SCATTER_WIDTH * here / far_x,
            SCATTER_BOTTOM - SCATTER_HEIGHT * there / far_y,
        )
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
    return svg_figure(
        *parts,
        # Room on the right for the name of the farthest point.
        width=SCATTER_LEFT + SCATTER_WIDTH + 150,
        height=SCATTER_BOTTOM + 44,
        title=title,
    )


def _draw_frame(x: str, y: str) -> list[Markup]:
    """Both axes with what they measure."""
    left, right = SCATTER_LEFT, SCATTER_LEFT + SCATTER_WIDTH
    top, bottom = SCATTER_BOTTOM - SCATTER_HEIGHT, SCATTER_BOTTOM
    centre, middle = left + SCATTER_WIDTH / 2, bottom - SCATTER_HEIGHT / 2
    x_words, y_words = f"{x} (lower is better)", f"{y} (lower is better)"
    upright = f"rotate(-90 14 {middle})"
    return [
        svg_line(left, bottom, right, bottom, INK_COLOUR),
        svg_line(left, top, left, bottom, INK_COLOUR),
        svg_text(centre, bottom + 34, x_words, size=12, anchor="middle"),
        svg_text(14, middle, y_words, size=12, anchor="middle", transform=upright),
    ]


def _draw_ticks(far_x: float, far_y: float) -> list[Markup]:
    """Three numbers on each axis."""
    ticks = []
    for share in (0.0, 0.5, 1.0):
        x = round(SCATTER_LEFT + SCATTER_WIDTH * share)
        y = round(SCATTER_BOTTOM - SCATTER_HEIGHT * share + 4)
        x_tick, y_tick = f"{far_x * share:.3g}", f"{far_y * share:.3g}"
        ticks.append(svg_text(x, SCATTER_BOTTOM + 16, x_tick, size=10, anchor="middle"))
        ticks.append(svg_text(SCATTER_LEFT - 6, y, y_tick, size=10, anchor="end"))
    return ticks


def _stack_names(places: Sequence[tuple[float, float]]) -> list[tuple[int, float]]:
    """From top to bottom, each point's index and the height of its name, which goes
    below one that stands where it would.
    """
    # From top to bottom, so that a name only ever moves down.
    stacked: list[tuple[int, float]] = []
    for i in sorted(range(len(places)), key=lambda i: places[i][1]):
        x, y = places[i]
        taken = [
            height
            for other, height in stacked
            if abs(places[other][0] - x) < NAME_WIDTH and abs(height - y) < NAME_HEIGHT
        ]
        stacked.append((i, max([y, *(height + NAME_HEIGHT for height in taken)])))
    return stacked
