"""Piles: columns nearly all of whose rows lie where cells go that do not fit. Told from
the release alone, free of charge.

A cell that does not fit its column has a declared place all the same
(schema/columns/codec.py): `other`, missing, the nearest bound, the first code. Counts
of such a place may be sharp while what was in the column is lost. It may also be so in
the file, which the release cannot know: a line asks the owner. A column is called lost
where nothing else in it stands out of the noise, or where `other` holds nearly all of
it, since `other` is whatever is not told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Categorical, Lattice
from understudy.schema.columns.base import OutOfBoundsPolicy
from understudy.schema.columns.code_layout import BinEdges
from understudy.schema.columns.codec import Codec
from understudy.schema.disclosed import LOST_COLUMN_NOTE

if TYPE_CHECKING:
    from understudy.releases.card.card import Card

MIN_CATCH_ALL_SHARE, MIN_BOUND_BIN_SHARE = 0.9, 0.5
"""The share of rows that makes a pile; at a bound, which a column seldom has so many
rows at, it is the second.
"""

MIN_BINS_PER_RANGE = 10
"""The part of a column's range that a bin at a bound is at most, before the bound is
doubted: one of a few may well hold most rows.
"""

MAX_NAMED_COLUMNS = 8
"""Columns that a line names at most."""

_SPELLING_HINT = "numbers with a decimal point, dates as 2024-02-29"
RARE_VALUES_TEXT = (
    "nearly all rows are `{label}`: hardly any value is shared by enough of them."
    f" Written so, cells would be read as values: {_SPELLING_HINT}. Else declare the"
    " column in a schema, or leave it out."
)
UNLISTED_VALUES_TEXT = (
    "nearly all rows are `{label}`: does the schema spell its values as the file does?"
)
EMPTY_COLUMN_TEXT = (
    "nearly all rows are missing: are cells written as they are read (labels as the"
    f" schema has them, {_SPELLING_HINT}), or is it empty in the file?"
)
BOUND_BIN_TEXT = (
    "about {percent:.0f} % of rows are in the {end} bin ({label}): does the file hold"
    " {more} values than the schema's `{key}`?"
)
FIRST_VALUE_TEXT = (
    "nearly all rows are `{label}`, where cells go that fit nowhere: does the schema"
    " spell its values as the file does, or is it so in the file?"
)


@dataclass(frozen=True)
class DegenerateColumn:
    """What is said of a column, and whether what was in it is lost."""

    said: str
    lost: bool


def find_degenerate_columns(card: Card) -> dict[str, DegenerateColumn]:
    """The columns of a release that are piled up, each with what is said of it; nothing
    where noise alone may have done it.
    """
    release = card.release
    found: dict[str, DegenerateColumn] = {}
    for name in release.schema if len(release.measurements) else ():
        if release.schema[name].note == LOST_COLUMN_NOTE:
            found[name] = DegenerateColumn(
                "", lost=True
            )  # the run says so in its own words
            continue
        counts = card.table((name,))
        shares = counts / max(float(counts.sum()), 1e-9)
        if (
            max(_catch_all_shares(release.schema.codecs[name], shares), default=0.0)
            < MIN_BOUND_BIN_SHARE
        ):
            continue
        bound = card.bound((name,))
        error = 1.0 if bound is None else bound.rows / (2 * card.rows)
        pile = _judge_column(release.schema.codecs[name], shares, error)
        if pile is not None:
            found[name] = pile
    return found


def degenerate_column_lines(found: dict[str, DegenerateColumn]) -> tuple[str, ...]:
    """One line for all columns of which the same is said.

    >>> degenerate_column_lines({"sex": DegenerateColumn("nearly all rows are missing", True),
    ...     "job": DegenerateColumn("nearly all rows are missing", True)})
    ('sex, job: nearly all rows are missing',)
    """
    said = dict.fromkeys(pile.said for pile in found.values() if pile.said)
    return tuple(
        f"{join_first_names([name for name in found if found[name].said == text])}:"
        f" {text}"
        for text in said
    )


def join_first_names(names: list[str]) -> str:
    """Names, the first few of many."""
    return (
        ", ".join(names)
        if len(names) <= MAX_NAMED_COLUMNS
        else (
            f"{', '.join(names[:MAX_NAMED_COLUMNS])} and"
            f" {len(names) - MAX_NAMED_COLUMNS} more"
        )
    )


def _catch_all_shares(codec: Codec, shares: NDArray[np.float64]) -> tuple[float, ...]:
    """The shares of `other` and missing together, of the first code and of the last."""
    values = len(codec.bins)
    ends = (float(shares[0]), float(shares[values - 1])) if values else ()
    return (float(shares[values:].sum()), *ends)


def _exceeds_noise(share: float, least: float, error: float) -> bool:
    """Whether a pile is no work of noise."""
    return share >= least and share - error >= least / 2


def _rest_is_noise(share: float, error: float) -> bool:
    """Whether all else may be noise: twice the error that noise exceeds once in twenty
    times, which it hardly ever does.
    """
    return 1 - share <= 2 * error


def _judge_column(
    codec: Codec, shares: NDArray[np.float64], error: float
) -> DegenerateColumn | None:
    column, labels = codec.column, codec.labels()
    untold, *ends = _catch_all_shares(codec, shares)
    other = float(shares[codec.other]) if codec.other is not None else 0.0
    if _exceeds_noise(untold, MIN_CATCH_ALL_SHARE, error):
        alone = _rest_is_noise(untold, error)
        if codec.other is None or 2 * other < untold:
            return DegenerateColumn(EMPTY_COLUMN_TEXT, alone)
        assert isinstance(column, Categorical)
        if column.unfold_weights:
            return None  # its rows are given labels of a public list
        text = RARE_VALUES_TEXT if "values" in column.learned else UNLISTED_VALUES_TEXT
        return DegenerateColumn(
            text.format(label=labels[codec.other]),
            alone or other >= MIN_CATCH_ALL_SHARE,
        )
    if len(codec.bins) < 2:
        return None
    if (
        isinstance(column, Lattice)
        and "bounds" not in column.learned
        and column.outside is OutOfBoundsPolicy.CLIP
    ):
        found = _judge_bounds(codec, *ends, error=error)
        if found is not None:
            return found
    if (
        codec.unlisted_code == 0
        and _exceeds_noise(ends[0], MIN_CATCH_ALL_SHARE, error)
        and _rest_is_noise(ends[0], error)
    ):
        return DegenerateColumn(
            FIRST_VALUE_TEXT.format(label=labels[0]), lost=False
        )  # a value like others may well hold them all
    return None


def _judge_bounds(
    codec: Codec, low: float, high: float, *, error: float
) -> DegenerateColumn | None:
    assert isinstance(codec.bins, BinEdges)
    edges = codec.bins.edges
    ways = [(high, "last", "larger", "max", len(edges) - 2)]
    if edges[0] != 0:  # many a column of numbers is zero in most rows
        ways.append((low, "first", "smaller", "min", 0))
    for share, end, more, key, at in ways:
        narrow = (
            MIN_BINS_PER_RANGE * (edges[at + 1] - edges[at]) <= edges[-1] - edges[0]
        )
        if narrow and _exceeds_noise(share, MIN_BOUND_BIN_SHARE, error):
            text = BOUND_BIN_TEXT.format(
                percent=100 * share,
                end=end,
                label=codec.labels()[at],
                more=more,
                key=key,
            )
            return DegenerateColumn(
                text, share >= MIN_CATCH_ALL_SHARE and _rest_is_noise(share, error)
            )
    return None
