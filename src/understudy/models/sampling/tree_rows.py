"""Rows from a junction tree by rounding, and the exact completion of partial rows.

Columns come one after the other, from the root of the tree outwards. The rows that
agree in a column's parents form a group, and a group of n rows takes its codes at the
marks (k + u)/n, k = 0 … n-1, on the cumulated conditional distribution: systematic
sampling, so that each code's count is within one of its expectation, the expectation is
exact, and a code without mass never gets a row. Inside a group the codes fall on the
rows in random order. The offsets u of neighbouring groups are spread over the strata of
a unit interval, each uniform by itself, so that sums over groups stay close to their
expectation too.

Given columns are evidence. The tree is hung up at a node that holds many of them; what
evidence elsewhere says travels towards that root as one likelihood for each distinct
combination of given codes, and the rows are then drawn from the root outwards. Nothing
is rejected.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.inference.calibrated_tree import Beliefs
from understudy.models.inference.junction_tree import NO_NODE
from understudy.models.sampling.code_swaps import swap_codes
from understudy.models.sampling.conditions import GivenCodes, group_rows

Ints = NDArray[np.int64]

# Cells that are worked on at a time.
SAMPLING_BLOCK_CELLS = 1 << 20

# Cells of likelihood that are held at a time, and rows that are completed together
# however large that is.
MAX_LIKELIHOOD_CELLS, MIN_COMPLETED_ROWS = 1 << 25, 256

# Neighbouring groups whose offsets share out the unit interval.
OFFSET_STRATA = 16


def sample_tree(
    beliefs: Beliefs,
    rows: int,
    rng: Generator,
    types: Mapping[str, np.dtype[np.unsignedinteger]],
    far: Mapping[Clique, Array] | None = None,
) -> dict[str, NDArray[np.unsignedinteger]]:
    """Rows of all columns of the tree, in random order.

    `far` holds the shares of pairs that no node holds, in the order the columns are
    drawn (`drawing_order`): where it is given, chance errors of those pairs are lowered
    by exchanges.
    """
    codes: dict[str, NDArray[np.unsignedinteger]] = {}
    for node in beliefs.tree.order:
        _draw_node_columns(beliefs, node, codes, rows, rng, types, far or {})
    return codes


def drawing_order(beliefs: Beliefs) -> Clique:
    """The order in which columns are drawn."""
    return tuple(
        name for node in beliefs.tree.order for name in beliefs.new_columns(node)
    )


def _draw_node_columns(
    beliefs: Beliefs,
    node: int,
    codes: dict[str, NDArray[np.unsignedinteger]],
    rows: int,
    rng: Generator,
    types: Mapping[str, np.dtype[np.unsignedinteger]],
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
        members = _cells_of_rows(codes, known, beliefs, rows)
        column = _deal_codes(table.reshape(-1, size), members, rng, types[name])
        others = {other: codes[other] for other in codes if (other, name) in far}
        if others:
            # Another random order than the one the codes were dealt in: there they
            # rise.
            order = _shuffle_in_groups(members, table.size // size, rng)
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


def _cells_of_rows(
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
        [np.zeros(0, kind), *_round_codes(weights, present, counts[present], rng, kind)]
    )
    codes = np.empty(members.size, kind)
    codes[_shuffle_in_groups(members, len(weights), rng)] = drawn
    return codes


def _shuffle_in_groups(members: Ints, groups: int, rng: Generator) -> Ints:
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


def _round_codes(
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


# --- given columns
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Likelihood:
    """What evidence below a node says of the columns it shares with its parent: a table
    for each distinct evidence.

    `member` is the evidence each row has; `table` has one axis for the evidence and one
    for each of the `columns`.
    """

    columns: Clique
    table: Array
    member: Ints


def complete_tree(
    beliefs: Beliefs,
    given: GivenCodes,
    rows: int,
    rng: Generator,
    types: Mapping[str, np.dtype[np.unsignedinteger]],
) -> tuple[dict[str, NDArray[np.unsignedinteger]], NDArray[np.bool_]]:
    """Whole rows of the tree's columns, and which of the rows have no mass: those are
    not to be used.
    """
    tree = beliefs.tree
    if not rows:
        return {name: np.zeros(0, types[name]) for name in tree.sizes}, np.zeros(
            0, bool
        )
    inside = {name: np.asarray(given[name]) for name in tree.sizes if name in given}
    root = max(
        range(len(tree.nodes)),
        key=lambda i: sum(name in inside for name in tree.nodes[i]),
    )
    beliefs = beliefs.reroot_at(root)
    largest = max(tree.size(separator) for separator in beliefs.tree.separators)
    step = (
        rows
        if set(inside) <= set(tree.nodes[root])
        else max(MIN_COMPLETED_ROWS, MAX_LIKELIHOOD_CELLS // largest)
    )
    if rows <= step:
        return _complete_rows(beliefs, inside, rows, rng, types)
    # Rows that share all given codes stay together, so that they share one rounding.
    order = np.argsort(group_rows(inside, tuple(inside), rows).member, kind="stable")
    codes: dict[str, NDArray[np.unsignedinteger]] = {
        name: np.zeros(rows, types[name]) for name in tree.sizes
    }
    lost = np.zeros(rows, bool)
    for start in range(0, rows, step):
        at = order[start : start + step]
        part, gone = _complete_rows(
            beliefs,
            {name: column[at] for name, column in inside.items()},
            at.size,
            rng,
            types,
        )
        lost[at] = gone
        for name, column in part.items():
            codes[name][at] = column
    return codes, lost


def _complete_rows(
    beliefs: Beliefs,
    inside: Mapping[str, NDArray[np.integer]],
    rows: int,
    rng: Generator,
    types: Mapping[str, np.dtype[np.unsignedinteger]],
) -> tuple[dict[str, NDArray[np.unsignedinteger]], NDArray[np.bool_]]:
    said = _collect_likelihoods(beliefs, inside, rows)
    lost = _rows_without_mass(beliefs, inside, said, rows)
    codes: dict[str, NDArray[np.unsignedinteger]] = {
        name: column.astype(types[name])[~lost] for name, column in inside.items()
    }
    left = int(rows - np.count_nonzero(lost))
    heard = {
        node: _Likelihood(s.columns, s.table, s.member[~lost])
        for node, s in said.items()
    }
    for node in beliefs.tree.order:
        below = [
            heard[child] for child in beliefs.tree.children[node] if child in heard
        ]
        if below:
            _draw_jointly(beliefs, node, below, codes, left, rng, types)
        _draw_node_columns(beliefs, node, codes, left, rng, types, {})
    whole = {}
    for name, column in codes.items():
        whole[name] = np.zeros(rows, types[name])
        whole[name][~lost] = column
    return whole, lost


def _collect_likelihoods(
    beliefs: Beliefs, given: GivenCodes, rows: int
) -> dict[int, _Likelihood]:
    """From the leaves towards the root, for every node with evidence that its parent
    does not see.
    """
    said: dict[int, _Likelihood] = {}
    for node in reversed(beliefs.tree.order):
        if beliefs.tree.parents[node] == NO_NODE:
            break
        below = [said[child] for child in beliefs.tree.children[node] if child in said]
        if not below and not any(name in given for name in beliefs.new_columns(node)):
            continue
        separator = beliefs.tree.separators[node]
        shared = tuple(name for name in separator if name not in given)
        hidden = tuple(name for name in beliefs.new_columns(node) if name not in given)
        known = tuple(name for name in beliefs.tree.nodes[node] if name in given)
        cells, evidence, member = _distinct_evidence(beliefs, given, known, below, rows)
        table = _conditional_table(beliefs, node, known, shared + hidden)
        made = []
        for part in _block_slices(len(cells), math.prod(table.shape[1:])):
            product = _multiply_likelihoods(
                table[cells[part]], shared + hidden, below, [e[part] for e in evidence]
            )
            likelihood = product.reshape(*product.shape[: 1 + len(shared)], -1).sum(
                axis=-1
            )
            tops = (
                likelihood.reshape(len(likelihood), -1)
                .max(axis=1)
                .reshape(-1, *[1] * len(shared))
            )
            made.append(likelihood / np.where(tops > 0, tops, 1.0))
        said[node] = _Likelihood(shared, np.concatenate(made), member)
    return said


def _conditional_table(
    beliefs: Beliefs, node: int, known: Clique, free: Clique
) -> Array:
    """A node given its separator, as one row for each cell of the known columns."""
    separator, new = beliefs.tree.separators[node], beliefs.new_columns(node)
    axes = (*separator, *new)
    table = beliefs.conditional(node, new).transpose(
        [axes.index(name) for name in (*known, *free)]
    )
    return np.ascontiguousarray(table).reshape(
        -1, *[beliefs.tree.sizes[name] for name in free]
    )


def _distinct_evidence(
    beliefs: Beliefs,
    given: GivenCodes,
    known: Clique,
    below: Sequence[_Likelihood],
    rows: int,
) -> tuple[Ints, list[Ints], Ints]:
    """The distinct combinations of known codes and of evidence further down: cells,
    evidence by child, and each row's number.
    """
    columns = {"cell": _cells_of_rows(given, known, beliefs, rows)} | {
        f"child {i}": likelihood.member for i, likelihood in enumerate(below)
    }
    groups = group_rows(columns, tuple(columns), rows)
    return (
        groups.keys[:, 0],
        [groups.keys[:, 1 + i] for i in range(len(below))],
        groups.member,
    )


def _multiply_likelihoods(
    product: Array, free: Clique, below: Sequence[_Likelihood], evidence: Sequence[Ints]
) -> Array:
    """Rows of a node's table times what was said of its columns by evidence further
    down.
    """
    for likelihood, numbers in zip(below, evidence, strict=True):
        order = [
            0,
            *(
                1 + likelihood.columns.index(name)
                for name in free
                if name in likelihood.columns
            ),
        ]
        table = likelihood.table[numbers].transpose(order)
        lengths = iter(table.shape[1:])
        product = product * table.reshape(
            len(table),
            *[next(lengths) if name in likelihood.columns else 1 for name in free],
        )
    return product


def _block_slices(count: int, cells: int) -> Iterator[slice]:
    step = max(1, SAMPLING_BLOCK_CELLS // max(cells, 1))
    return (slice(start, start + step) for start in range(0, count, step))


def _rows_without_mass(
    beliefs: Beliefs, given: GivenCodes, said: Mapping[int, _Likelihood], rows: int
) -> NDArray[np.bool_]:
    """Rows whose evidence has no mass, as the root sees it."""
    root = beliefs.tree.root
    below = [said[child] for child in beliefs.tree.children[root] if child in said]
    names = beliefs.tree.nodes[root]
    known = tuple(name for name in names if name in given)
    heard = {name for likelihood in below for name in likelihood.columns}
    free = tuple(name for name in names if name in heard)
    cells, evidence, member = _distinct_evidence(beliefs, given, known, below, rows)
    table = beliefs.inside(root, (*known, *free)).reshape(
        -1, *[beliefs.tree.sizes[name] for name in free]
    )
    mass = np.zeros(len(cells))
    for part in _block_slices(len(cells), math.prod(table.shape[1:])):
        product = _multiply_likelihoods(
            table[cells[part]], free, below, [e[part] for e in evidence]
        )
        mass[part] = product.reshape(len(product), -1).sum(axis=1)
    return np.asarray(mass <= 0)[member]


def _draw_jointly(
    beliefs: Beliefs,
    node: int,
    below: Sequence[_Likelihood],
    codes: dict[str, NDArray[np.unsignedinteger]],
    rows: int,
    rng: Generator,
    types: Mapping[str, np.dtype[np.unsignedinteger]],
) -> None:
    """Draw together those columns of a node that evidence further down speaks of."""
    names = beliefs.tree.nodes[node]
    heard = {name for likelihood in below for name in likelihood.columns}
    free = tuple(name for name in names if name in heard and name not in codes)
    known = tuple(name for name in names if name in codes)
    if not free or not rows:
        return
    sizes = beliefs.tree.sizes
    # Columns that are drawn already turn a likelihood into one that only speaks of the
    # others.
    sliced = [_slice_likelihood(likelihood, codes, sizes) for likelihood in below]
    cells, evidence, member = _distinct_evidence(beliefs, codes, known, sliced, rows)
    table = beliefs.inside(node, (*known, *free)).reshape(
        -1, *[sizes[name] for name in free]
    )
    width = math.prod(table.shape[1:])
    counts = np.bincount(member, minlength=len(cells))
    order = rng.permutation(
        width
    )  # several axes lie flat in one group: see models/sampling/rounding.py
    drawn: list[NDArray[np.unsignedinteger]] = [np.zeros(0, np.uint32)]
    for part in _block_slices(len(cells), width):
        product = _multiply_likelihoods(
            table[cells[part]], free, sliced, [e[part] for e in evidence]
        ).reshape(-1, width)[:, order]
        drawn += _round_codes(
            product, np.arange(len(product)), counts[part], rng, np.dtype(np.uint32)
        )
    picked = np.empty(rows, np.int64)
    picked[_shuffle_in_groups(member, len(cells), rng)] = order[np.concatenate(drawn)]
    for name, column in zip(
        free, np.unravel_index(picked, table.shape[1:]), strict=True
    ):
        codes[name] = column.astype(types[name])


def _slice_likelihood(
    likelihood: _Likelihood, codes: GivenCodes, sizes: Mapping[str, int]
) -> _Likelihood:
    """A likelihood at the codes that are known: one table for each distinct evidence
    and codes.
    """
    fixed = tuple(name for name in likelihood.columns if name in codes)
    if not fixed:
        return likelihood
    left = tuple(name for name in likelihood.columns if name not in codes)
    order = [0, *(1 + likelihood.columns.index(name) for name in (*fixed, *left))]
    cell = likelihood.member.copy()
    for name in fixed:
        cell = cell * sizes[name] + codes[name]
    distinct, member = np.unique(cell, return_inverse=True)
    table = np.ascontiguousarray(likelihood.table.transpose(order)).reshape(
        -1, *[sizes[name] for name in left]
    )
    return _Likelihood(left, table[distinct], member.reshape(-1))
