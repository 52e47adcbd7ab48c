"""Sums over one axis of a table, as a matrix product where that is faster."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from understudy.models.arrays import Array

# Up to this many cells behind an axis, one matrix product with the identity over and
# over is fastest.
MAX_KRONECKER_CELLS = 4

# Below this many cells from an axis on, a matrix product for each place ahead of it
# costs more than it sums.
MIN_MATMUL_CELLS = 64


@cache
def _ones_array(*shape: int) -> Array:
    ones = np.ones(shape)
    ones.flags.writeable = False
    return ones


@cache
def _tile_identity(length: int, after: int) -> Array:
    """The identity over and over: sums over an axis of this length in front of `after`
    cells.
    """
    matrix = np.tile(np.eye(after), (length, 1))
    matrix.flags.writeable = False
    return matrix


def plan_axis_sum(before: int, length: int, after: int) -> Callable[[Array], Array]:
    """What sums a table of before · length · after cells over the middle ones; the rest
    of the shape is laid flat.

    >>> plan_axis_sum(2, 3, 2)(np.arange(12.0)).tolist()
    [[6.0, 9.0], [24.0, 27.0]]
    """
    if after == 1:
        down = _ones_array(length)
        return lambda values: values.reshape(before, length) @ down
    if before == 1:
        down = _ones_array(length)
        return lambda values: down @ values.reshape(length, after)
    if after <= MAX_KRONECKER_CELLS and before >= 8:
        spread = _tile_identity(length, after)
        return lambda values: values.reshape(before, length * after) @ spread
    if length * after < MIN_MATMUL_CELLS and before >= MIN_MATMUL_CELLS:
        return lambda values: np.asarray(
            np.einsum("bla->ba", values.reshape(before, length, after)), np.float64
        )
    row = _ones_array(1, length)
    return lambda values: (row @ values.reshape(before, length, after)).reshape(
        before, after
    )


def sum_over_axis(values: Array, before: int, length: int) -> Array:
    """The sum over one axis, `before` cells ahead of it; the rest of the shape is laid
    flat.

    >>> sum_over_axis(np.arange(12.0).reshape(2, 3, 2), 2, 3).tolist()
    [[6.0, 9.0], [24.0, 27.0]]
    """
    return plan_axis_sum(before, length, values.size // max(before * length, 1))(values)
