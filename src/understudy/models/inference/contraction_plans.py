"""Tables laid out in memory: factors multiplied into one, and one summed down to many,
by plans that are made once.

A fit runs the same sums and products hundreds of times over tables of some thousand
cells, where a call costs as much as its arithmetic. So every choice that shapes alone
decide (which factors first, over which axes, by what kind of call) is made when the
plan is.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from understudy.models.arrays import Array
from understudy.models.inference.axis_sums import plan_axis_sum

AxisMask = int


def axes_of_mask(mask: AxisMask) -> list[int]:
    """The axes in a set of axes.

    >>> axes_of_mask(0b1101)
    [0, 2, 3]
    """
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


class TableLayout:
    """A table's axes: numbers of the node's axes in the order they are laid out."""

    def __init__(self, lengths: Sequence[int], axes: Sequence[int]) -> None:
        self.axes = list(axes)
        self.lengths = tuple([lengths[axis] for axis in axes])
        self.at = {axis: position for position, axis in enumerate(axes)}
        self._cells: dict[AxisMask, int] = {}

    def local_mask(self, scope: AxisMask) -> AxisMask:
        """A scope by position in this table."""
        return sum(1 << self.at[axis] for axis in axes_of_mask(scope))

    def order(self, scope: AxisMask) -> list[int]:
        """The scope's axes in the node's order, by where they stand in this table's
        order: argsort for factors coming in.
        """
        positions = [self.at[axis] for axis in axes_of_mask(scope)]
        return sorted(range(len(positions)), key=positions.__getitem__)

    def shape(self, scope: AxisMask) -> tuple[int, ...]:
        """The scope's lengths, one for every axis it does not have."""
        return tuple(
            [
                n if scope >> axis & 1 else 1
                for axis, n in zip(self.axes, self.lengths, strict=True)
            ]
        )

    def cells(self, local: AxisMask) -> int:
        """Cells of a scope by position."""
        found = self._cells.get(local)
        if found is None:
            found = self._cells[local] = math.prod(
                [self.lengths[i] for i in axes_of_mask(local)]
            )
        return found


# Where the product of two tables goes.
_INTO_NEW, _INTO_LEFT, _INTO_RIGHT = -1, -2, -3


class ProductPlan:
    """Multiplies factors into a table, the small ones together first, so that few
    multiplications have the table's size.

    >>> times = ProductPlan(TableLayout((2, 3), (0, 1)), [0b01, 0b11])
    >>> times([np.array([1.0, 2.0]), np.ones((2, 3))], [False, False]).tolist()
    [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """

    def __init__(self, table: TableLayout, scopes: Sequence[AxisMask]) -> None:
        self.table = table
        orders = [table.order(scope) for scope in scopes]
        self.laid = [
            (None if order == sorted(order) else order, table.shape(scope))
            for order, scope in zip(orders, scopes, strict=True)
        ]
        self.locals = [table.local_mask(scope) for scope in scopes]
        self.plans: dict[tuple[int, ...], list[int]] = {}

    def __call__(
        self, factors: Sequence[Array | None], spare: Sequence[bool]
    ) -> Array | None:
        there = tuple([i for i, factor in enumerate(factors) if factor is not None])
        if not there:
            return None
        plan = self.plans.get(there)
        if plan is None:
            plan = self.plans[there] = self._plan_steps(there)
        stack: list[tuple[Array, bool]] = []
        for i in plan:
            if i >= 0:
                stack.append(self._lay_factor(i, factors[i], spare[i]))
            else:
                right, left = stack.pop(), stack.pop()
                stack.append((_multiply_pair(left, right, i), True))
        result, mine = stack.pop()
        if result.shape != self.table.lengths:
            spread = np.empty(self.table.lengths)
            spread[...] = result
            return spread
        return (
            result
            if mine and result.flags.c_contiguous
            else np.array(result, order="C")
        )

    def _lay_factor(
        self, number: int, factor: Array | None, own: bool
    ) -> tuple[Array, bool]:
        """A factor in the shape of the table, and whether it may be written over."""
        assert factor is not None
        order, shape = self.laid[number]
        if order is not None:
            factor = factor.transpose(order)
        # A product takes over the layout of its factors, so all are laid out row by
        # row: they are small, it is not.
        if not factor.flags.c_contiguous:
            factor, own = np.ascontiguousarray(factor), True
        return factor.reshape(shape), own

    def _plan_steps(self, there: tuple[int, ...]) -> list[int]:
        """Numbers push a factor, negative ones multiply the two on top: always the two
        whose product is smallest.
        """
        steps = {n: [i] for n, i in enumerate(there)}
        scopes = {n: self.locals[i] for n, i in enumerate(there)}
        cells = self.table.cells
        # Of products of the same size the one of the smaller factors, which may make
        # others smaller still.
        pairs = [
            (cells(scopes[a] | scopes[b]), cells(scopes[a]) + cells(scopes[b]), a, b)
            for b in scopes
            for a in range(b)
        ]
        heapq.heapify(pairs)
        numbers = itertools.count(len(there))
        while len(steps) > 1:
            _, _, a, b = heapq.heappop(pairs)
            if a not in steps or b not in steps:
                continue
            left, right = scopes.pop(a), scopes.pop(b)
            both, n = left | right, next(numbers)
            where = _INTO_NEW
            if left == both:
                where = _INTO_LEFT
            elif right == both:
                where = _INTO_RIGHT
            steps[n] = [*steps.pop(a), *steps.pop(b), where]
            for other, scope in scopes.items():
                heapq.heappush(
                    pairs, (cells(both | scope), cells(both) + cells(scope), other, n)
                )
            scopes[n] = both
        return next(iter(steps.values()))


def _multiply_pair(
    left: tuple[Array, bool], right: tuple[Array, bool], where: int
) -> Array:
    """The product of two factors, in the place of one of them if that is spare."""
    # Writing in place saves the memory traffic of a new table.
    if where == _INTO_LEFT and left[1]:
        return np.multiply(left[0], right[0], left[0])
    if where == _INTO_RIGHT and right[1]:
        return np.multiply(left[0], right[0], right[0])
    return left[0] * right[0]


class SumPlan:
    """Sums a table down to several scopes, through steps they share.

    >>> sums = SumPlan(TableLayout((2, 3), (0, 1)), [0b01, 0b10])
    >>> [found.tolist() for found in sums(np.ones((2, 3)), (0, 1))]
    [[3.0, 3.0], [2.0, 2.0, 2.0]]
    """

    def __init__(self, table: TableLayout, scopes: Sequence[AxisMask]) -> None:
        self.table = table
        self.whole = (1 << len(table.lengths)) - 1
        self.locals = [table.local_mask(scope) for scope in scopes]
        self.shapes: list[list[int]] = []
        for local in self.locals:
            self.shapes.append([table.lengths[axis] for axis in axes_of_mask(local)])
        # A marginal leaves with its axes in the node's order.
        backs = [np.argsort(table.order(scope)).tolist() for scope in scopes]
        self.backs = [None if back == sorted(back) else back for back in backs]
        self.plans: dict[
            tuple[int, ...], list[tuple[AxisMask, Callable[[Array], Array], AxisMask]]
        ] = {}

    def __call__(self, values: Array, wanted: tuple[int, ...]) -> list[Array]:
        plan = self.plans.get(wanted)
        if plan is None:
            plan = self.plans[wanted] = self._plan_steps(
                [self.locals[i] for i in wanted]
            )
        made: dict[AxisMask, Array] = {self.whole: values}
        for source, work, result in plan:
            made[result] = work(made[source])
        found = []
        for i in wanted:
            laid, back = made[self.locals[i]].reshape(self.shapes[i]), self.backs[i]
            found.append(laid if back is None else laid.transpose(back))
        return found

    def _plan_steps(
        self, scopes: list[AxisMask]
    ) -> list[tuple[AxisMask, Callable[[Array], Array], AxisMask]]:
        cells, lengths = self.table.cells, self.table.lengths
        known, steps = [self.whole], []
        pending = sorted(scopes, key=cells, reverse=True)
        for n, scope in enumerate(pending):
            source = min((mask for mask in known if mask & scope == scope), key=cells)
            while source != scope:
                axis = max(axes_of_mask(source & ~scope), key=lambda i: (lengths[i], i))
                run = self._run(source, scope, axis, pending[n + 1 :])
                first = (run & -run).bit_length() - 1
                before, length = cells(source & ((1 << first) - 1)), cells(run)
                work = plan_axis_sum(before, length, cells(source) // (before * length))
                steps.append((source, work, source & ~run))
                source &= ~run
                known.append(source)
        return steps

    def _run(
        self, source: AxisMask, scope: AxisMask, axis: int, pending: Sequence[AxisMask]
    ) -> AxisMask:
        """The axis and those of its neighbours that can be summed away with it, in one
        call, without a loss to scopes still to come.
        """
        standing = axes_of_mask(source)
        at = standing.index(axis)
        run = 1 << axis
        for side in (standing[at + 1 :], standing[:at][::-1]):
            for more in side:
                rest = source & ~run
                wider = rest & ~(1 << more)
                if scope >> more & 1 or any(
                    p & rest == p and p & wider != p for p in pending
                ):
                    break
                run |= 1 << more
        return run
