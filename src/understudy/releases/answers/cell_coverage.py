"""Cell coverage: how much of each cell a question asks for.

Bins are cut at the question's constants and at those of the rules: on the pieces a
condition on one column is true or false, and what a rule forbids holds no rows. The
share of a cell is that of its pieces, by the density of the release's own rows inside
bins (schema/columns/bin_density.py), with columns taken as independent there and all
days of the week alike. A piece is still open only if columns are compared with one
another inside a bin; it counts by half.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
    """Of each cell: whether the question takes all of it, whether it takes any of it,
    and the share of it that is expected to be meant.
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
    evenly in bins without a density.

    >>> from understudy.schema import Integer, parse_predicate
    >>> age = Integer(name="age", min=0, max=19, bins=(0, 10, 20), nullable=False)
    >>> schema = Schema(columns=(age,))
    >>> predicate = parse_predicate("age > 0 and age < 18")
    >>> cover_cells(predicate, schema, ("age",), schema.codecs).share.tolist()
    [0.9, 0.8]
    """
    forbidden = schema.forbidden_within(clique)
    finer = {name: _cut_bins(codecs[name], [predicate, *forbidden]) for name in clique}
    # Too many pieces for memory: then whole bins, which only widens the interval.
    if math.prod(codec.size for codec in finer.values()) > MAX_QUESTION_CELLS:
        finer = {name: codecs[name] for name in clique}
    truth = truth_of_cells(predicate, finer, clique)
    allowed = np.ones(truth.shape, np.bool_)
    for breach in forbidden:
        allowed &= ~surely_true_cells(breach, finer, clique)

    # Pieces of one code are neighbours, so that a table of pieces is folded to cells.
    starts = [_first_pieces(codecs[name], finer[name]) for name in clique]
    fold_any = partial(_fold_pieces, np.logical_or, starts=starts)
    is_allowed = fold_any(allowed)
    possible = fold_any(allowed & (truth != KLEENE_FALSE))
    is_partial = fold_any(allowed & (truth != KLEENE_TRUE))

    mass = allowed * _piece_mass(clique, codecs, finer, densities or {})
    whole_mass = _fold_pieces(np.add, mass, starts)
    taken_mass = _fold_pieces(np.add, mass * truth / KLEENE_TRUE, starts)
    sure = is_allowed & ~is_partial
    is_cut = possible & is_partial
    # A cell without any mass is cut in half, for want of anything better.
    share = np.where(is_cut, 0.5, sure.astype(np.float64))
    np.divide(taken_mass, whole_mass, out=share, where=is_cut & (whole_mass > 0))
    return CellCoverage(sure, possible, share)


def _piece_mass(
    clique: Clique,
    codecs: Mapping[str, Codec],
    finer: Mapping[str, Codec],
    densities: Mapping[str, BinDensity],
) -> NDArray[np.float64]:
    """The part of its cell that each piece is, columns independent of one another."""
    axes = CliqueAxes(clique)
    mass = np.ones([finer[name].size for name in clique])
    for name in clique:
        parts = _column_parts(codecs[name], finer[name], densities.get(name))
        mass *= axes.align_table([name], parts)
    return mass


def _cut_bins(codec: Codec, predicates: Iterable[Predicate]) -> Codec:
    column, bins = codec.column, codec.bins
    if not isinstance(column, Lattice) or not isinstance(bins, BinEdges):
        return codec
    edges = set(bins.edges)
    for predicate in predicates:
        edges.update(
            point
            for point in cut_points_of_predicate(column, predicate)
            if bins.edges[0] < point < bins.edges[-1]
        )
    return replace(codec, bins=BinEdges(tuple(sorted(edges))))


def _first_pieces(codec: Codec, finer: Codec) -> NDArray[np.int64]:
    """The first piece of each code."""
    if not isinstance(codec.bins, BinEdges) or not isinstance(finer.bins, BinEdges):
        return np.arange(codec.size)
    first = np.searchsorted(finer.bins.edges, codec.bins.edges[:-1])
    return np.append(first, np.arange(len(finer.bins), finer.size))


def _column_parts(
    codec: Codec, finer: Codec, density: BinDensity | None
) -> NDArray[np.float64]:
    """The part of its code that each piece of one column is."""
    parts = np.ones(finer.size)
    if not isinstance(codec.bins, BinEdges) or not isinstance(finer.bins, BinEdges):
        return parts
    starts, ends = np.array(codec.bins.edges), np.array(finer.bins.edges)
    code_of_piece = np.searchsorted(starts, ends[:-1], side="right") - 1
    for piece, code in enumerate(code_of_piece):
        low, high = int(ends[piece]), int(ends[piece + 1])
        width = int(starts[code + 1] - starts[code])
        if high - low == width:
            continue  # a whole bin
        if density is None:
            parts[piece] = (high - low) / width
        else:
            below_high, below_low = (density.below(int(code), x) for x in (high, low))
            parts[piece] = below_high - below_low
    return parts


def _fold_pieces(
    how: np.ufunc, table: NDArray[Any], starts: Sequence[NDArray[np.int64]]
) -> NDArray[Any]:
    """A table of pieces, combined to one entry for each code."""
    for axis, first in enumerate(starts):
        if len(first) < table.shape[axis]:
            table = how.reduceat(table, first, axis=axis)
    return table
