"""Rows of a tree that meet marginals: which ones, and how.

Rounding keeps what lies in one column after another close to what a tree expects, as
long as many rows share their parents. In a node of about as many cells as there are
rows hardly any do; then chance decides on columns and pairs, inside the node as across
nodes. Rows that are exchanged for fresh ones of the same tree
(models/sampling/row_exchange.py) make good for most of it, and meet aims that no node
holds (models/refined_tree.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.random import Generator

from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.inference.calibrated_tree import Beliefs
from understudy.models.model import Codes
from understudy.models.sampling.row_exchange import RowCodes, refine_rows
from understudy.models.sampling.tree_rows import sample_tree
from understudy.models.sampling.unmeasured import fill_columns
from understudy.schema import Schema

# Rows from which and up to which a sample is refined.
MIN_REFINED_ROWS, MAX_REFINED_ROWS = 64, 1 << 17

# Rows of a larger sample among which some are exchanged: enough for columns that are
# off by a few rows in a thousand, and as quick for a million rows.
MAX_EXCHANGED_ROWS = 1 << 16

# Fresh rows for each row of a sample that is refined.
FRESH_ROWS_PER_ROW = 3

# Tables that are looked after at most, and their cells.
MAX_TARGET_TABLES, MAX_TARGET_CELLS = 400, 1 << 22

# Triples of the tree that there is room for at least, so that one does not crowd out
# all others.
MIN_TRIPLES_IN_ROOM = 64


def draw_tree_rows(
    schema: Schema,
    beliefs: Beliefs,
    rows: int,
    rng: Generator,
    far: Mapping[Clique, Array] | None = None,
) -> Codes:
    """Rows of a tree as rounding leaves them; `far` as `sample_tree` takes it."""
    types = {name: codec.dtype for name, codec in schema.codecs.items()}
    return fill_columns(
        schema, dict(sample_tree(beliefs, rows, rng, types, far)), rows, rng
    )


def target_shares(
    schema: Schema,
    beliefs: Beliefs,
    parts: Collection[Clique],
    aims: Collection[Clique],
    marginals: Callable[[list[Clique]], Mapping[Clique, Array]],
) -> dict[Clique, Array]:
    """Everything a sample should meet, as shares: the aims, triples among the `parts`
    of the tree, and pairs as far as there is room.
    """
    nodes = [set(node) for node in beliefs.tree.nodes]
    taken = {frozenset(aim) for aim in aims}
    triples = [clique for clique in parts if _is_small_triple(schema, clique)]
    names = [name for name in schema if schema.codecs[name].size > 1]
    pairs = [pair for pair in combinations(names, 2) if frozenset(pair) not in taken]
    # The tree is exact within a node, so those pairs are the surest targets.
    pairs.sort(key=lambda pair: not _is_inside_node(pair, nodes))
    chosen = _fill_room(schema, [*aims, *triples, *pairs])
    try:
        tables = marginals(chosen)
    except Refused:  # columns too far apart in a wide tree to be brought together
        near = [c for c in chosen if frozenset(c) in taken or _is_inside_node(c, nodes)]
        tables = marginals(near)
    return {
        clique: table / max(float(table.sum()), 1e-300)
        for clique, table in tables.items()
    }


def _is_inside_node(clique: Clique, nodes: Sequence[set[str]]) -> bool:
    return any(set(clique) <= node for node in nodes)


def _is_small_triple(schema: Schema, clique: Clique) -> bool:
    """Whether a clique has three columns and few enough cells that many such fit."""
    cells = math.prod(schema.sizes(clique))
    return len(clique) == 3 and cells <= MAX_TARGET_CELLS // MIN_TRIPLES_IN_ROOM


def _fill_room(schema: Schema, cliques: Iterable[Clique]) -> list[Clique]:
    """The cliques that fit into the room for targets, the first ones first."""
    chosen: list[Clique] = []
    room = MAX_TARGET_CELLS
    for clique in cliques:
        size = math.prod(schema.sizes(clique))
        if len(chosen) < MAX_TARGET_TABLES and size <= room:
            chosen.append(clique)
            room -= size
    return chosen


def draw_matching_rows(
    schema: Schema,
    beliefs: Beliefs,
    tables: Mapping[Clique, Array],
    rows: int,
    rng: Generator,
    *,
    rare: float,
) -> Codes:
    """Rows of a tree, refined so that they meet tables of shares."""
    if not tables:  # a single column
        return draw_tree_rows(schema, beliefs, rows, rng)
    first, fresh = (
        _stack_columns(draw_tree_rows(schema, beliefs, many, rng))
        for many in (rows, FRESH_ROWS_PER_ROW * rows)
    )
    sizes = schema.column_sizes
    found = refine_rows(
        first,
        fresh,
        {clique: rows * table for clique, table in tables.items()},
        sizes,
        rng,
        rare=rare,
    )
    return {
        name: found[:, i].astype(codec.dtype)
        for i, (name, codec) in enumerate(schema.codecs.items())
    }


def match_columns(
    schema: Schema,
    codes: Codes,
    fresh: Codes,
    shares: Mapping[Clique, Array],
    rng: Generator,
) -> Codes:
    """The same rows with some exchanged for fresh ones, so that columns meet shares.

    A random part of the rows takes over what all of them are off by.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(columns=(Boolean(name="a", nullable=False),))
    >>> rng = np.random.default_rng(0)
    >>> rows, fresh = ({"a": (rng.random(n) < 0.52).astype(np.uint8)} for n in (9000, 999))
    >>> even = {("a",): np.array([0.5, 0.5])}
    >>> int(rows["a"].sum()), int(match_columns(schema, rows, fresh, even, rng)["a"].sum())
    (4667, 4499)
    """
    rows = len(next(iter(codes.values())))
    chosen = rng.permutation(rows)[:MAX_EXCHANGED_ROWS]
    part = {name: column[chosen] for name, column in codes.items()}
    targets: dict[Clique, Array] = {}
    for (name,), share in shares.items():
        excess = np.bincount(codes[name], minlength=share.size) - rows * share
        targets[name,] = np.bincount(part[name], minlength=share.size) - excess
    sizes = schema.column_sizes
    found = refine_rows(
        _stack_columns(part), _stack_columns(fresh), targets, sizes, rng
    )
    for i, column in enumerate(codes.values()):
        column[chosen] = found[:, i]
    return codes


def _stack_columns(codes: Codes) -> RowCodes:
    """Columns side by side."""
    return np.stack([np.asarray(column) for column in codes.values()], axis=1).astype(
        np.int32
    )
