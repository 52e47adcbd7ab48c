"""How likely noise exceeds k: proven bounds on Q(k) = P(X > k), k ≥ 0, for the three
laws.

All three laws are symmetric around zero, so Q gives the whole distribution function:
F(k) = 1 - Q(k), F(-k-1) = Q(k).

  discrete Laplace    Q(k) = t^(k+1) / (1+t), t = exp(-1/scale)
  rounded Gaussian    Q(k) = P(N(0,1) > (k+½)/scale)
  discrete Gaussian   Q(k) = Σ_{j>k} exp(-j²/(2 scale²)) / Σ_j exp(-j²/(2 scale²))

`tail` encloses one value at any precision; refinement uses it. `words` encloses Q(0),
Q(1), ... until they vanish, in one sweep that counts its own errors; tables are built
from it. docs/proofs/noise.md, §3 derives the counts.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.law import Law
from understudy.noise.enclosure import (
    enclose_exp_neg,
    enclose_normal_tail,
    reduce_precision,
)
from understudy.noise.normal import FIXED_POINT_BITS, enclose_normal_tails
from understudy.noise.source import IntegerBounds

NOISE_WORD_BITS = 64

SWEEP_PRECISION_BITS = 160
"""Bits to which sweeps on big integers work."""


class TailWords(NamedTuple):
    """low < Q(k) · 2^64 < high + 1 for k = 0, 1, ..., and the last `low` is zero."""

    low: NDArray[np.uint64]
    high: NDArray[np.uint64]


class Tails(Protocol):
    """One law at one scale."""

    scale: Fraction

    def tail(self, k: int, bits: int) -> IntegerBounds:
        """Encloses Q(k) · 2^bits for k ≥ 0."""
        ...

    def words(self) -> TailWords:
        """Encloses Q(0), Q(1), ..., down to where the lower bound is zero."""
        ...


def pack_bounds(bounds: list[IntegerBounds], bits: int) -> TailWords:
    """Bounds at `bits` of precision as words. One is taken off before rounding down, so
    that `low` is truly less.
    """
    by = bits - NOISE_WORD_BITS
    return TailWords(
        np.array([max(low - 1, 0) >> by for low, _ in bounds], dtype=np.uint64),
        np.array([high >> by for _, high in bounds], dtype=np.uint64),
    )


def widen_to_words(low: NDArray[np.int64], high: NDArray[np.int64]) -> TailWords:
    """Bounds in the units of normal.py as words: these have more bits, so the enclosure
    is that much wider.
    """
    spare = np.uint64(NOISE_WORD_BITS - FIXED_POINT_BITS)
    return TailWords(low.astype(np.uint64) << spare, high.astype(np.uint64) << spare)


class LaplaceTails:
    """Discrete Laplace."""

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale

    def tail(self, k: int, bits: int) -> IntegerBounds:
        """Encloses Q(k) · 2^bits for k ≥ 0."""
        work = bits + 16
        one = 1 << work
        t_lo, t_hi = enclose_exp_neg(1 / self.scale, work)
        p_lo, p_hi = enclose_exp_neg((k + 1) / self.scale, work)
        return reduce_precision(
            (p_lo << work) // (one + t_hi),
            -((-p_hi << work) // (one + t_lo)),
            16,
        )

    def run(self, bits: int) -> list[IntegerBounds]:
        """Encloses Q(0), Q(1), ... · 2^bits, up to the first whose lower bound is under
        2^-64.
        """
        t_lo, t_hi = enclose_exp_neg(1 / self.scale, bits)
        low, high = self.tail(0, bits)
        # Each step multiplies by t: its enclosure and one rounding add to the error.
        error = high - low
        growth = t_hi - t_lo + 1
        stop = 1 << (bits - NOISE_WORD_BITS)
        bounds = [(low, high)]
        while low >= stop:
            low = low * t_lo >> bits
            error += growth
            bounds.append((low, low + error))
        return bounds

    def words(self) -> TailWords:
        """Encloses Q(0), Q(1), ..., down to where the lower bound is zero."""
        return pack_bounds(self.run(SWEEP_PRECISION_BITS), SWEEP_PRECISION_BITS)


class RoundedGaussianTails:
    """round(N(0, scale²))."""

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale

    def tail(self, k: int, bits: int) -> IntegerBounds:
        """Encloses Q(k) · 2^bits for k ≥ 0."""
        return enclose_normal_tail((2 * k + 1) / (2 * self.scale), bits)

    def words(self) -> TailWords:
        """Encloses Q(0), Q(1), ..., down to where the lower bound is zero."""
        return widen_to_words(*enclose_normal_tails(1 / self.scale))


class DiscreteGaussianTails:
    """P(k) ∝ exp(-k²/(2 scale²))."""

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale

    def tail(self, k: int, bits: int) -> IntegerBounds:
        """Encloses Q(k) · 2^bits for k ≥ 0."""
        bounds = _enclose_gaussian_tails(self.scale, bits)
        return bounds[k] if k < len(bounds) else (0, bounds[-1][1])

    def run(self, bits: int) -> list[IntegerBounds]:
        """Encloses Q(0), Q(1), ... · 2^bits, up to the first whose lower bound is under
        2^-64.
        """
        bounds = _enclose_gaussian_tails(self.scale, bits)
        stop = 1 << (bits - NOISE_WORD_BITS)
        return bounds[: next(k for k, (low, _) in enumerate(bounds) if low < stop) + 1]

    def words(self) -> TailWords:
        """Encloses Q(0), Q(1), ..., down to where the lower bound is zero."""
        return pack_bounds(self.run(SWEEP_PRECISION_BITS), SWEEP_PRECISION_BITS)


class _GaussianWeights:
    """w_k = exp(-k²/(2σ²)) for k = 0, 1, ...: low ≤ w_k · 2^bits ≤ low + error.

    w_(k+1) = w_k r_k and r_(k+1) = r_k c with c = exp(-1/σ²), r_0 = exp(-1/(2σ²)), all
    at most one.
    """

    def __init__(self, sigma: Fraction, bits: int) -> None:
        self.bits = bits
        self.low = 1 << bits
        self.error = 0
        self._ratio, high = enclose_exp_neg(1 / (2 * sigma * sigma), bits)
        self._ratio_error = high - self._ratio
        self._shrink, high = enclose_exp_neg(1 / (sigma * sigma), bits)
        self._shrink_error = high - self._shrink + 1

    def advance(self) -> None:
        """From k to k + 1."""
        self.low = self.low * self._ratio >> self.bits
        self.error += self._ratio_error + 1
        self._ratio = self._ratio * self._shrink >> self.bits
        self._ratio_error += self._shrink_error

    def bound_rest(self) -> int:
        """At least w_k + w_(k+1) + ... · 2^bits: a geometric series whose ratio is at
        most r_k.
        """
        most = self.low + self.error
        one_less_ratio = (1 << self.bits) - self._ratio - self._ratio_error
        return -((-most << self.bits) // one_less_ratio)


@lru_cache(maxsize=2)
def _enclose_gaussian_tails(scale: Fraction, bits: int) -> list[IntegerBounds]:
    """Encloses Q(k) · 2^bits for all k until the weights vanish at that precision."""
    guard = 64
    work = bits + guard
    weight = _GaussianWeights(scale, work)
    weight.advance()
    lows: list[int] = []
    errors: list[int] = []
    while weight.low >> guard // 2 or not lows:
        lows.append(weight.low)
        errors.append(weight.error)
        weight.advance()
    # suffix[k] encloses Σ_{j>k} w_j, added up from the small end.
    low = 0
    high = weight.bound_rest()
    suffix = [(low, high)]
    for w, e in zip(reversed(lows), reversed(errors), strict=True):
        low = low + w
        high = high + w + e
        suffix.append((low, high))
    suffix.reverse()
    # The whole mass is w_0 + 2·Σ_{j>0} w_j, with w_0 = 1.
    one = 1 << work
    inverse_lo = (one << work) // (one + 2 * high)
    inverse_hi = -((-one << work) // (one + 2 * low))
    by = work + guard
    return [reduce_precision(a * inverse_lo, b * inverse_hi, by) for a, b in suffix]


def tails_of_law(law: Law, scale: Fraction) -> Tails:
    """The tails of `law` at `scale`.

    >>> lo, hi = tails_of_law(Law.DISCRETE_LAPLACE, Fraction(1)).tail(0, 20)
    >>> lo / 2**20 <= 0.26894142 <= hi / 2**20
    True
    """
    kinds: dict[
        Law,
        type[LaplaceTails] | type[RoundedGaussianTails] | type[DiscreteGaussianTails],
    ] = {
        Law.DISCRETE_LAPLACE: LaplaceTails,
        Law.ROUNDED_GAUSSIAN: RoundedGaussianTails,
        Law.DISCRETE_GAUSSIAN: DiscreteGaussianTails,
    }
    return kinds[law](scale)
