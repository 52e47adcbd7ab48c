"""Smooth sensitivity: how far a statistic moves near these rows, and how slowly that
changes from one table to its neighbours.

Nissim, Raskhodnikova, Smith, "Smooth sensitivity and sampling in private data analysis",
2007. Let U_k(x) bound how far one neighbour moves the statistic on any table within k
neighbours of x. Then S(x) = max over k of e^(−βk)·U_k(x) bounds the local sensitivity
(k = 0), and changes by a factor of at most e^β between neighbours, wherever
U_k(x) ≤ U_(k+1)(x') for neighbours x, x'.

Why Cauchy noise of scale S/α is (α + β)-private. Let h be the density 1/(π(1 + z²)).
  * Moving its centre by δ changes ln h by at most |δ|, because |2z/(1 + z²)| ≤ 1; the
    statistic moves by at most S, which is α scales.
  * Stretching it by e^λ changes ln(e^λ·h(e^λ·z)) by at most |λ|, because its derivative
    1 − 2w²/(1 + w²), w = e^λ·z, lies between −1 and 1; |λ| ≤ β.
Rounding to an integer and clipping to public bounds come after. With α = β = ε/2 the
answer is ε-private, without a δ. The scale is secret: no interval can be given.

The law of the answer is compared with e^ε on all small tables in
tests/curator/mechanisms/test_smooth_median.py and tests/toolbox/test_graphs.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

_LOG_SLACK = 1e-6
"""Logarithms of terms are compared up to this: far more than floats round at distances
of up to 10⁹. In logarithms, because e^(−βk) of a distant k is no float.
"""


@dataclass(frozen=True)
class SmoothBound:
    """The terms U_k·e^(−βk) that may be the largest, as (k, U_k)."""

    terms: tuple[tuple[int, int], ...]
    beta: Fraction

    @property
    def value(self) -> float:
        """S, to the precision of a float; secret."""
        rate = float(self.beta)
        return max(u * math.exp(-rate * k) for k, u in self.terms)


def bound_smoothly(
    local: Callable[[int], int], *, beta: Fraction, largest: int
) -> SmoothBound:
    """S of local sensitivities U_0 ≤ U_1 ≤ …, which reach `largest` somewhere.

    >>> round(bound_smoothly(lambda k: min(k, 5), beta=Fraction(1, 2), largest=5).value, 4)
    0.7358
    """
    rate = float(beta)
    best, terms, k = -math.inf, [], 0
    while largest > 0:
        bound = min(local(k), largest)
        if bound > 0:
            height = math.log(bound) - rate * k
            best = max(best, height)
            terms.append((k, bound, height))
        # Later terms are at most the largest sensitivity at this distance.
        if bound >= largest or math.log(largest) - rate * k < best - _LOG_SLACK:
            break
        k = _find_rise(local, k)
    kept = [(k, u) for k, u, height in terms if height >= best - _LOG_SLACK]
    return SmoothBound(tuple(kept) or ((0, 0),), beta)


def _find_rise(local: Callable[[int], int], k: int) -> int:
    """The first distance beyond k with a larger U: of equal ones, the nearest counts."""
    here, first, last = local(k), k + 1, k + 1
    while local(last) <= here:
        first, last = last + 1, 2 * last - k
    while first < last:
        middle = (first + last) // 2
        if local(middle) > here:
            last = middle
        else:
            first = middle + 1
    return first
