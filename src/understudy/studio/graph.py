"""The learned structure as a drawing: columns on a circle, and a line between two
columns that were measured together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from understudy.releases import Release
from understudy.svg import (
    Markup,
    shorten_text,
    svg_element,
    svg_figure,
    svg_text,
    svg_title,
)
from understudy.svg.colours import INK_COLOUR, OKABE_ITO_BLUE

MAX_NETWORK_CLIQUE = 12
"""Columns of a measured table whose pairs are drawn: a larger one was measured for its
rows, and would join everything to everything.
"""

NETWORK_SIZE, NETWORK_RADIUS, NETWORK_MARGIN = 560, 190, 90
"""Of the drawing, of the circle, and of the room for names beside it, in pixels."""


def find_measured_pairs(release: Release) -> dict[tuple[str, str], float]:
    """Pairs of columns that were measured together, with the mutual information the
    release gives them, in bits.

    >>> from understudy.models import ProductModel
    >>> from understudy.releases import Guarantee
    >>> from understudy.schema import Boolean, Schema
    >>> schema = Schema(columns=(Boolean(name="a"), Boolean(name="b")))
    >>> find_measured_pairs(
    ...     Release(
    ...         guarantee=Guarantee.without_data(),
    ...         schema=schema,
    ...         model=ProductModel.uniform(schema, total=4.0),
    ...     )
    ... )
    {}
    """
    order = {name: i for i, name in enumerate(release.schema)}
    pairs: set[tuple[str, str]] = set()
    for measurement in (*release.measurements, *release.measurements.sparse):
        if 2 <= len(measurement.clique) <= MAX_NETWORK_CLIQUE:
            columns = sorted(measurement.clique, key=order.__getitem__)
            pairs.update(combinations(columns, 2))
    return {
        pair: mutual_information_bits(release.evidence.marginal(pair))
        for pair in sorted(pairs)
    }


def mutual_information_bits(table: np.ndarray) -> float:
    """Mutual information of a table of two columns, in bits.

    >>> (
    ...     round(mutual_information_bits(np.array([[5.0, 0.0], [0.0, 5.0]])), 6),
    ...     mutual_information_bits(np.ones((2, 2))),
    ... )
    (1.0, 0.0)
    """
    total = float(table.sum())
    if total <= 0:
        return 0.0
    # Estimates below zero are noise; the logarithm has no place for them.
    shares = np.maximum(table, 0.0) / total
    independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    positive = shares > 0
    ratios = np.log2(shares[positive] / independent[positive])
    return max(0.0, float((shares[positive] * ratios).sum()))


def draw_network(names: Sequence[str], edges: dict[tuple[str, str], float]) -> Markup:
    """The drawing; a thicker line is more mutual information.

    >>> draw_network(["a", "b"], {("a", "b"): 0.5}).count("<line")
    1
    """
    middle = NETWORK_SIZE / 2
    places = {}
    for i, name in enumerate(names):
        angle = 2 * math.pi * i / len(names) - math.pi / 2
        x = middle + NETWORK_RADIUS * math.cos(angle)
        places[name] = (x, middle + NETWORK_RADIUS * math.sin(angle))
    most_bits = max(edges.values(), default=0.0) or 1.0
    parts: list[Markup] = []
    # Thin lines first, so that the thick ones lie above them.
    for (a, b), bits in sorted(edges.items(), key=lambda edge: edge[1]):
        caption = f"{a} — {b}: {bits:.3f} bits"
        parts.append(_draw_edge(places[a], places[b], bits / most_bits, caption))
    for name, (x, y) in places.items():
        parts += _draw_column(name, x, y, middle)
    return svg_figure(
        *parts,
        left=-NETWORK_MARGIN,
        width=NETWORK_SIZE + 2 * NETWORK_MARGIN,
        height=NETWORK_SIZE,
        title=f"{len(names)} columns, {len(edges)} pairs measured together",
    )


def _draw_edge(
    start: tuple[float, float], end: tuple[float, float], share: float, caption: str
) -> Markup:
    return svg_element(
        "line",
        svg_title(caption),
        x1=round(start[0]),
        y1=round(start[1]),
        x2=round(end[0]),
        y2=round(end[1]),
        stroke=OKABE_ITO_BLUE,
        stroke_opacity="0.55",
        stroke_width=0.8 + 5 * share,
    )


def _draw_column(name: str, x: float, y: float, middle: float) -> list[Markup]:
    """A dot and, outside the circle, its name."""
    if x > middle + 5:
        anchor, across, down = "start", 12, 4
    elif x < middle - 5:
        anchor, across, down = "end", -12, 4
    else:
        anchor, across, down = "middle", 0, -12 if y < middle else 20
    dot = svg_element(
        "circle",
        cx=round(x),
        cy=round(y),
        r=6,
        fill=INK_COLOUR,
    )
    label_x, label_y, words = round(x + across), round(y + down), shorten_text(name, 20)
    return [
        dot,
        svg_text(
            label_x,
            label_y,
            words,
            size=12,
            anchor=anchor,
        ),
    ]
