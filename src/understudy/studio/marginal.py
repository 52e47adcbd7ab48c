"""Any table of one or two columns, drawn from the release."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.errors import Refused
from understudy.releases import Release
from understudy.reports.chart import column_chart, escape_svg_text
from understudy.reports.heatmap import blue_shade

MAX_DRAWN_CODES = 60
"""Codes of a column that a table of two draws; the rest is left to the download."""


def draw_marginal(release: Release, columns: Sequence[str]) -> str:
    """Bars for one column, squares for two.

    >>> from understudy.models import ProductModel
    >>> from understudy.releases import Guarantee
    >>> from understudy.schema import Boolean, Schema
    >>> schema = Schema(columns=(Boolean(name="a", nullable=False), Boolean(name="b", nullable=False)))
    >>> release = Release(guarantee=Guarantee.without_data(), schema=schema, model=ProductModel.uniform(schema, total=4.0))
    >>> draw_marginal(release, ["a", "b"]).count("<rect")
    4
    """
    names = list(dict.fromkeys(columns))
    for name in names:
        if name not in release.schema:
            raise Refused(f'column "{name}" takes no part in this release.')
    if not 1 <= len(names) <= 2:
        raise Refused("Choose one column or two.")
    labels = [release.schema.codecs[name].labels() for name in names]
    table = release.card.table(tuple(names))
    shares = table / max(float(table.sum()), 1e-9)
    if len(names) == 1:
        return column_chart(names[0], labels[0], shares)
    across, down = (words[:MAX_DRAWN_CODES] for words in labels)
    shares = shares[: len(across), : len(down)]
    size = max(10, min(30, 600 // max(len(across), len(down))))
    top = max(float(shares.max(initial=0.0)), 1e-12)
    parts = []
    for i, word in enumerate(across):
        for j, other in enumerate(down):
            share = float(shares[i, j])
            said = f"{names[0]} {word}, {names[1]} {other}: {share:.2%}"
            parts.append(
                f'<rect x="{130 + i * size}" y="{8 + j * size}" width="{size - 1}"'
                f' height="{size - 1}" fill="{blue_shade(share / top)[0]}">'
                f"<title>{escape_svg_text(said)}</title></rect>"
            )
    for j, other in enumerate(down):
        parts.append(
            f'<text x="124" y="{8 + j * size + size / 2 + 4:.0f}" font-size="10"'
            f' text-anchor="end">{escape_svg_text(other[:18])}</text>'
        )
    low = 16 + len(down) * size
    for i, word in enumerate(across):
        x = 130 + i * size + size / 2
        turned = f'transform="rotate(-50 {x:.0f} {low})"'
        parts.append(
            f'<text x="{x:.0f}" y="{low}" font-size="10" text-anchor="end"'
            f" {turned}>{escape_svg_text(word[:18])}</text>"
        )
    title = escape_svg_text(f"{names[0]} across, {names[1]} down: share of rows")
    width, height = 150 + len(across) * size, low + 110
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" role="img" fill="#1f2933">'
        f"<title>{title}</title>{''.join(parts)}</svg>"
    )
