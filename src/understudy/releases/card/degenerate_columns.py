"""Piles: columns nearly all of whose rows lie where cells go that do not fit. Told from the release alone, free of charge.

A cell that does not fit its column has a declared place all the same (schema/columns/codec.py): `other`, missing, the nearest bound, the first
code. Counts of such a place may be sharp while what was in the column is lost. It may also be so in the file, which the release cannot
know: a line asks the owner. A column is called lost where nothing else in it stands out of the noise, or where `other`
holds nearly all of it, since `other` is whatever is not told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Categorical, Lattice
from understudy.schema.columns.base import Outside
from understudy.schema.columns.codec import Codec, Edges
from understudy.schema.disclosed import LOST

if TYPE_CHECKING:
    from understudy.releases.card.card import Card

NEARLY, MOST = 0.9, 0.5
"""The share of rows that makes a pile; at a bound, which a column seldom has so many rows at, it is the second."""

NARROW = 10
"""The part of a column's range that a bin at a bound is at most, before the bound is doubted: one of a few may well hold most rows."""

NAMED = 8
"""Columns that a line names at most."""

_SPELLED = "numbers with a decimal point, dates as 2024-02-29"
RARE = (
    "nearly all rows are `{label}`: hardly any value is shared by enough of them. Written so, cells would be read as values:"
    f" {_SPELLED}. Else declare the column in a schema, or leave it out."
)
UNLISTED = "nearly all rows are `{label}`: does the schema spell its values as the file does?"
EMPTY = (
    f"nearly all rows are missing: are cells written as they are read (labels as the schema has them, {_SPELLED}),"
    " or is it empty in the file?"
)
BOUND = "about {percent:.0f} % of rows are in the {end} bin ({label}): does the file hold {more} values than the schema's `{key}`?"
FIRST = (
    "nearly all rows are `{label}`, where cells go that fit nowhere: does the schema spell its values as the file does,"
    " or is it so in the file?"
)


@dataclass(frozen=True)
class Pile:
    """What is said of a column, and whether what was in it is lost."""

    said: str
    lost: bool


def piles(card: Card) -> dict[str, Pile]:
    """The columns of a release that are piled up, each with what is said of it; nothing where noise alone may have done it."""
    release = card.release
    found: dict[str, Pile] = {}
    for name in release.schema if len(release.measurements) else ():
        if release.schema[name].note == LOST:
            found[name] = Pile("", lost=True)  # the run says so in its own words
            continue
        counts = card.table((name,))
        shares = counts / max(float(counts.sum()), 1e-9)
        if max(_places(release.schema.codecs[name], shares), default=0.0) < MOST:
            continue
        bound = card.bound((name,))
        error = 1.0 if bound is None else bound.rows / (2 * card.rows)
        pile = _pile(release.schema.codecs[name], shares, error)
        if pile is not None:
            found[name] = pile
    return found


def lines(found: dict[str, Pile]) -> tuple[str, ...]:
    """One line for all columns of which the same is said.

    >>> lines({"sex": Pile("nearly all rows are missing", True), "job": Pile("nearly all rows are missing", True)})
    ('sex, job: nearly all rows are missing',)
    """
    said = dict.fromkeys(pile.said for pile in found.values() if pile.said)
    return tuple(f"{few([name for name in found if found[name].said == text])}: {text}" for text in said)


def few(names: list[str]) -> str:
    """Names, the first few of many."""
    return ", ".join(names) if len(names) <= NAMED else f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def _places(codec: Codec, shares: NDArray[np.float64]) -> tuple[float, ...]:
    """The shares of `other` and missing together, of the first code and of the last."""
    values = len(codec.bins)
    ends = (float(shares[0]), float(shares[values - 1])) if values else ()
    return (float(shares[values:].sum()), *ends)


def _stands(share: float, least: float, error: float) -> bool:
    """Whether a pile is no work of noise."""
    return share >= least and share - error >= least / 2


def _alone(share: float, error: float) -> bool:
    """Whether all else may be noise: twice the error that noise exceeds once in twenty times, which it hardly ever does."""
    return 1 - share <= 2 * error


def _pile(codec: Codec, shares: NDArray[np.float64], error: float) -> Pile | None:
    column, labels = codec.column, codec.labels()
    untold, *ends = _places(codec, shares)
    other = float(shares[codec.other]) if codec.other is not None else 0.0
    if _stands(untold, NEARLY, error):
        alone = _alone(untold, error)
        if codec.other is None or 2 * other < untold:
            return Pile(EMPTY, alone)
        assert isinstance(column, Categorical)
        if column.unfolded:
            return None  # its rows are given labels of a public list
        text = RARE if "values" in column.learned else UNLISTED
        return Pile(text.format(label=labels[codec.other]), alone or other >= NEARLY)
    if len(codec.bins) < 2:
        return None
    if isinstance(column, Lattice) and "bounds" not in column.learned and column.outside is Outside.CLIP:
        found = _at_a_bound(codec, *ends, error=error)
        if found is not None:
            return found
    if codec.unlisted == 0 and _stands(ends[0], NEARLY, error) and _alone(ends[0], error):
        return Pile(FIRST.format(label=labels[0]), lost=False)  # a value like others may well hold them all
    return None


def _at_a_bound(codec: Codec, low: float, high: float, *, error: float) -> Pile | None:
    assert isinstance(codec.bins, Edges)
    edges = codec.bins.edges
    ways = [(high, "last", "larger", "max", len(edges) - 2)]
    if edges[0] != 0:  # many a column of numbers is zero in most rows
        ways.append((low, "first", "smaller", "min", 0))
    for share, end, more, key, at in ways:
        narrow = NARROW * (edges[at + 1] - edges[at]) <= edges[-1] - edges[0]
        if narrow and _stands(share, MOST, error):
            text = BOUND.format(percent=100 * share, end=end, label=codec.labels()[at], more=more, key=key)
            return Pile(text, share >= NEARLY and _alone(share, error))
    return None
