"""What a draw of noise costs, and how much noise a price buys.

| | pure ε | GDP μ² | zCDP ρ |
|---|---|---|---|
| discrete Laplace, scale b | L1/b | μ² of the Gaussian that dominates ε = L1/b | (L1/b)²/2 |
| rounded Gaussian, scale σ | refused | L2²/σ² | L2²/(2σ²) |
| discrete Gaussian, scale σ | refused | refused | L2²/(2σ²) |
| private choice (exponential mechanism with ε) | ε | 0.393·ε², for ε ≤ 4 | ε²/8 |

Rounded Gaussian noise is the Gaussian mechanism on integers followed by rounding, so it
costs exactly what the Gaussian mechanism does (Dong, Roth, Su 2022; Bun, Steinke 2016).
Discrete Gaussian noise has its zCDP price by Canonne, Kamath, Steinke 2020, and is not
μ-GDP. Discrete Laplace noise in a GDP run pays for every ε-private mechanism
(`conversion.mu_squared_of_pure`), which is tight where one cell moves by one.

A private choice is ε-bounded-range (Dong, Durfee, Rogers, "Optimal differential privacy
composition for exponential mechanisms", 2020): its worst pairs have two outcomes, with
losses t and t − ε. Each is dominated by the Gaussian whose μ is Φ⁻¹(p) − Φ⁻¹(q); the
supremum over t is √(π/8)·ε in the limit of small ε and stays below √0.393·ε up to ε = 4
(tests/accounting/test_pricing.py). In zCDP it costs ε²/8 (Cesar, Rogers, "Bounding,
concentrating, and truncating", 2021).

Scales are rounded up to a fraction with denominator 2²⁰ that a double holds, so that
every sampler can draw with that very number (OpenDP takes doubles alone); the price is
the price of what is drawn.
"""

from __future__ import annotations

import math
from fractions import Fraction

from understudy.accounting.conversion import (
    mu_squared_of_pure,
    pure_of_mu_squared,
    rho_of_pure,
)
from understudy.accounting.cost import Accounting, Cost, Sensitivity
from understudy.accounting.law import Law
from understudy.errors import InvalidBudget, Refused

NOISE_SCALE_DENOMINATOR = 2**20
"""Denominator of every scale of noise and of every ε of a private choice."""

NOISE_SCALE_BITS = 53
"""Significant bits of a scale: those of a double. On the grid they run short from 2³³
up.
"""

CHOICE_MU_SQUARED = Fraction(393, 1000)
"""μ² of a private choice with ε = 1 in a GDP run."""

MAX_GDP_CHOICE_EPSILON = Fraction(4)
"""Largest ε of one private choice for which `CHOICE_MU_SQUARED` is shown to be enough.
"""


def default_law(accounting: Accounting) -> Law:
    """The noise that costs least in this accounting.

    >>> default_law(Accounting.GDP)
    <Law.ROUNDED_GAUSSIAN: 'rounded_gaussian'>
    """
    match accounting:
        case Accounting.PURE:
            return Law.DISCRETE_LAPLACE
        case Accounting.GDP:
            return Law.ROUNDED_GAUSSIAN
        case Accounting.ZCDP:
            return Law.DISCRETE_GAUSSIAN


def price(
    law: Law, scale: Fraction, sensitivity: Sensitivity, accounting: Accounting
) -> Cost:
    """What integers with this sensitivity cost when released with this noise.

    >>> count = Sensitivity(Fraction(1), Fraction(1))
    >>> price(Law.ROUNDED_GAUSSIAN, Fraction(10), count, Accounting.GDP).amount
    Fraction(1, 100)
    """
    _refuse_unpriced_law(law, accounting)
    # An answer on which all neighbours agree is public.
    if sensitivity.l1 == 0:
        return Cost(accounting, Fraction(0))
    if scale <= 0:
        raise Refused(
            "Noise needs a scale above 0: without noise the answer has no price."
            " Nothing was spent."
        )
    if law is Law.DISCRETE_LAPLACE:
        return Cost(accounting, _amount_of_pure(sensitivity.l1 / scale, accounting))
    # ρ = μ²/2 for Gaussian noise of either kind.
    mu_squared = sensitivity.l2_squared / scale**2
    amount = mu_squared if accounting is Accounting.GDP else mu_squared / 2
    return Cost(accounting, amount)


def scale_for(
    law: Law, amount: Fraction, sensitivity: Sensitivity, accounting: Accounting
) -> Fraction:
    """The smallest scale on the grid whose `price` is at most `amount`; 0, no noise at
    all, where nothing can change.

    >>> count = Sensitivity(Fraction(1), Fraction(1))
    >>> scale_for(Law.DISCRETE_LAPLACE, Fraction(1, 2), count, Accounting.PURE)
    Fraction(2, 1)
    """
    _refuse_unpriced_law(law, accounting)
    if amount <= 0:
        raise InvalidBudget(
            "A share of 0 buys no answer: give this question a part of the budget."
            " Nothing was spent."
        )
    if sensitivity.l1 == 0:
        return Fraction(0)
    if law is Law.DISCRETE_LAPLACE:
        match accounting:
            case Accounting.PURE:
                return _round_scale_up(sensitivity.l1 / amount)
            case Accounting.GDP:
                return _round_scale_up(sensitivity.l1 / pure_of_mu_squared(amount))
            case Accounting.ZCDP:
                return _root_up(sensitivity.l1**2 / (2 * amount))
    mu_squared = amount if accounting is Accounting.GDP else 2 * amount
    return _root_up(sensitivity.l2_squared / mu_squared)


def price_choice(epsilon: Fraction, accounting: Accounting) -> Cost:
    """What one draw of the exponential mechanism costs: P(y) ∝ exp(ε·score(y) / (2Δ)),
    or without the 2 where all scores move one way.

    >>> price_choice(Fraction(1), Accounting.ZCDP).amount
    Fraction(1, 8)
    """
    if epsilon <= 0:
        raise InvalidBudget("A private choice needs an ε above 0. Nothing was spent.")
    match accounting:
        case Accounting.PURE:
            return Cost(accounting, epsilon)
        case Accounting.ZCDP:
            return Cost(accounting, epsilon**2 / 8)
        case Accounting.GDP if epsilon > MAX_GDP_CHOICE_EPSILON:
            raise Refused(
                "In a GDP run a private choice has a price up to ε ="
                f" {MAX_GDP_CHOICE_EPSILON}: use a smaller ε. Nothing was spent."
            )
        case Accounting.GDP:
            return Cost(accounting, CHOICE_MU_SQUARED * epsilon**2)


def choice_epsilon_for(amount: Fraction, accounting: Accounting) -> Fraction:
    """The largest ε of a private choice whose price is at most `amount`, roots rounded
    down to the grid; at most 4 in a GDP run.

    >>> choice_epsilon_for(Fraction(1, 8), Accounting.ZCDP)
    Fraction(1, 1)
    """
    match accounting:
        case Accounting.PURE:
            epsilon = amount
        case Accounting.ZCDP:
            epsilon = _root_down(8 * amount)
        case Accounting.GDP:
            epsilon = min(
                MAX_GDP_CHOICE_EPSILON, _root_down(amount / CHOICE_MU_SQUARED)
            )
    if epsilon <= 0:
        raise InvalidBudget(
            "This share of the budget is too small for a private choice. Nothing was"
            " spent."
        )
    return epsilon


def _refuse_unpriced_law(law: Law, accounting: Accounting) -> None:
    if accounting is Accounting.PURE and law is not Law.DISCRETE_LAPLACE:
        raise Refused(
            "Gaussian noise is never purely private: use discrete Laplace noise, or"
            " give the run a δ above 0. Nothing was spent."
        )
    if accounting is Accounting.GDP and law is Law.DISCRETE_GAUSSIAN:
        raise Refused(
            "Discrete Gaussian noise has no price in GDP: use rounded Gaussian noise,"
            " or a zCDP run. Nothing was spent."
        )


def _amount_of_pure(epsilon: Fraction, accounting: Accounting) -> Fraction:
    match accounting:
        case Accounting.PURE:
            return epsilon
        case Accounting.GDP:
            return mu_squared_of_pure(epsilon)
        case Accounting.ZCDP:
            return rho_of_pure(epsilon)


def _round_scale_up(value: Fraction) -> Fraction:
    """The smallest scale that is at least `value`."""
    return _scale_of(math.ceil(value * NOISE_SCALE_DENOMINATOR))


def _root_up(square: Fraction) -> Fraction:
    """The smallest scale whose square is at least `square`, in integers."""
    steps_squared = math.ceil(square * NOISE_SCALE_DENOMINATOR**2)
    # isqrt rounds down; ⌊√(n − 1)⌋ + 1 is √n rounded up.
    return _scale_of(math.isqrt(steps_squared - 1) + 1)


def _scale_of(steps: int) -> Fraction:
    """A number of steps of the grid as a scale, rounded up to a double."""
    spare = max(0, steps.bit_length() - NOISE_SCALE_BITS)
    # A shift rounds down, so this rounds up.
    significant = -(-steps >> spare)
    return Fraction(significant << spare, NOISE_SCALE_DENOMINATOR)


def _root_down(square: Fraction) -> Fraction:
    """The largest number on the grid whose square is at most `square`, in integers."""
    steps_squared = math.floor(square * NOISE_SCALE_DENOMINATOR**2)
    return Fraction(math.isqrt(steps_squared), NOISE_SCALE_DENOMINATOR)
