"""Degenerate columns: nearly all rows fell into a catch-all value, so the column carries
no information. Found from the release alone, free of charge.

A cell that does not fit its column has a declared place all the same
(schema/columns/codec.py): `other`, missing, the nearest bound, the first code. Counts
of such a place may be precise while what was in the column is lost. The file itself may
also be like that, which the release cannot know: a line asks the owner. A column is
called lost if nothing else in it exceeds the noise, or if `other` holds nearly all of
it, since `other` says nothing about a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.releases.card.bounds import error_share, marginal_error_bound
from understudy.releases.card.lost_columns import is_lost_column
from understudy.releases.evidence import Evidence
from understudy.schema import Categorical, Lattice
from understudy.schema.columns.base import OutOfBoundsPolicy
from understudy.schema.columns.code_layout import BinEdges
from understudy.schema.columns.codec import Codec
from understudy.text import join_first_names

MIN_CATCH_ALL_SHARE, MIN_BOUND_BIN_SHARE = 0.9, 0.5
"""Share of rows from which a catch-all value makes a column degenerate. At a bound it
is the second: few columns have half of their rows there.
"""

MIN_BINS_PER_RANGE = 10
"""A bound is doubted only if its bin is at most this fraction of the column's range:
one of a few wide bins may well hold most rows.
"""

_SPELLING_HINT = (
    "numbers with a decimal point, dates as 2024-02-29 or in a declared `format`"
)
RARE_VALUES_TEXT = (
    "nearly all rows are `{label}`: hardly any value is shared by enough of them."
    f" Written so, cells would be read as values: {_SPELLING_HINT}. Else declare the"
    " column in a schema, or leave it out."
)
LOST_LABELS_TEXT = (
    "no value is shared by enough rows to be shown, so the column is empty. Written so,"
    f" cells would be read as values: {_SPELLING_HINT}. Else declare the column in a"
    " schema, or leave it out."
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


@dataclass(frozen=True)
class CatchAllShares:
    """The share of rows in each place where cells go that do not fit."""

    unplaced: float
    """`other` and missing together."""
    other: float
    first: float
    last: float
    """The first code and the last of those that are values; 0 if there are none."""

    @classmethod
    def of(cls, codec: Codec, shares: NDArray[np.float64]) -> CatchAllShares:
        """The shares of one column, from the share of each of its codes."""
        values = len(codec.bins)
        return cls(
            unplaced=float(shares[values:].sum()),
            other=0.0 if codec.other is None else float(shares[codec.other]),
            first=float(shares[0]) if values else 0.0,
            last=float(shares[values - 1]) if values else 0.0,
        )

    @property
    def largest(self) -> float:
        """The largest share of any one place."""
        return max(self.unplaced, self.first, self.last)


def find_degenerate_columns(evidence: Evidence) -> dict[str, DegenerateColumn]:
    """The degenerate columns of a release, each with what is said of it; none that
    noise alone may have made so.
    """
    degenerate: dict[str, DegenerateColumn] = {}
    if not len(evidence.measurements):
        return degenerate
    for name in evidence.schema:
        judged = _judge_released_column(evidence, name)
        if judged is not None:
            degenerate[name] = judged
    return degenerate


def degenerate_column_lines(
    degenerate: Mapping[str, DegenerateColumn],
) -> tuple[str, ...]:
    """One line for all columns of which the same is said.

    >>> degenerate_column_lines({"sex": DegenerateColumn("nearly all rows are missing", True),
    ...     "job": DegenerateColumn("nearly all rows are missing", True)})
    ('sex, job: nearly all rows are missing',)
    """
    names_by_text: dict[str, list[str]] = {}
    for name, column in degenerate.items():
        if column.said:
            names_by_text.setdefault(column.said, []).append(name)
    return tuple(
        f"{join_first_names(names)}: {text}" for text, names in names_by_text.items()
    )


def _judge_released_column(evidence: Evidence, name: str) -> DegenerateColumn | None:
    if is_lost_column(evidence, name):
        # The run itself warns that nothing exceeded the noise; labels may besides be
        # misspelt numbers.
        has_labels = isinstance(evidence.schema[name], Categorical)
        return DegenerateColumn(LOST_LABELS_TEXT if has_labels else "", lost=True)
    codec, shares = evidence.schema.codecs[name], evidence.shares(name)
    if CatchAllShares.of(codec, shares).largest < MIN_BOUND_BIN_SHARE:
        return None  # spares most columns the error bound
    bound = marginal_error_bound(evidence, (name,))
    error = 1.0 if bound is None else error_share(bound, evidence)
    return _judge_column(codec, shares, error)


def _exceeds_noise(share: float, least: float, error: float) -> bool:
    """Whether a share that large is more than noise."""
    # Half is enough for what the error leaves: nearly all rows cannot be noise.
    return share >= least and share - error >= least / 2


def _is_rest_noise(share: float, error: float) -> bool:
    """Whether all other rows may be noise: they are within twice the error that noise
    exceeds once in twenty times.
    """
    return 1 - share <= 2 * error


def _judge_column(
    codec: Codec, shares: NDArray[np.float64], error: float
) -> DegenerateColumn | None:
    catch_all = CatchAllShares.of(codec, shares)
    if _exceeds_noise(catch_all.unplaced, MIN_CATCH_ALL_SHARE, error):
        return _judge_unplaced(codec, catch_all, error)
    if len(codec.bins) < 2:
        return None
    if _is_clipped_by_declaration(codec):
        judged = _judge_bounds(codec, catch_all, error)
        if judged is not None:
            return judged
    return _judge_first_value(codec, catch_all, error)


def _judge_unplaced(
    codec: Codec, catch_all: CatchAllShares, error: float
) -> DegenerateColumn | None:
    """A column whose rows are nearly all `other` or missing."""
    is_alone = _is_rest_noise(catch_all.unplaced, error)
    # Which of the two holds most rows decides what the owner should look at.
    if codec.other is None or 2 * catch_all.other < catch_all.unplaced:
        return DegenerateColumn(EMPTY_COLUMN_TEXT, is_alone)
    column = codec.column
    assert isinstance(column, Categorical)
    if column.unfold_weights:
        return None  # rows of `other` are given labels from a public list
    text = RARE_VALUES_TEXT if "values" in column.learned else UNLISTED_VALUES_TEXT
    said = text.format(label=codec.labels()[codec.other])
    return DegenerateColumn(said, is_alone or catch_all.other >= MIN_CATCH_ALL_SHARE)


def _is_clipped_by_declaration(codec: Codec) -> bool:
    """Whether values beyond declared bounds were moved to the bounds."""
    column = codec.column
    return (
        isinstance(column, Lattice)
        and "bounds" not in column.learned
        and column.outside is OutOfBoundsPolicy.CLIP
    )


def _judge_bounds(
    codec: Codec, catch_all: CatchAllShares, error: float
) -> DegenerateColumn | None:
    """A column of which half of the rows lie in a narrow bin at a declared bound."""
    assert isinstance(codec.bins, BinEdges)
    edges = codec.bins.edges
    ends = [(catch_all.last, "last", "larger", "max", len(edges) - 2)]
    # A lower bound of 0 is not doubted: many columns of numbers are 0 in most rows.
    if edges[0] != 0:
        ends.append((catch_all.first, "first", "smaller", "min", 0))
    for share, end, more, key, place in ends:
        width = edges[place + 1] - edges[place]
        is_narrow = MIN_BINS_PER_RANGE * width <= edges[-1] - edges[0]
        if not is_narrow or not _exceeds_noise(share, MIN_BOUND_BIN_SHARE, error):
            continue
        text = BOUND_BIN_TEXT.format(
            percent=100 * share,
            end=end,
            label=codec.labels()[place],
            more=more,
            key=key,
        )
        is_lost = share >= MIN_CATCH_ALL_SHARE and _is_rest_noise(share, error)
        return DegenerateColumn(text, is_lost)
    return None


def _judge_first_value(
    codec: Codec, catch_all: CatchAllShares, error: float
) -> DegenerateColumn | None:
    """A column whose rows are nearly all its first value, where unlisted labels go.

    It is not called lost: a value like others may well hold all rows.
    """
    is_catch_all = codec.unlisted_code == 0 and "values" not in codec.column.learned
    share = catch_all.first
    # Misspelt labels leave no other row. A frequent first value leaves some, so the noise
    # must be small enough to tell one from the other; values learned are never misspelt.
    is_nearly_all = share - 2 * error >= MIN_CATCH_ALL_SHARE
    if is_catch_all and is_nearly_all and _is_rest_noise(share, error):
        said = FIRST_VALUE_TEXT.format(label=codec.labels()[0])
        return DegenerateColumn(said, lost=False)
    return None
