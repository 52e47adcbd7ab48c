"""The learned structure as a drawing: columns on a circle, a line between two that were
measured together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from understudy.measurements import Clique
from understudy.releases import Release
from understudy.reports.chart import escape_svg_text


def find_measured_pairs(release: Release) -> dict[tuple[str, str], float]:
    """Pairs of columns that were measured together, with the mutual information the
    release gives them, in bits.

    >>> from understudy.models import ProductModel
    >>> from understudy.releases import Guarantee
    >>> from understudy.schema import Boolean, Schema
    >>> schema = Schema(columns=(Boolean(name="a"), Boolean(name="b")))
    >>> find_measured_pairs(Release(guarantee=Guarantee.without_data(), schema=schema, model=ProductModel.uniform(schema, total=4.0)))
    {}
    """
    cliques: Sequence[Clique] = [
        m.clique for m in (*release.measurements, *release.measurements.sparse)
    ]
    pairs = {
        tuple(sorted(pair, key=list(release.schema).index))
        for c in cliques
        if 2 <= len(c) <= 12
        for pair in combinations(c, 2)
    }
    return {
        (a, b): mutual_information_bits(release.card.table((a, b)))
        for a, b in sorted(pairs)
    }


def mutual_information_bits(table: np.ndarray) -> float:
    """Mutual information of a table of two columns, in bits.

    >>> round(mutual_information_bits(np.array([[5.0, 0.0], [0.0, 5.0]])), 6), mutual_information_bits(np.ones((2, 2)))
    (1.0, 0.0)
    """
    total = float(table.sum())
    if total <= 0:
        return 0.0
    shares = np.maximum(table, 0.0) / total
    product = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    inside = shares > 0
    return max(
        0.0, float((shares[inside] * np.log2(shares[inside] / product[inside])).sum())
    )


def draw_network(names: Sequence[str], edges: dict[tuple[str, str], float]) -> str:
    """The drawing; thicker lines tell of more.

    >>> draw_network(["a", "b"], {("a", "b"): 0.5}).count("<line")
    1
    """
    size, radius = 560, 190
    middle = size / 2
    place = {
        name: (
            middle + radius * math.cos(2 * math.pi * i / len(names) - math.pi / 2),
            middle + radius * math.sin(2 * math.pi * i / len(names) - math.pi / 2),
        )
        for i, name in enumerate(names)
    }
    most = max(edges.values(), default=0.0) or 1.0
    parts = []
    for (a, b), bits in sorted(edges.items(), key=lambda e: e[1]):
        (x1, y1), (x2, y2) = place[a], place[b]
        width = 0.8 + 5 * bits / most
        parts.append(
            f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"'
            ' stroke="#0072b2" stroke-opacity="0.55" '
            f'stroke-width="{width:.1f}"><title>{escape_svg_text(f"{a} — {b}: {bits:.3f} bits")}</title></line>'
        )
    for name, (x, y) in place.items():
        end = "start" if x > middle + 5 else "end" if x < middle - 5 else "middle"
        away = 12 if end == "start" else -12 if end == "end" else 0
        rise = 4 if end != "middle" else (-12 if y < middle else 20)
        shown = name if len(name) <= 20 else f"{name[:19]}…"
        parts.append(
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="6" fill="#1f2933"/><text'
            f' x="{x + away:.0f}" y="{y + rise:.0f}" font-size="12"'
            f' text-anchor="{end}">{escape_svg_text(shown)}</text>'
        )
    title = f"{len(names)} columns, {len(edges)} pairs measured together"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-90 0 {size + 180} {size}"'
        f' width="{size + 180}" role="img"'
        f' fill="#1f2933"><title>{title}</title>{"".join(parts)}</svg>'
    )
