"""Portions: how much of each cell a question asks for.

Bins are cut where the question's constants lie, and those of the rules: on the pieces a
condition on one column is true or false, and what a rule forbids is nobody. The share
of a cell is that of its pieces, by the density that the release's own rows are spread
with inside bins (schema/columns/bin_density.py), one column apart from the other; days
of the week are not told apart. Only where columns are compared with one another inside
a bin is a piece still open; it counts by half.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import Clique
from understudy.schema import Lattice, Schema
from understudy.schema.columns.axes import CliqueAxes
from understudy.schema.columns.bin_density import BinDensity
from understudy.schema.columns.code_layout import BinEdges
from understudy.schema.columns.codec import Codec
from understudy.schema.predicates.ast import Predicate
from understudy.schema.predicates.cut_points import cut_points_of_predicate
from understudy.schema.predicates.kleene import KLEENE_FALSE, KLEENE_TRUE
from understudy.schema.predicates.on_cells import surely_true_cells, truth_of_cells

MAX_QUESTION_CELLS = 10_000_000
"""Cells of the marginal that a question may be about; bins are cut as long as their
pieces are no more.
"""


@dataclass(frozen=True)
class CellCoverage:
    """Of each cell: whether the question takes all of it, or any of it, and which share
    of it is expected to be meant.
    """

    sure: NDArray[np.bool_]
    possible: NDArray[np.bool_]
    share: NDArray[np.float64]


def cover_cells(
    predicate: Predicate,
    schema: Schema,
    clique: Clique,
    codecs: Mapping[str, Codec],
    densities: Mapping[str, BinDensity] | None = None,
) -> CellCoverage:
    """How much of each cell of a clique, by these codecs, a predicate takes; values lie
    evenly in bins where no spread says otherwise.

    >>> from understudy.schema import Integer, parse_predicate
    >>> schema = Schema(columns=(Integer(name="age", min=0, max=19, bins=(0, 10, 20), nullable=False),))
    >>> cover_cells(parse_predicate("age > 0 and age < 18"), schema, ("age",), schema.codecs).share.tolist()
    [0.9, 0.8]
    """
    forbidden = schema.forbidden_within(clique)
    finer = {name: _cut_bins(codecs[name], [predicate, *forbidden]) for name in clique}
    if math.prod(codec.size for codec in finer.values()) > MAX_QUESTION_CELLS:
        finer = {name: codecs[name] for name in clique}
    truth = truth_of_cells(predicate, finer, clique)
    open_ = np.ones(truth.shape, np.bool_)
    for breach in forbidden:
        open_ &= ~surely_true_cells(breach, finer, clique)
    starts = [_first_pieces(codecs[name], finer[name]) for name in clique]
    any_, possible, short = (
        _fold_pieces(np.logical_or, open_ & part, starts)
        for part in (np.True_, truth != KLEENE_FALSE, truth != KLEENE_TRUE)
    )
    mass = open_.astype(np.float64)
    for name in clique:
        mass *= CliqueAxes(clique).align_table(
            [name],
            _piece_masses(codecs[name], finer[name], (densities or {}).get(name)),
        )
    whole, part = (
        _fold_pieces(np.add, table, starts)
        for table in (mass, mass * truth / KLEENE_TRUE)
    )
    sure = any_ & ~short
    share = np.where(possible & short, 0.5, sure.astype(np.float64))
    np.divide(part, whole, out=share, where=possible & short & (whole > 0))
    return CellCoverage(sure, possible, share)


def _cut_bins(codec: Codec, predicates: Iterable[Predicate]) -> Codec:
    column, bins = codec.column, codec.bins
    if not isinstance(column, Lattice) or not isinstance(bins, BinEdges):
        return codec
    found = {
        at
        for predicate in predicates
        for at in cut_points_of_predicate(column, predicate)
        if bins.edges[0] < at < bins.edges[-1]
    }
    return replace(codec, bins=BinEdges(tuple(sorted(found.union(bins.edges)))))


def _first_pieces(codec: Codec, finer: Codec) -> NDArray[np.int64]:
    """The first piece of each code."""
    if not isinstance(codec.bins, BinEdges) or not isinstance(finer.bins, BinEdges):
        return np.arange(codec.size)
    first = np.searchsorted(finer.bins.edges, codec.bins.edges[:-1])
    return np.append(first, np.arange(len(finer.bins), finer.size))


def _piece_masses(
    codec: Codec, finer: Codec, spread: BinDensity | None
) -> NDArray[np.float64]:
    """Which part of its code each piece is."""
    masses = np.ones(finer.size)
    if not isinstance(codec.bins, BinEdges) or not isinstance(finer.bins, BinEdges):
        return masses
    starts, ends = np.array(codec.bins.edges), np.array(finer.bins.edges)
    place = np.searchsorted(starts, ends[:-1], side="right") - 1
    for i, code in enumerate(place):
        low, high = int(ends[i]), int(ends[i + 1])
        if high - low < starts[code + 1] - starts[code]:
            even = (high - low) / float(starts[code + 1] - starts[code])
            masses[i] = (
                even
                if spread is None
                else spread.below(int(code), high) - spread.below(int(code), low)
            )
    return masses


def _fold_pieces(
    how: np.ufunc, table: NDArray[Any], starts: Sequence[NDArray[np.int64]]
) -> NDArray[Any]:
    """A table of pieces, put together by code."""
    for axis, first in enumerate(starts):
        if len(first) < table.shape[axis]:
            table = how.reduceat(table, first, axis=axis)
    return table
