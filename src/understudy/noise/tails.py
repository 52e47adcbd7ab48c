"""How likely noise exceeds k: proven bounds on Q(k) = P(X > k), k ≥ 0, for the three laws.

All three laws are symmetric around zero, so Q gives the whole distribution function: F(k) = 1 - Q(k), F(-k-1) = Q(k).

  discrete Laplace    Q(k) = t^(k+1) / (1+t), t = exp(-1/scale)
  rounded Gaussian    Q(k) = P(N(0,1) > (k+½)/scale)
  discrete Gaussian   Q(k) = Σ_{j>k} exp(-j²/(2 scale²)) / Σ_j exp(-j²/(2 scale²))

`tail` encloses one value at any precision; refinement uses it. `run` encloses Q(0), Q(1), ... down to 2^-64 in one sweep,
by recurrences that carry their own error count; tables are built from it. docs/proofs/noise.md, §3 derives the counts.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from understudy.accounting.law import Law
from understudy.noise.enclosure import exp_neg, inverse_root_two_pi, normal_tail, shrink
from understudy.noise.source import Bounds

WORD = 64


class Tails(Protocol):
    """One law at one scale."""

    scale: Fraction

    def tail(self, k: int, bits: int) -> Bounds:
        """Encloses Q(k) · 2^bits for k ≥ 0."""
        ...

    def run(self, bits: int) -> list[Bounds]:
        """Encloses Q(0), Q(1), ... · 2^bits, up to the first whose lower bound is under 2^-64."""
        ...


class LaplaceTails:
    """Discrete Laplace."""

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale

    def tail(self, k: int, bits: int) -> Bounds:
        """Encloses Q(k) · 2^bits for k ≥ 0."""
        work = bits + 16
        one = 1 << work
        t_lo, t_hi = exp_neg(1 / self.scale, work)
        p_lo, p_hi = exp_neg((k + 1) / self.scale, work)
        return shrink((p_lo << work) // (one + t_hi), -((-p_hi << work) // (one + t_lo)), 16)

    def run(self, bits: int) -> list[Bounds]:
        """Encloses Q(0), Q(1), ... · 2^bits, up to the first whose lower bound is under 2^-64."""
        t_lo, t_hi = exp_neg(1 / self.scale, bits)
        low, high = self.tail(0, bits)
        error, growth, stop = high - low, t_hi - t_lo + 1, 1 << (bits - WORD)
        bounds = [(low, high)]
        while low >= stop:
            low = low * t_lo >> bits
            error += growth
            bounds.append((low, low + error))
        return bounds


class RoundedGaussianTails:
    """round(N(0, scale²))."""

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale

    def tail(self, k: int, bits: int) -> Bounds:
        """Encloses Q(k) · 2^bits for k ≥ 0."""
        return normal_tail((2 * k + 1) / (2 * self.scale), bits)

    def run(self, bits: int) -> list[Bounds]:
        """Encloses Q(0), Q(1), ... · 2^bits, up to the first whose lower bound is under 2^-64."""
        return self._sweep(bits) if self.scale >= 4 else self._each(bits)

    def _each(self, bits: int) -> list[Bounds]:
        bounds = [self.tail(0, bits)]
        while bounds[-1][0] >= 1 << (bits - WORD):
            bounds.append(self.tail(len(bounds), bits))
        return bounds

    def _sweep(self, bits: int) -> list[Bounds]:
        """Q(k) = Q(k-1) - P(X = k), where P(X = k) = φ(x)/σ · Σ a_2m / (2m+1), a_n = He_n(x) hⁿ/n!, x = k/σ, h = 1/(2σ).

        The a_n follow a three-term recurrence; for σ ≥ 4 they are at most 2.1 and a dozen of them suffice.
        """
        sigma = self.scale
        order = 2
        while (2 * sigma) ** (order + 2) < 1 << bits:
            order += 2
        per_step = 1 / (2 * sigma * sigma)  # xh = k · per_step
        h_squared = (per_step.numerator << bits) // (2 * per_step.denominator)
        norm_lo, norm_hi = inverse_root_two_pi(bits)
        norm_error = norm_hi - norm_lo + 1
        norm = norm_lo * sigma.denominator // sigma.numerator
        weight = _Weights(sigma, bits)
        stop, one = 1 << (bits - WORD), 1 << bits
        # exact ½ at "k = -½": the cell at zero is split evenly between the two sides
        middle, error, k = one >> 1, 0, 0
        bounds: list[Bounds] = []
        series_error = 17 * (order // 2 + 1)
        while True:
            xh = (k * per_step.numerator << bits) // per_step.denominator
            before, here, total = one, xh, one
            for n in range(2, order + 1):
                before, here = here, (xh * here - h_squared * before >> bits) // n
                if not n & 1:
                    total += here // (n + 1)
            mass = norm * (weight.low * total >> bits) >> bits
            mass_error = 4 * weight.error + series_error + 4 * norm_error + 3
            middle -= mass if k else mass // 2
            error += mass_error
            bounds.append((max(middle - error, 0), middle + error))
            if middle - error < stop:
                break
            weight.advance()
            k += 1
        assert k * per_step <= 2, "the bound on the series needs xh ≤ 2"
        return bounds


class DiscreteGaussianTails:
    """P(k) ∝ exp(-k²/(2 scale²))."""

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale

    def tail(self, k: int, bits: int) -> Bounds:
        """Encloses Q(k) · 2^bits for k ≥ 0."""
        bounds = _theta(self.scale, bits)
        return bounds[k] if k < len(bounds) else (0, bounds[-1][1])

    def run(self, bits: int) -> list[Bounds]:
        """Encloses Q(0), Q(1), ... · 2^bits, up to the first whose lower bound is under 2^-64."""
        bounds = _theta(self.scale, bits)
        stop = 1 << (bits - WORD)
        return bounds[: next(k for k, (low, _) in enumerate(bounds) if low < stop) + 1]


class _Weights:
    """w_k = exp(-k²/(2σ²)) for k = 0, 1, ...: low ≤ w_k · 2^bits ≤ low + error.

    w_(k+1) = w_k r_k and r_(k+1) = r_k c with c = exp(-1/σ²), r_0 = exp(-1/(2σ²)), all at most one.
    """

    def __init__(self, sigma: Fraction, bits: int) -> None:
        self.bits = bits
        self.low, self.error = 1 << bits, 0
        self._ratio, high = exp_neg(1 / (2 * sigma * sigma), bits)
        self._ratio_error = high - self._ratio
        self._shrink, high = exp_neg(1 / (sigma * sigma), bits)
        self._shrink_error = high - self._shrink + 1

    def advance(self) -> None:
        """From k to k + 1."""
        self.low = self.low * self._ratio >> self.bits
        self.error += self._ratio_error + 1
        self._ratio = self._ratio * self._shrink >> self.bits
        self._ratio_error += self._shrink_error

    def rest(self) -> int:
        """At least w_k + w_(k+1) + ... · 2^bits: a geometric series whose ratio is at most r_k."""
        return -((-(self.low + self.error) << self.bits) // ((1 << self.bits) - self._ratio - self._ratio_error))


@lru_cache(maxsize=2)
def _theta(scale: Fraction, bits: int) -> list[Bounds]:
    """Encloses Q(k) · 2^bits for all k until the weights vanish at that precision."""
    guard = 64
    work = bits + guard
    weight = _Weights(scale, work)
    weight.advance()
    lows: list[int] = []
    errors: list[int] = []
    while weight.low >> guard // 2 or not lows:
        lows.append(weight.low)
        errors.append(weight.error)
        weight.advance()
    # suffix[k] encloses Σ_{j>k} w_j
    low, high = 0, weight.rest()
    suffix = [(low, high)]
    for w, e in zip(reversed(lows), reversed(errors), strict=True):
        low, high = low + w, high + w + e
        suffix.append((low, high))
    suffix.reverse()
    one = 1 << work
    inverse_lo = (one << work) // (one + 2 * high)
    inverse_hi = -((-one << work) // (one + 2 * low))
    by = work + guard
    return [shrink(a * inverse_lo, b * inverse_hi, by) for a, b in suffix]


def tails(law: Law, scale: Fraction) -> Tails:
    """The tails of `law` at `scale`.

    >>> lo, hi = tails(Law.DISCRETE_LAPLACE, Fraction(1)).tail(0, 20)
    >>> lo / 2**20 <= 0.26894142 <= hi / 2**20
    True
    """
    kinds: dict[Law, type[LaplaceTails] | type[RoundedGaussianTails] | type[DiscreteGaussianTails]] = {
        Law.DISCRETE_LAPLACE: LaplaceTails,
        Law.ROUNDED_GAUSSIAN: RoundedGaussianTails,
        Law.DISCRETE_GAUSSIAN: DiscreteGaussianTails,
    }
    return kinds[law](scale)
