"""What noise a synthesizer's answers really carry: returned minus exact counts, and the
loss that would cause.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from scipy import stats

from understudy.accounting.cost import Sensitivity
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import price
from understudy.measurements import Measurement, Measurements
from understudy.schema import Schema

ADD_REMOVE = Neighbours.ADD_REMOVE
ONE_ROW = Sensitivity(l1=Fraction(1), l2_squared=Fraction(1))


def exact(
    schema: Schema, rows: Mapping[str, Sequence[object]], measurement: Measurement
) -> np.ndarray:
    """The answer without its noise."""
    sizes = schema.sizes(measurement.clique)
    counts = np.zeros(sizes, np.int64)
    codes = [
        [schema.codecs[name].code(value) for value in rows[name]]
        for name in measurement.clique
    ]
    np.add.at(
        counts,
        tuple(np.array(c, np.int64) for c in codes),
        1 if codes else len(next(iter(rows.values()))),
    )
    for axis, map_ in enumerate(measurement.maps):
        counts = np.moveaxis(
            np.tensordot(map_.matrix(), counts, axes=(1, axis)), 0, axis
        )
    return counts


def honest(
    schema: Schema,
    rows: Mapping[str, Sequence[object]],
    found: Measurements,
    *,
    mutant: str = "",
) -> bool:
    """Whether no answer would lose more than it paid for. Mutants: "spare" leaves empty
    cells without noise, "halve" halves all of it.
    """
    for m in found:
        counts = exact(schema, rows, m)
        noise = m.values - counts
        if mutant == "spare":
            noise = np.where(counts == 0, 0, noise)
        elif mutant == "halve":
            noise = np.rint(noise / 2).astype(np.int64)
        if price(
            m.law, m.scale, ONE_ROW, m.cost.accounting
        ).amount > m.cost.amount or too_little(noise, m):
            return False
    return True


def moments(law: Law, scale: float) -> tuple[float, float]:
    """E[x²] and E[x⁴] of a law, summed over its support."""
    k = np.arange(-int(60 * scale + 60), int(60 * scale + 60) + 1, dtype=np.float64)
    if law is Law.DISCRETE_LAPLACE:
        mass = np.exp(-np.abs(k) / scale)
    elif law is Law.DISCRETE_GAUSSIAN:
        mass = np.exp(-(k**2) / (2 * scale**2))
    else:
        mass = stats.norm.cdf((k + 0.5) / scale) - stats.norm.cdf((k - 0.5) / scale)
    mass /= mass.sum()
    return float(mass @ k**2), float(mass @ k**4)


def too_little(noise: np.ndarray, m: Measurement) -> bool:
    """Whether this noise is too small for its stated scale, with a false-alarm rate
    below 1e-6 whatever its size.

    Squares are not negative, so their mean falls t below its expectation with
    probability at most exp(−n t² / (2 E[x⁴])) (Maurer, "A bound on the deviation
    probability for sums of non-negative random variables", 2003). No normal
    approximation is involved.
    """
    second, fourth = moments(m.law, float(m.scale))
    slack = math.sqrt(2 * math.log(1e6) * fourth / noise.size)
    return float((noise.astype(np.float64) ** 2).mean()) < second * (1 - 1e-6) - slack
