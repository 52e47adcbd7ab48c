"""The parts of marginals that least squares pools one by one
(models/estimates/residuals.py): split out of a table of noisy counts, and averaged by
precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import (
    AxisMap,
    Centring,
    Clique,
    Measurement,
    Partition,
)
from understudy.models.estimates.noise_moments import cell_variance
from understudy.schema import Schema

ResidualPiece = tuple[Clique, NDArray[np.float64], float]
"""What one table says of a part: its columns, the centred table, and the variance of a
cell before centring.
"""


@dataclass(frozen=True, eq=False)
class ResidualPart:
    """What is known of one set of columns beyond its subsets: a centred table and its
    precision.
    """

    values: NDArray[np.float64]
    precision: float


def pool_pieces(
    schema: Schema, pieces: Iterable[ResidualPiece]
) -> dict[Clique, ResidualPart]:
    top: dict[Clique, NDArray[np.float64]] = {}
    bottom: dict[Clique, float] = {}
    for tau, values, variance in pieces:
        key = in_schema_order(schema, tau)
        pull = values.transpose([tau.index(name) for name in key]) / variance
        top[key] = top[key] + pull if key in top else pull
        bottom[key] = bottom.get(key, 0.0) + 1 / variance
    return {
        key: ResidualPart(np.asarray(top[key] / bottom[key]), bottom[key])
        for key in top
    }


def split_into_pieces(
    clique: Clique,
    maps: tuple[AxisMap, ...],
    table: NDArray[np.float64],
    variance: float,
) -> list[ResidualPiece]:
    """The parts a table of answers speaks of, each with the variance of a cell before
    centring.
    """
    pieces: list[ResidualPiece] = [((), table, variance)]
    for i in reversed(
        range(len(clique))
    ):  # from the last axis on, so that those still to come keep their places
        name, axis, split = clique[i], maps[i], []
        for tau, values, var in pieces:
            if not isinstance(axis, Centring):
                split.append((tau, np.asarray(values.sum(axis=i)), var * axis.out))
            # A column of one value has no part of its own; with 32 of them, parts of
            # nothing would be 2^32.
            if not isinstance(axis, Partition) and axis.size > 1:
                gain = axis.size if isinstance(axis, Centring) else 1
                split.append(
                    (
                        (name, *tau),
                        (values - values.mean(axis=i, keepdims=True)) / gain,
                        var / gain**2,
                    )
                )
        pieces = split
    return pieces


def spread_variance(schema: Schema, m: Measurement) -> float:
    zeros = schema.zeros(m.clique) if m.plain else None
    noisy = 1.0 if zeros is None else 1 - float(np.mean(zeros))
    return cell_variance(m) * max(noisy, 1 / max(m.values.size, 1))


def nonempty_subsets(clique: Clique) -> Iterator[Clique]:
    """Every subset but the empty one."""
    return chain.from_iterable(
        combinations(clique, k) for k in range(1, len(clique) + 1)
    )


def in_schema_order(schema: Schema, tau: Clique) -> Clique:
    """A set of columns in the schema's order: the key of its part and the order of its
    axes.
    """
    return tau if len(tau) < 2 else tuple(sorted(tau, key=schema.order.__getitem__))
