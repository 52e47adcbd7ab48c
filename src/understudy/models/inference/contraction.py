"""Sums of products over one node of a junction tree, without ever building the node.

A node's factors (potentials of cliques, messages from neighbours) are small beside the
node. Its columns are split into four groups Z, I, J and C such that every factor misses
at least one of I, J and C. Then the product is P(z,i,j)·Q(z,i,c)·R(z,j,c), three tables
of about the node's size to the power 2/3, and

    the sum over c is  P ∘ (Q Rᵀ),   the sum over j is  Q ∘ (P R),   the sum over i is  R ∘ (Pᵀ Q)

for each z: matrix products, at a fraction of a nanosecond per cell of the node. Every
factor's own marginal is a sum of one of the three. A factor as large as the node leaves
no choice but I = everything, and the same code then works on the whole table.

Written by hand, and not with einsum or JAX: their plans lay the node out, or contract
pairwise for one result, where a pass needs the marginals of all factors at once and no
more memory than the three tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from understudy.models.arrays import Array
from understudy.models.inference.contraction_plans import (
    AxisMask,
    ProductPlan,
    SumPlan,
    TableLayout,
    axes_of_mask,
)

# Columns whose split into groups is searched through; beyond, the smallest ones are
# taken together first.
MAX_SEARCHED_AXES = 8

# A node of at most this many cells is worked on whole: calls would cost more than
# cells.
MAX_WHOLE_NODE_CELLS = 2048

# Rough nanoseconds: for a cell of a table, for a cell of the node in the matrix
# products, for each z, for having three tables at all.
TABLE_COST, PRODUCT_COST, BATCH_COST, SPLIT_COST = 8.0, 0.5, 1500.0, 50_000.0


@cache
def _enumerate_splits(axes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every way to give axes to four groups, up to the names of I, J and C: the groups
    as sets, and as flags for each axis.
    """
    labels = np.arange(4**axes)[:, None] >> (2 * np.arange(axes)) & 3
    groups = np.stack(
        [((labels == g) << np.arange(axes)).sum(axis=1) for g in range(4)], axis=1
    )
    # I, J and C are interchangeable: of six equal splits one is enough.
    named = (groups[:, 1] >= groups[:, 2]) & (groups[:, 2] >= groups[:, 3])
    return groups[named], labels[named]


def split_axes(
    lengths: Sequence[int], scopes: Sequence[AxisMask]
) -> tuple[AxisMask, AxisMask, AxisMask, AxisMask]:
    """Groups Z, I, J, C such that every scope misses one of the last three, and all
    tables together are small.

    >>> split_axes((50, 50, 50), (0b011, 0b110, 0b101))
    (0, 4, 2, 1)
    >>> split_axes((50, 50, 50), (0b111,))
    (0, 7, 0, 0)
    """
    whole = (1 << len(lengths)) - 1
    if math.prod(lengths) <= MAX_WHOLE_NODE_CELLS or whole in scopes:
        return 0, whole, 0, 0
    units, weights = _merge_small_axes(lengths)
    groups, labels = _enumerate_splits(len(units))
    coarse = {_touched_units(units, scope) for scope in scopes}
    fits = np.ones(len(groups), bool)
    for scope in _keep_maximal(coarse):
        fits &= ((groups[:, 1:] & scope) == 0).any(axis=1)
    groups, labels = groups[fits], labels[fits]
    # Sums of logarithms: products of many lengths could overflow.
    z, i, j, c = (
        np.exp(np.where(labels == g, np.log(weights), 0.0).sum(axis=1))
        for g in range(4)
    )
    cost = TABLE_COST * z * (i * j + np.where(c > 1, i * c + j * c, 0)) + np.where(
        c > 1, PRODUCT_COST * z * i * j * c + BATCH_COST * z + SPLIT_COST, 0
    )
    best = groups[int(np.argmin(cost))].tolist()
    if best[3] == 0:
        return 0, whole, 0, 0
    chosen = [_columns_of_units(units, group) for group in best]
    # The larger group of each table comes last, where arithmetic on arrays is fastest.
    i, j, c = sorted(
        chosen[1:],
        key=lambda group: math.prod(lengths[axis] for axis in axes_of_mask(group)),
    )
    return chosen[0], i, j, c


def _merge_small_axes(lengths: Sequence[int]) -> tuple[list[int], list[float]]:
    """Units of axes, as bits, and their cells: few enough to try every split of them."""
    units = [1 << i for i in range(len(lengths))]
    weights = [float(n) for n in lengths]
    # The shortest axes are merged, because where they go matters least.
    while len(units) > MAX_SEARCHED_AXES:
        first, second = sorted(np.argsort(weights, kind="stable")[:2].tolist())
        units[first] |= units.pop(second)
        weights[first] *= weights.pop(second)
    return units, weights


def _keep_maximal(scopes: set[int]) -> list[int]:
    """The scopes that lie in no other: a split that fits these fits the rest."""
    maximal = []
    for scope in scopes:
        if not any(scope != other and scope & other == scope for other in scopes):
            maximal.append(scope)
    return maximal


def _touched_units(units: Sequence[int], scope: int) -> int:
    """The units that share a column with a scope, as bits."""
    return sum(1 << place for place, unit in enumerate(units) if unit & scope)


def _columns_of_units(units: Sequence[int], chosen: int) -> int:
    """The columns of the units whose bits are set."""
    return sum(unit for place, unit in enumerate(units) if chosen >> place & 1)


class Contraction:
    """The node's plan: which factor goes into which table, and how tables become
    marginals.

    Axes are numbered in the order of `lengths`; a scope is a set of axes as bits.
    Factors come and marginals leave with their axes in that order, one factor and one
    marginal for each scope.

    >>> plan = Contraction((2, 3), (0b01, 0b11))
    >>> tables = plan.tables([np.array([1.0, 2.0]), np.ones((2, 3))])
    >>> [found.tolist() for found in plan.marginals(tables)]
    [[3.0, 6.0], [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]]
    """

    def __init__(self, lengths: Sequence[int], scopes: Sequence[AxisMask]) -> None:
        self.lengths = tuple(lengths)
        self.scopes = tuple(scopes)
        self.groups = split_axes(lengths, scopes)
        z, i, j, c = self.groups
        self.whole = (1 << len(self.lengths)) - 1
        self.dims = tuple(self._cells(group) for group in self.groups)
        pairs = ((i, j), (i, c), (j, c))
        self.place = self._assign_homes([z | a | b for a, b in pairs])
        self.parts = [
            TableLayout(
                self.lengths, axes_of_mask(z) + axes_of_mask(a) + axes_of_mask(b)
            )
            for a, b in pairs
        ]
        self.shapes = [
            (self.dims[0], self.dims[a], self.dims[b])
            for a, b in ((1, 2), (1, 3), (2, 3))
        ]
        self.members: list[list[int]] = [[], [], []]
        for scope_number, table in enumerate(self.place):
            self.members[table].append(scope_number)
        self.rank = [self.members[t].index(s) for s, t in enumerate(self.place)]
        orders = [
            self.parts[t].order(m) for m, t in zip(scopes, self.place, strict=True)
        ]
        self.laid = [
            (None if order == sorted(order) else order, self.parts[t].shape(m))
            for order, m, t in zip(orders, scopes, self.place, strict=True)
        ]
        self.products: list[tuple[int, list[int], ProductPlan]] = []
        self.sums: list[SumPlan] = []
        for table, members in enumerate(self.members):
            inside = [self.scopes[member] for member in members]
            if members:
                plan = ProductPlan(self.parts[table], inside)
                self.products.append((table, members, plan))
            self.sums.append(SumPlan(self.parts[table], inside))

    def tables(
        self, factors: Sequence[Array | None], spare: Sequence[bool] | None = None
    ) -> list[Array | None]:
        """The three tables; None stands for all ones, as it does among the factors.
        Factors that are `spare` may be written over.
        """
        made: list[Array | None] = [None, None, None]
        for t, members, product in self.products:
            some = [factors[s] for s in members]
            table = product(
                some, [spare[s] for s in members] if spare else [False] * len(members)
            )
            made[t] = None if table is None else table.reshape(self.shapes[t])
        return made

    def spread(self, tables: Sequence[Array | None], table: int) -> Array:
        """What one table must be multiplied with to become a marginal: broadcasts to
        its shape.
        """
        p, q, r = tables
        if table == 0:
            return _contract_tables(q, _transpose_table(r), self.dims[3])
        if table == 1:
            return _contract_tables(p, r, self.dims[2])
        return _contract_tables(_transpose_table(p), q, self.dims[1])

    def marginal_table(self, tables: Sequence[Array | None], table: int) -> Array:
        """The sum of the product of all factors over the group that this table misses."""
        own = tables[table]
        if (
            own is not None and self.groups[1] == self.whole
        ):  # the one table is all there is
            return own
        rest = self.spread(tables, table)
        return np.broadcast_to(rest, self.shapes[table]) if own is None else own * rest

    def mass(self, tables: Sequence[Array | None]) -> float:
        """The sum of everything."""
        return float(self.marginal_table(tables, 0).sum())

    def multiply_into(self, values: Array | None, scope: int, factor: Array) -> Array:
        """A table with one more factor, written over where it can be."""
        table = self.place[scope]
        order, shape = self.laid[scope]
        lengths = self.parts[table].lengths
        laid = (factor if order is None else factor.transpose(order)).reshape(shape)
        if values is None:
            spread = np.empty(lengths)
            spread[...] = laid
            return spread.reshape(self.shapes[table])
        full = values.reshape(lengths)
        if not values.flags.writeable:
            return (full * laid).reshape(self.shapes[table])
        np.multiply(full, laid, out=full)
        return values

    def collect(
        self, table: int, values: Array, scopes: Sequence[int]
    ) -> dict[int, Array]:
        """Marginals of some of the scopes that lie in one table, from its marginal."""
        rank = self.rank
        return dict(
            zip(
                scopes,
                self.sums[table](values, tuple([rank[s] for s in scopes])),
                strict=True,
            )
        )

    def marginals(self, tables: Sequence[Array | None]) -> list[Array]:
        """The marginal of every scope; all have the same sum."""
        found: dict[int, Array] = {}
        for table in range(3):
            if self.members[table]:
                found |= self.collect(
                    table, self.marginal_table(tables, table), self.members[table]
                )
        return [found[s] for s in range(len(self.scopes))]

    def joint(self, tables: Sequence[Array | None]) -> Array:
        """The whole node, its axes in order: the product of all factors."""
        z, i, j, c = self.dims
        result = (
            np.ones((z, i, j, c))
            if tables[0] is None
            else np.repeat(tables[0][..., None], c, axis=3)
        )
        if tables[1] is not None:
            result *= tables[1][:, :, None, :]
        if tables[2] is not None:
            result *= tables[2][:, None, :, :]
        axes = [axis for group in self.groups for axis in axes_of_mask(group)]
        shaped = result.reshape([self.lengths[axis] for axis in axes])
        return np.ascontiguousarray(
            shaped.transpose([axes.index(axis) for axis in range(len(axes))])
        )

    def _cells(self, mask: AxisMask) -> int:
        return math.prod(self.lengths[i] for i in axes_of_mask(mask))

    def _assign_homes(self, unions: list[AxisMask]) -> list[int]:
        """For every scope a table that holds it: the smallest in use already, else the
        smallest.
        """
        used: set[int] = set()
        place = [0] * len(self.scopes)
        if self.groups[1] == self.whole:  # one table, which is the node
            return place
        for s in sorted(
            range(len(self.scopes)), key=lambda s: -self._cells(self.scopes[s])
        ):
            holding = [t for t in range(3) if self.scopes[s] & ~unions[t] == 0]
            place[s] = min(
                holding, key=lambda t: (t not in used, self._cells(unions[t]))
            )
            used.add(place[s])
        return place


def _transpose_table(table: Array | None) -> Array | None:
    return None if table is None else table.transpose(0, 2, 1)


def _contract_tables(left: Array | None, right: Array | None, between: int) -> Array:
    """Σ over the axis between of left(z, x, between)·right(z, between, y), where either
    may be all ones.
    """
    # A table of ones need not exist: its product is a sum, or a count of the axis.
    if left is None and right is None:
        return np.full((1, 1, 1), float(between))
    if right is None:
        assert left is not None
        return np.asarray(left.sum(axis=2, keepdims=True), np.float64)
    if left is None:
        return np.asarray(right.sum(axis=1, keepdims=True), np.float64)
    return left * right if between == 1 else left @ right
