"""Rows from a junction tree, by rounding.

Columns come one after the other, from the root of the tree outwards. The rows that
agree in a column's parents form a group, and a group of n rows takes its codes at the
marks (k + u)/n, k = 0 … n-1, on the cumulated conditional distribution: systematic
sampling, so that each code's count is within one of its expectation, the expectation is
exact, and a code without mass never gets a row. Inside a group the codes fall on the
rows in random order. The offsets u of neighbouring groups are spread over the strata of
a unit interval, each uniform by itself, so that sums over groups stay close to their
expectation too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.inference.calibrated_tree import Beliefs
from understudy.models.sampling.code_swaps import swap_codes
from understudy.models.sampling.conditions import GivenCodes

Ints = NDArray[np.int64]

CodeTypes = Mapping[str, np.dtype[np.unsignedinteger]]
"""The compact type of each column's codes."""

SampledCodes = dict[str, NDArray[np.unsignedinteger]]
"""Rows of codes, column by column."""

# Cells that are worked on at a time.
SAMPLING_BLOCK_CELLS = 1 << 20

# Neighbouring groups whose offsets share out the unit interval.
OFFSET_STRATA = 16


def sample_tree(
    beliefs: Beliefs,
    rows: int,
    rng: Generator,
    types: CodeTypes,
    far: Mapping[Clique, Array] | None = None,
) -> SampledCodes:
    """Rows of all columns of the tree, in random order.

    `far` holds the shares of pairs that no node holds, in the order the columns are
    drawn (`drawing_order`): where it is given, chance errors of those pairs are lowered
    by exchanges.
    """
    codes: SampledCodes = {}
    for node in beliefs.tree.order:
        draw_node_columns(beliefs, node, codes, rows, rng, types, far or {})
    return codes


def drawing_order(beliefs: Beliefs) -> Clique:
    """The order in which columns are drawn."""
    return tuple(
        name for node in beliefs.tree.order for name in beliefs.new_columns(node)
    )


def draw_node_columns(
    beliefs: Beliefs,
    node: int,
    codes: SampledCodes,
    rows: int,
    rng: Generator,
    types: CodeTypes,
    far: Mapping[Clique, Array],
) -> None:
    """Draw a node's columns that are not there yet, one after the other, each given all
    that are.
    """
    names = beliefs.tree.nodes[node]
    known = tuple(name for name in names if name in codes)
    for name in names:
        if name in known:
            continue
        table = beliefs.inside(node, (*known, name))
        size = beliefs.tree.sizes[name]
        members = cells_of_rows(codes, known, beliefs, rows)
        column = _deal_codes(table.reshape(-1, size), members, rng, types[name])
        others = {other: codes[other] for other in codes if (other, name) in far}
        if others:
            # Another random order than the one the codes were dealt in: there they
            # rise.
            order = shuffle_in_groups(members, table.size // size, rng)
            column = swap_codes(
                column,
                others,
                {other: far[other, name] for other in others},
                order,
                members,
                rng,
            )
        codes[name] = column
        known = (*known, name)


def cells_of_rows(
    codes: GivenCodes, clique: Clique, beliefs: Beliefs, rows: int
) -> Ints:
    """The cell of a clique that each row lies in."""
    cells = np.zeros(rows, np.int64)
    for name in clique:
        cells *= beliefs.tree.sizes[name]
        cells += codes[name]
    return cells


def _deal_codes(
    weights: Array, members: Ints, rng: Generator, kind: np.dtype[np.unsignedinteger]
) -> NDArray[np.unsignedinteger]:
    """For every row a code, in proportion to the weights of its group."""
    counts = np.bincount(members, minlength=len(weights))
    present = np.flatnonzero(counts)
    drawn = np.concatenate(
        [np.zeros(0, kind), *round_codes(weights, present, counts[present], rng, kind)]
    )
    codes = np.empty(members.size, kind)
    codes[shuffle_in_groups(members, len(weights), rng)] = drawn
    return codes


def shuffle_in_groups(members: Ints, groups: int, rng: Generator) -> Ints:
    """Rows group by group, in random order inside each: one sort of (group, random
    bits, row) packed into one number.
    """
    row_bits, group_bits = int(members.size).bit_length(), int(groups).bit_length()
    free = min(63 - row_bits - group_bits, 32)
    if free < 12:
        raise ValueError("so many rows must be drawn in chunks")
    keys = (members << free) | rng.integers(0, 1 << free, members.size)
    keys <<= row_bits
    keys |= np.arange(members.size)
    keys.sort()
    keys &= (1 << row_bits) - 1
    return keys


def round_codes(
    weights: Array,
    present: Ints,
    counts: Ints,
    rng: Generator,
    kind: np.dtype[np.unsignedinteger],
) -> Iterator[NDArray[np.unsignedinteger]]:
    """The codes of all groups that have rows, group by group and rising in each."""
    size = weights.shape[1]
    offsets = _stratified_offsets(present.size, rng)
    step = max(1, SAMPLING_BLOCK_CELLS // size)
    for start in range(0, present.size, step):
        part = slice(start, start + step)
        line = np.cumsum(weights[present[part]], axis=1)
        line /= line[:, -1:]
        line *= counts[part, None]
        line -= offsets[part, None]
        marks = np.maximum(np.ceil(line, out=line), 0, out=line).astype(np.int64)
        marks[:, 1:] -= marks[:, :-1].copy()
        yield np.repeat(np.tile(np.arange(size, dtype=kind), len(marks)), marks.ravel())


def _stratified_offsets(groups: int, rng: Generator) -> Array:
    """Uniform numbers, one in each stratum for every few neighbours, the strata in
    random order.
    """
    blocks = -(-groups // OFFSET_STRATA)
    strata = rng.permuted(
        np.tile(np.arange(OFFSET_STRATA), (blocks, 1)), axis=1
    ).ravel()[:groups]
    return np.asarray((strata + rng.random(groups)) / OFFSET_STRATA, np.float64)
