"""Figures of one column or two, drawn from the release."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.errors import Refused
from understudy.releases import Release
from understudy.reports.chart import Shares, column_chart
from understudy.svg import Markup, svg_element, svg_figure, svg_text, svg_title
from understudy.svg.colours import blue_shade

MAX_DRAWN_CODES = 60
"""Codes of a column that a table of two draws; the rest is left to the download."""

CROSS_TABLE_LEFT, CROSS_TABLE_TOP = 130, 8
"""Room for the names of rows, and above the squares, in pixels."""

MAX_CODE_LETTERS = 18
"""Letters of a code's label beside the squares."""


def draw_marginal(release: Release, columns: Sequence[str]) -> Markup:
    """Bars for one column, squares for two.

    >>> from understudy.models import ProductModel
    >>> from understudy.releases import Guarantee
    >>> from understudy.schema import Boolean, Schema
    >>> schema = Schema(
    ...     columns=(Boolean(name="a", nullable=False), Boolean(name="b", nullable=False))
    ... )
    >>> release = Release(
    ...     guarantee=Guarantee.without_data(),
    ...     schema=schema,
    ...     model=ProductModel.uniform(schema, total=4.0),
    ... )
    >>> draw_marginal(release, ["a", "b"]).count("<rect")
    4
    """
    # The same column twice is one column.
    names = list(dict.fromkeys(columns))
    for name in names:
        if name not in release.schema:
            raise Refused(f'column "{name}" takes no part in this release.')
    if not 1 <= len(names) <= 2:
        raise Refused("Choose one column or two.")
    labels = [release.schema.codecs[name].labels() for name in names]
    table = release.evidence.marginal(tuple(names))
    shares = table / max(float(table.sum()), 1e-9)
    if len(names) == 1:
        return column_chart(names[0], labels[0], shares)
    across, down = (words[:MAX_DRAWN_CODES] for words in labels)
    return _cross_table(names, across, down, shares[: len(across), : len(down)])


def _cross_table(
    names: Sequence[str], across: Sequence[str], down: Sequence[str], shares: Shares
) -> Markup:
    """Two columns as squares, darker where more rows are; titles hold the shares."""
    # Squares that fill about 600 pixels, but can still be pointed at.
    size = max(10, min(30, 600 // max(len(across), len(down))))
    top = max(float(shares.max(initial=0.0)), 1e-12)
    parts = []
    for i, word in enumerate(across):
        for j, other in enumerate(down):
            share = float(shares[i, j])
            caption = f"{names[0]} {word}, {names[1]} {other}: {share:.2%}"
            square = {
                "x": CROSS_TABLE_LEFT + i * size,
                "y": CROSS_TABLE_TOP + j * size,
                "width": size - 1,
                "height": size - 1,
            }
            fill, _ = blue_shade(share / top)
            parts.append(svg_element("rect", svg_title(caption), **square, fill=fill))
    parts += _name_codes(across, down, size)
    return svg_figure(
        *parts,
        width=CROSS_TABLE_LEFT + len(across) * size + 20,
        height=CROSS_TABLE_TOP + len(down) * size + 118,
        title=f"{names[0]} across, {names[1]} down: share of rows",
    )


def _name_codes(across: Sequence[str], down: Sequence[str], size: int) -> list[Markup]:
    """Labels left of the rows of squares and, turned, below the columns."""
    parts = []
    for j, other in enumerate(down):
        y = round(CROSS_TABLE_TOP + j * size + size / 2 + 4)
        words = other[:MAX_CODE_LETTERS]
        parts.append(
            svg_text(
                CROSS_TABLE_LEFT - 6,
                y,
                words,
                size=10,
                anchor="end",
            )
        )
    low = CROSS_TABLE_TOP + 8 + len(down) * size
    for i, word in enumerate(across):
        x = round(CROSS_TABLE_LEFT + i * size + size / 2)
        words, turn = word[:MAX_CODE_LETTERS], f"rotate(-50 {x} {low})"
        parts.append(
            svg_text(
                x,
                low,
                words,
                size=10,
                anchor="end",
                transform=turn,
            )
        )
    return parts
