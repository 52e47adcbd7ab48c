"""Models and measurements written out over every cell of a small table."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import AxisMap, Clique
from understudy.models.inference.log_calibration import align_axes
from understudy.schema import Schema


def brute(sizes, cliques, potentials):
    """Every row of the world, one after the other."""
    columns = tuple(dict.fromkeys(name for clique in cliques for name in clique))
    log = np.zeros([sizes[name] for name in columns])
    for clique, theta in potentials.items():
        log = log + align_axes(theta, clique, columns)
    top = log.max()
    if not np.isfinite(top):
        return None, -np.inf
    weights = np.exp(log - top)
    mass = weights.sum()
    found = {}
    for clique in cliques:
        kept = [name for name in columns if name in clique]
        table = (
            weights.sum(
                axis=tuple(i for i, name in enumerate(columns) if name not in clique)
            )
            / mass
        )
        found[clique] = table.transpose([kept.index(name) for name in clique])
    return found, float(np.log(mass) + top)


def query(
    schema: Schema, clique: Clique, maps: tuple[AxisMap, ...]
) -> NDArray[np.float64]:
    """The measurement as one matrix over the whole table, columns in the schema's
    order.
    """
    matrix = np.ones((1, 1))
    order = [name for name in schema if name in clique]
    for name in schema:
        (n,) = schema.sizes((name,))
        axis = (
            maps[clique.index(name)].matrix().astype(float)
            if name in clique
            else np.ones((1, n))
        )
        matrix = np.kron(matrix, axis)
    out = [maps[clique.index(name)].out for name in order]
    rows = (
        np.arange(math.prod(out))
        .reshape(out)
        .transpose([order.index(name) for name in clique])
    )
    return matrix[rows.ravel()]
