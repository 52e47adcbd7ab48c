"""Sums of products over one node of a junction tree, without ever building the node.

A node's factors (potentials of cliques, messages from neighbours) are small beside the node. Its columns are split into four groups Z, I, J
and C such that every factor misses at least one of I, J and C. Then the product is P(z,i,j)·Q(z,i,c)·R(z,j,c), three tables of about
the node's size to the power 2/3, and

    the sum over c is  P ∘ (Q Rᵀ),   the sum over j is  Q ∘ (P R),   the sum over i is  R ∘ (Pᵀ Q)

for each z: matrix products, at a fraction of a nanosecond per cell of the node. Every factor's own marginal is a sum of one of the three.
A factor as large as the node leaves no choice but I = everything, and the same code then works on the whole table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from understudy.models.axis import summed_axis

Array = NDArray[np.float64]
Mask = int

SEARCHED = 8
"""Columns whose split into groups is searched through; beyond, the smallest ones are taken together first."""

SMALL = 2048
"""A node of at most this many cells is worked on whole: calls would cost more than cells."""

TABLE_COST, PRODUCT_COST, BATCH_COST, SPLIT_COST = 8.0, 0.5, 1500.0, 50_000.0
"""Rough nanoseconds: for a cell of a table, for a cell of the node in the matrix products, for each z, for having three tables at all."""


def bits(mask: Mask) -> list[int]:
    """The axes in a set of axes.

    >>> bits(0b1101)
    [0, 2, 3]
    """
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


@cache
def _splits(axes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every way to give axes to four groups, up to the names of I, J and C: the groups as sets, and as flags for each axis."""
    labels = np.arange(4**axes)[:, None] >> (2 * np.arange(axes)) & 3
    groups = np.stack([((labels == g) << np.arange(axes)).sum(axis=1) for g in range(4)], axis=1)
    named = (groups[:, 1] >= groups[:, 2]) & (groups[:, 2] >= groups[:, 3])
    return groups[named], labels[named]


def split(lengths: Sequence[int], scopes: Sequence[Mask]) -> tuple[Mask, Mask, Mask, Mask]:
    """Groups Z, I, J, C such that every scope misses one of the last three, and all tables together are small.

    >>> split((50, 50, 50), (0b011, 0b110, 0b101))
    (0, 4, 2, 1)
    >>> split((50, 50, 50), (0b111,))
    (0, 7, 0, 0)
    """
    whole = (1 << len(lengths)) - 1
    if math.prod(lengths) <= SMALL or whole in scopes:
        return 0, whole, 0, 0
    units = [1 << i for i in range(len(lengths))]
    weights = [float(n) for n in lengths]
    while len(units) > SEARCHED:
        first, second = sorted(np.argsort(weights, kind="stable")[:2].tolist())
        units[first] |= units.pop(second)
        weights[first] *= weights.pop(second)
    groups, labels = _splits(len(units))
    coarse = {sum(1 << u for u, unit in enumerate(units) if unit & scope) for scope in scopes}
    fits = np.ones(len(groups), bool)
    for scope in coarse:
        if not any(scope != other and scope & other == scope for other in coarse):
            fits &= ((groups[:, 1:] & scope) == 0).any(axis=1)
    groups, labels = groups[fits], labels[fits]
    z, i, j, c = (np.exp(np.where(labels == g, np.log(weights), 0.0).sum(axis=1)) for g in range(4))
    cost = TABLE_COST * z * (i * j + np.where(c > 1, i * c + j * c, 0)) + np.where(
        c > 1, PRODUCT_COST * z * i * j * c + BATCH_COST * z + SPLIT_COST, 0
    )
    best = groups[int(np.argmin(cost))].tolist()
    if best[3] == 0:
        return 0, whole, 0, 0
    chosen = [sum(unit for u, unit in enumerate(units) if group >> u & 1) for group in best]
    # The larger group of each table comes last, where arithmetic on arrays is fastest.
    i, j, c = sorted(chosen[1:], key=lambda group: math.prod(lengths[axis] for axis in bits(group)))
    return chosen[0], i, j, c


class Contraction:
    """The node's plan: which factor goes into which table, and how tables become marginals.

    Axes are numbered in the order of `lengths`; a scope is a set of axes as bits. Factors come and marginals leave with their axes in that
    order, one factor and one marginal for each scope.

    >>> plan = Contraction((2, 3), (0b01, 0b11))
    >>> tables = plan.tables([np.array([1.0, 2.0]), np.ones((2, 3))])
    >>> [found.tolist() for found in plan.marginals(tables)]
    [[3.0, 6.0], [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]]
    """

    def __init__(self, lengths: Sequence[int], scopes: Sequence[Mask]) -> None:
        self.lengths = tuple(lengths)
        self.scopes = tuple(scopes)
        self.groups = split(lengths, scopes)
        z, i, j, c = self.groups
        self.whole = (1 << len(self.lengths)) - 1
        self.dims = tuple(self._cells(group) for group in self.groups)
        pairs = ((i, j), (i, c), (j, c))
        self.place = self._placed([z | a | b for a, b in pairs])
        self.parts = [_Table(self.lengths, bits(z) + bits(a) + bits(b)) for a, b in pairs]
        self.shapes = [(self.dims[0], self.dims[a], self.dims[b]) for a, b in ((1, 2), (1, 3), (2, 3))]
        self.members = [[s for s, t in enumerate(self.place) if t == table] for table in range(3)]
        self.rank = [self.members[t].index(s) for s, t in enumerate(self.place)]
        self.laid = [(self.parts[t].order(m), self.parts[t].shape(m)) for m, t in zip(scopes, self.place, strict=True)]
        self.products = [
            _Product(self.parts[t], [self.scopes[s] for s in self.members[t]]) if self.members[t] else None
            for t in range(3)
        ]
        self.sums = [_Sums(self.parts[t], [self.scopes[s] for s in self.members[t]]) for t in range(3)]

    def tables(self, factors: Sequence[Array | None], spare: Sequence[bool] | None = None) -> list[Array | None]:
        """The three tables; None stands for all ones, as it does among the factors. Factors that are `spare` may be written over."""
        made: list[Array | None] = []
        for members, product, shape in zip(self.members, self.products, self.shapes, strict=True):
            if product is None:
                made.append(None)
                continue
            some = [factors[s] for s in members]
            table = product(some, [spare[s] for s in members] if spare else [False] * len(members))
            made.append(None if table is None else table.reshape(shape))
        return made

    def spread(self, tables: Sequence[Array | None], table: int) -> Array:
        """What one table must be multiplied with to become a marginal: broadcasts to its shape."""
        p, q, r = tables
        if table == 0:
            return _mixed(q, _turned(r), self.dims[3])
        if table == 1:
            return _mixed(p, r, self.dims[2])
        return _mixed(_turned(p), q, self.dims[1])

    def marginal_table(self, tables: Sequence[Array | None], table: int) -> Array:
        """The sum of the product of all factors over the group that this table misses."""
        own = tables[table]
        if own is not None and self.groups[1] == self.whole:  # the one table is all there is
            return own
        rest = self.spread(tables, table)
        return np.broadcast_to(rest, self.shapes[table]) if own is None else own * rest

    def mass(self, tables: Sequence[Array | None]) -> float:
        """The sum of everything."""
        return float(self.marginal_table(tables, 0).sum())

    def multiplied(self, values: Array | None, scope: int, factor: Array) -> Array:
        """A table with one more factor, written over where it can be."""
        table = self.place[scope]
        order, shape = self.laid[scope]
        lengths = self.parts[table].lengths
        laid = factor.transpose(order).reshape(shape)
        if values is None:
            spread = np.empty(lengths)
            spread[...] = laid
            return spread.reshape(self.shapes[table])
        full = values.reshape(lengths)
        if not values.flags.writeable:
            return (full * laid).reshape(self.shapes[table])
        np.multiply(full, laid, out=full)
        return values

    def collect(self, table: int, values: Array, scopes: Sequence[int]) -> dict[int, Array]:
        """Marginals of some of the scopes that lie in one table, from its marginal."""
        rank = self.rank
        return dict(zip(scopes, self.sums[table](values, tuple([rank[s] for s in scopes])), strict=True))

    def marginals(self, tables: Sequence[Array | None]) -> list[Array]:
        """The marginal of every scope; all have the same sum."""
        found: dict[int, Array] = {}
        for table in range(3):
            if self.members[table]:
                found |= self.collect(table, self.marginal_table(tables, table), self.members[table])
        return [found[s] for s in range(len(self.scopes))]

    def joint(self, tables: Sequence[Array | None]) -> Array:
        """The whole node, its axes in order: the product of all factors."""
        z, i, j, c = self.dims
        result = np.ones((z, i, j, c)) if tables[0] is None else np.repeat(tables[0][..., None], c, axis=3)
        if tables[1] is not None:
            result *= tables[1][:, :, None, :]
        if tables[2] is not None:
            result *= tables[2][:, None, :, :]
        axes = [axis for group in self.groups for axis in bits(group)]
        shaped = result.reshape([self.lengths[axis] for axis in axes])
        return np.ascontiguousarray(shaped.transpose([axes.index(axis) for axis in range(len(axes))]))

    def _cells(self, mask: Mask) -> int:
        return math.prod(self.lengths[i] for i in bits(mask))

    def _placed(self, unions: list[Mask]) -> list[int]:
        """For every scope a table that holds it: the smallest in use already, else the smallest."""
        used: set[int] = set()
        place = [0] * len(self.scopes)
        if self.groups[1] == self.whole:  # one table, which is the node
            return place
        for s in sorted(range(len(self.scopes)), key=lambda s: -self._cells(self.scopes[s])):
            holding = [t for t in range(3) if self.scopes[s] & ~unions[t] == 0]
            place[s] = min(holding, key=lambda t: (t not in used, self._cells(unions[t])))
            used.add(place[s])
        return place


def _turned(table: Array | None) -> Array | None:
    return None if table is None else table.transpose(0, 2, 1)


def _mixed(left: Array | None, right: Array | None, between: int) -> Array:
    """Σ over the axis between of left(z, x, between)·right(z, between, y), where either may be all ones."""
    if left is None and right is None:
        return np.full((1, 1, 1), float(between))
    if right is None:
        assert left is not None
        return np.asarray(left.sum(axis=2, keepdims=True), np.float64)
    if left is None:
        return np.asarray(right.sum(axis=1, keepdims=True), np.float64)
    return left * right if between == 1 else left @ right


class _Table:
    """A table's axes: numbers of the node's axes in the order they are laid out."""

    def __init__(self, lengths: tuple[int, ...], axes: list[int]) -> None:
        self.axes = axes
        self.lengths = [lengths[axis] for axis in axes]
        self.at = {axis: position for position, axis in enumerate(axes)}

    def local(self, scope: Mask) -> Mask:
        """A scope by position in this table."""
        return sum(1 << self.at[axis] for axis in bits(scope))

    def order(self, scope: Mask) -> list[int]:
        """The scope's axes in the node's order, by where they stand in this table's order: argsort for factors coming in."""
        positions = [self.at[axis] for axis in bits(scope)]
        return sorted(range(len(positions)), key=positions.__getitem__)

    def shape(self, scope: Mask) -> tuple[int, ...]:
        """The scope's lengths, one for every axis it does not have."""
        return tuple(n if scope >> axis & 1 else 1 for axis, n in zip(self.axes, self.lengths, strict=True))


_ANEW, _INTO_LEFT, _INTO_RIGHT = -1, -2, -3
"""Where the product of two tables goes."""


class _Product:
    """Multiplies factors into a table, the small ones together first, so that few multiplications have the table's size."""

    def __init__(self, table: _Table, scopes: Sequence[Mask]) -> None:
        self.table = table
        self.orders = [table.order(scope) for scope in scopes]
        self.shapes = [table.shape(scope) for scope in scopes]
        self.locals = [table.local(scope) for scope in scopes]
        self.plain = [order == sorted(order) for order in self.orders]
        self.full = tuple(table.lengths)
        self.plans: dict[tuple[int, ...], list[int]] = {}

    def __call__(self, factors: Sequence[Array | None], spare: Sequence[bool]) -> Array | None:
        there = tuple([i for i, factor in enumerate(factors) if factor is not None])
        if not there:
            return None
        plan = self.plans.get(there)
        if plan is None:
            plan = self.plans[there] = self._planned([self.locals[i] for i in there])
        stack: list[tuple[Array, bool]] = []
        for step in plan:
            if step >= 0:
                i = there[step]
                factor = factors[i]
                assert factor is not None
                turned = factor if self.plain[i] else factor.transpose(self.orders[i])
                # A product takes over the layout of its factors, so all are laid out row by row: they are small, it is not.
                own = spare[i]
                if not turned.flags.c_contiguous:
                    turned, own = np.ascontiguousarray(turned), True
                stack.append((turned.reshape(self.shapes[i]), own))
                continue
            right, right_own = stack.pop()
            left, left_own = stack.pop()
            if step == _INTO_LEFT and left_own:
                stack.append((np.multiply(left, right, out=left), True))
            elif step == _INTO_RIGHT and right_own:
                stack.append((np.multiply(left, right, out=right), True))
            else:
                stack.append((left * right, True))
        result, mine = stack.pop()
        if result.shape != self.full:
            spread = np.empty(self.full)
            spread[...] = result
            return spread
        return result if mine and result.flags.c_contiguous else np.array(result, order="C")

    def _planned(self, scopes: list[Mask]) -> list[int]:
        """Numbers push a factor, negative ones multiply the two on top; factors without the last axis first come together by themselves."""
        lengths = self.table.lengths

        def cells(mask: Mask) -> int:
            return math.prod(lengths[i] for i in bits(mask))

        def fold(items: list[int], last: int) -> tuple[list[int], Mask]:
            if not items:
                return [], 0
            if last < 0:  # numbers, with no axis at all
                return [items[0], *(step for item in items[1:] for step in (item, _ANEW))], 0
            here = [i for i in items if scopes[i] >> last & 1]
            below, mask = fold([i for i in items if not scopes[i] >> last & 1], last - 1)
            if not here:
                return below, mask
            parts = [([i], scopes[i]) for i in here] + ([(below, mask)] if below else [])
            parts.sort(key=lambda part: cells(part[1]))
            steps, union = list(parts[0][0]), parts[0][1]
            for more, its in parts[1:]:
                steps += [*more, _ANEW]
                union |= its
            return steps, union

        return self._directed(fold(list(range(len(scopes))), len(lengths) - 1)[0], scopes)

    @staticmethod
    def _directed(steps: list[int], scopes: list[Mask]) -> list[int]:
        """The same steps, where a product has the axes of one of its sides saying which: it may be written over."""
        result, stack = [], []
        for step in steps:
            if step >= 0:
                result.append(step)
                stack.append(scopes[step])
                continue
            right, left = stack.pop(), stack.pop()
            both = left | right
            result.append(_INTO_LEFT if left == both else _INTO_RIGHT if right == both else _ANEW)
            stack.append(both)
        return result


class _Sums:
    """Sums a table down to several scopes, through steps they share."""

    def __init__(self, table: _Table, scopes: Sequence[Mask]) -> None:
        self.lengths = table.lengths
        self.whole = (1 << len(table.lengths)) - 1
        self.locals = [table.local(scope) for scope in scopes]
        self.shapes = [[table.lengths[axis] for axis in bits(local)] for local in self.locals]
        # A marginal leaves with its axes in the node's order.
        self.backs = [np.argsort(table.order(scope)).tolist() for scope in scopes]
        self.plain = [back == sorted(back) for back in self.backs]
        self.plans: dict[tuple[int, ...], list[tuple[Mask, int, int, Mask]]] = {}

    def __call__(self, values: Array, wanted: tuple[int, ...]) -> list[Array]:
        plan = self.plans.get(wanted)
        if plan is None:
            plan = self.plans[wanted] = self._planned([self.locals[i] for i in wanted])
        made: dict[Mask, Array] = {self.whole: values}
        for source, before, length, result in plan:
            made[result] = summed_axis(made[source], before, length)
        found = []
        for i in wanted:
            values = made[self.locals[i]].reshape(self.shapes[i])
            found.append(values if self.plain[i] else values.transpose(self.backs[i]))
        return found

    def _planned(self, scopes: list[Mask]) -> list[tuple[Mask, int, int, Mask]]:
        def cells(mask: Mask) -> int:
            return math.prod(self.lengths[i] for i in bits(mask))

        known, steps = [self.whole], []
        for scope in sorted(scopes, key=cells, reverse=True):
            source = min((mask for mask in known if mask & scope == scope), key=cells)
            for axis in sorted(bits(source & ~scope), key=lambda i: (self.lengths[i], i), reverse=True):
                before = cells(source & ((1 << axis) - 1))
                steps.append((source, before, self.lengths[axis], source & ~(1 << axis)))
                source &= ~(1 << axis)
                known.append(source)
        return steps
