"""The array types that models share, and an array's axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import Clique

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


def align_axes(values: Array, clique: Clique, node: Clique) -> Array:
    """A clique's array with the axes of a node that holds it: in the node's order, of
    length one where the clique has none.

    >>> align_axes(np.arange(6.0).reshape(2, 3), ("b", "a"), ("a", "c", "b")).shape
    (3, 1, 2)
    """
    axes = [clique.index(name) for name in node if name in clique]
    lengths = iter(np.asarray(values).transpose(axes).shape)
    return (
        np.asarray(values)
        .transpose(axes)
        .reshape([next(lengths) if name in clique else 1 for name in node])
    )
