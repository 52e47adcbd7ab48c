"""Partial rows, completed exactly from a junction tree.

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
from understudy.models.arrays import Array, Flags
from understudy.models.inference.calibrated_tree import Beliefs
from understudy.models.inference.junction_tree import NO_NODE
from understudy.models.sampling.conditions import GivenCodes, group_rows
from understudy.models.sampling.tree_rows import (
    SAMPLING_BLOCK_CELLS,
    CodeTypes,
    Ints,
    SampledCodes,
    cells_of_rows,
    draw_node_columns,
    round_codes,
    shuffle_in_groups,
)

# Cells of likelihood that are held at a time, and rows that are completed together
# however large that is.
MAX_LIKELIHOOD_CELLS, MIN_COMPLETED_ROWS = 1 << 25, 256


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
    types: CodeTypes,
) -> tuple[SampledCodes, Flags]:
    """Whole rows of the tree's columns, and which of the rows have no mass: those are
    not to be used.
    """
    tree = beliefs.tree
    if not rows:
        return {name: np.zeros(0, types[name]) for name in tree.sizes}, np.zeros(
            0, bool
        )
    inside = {name: np.asarray(given[name]) for name in tree.sizes if name in given}
    root = max(range(len(tree.nodes)), key=lambda i: len({*tree.nodes[i]} & {*inside}))
    # Evidence in the root needs no messages, so the root holds as much of it as
    # possible.
    beliefs = beliefs.reroot_at(root)
    step = rows
    if not set(inside) <= set(tree.nodes[root]):
        largest = max(map(tree.size, beliefs.tree.separators))
        step = max(MIN_COMPLETED_ROWS, MAX_LIKELIHOOD_CELLS // largest)
    if rows <= step:
        return _complete_rows(beliefs, inside, rows, rng, types)
    # Rows that share all given codes stay together, so that they share one rounding.
    order = np.argsort(group_rows(inside, tuple(inside), rows).member, kind="stable")
    codes: SampledCodes = {name: np.zeros(rows, types[name]) for name in tree.sizes}
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
    types: CodeTypes,
) -> tuple[SampledCodes, Flags]:
    said = _collect_likelihoods(beliefs, inside, rows)
    lost = _rows_without_mass(beliefs, inside, said, rows)
    codes: SampledCodes = {
        name: column.astype(types[name])[~lost] for name, column in inside.items()
    }
    left = int(rows - np.count_nonzero(lost))
    messages = {
        node: _Likelihood(s.columns, s.table, s.member[~lost])
        for node, s in said.items()
    }
    for node in beliefs.tree.order:
        below = [
            messages[child]
            for child in beliefs.tree.children[node]
            if child in messages
        ]
        if below:
            _draw_jointly(beliefs, node, below, codes, left, rng, types)
        draw_node_columns(beliefs, node, codes, left, rng, types, {})
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
        said[node] = _collect_likelihood(beliefs, node, given, below, rows)
    return said


def _collect_likelihood(
    beliefs: Beliefs,
    node: int,
    given: GivenCodes,
    below: Sequence[_Likelihood],
    rows: int,
) -> _Likelihood:
    """What the evidence in and below a node says of the columns it shares with its
    parent.
    """
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
        made.append(_sum_hidden(product, len(shared)))
    return _Likelihood(shared, np.concatenate(made), member)


def _sum_hidden(product: Array, shared: int) -> Array:
    """A product summed over all axes behind the shared ones, its largest entry 1."""
    likelihood = product.reshape(*product.shape[: 1 + shared], -1).sum(axis=-1)
    tops = likelihood.reshape(len(likelihood), -1).max(axis=1)
    # Only ratios count; without this, long chains of evidence would underflow.
    scale = np.where(tops > 0, tops, 1.0).reshape(-1, *[1] * shared)
    return np.asarray(likelihood / scale)


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
    columns = {"cell": cells_of_rows(given, known, beliefs, rows)} | {
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
) -> Flags:
    """Rows whose evidence has no mass, as the root sees it."""
    root = beliefs.tree.root
    below = [said[child] for child in beliefs.tree.children[root] if child in said]
    names = beliefs.tree.nodes[root]
    known = tuple(name for name in names if name in given)
    mentioned = {name for likelihood in below for name in likelihood.columns}
    free = tuple(name for name in names if name in mentioned)
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
    codes: SampledCodes,
    rows: int,
    rng: Generator,
    types: CodeTypes,
) -> None:
    """Draw together those columns of a node that evidence further down speaks of."""
    names = beliefs.tree.nodes[node]
    mentioned = {name for likelihood in below for name in likelihood.columns}
    free = tuple(name for name in names if name in mentioned and name not in codes)
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
    # Several axes lie flat in one group: see models/sampling/rounding.py.
    order = rng.permutation(width)
    drawn: list[NDArray[np.unsignedinteger]] = [np.zeros(0, np.uint32)]
    for part in _block_slices(len(cells), width):
        product = _multiply_likelihoods(
            table[cells[part]], free, sliced, [e[part] for e in evidence]
        ).reshape(-1, width)[:, order]
        drawn += round_codes(
            product, np.arange(len(product)), counts[part], rng, np.dtype(np.uint32)
        )
    picked = np.empty(rows, np.int64)
    picked[shuffle_in_groups(member, len(cells), rng)] = order[np.concatenate(drawn)]
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
