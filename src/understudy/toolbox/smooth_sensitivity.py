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
tests/curator/mechanisms/test_smooth_median.py and test_graph_statistics.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

_CLEARLY_SMALLER = 1 - 1e-9
"""Terms below this part of the largest are no maximum, whatever float rounding did."""


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
    """S of local sensitivities U_0 ≤ U_1 ≤ …, none above `largest`.

    >>> round(bound_smoothly(lambda k: min(k, 5), beta=Fraction(1, 2), largest=5).value, 4)
    0.7358
    """
    rate = float(beta)
    best, terms, k = 0.0, [], 0
    while True:
        bound = min(local(k), largest)
        value = bound * math.exp(-rate * k)
        best = max(best, value)
        terms.append((k, bound, value))
        # Later terms are at most the largest sensitivity at this distance.
        if bound >= largest or largest * math.exp(-rate * k) < best * _CLEARLY_SMALLER:
            break
        k += 1
    kept = [(k, u) for k, u, value in terms if value >= best * _CLEARLY_SMALLER]
    return SmoothBound(tuple(kept), beta)
