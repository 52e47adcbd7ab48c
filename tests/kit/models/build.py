"""Small schemas and hand-made measurements for the tests of models and synthesizers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.stats import binom

from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.measurements import (
    AxisMap,
    Clique,
    Identity,
    Measurement,
    Measurements,
    SparseMeasurement,
)
from understudy.schema import Categorical, Schema

ALPHA = 1e-6
"""False-alarm rate of every statistical test here."""

FREE = Cost(Accounting.PURE, Fraction(1))


def schema_of(*sizes: int, rows: int | None = None) -> Schema:
    """Columns a, b, c, … with these numbers of codes."""
    columns = tuple(
        Categorical(
            name=name, values=tuple(f"{name}{i}" for i in range(size)), nullable=False
        )
        for name, size in zip("abcdefghijklmnopqrstuvwxyz", sizes, strict=False)
    )
    return Schema(columns=columns, rows=rows)


def measured(
    clique: Clique,
    values: object,
    *,
    scale: Fraction | int = 1,
    law: Law = Law.DISCRETE_LAPLACE,
    maps: tuple[AxisMap, ...] | None = None,
) -> Measurement:
    """A measurement with these values, as if a curator had given it."""
    array = np.array(values, np.int64)
    axes = maps or tuple(Identity(n) for n in array.shape)
    return Measurement(clique, axes, array, law, Fraction(scale), FREE)


def shown(
    clique: Clique,
    codes: object,
    values: object,
    *,
    scale: Fraction | int = 1,
    threshold: int = 0,
) -> SparseMeasurement:
    """A sparse measurement with these cells."""
    cells = np.array(codes, np.int64).reshape(-1, len(clique))
    return SparseMeasurement(
        clique,
        cells,
        np.array(values, np.int64),
        threshold,
        Law.DISCRETE_LAPLACE,
        Fraction(scale),
        FREE,
    )


def listed(*items: Measurement | SparseMeasurement) -> Measurements:
    """Several measurements."""
    return Measurements(
        tuple(m for m in items if isinstance(m, Measurement)),
        tuple(s for s in items if isinstance(s, SparseMeasurement)),
    )


def surprising(hits: int, trials: int, chance: float, *, tests: int = 1) -> bool:
    """Whether so many hits are too few or too many for a chance, at ALPHA over this
    many tests.
    """
    level = ALPHA / (2 * tests)
    return bool(
        binom.cdf(hits, trials, chance) < level
        or binom.sf(hits - 1, trials, chance) < level
    )
