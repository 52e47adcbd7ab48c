"""From (ε, δ) to the accounting of a run and back.

GDP (Dong, Roth, Su, "Gaussian differential privacy", 2022, Cor. 2.13): a μ-GDP
mechanism is (ε, δ)-private exactly for

    δ(ε; μ) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2).

Written with x = ε/μ − μ/2 and y = ε/μ + μ/2 this is φ(x)·(h(x) − h(y)), h the Mills
ratio, because e^ε φ(y) = φ(x). For μ ≤ 1 the difference is integrated, h′(t) = t·h(t) −
1, so that nothing cancels.

zCDP (Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", 2020,
Prop. 12): ρ-zCDP is (ε, δ)-private for

    δ(ε; ρ) = min over α > 1 of exp((α−1)(αρ−ε)) · (1−1/α)^α / (α−1).

Every α proves something, so a badly found minimum costs budget and never privacy.
Written with r = √ρ and u = 1/(α−1),

    log δ = (r·(r/u) + r² − ε − log1p(u))/u − log1p(1/u),

nothing cancels that matters, and nothing underflows where ρ itself would.

Rounding. The formulas are evaluated in double precision, with a relative error far
below `CONVERSION_MARGIN` (tests/accounting/test_conversion_range.py checks this with
200 digits and more, from ε = 1e-300 to `MAX_CONVERTED_AMOUNT`). What a run may spend is
rounded down by `CONVERSION_MARGIN`, what it has spent is rounded up by it. A δ above
one half is read as one half, and a number below `SMALLEST_DOUBLE` as 0 or as that
bound, whichever is on the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting
from understudy.errors import InvalidBudget

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CONVERSION_MARGIN = Fraction(1, 10**9)
"""Relative safety margin on every converted number, well above the worst error seen
against 60-digit arithmetic.
"""

MAX_CONVERTED_AMOUNT = 10**6
"""Largest ε, μ² or ρ that is converted; beyond it nothing is being protected."""

SMALLEST_DOUBLE = 2.0**-1000
"""Numbers below this are not converted as they are: near 5e-324 a double has too few
digits to be rounded safely.
"""

HALF_PI_ABOVE = Fraction(1_570_796_327, 10**9)
"""π/2, rounded up: μ²/ε² of a pure guarantee, in the limit of small ε."""

# Converted ε are rounded up to this many parts of one.
_EPSILON_GRID_DENOMINATOR = 10**12
# Where geometric bisection starts; more halvings than double precision can use.
_BISECTION_START = 1e-306
_MAX_BISECTION_HALVINGS = 200


def mu_squared_for(budget: Budget) -> Fraction:
    """The largest Σμ² that a run on this budget may reach, rounded down.

    >>> f"{float(mu_squared_for(Budget.of(1, 1e-9))) / 2:.6f}"
    '0.016557'
    """
    epsilon, target = _convert_down(budget.epsilon), _log_delta(budget.delta)
    # There x = −40 and δ is 1 to double precision.
    high = 40 + math.sqrt(1600 + 2 * epsilon)
    mu = _bisect_largest_allowed(lambda mu: _log_delta_gdp(mu, epsilon) <= target, high)
    return Fraction(mu) ** 2 * (1 - CONVERSION_MARGIN)


def rho_for(budget: Budget) -> Fraction:
    """The largest ρ that a run on this budget may reach, rounded down.

    >>> f"{float(rho_for(Budget.of(1, 1e-9))):.6f}"
    '0.014973'
    """
    epsilon, target = _convert_down(budget.epsilon), _log_delta(budget.delta)
    # The order that minimises δ is then at most 3/2 and δ above one half.
    high = math.sqrt(epsilon + 40)
    root = _bisect_largest_allowed(
        lambda root: _log_delta_zcdp(root, epsilon) <= target, high
    )
    return Fraction(root) ** 2 * (1 - CONVERSION_MARGIN)


def total_for(budget: Budget, accounting: Accounting | None = None) -> Fraction:
    """How much of its accounting a run on this budget may spend, rounded down.

    >>> total_for(Budget.of(1, 0))
    Fraction(1, 1)
    """
    match accounting or budget.accounting:
        case Accounting.PURE:
            return budget.epsilon
        case Accounting.GDP:
            return mu_squared_for(budget)
        case Accounting.ZCDP:
            return rho_for(budget)


def epsilon_of_gdp(mu_squared: Fraction, delta: Fraction) -> Fraction:
    """The smallest ε that a run of Σμ² guarantees at this δ, rounded up.

    >>> f"{float(epsilon_of_gdp(2 * Fraction('2.5562'), Fraction(1, 10**10))):.4f}"
    '16.4651'
    """
    target = _log_delta(delta)
    if mu_squared <= 0:
        return Fraction(0)
    mu = math.sqrt(_convert_up(mu_squared))
    # With x = √(2 ln 1/δ) + 1, δ(ε; μ) ≤ Φ(−x) ≤ exp(−x²/2).
    high = mu * (mu / 2 + math.sqrt(-2 * target) + 1)
    return _round_epsilon_up(
        _bisect_last_true(lambda epsilon: _log_delta_gdp(mu, epsilon) > target, high)
    )


def epsilon_of_zcdp(rho: Fraction, delta: Fraction) -> Fraction:
    """The smallest ε that ρ-zCDP guarantees at this δ, rounded up.

    >>> f"{float(epsilon_of_zcdp(Fraction('2.5562'), Fraction(1, 10**10))):.4f}"
    '17.1435'
    """
    target = _log_delta(delta)
    if rho <= 0:
        return Fraction(0)
    root = math.sqrt(_convert_up(rho))
    # Bun and Steinke 2016, Prop. 1.3: always enough.
    high = root * (root + 2 * math.sqrt(-target))
    return _round_epsilon_up(
        _bisect_last_true(
            lambda epsilon: _log_delta_zcdp(root, epsilon) > target, 2 * high
        )
    )


def epsilon_of(accounting: Accounting, amount: Fraction, delta: Fraction) -> Fraction:
    """ε of what a run has spent in its accounting, at this δ, rounded up.

    >>> epsilon_of(Accounting.PURE, Fraction(1, 2), Fraction(0))
    Fraction(1, 2)
    """
    match accounting:
        case Accounting.PURE:
            return amount
        case Accounting.GDP:
            return epsilon_of_gdp(amount, delta)
        case Accounting.ZCDP:
            return epsilon_of_zcdp(amount, delta)


def delta_of_gdp(mu_squared: Fraction, epsilon: Fraction) -> float:
    """δ that a run of Σμ² has at this ε: a float for showing, not for accounting.

    >>> round(delta_of_gdp(Fraction(1), Fraction(1)), 6)
    0.126937
    """
    if mu_squared <= 0:
        return 0.0
    return math.exp(_log_delta_gdp(math.sqrt(mu_squared), float(epsilon)))


def delta_of_zcdp(rho: Fraction, epsilon: Fraction) -> float:
    """δ that ρ-zCDP implies at this ε: a float for showing, not for accounting.

    >>> f"{delta_of_zcdp(Fraction(1, 2), Fraction('5.2215')):.2e}"
    '1.00e-06'
    """
    if rho <= 0:
        return 0.0
    return math.exp(_log_delta_zcdp(math.sqrt(rho), float(epsilon)))


def mu_squared_of_pure(epsilon: Fraction) -> Fraction:
    """μ² of the Gaussian that dominates every ε-private mechanism, rounded up: μ = 2
    Φ⁻¹(e^ε / (1 + e^ε)).

    The trade-off function of ε-privacy is two straight lines that meet where both
    errors are 1/(1 + e^ε). A convex curve that starts in (0, 1) and passes through that
    corner lies below both lines, so the Gaussian through the corner dominates, and no
    smaller one does.

    >>> f"{float(mu_squared_of_pure(Fraction(1))):.4f}"
    '1.5179'
    """
    from scipy.special import log_expit, ndtri_exp

    if epsilon <= 0:
        return Fraction(0)
    # Φ⁻¹ loses digits near one half, but there μ² = (π/2)·ε²·(1 − 0.036·ε² + …).
    if epsilon < Fraction(1, 10**4):
        return HALF_PI_ABOVE * epsilon**2
    mu = -2 * float(ndtri_exp(log_expit(-_convert_up(epsilon))))
    return Fraction(mu) ** 2 * (1 + CONVERSION_MARGIN)


def pure_of_mu_squared(mu_squared: Fraction) -> Fraction:
    """An ε whose `mu_squared_of_pure` is at most this: the largest, up to the margins.

    >>> f"{float(pure_of_mu_squared(Fraction(1))):.4f}"
    '0.8070'
    """
    from scipy.special import log_ndtr

    if mu_squared < Fraction(1, 10**8):
        return _root_down(mu_squared / HALF_PI_ABOVE * (1 - CONVERSION_MARGIN))
    half = math.sqrt(_convert_down(mu_squared)) / 2
    # The inverse of μ = 2 Φ⁻¹(e^ε / (1 + e^ε)): ε is the log-odds of Φ(μ/2).
    epsilon = float(log_ndtr(half) - log_ndtr(-half))
    return Fraction(epsilon) * (1 - 2 * CONVERSION_MARGIN)


def rho_of_pure(epsilon: Fraction) -> Fraction:
    """ρ of an ε-private mechanism: ε²/2 (Bun and Steinke 2016, Prop. 1.4).

    >>> rho_of_pure(Fraction(1, 2))
    Fraction(1, 8)
    """
    return epsilon**2 / 2


def _log_delta_gdp(mu: float, epsilon: float) -> float:
    """log δ(ε; μ), without cancellation."""
    from scipy.special import erfcx, log_ndtr

    x = epsilon / mu - mu / 2
    y = epsilon / mu + mu / 2
    if x < -5:
        # δ is near 1: the two terms of the formula hardly cancel, and h(x) would
        # overflow.
        first = float(log_ndtr(-x))
        second = epsilon + float(log_ndtr(-y))
        if second >= first:
            return -math.inf
        return first + math.log(-math.expm1(second - first))
    if mu > 1:
        # h(t) = √(π/2) · erfcx(t/√2); x and y are far enough apart.
        mills_x = float(erfcx(x / math.sqrt(2)))
        mills_y = float(erfcx(y / math.sqrt(2)))
        difference = math.sqrt(math.pi / 2) * (mills_x - mills_y)
    else:
        difference = _integrate_mills_slope(epsilon / mu, mu)
    if difference <= 0:
        return -math.inf
    return -x * x / 2 - math.log(2 * math.pi) / 2 + math.log(difference)


def _integrate_mills_slope(centre: float, width: float) -> float:
    """h(x) − h(y) for x, y = centre ∓ width/2, as the integral of −h′(t) = 1 − t·h(t)."""
    import numpy as np
    from scipy.special import erfcx

    nodes, weights = _legendre_nodes()
    t = centre + width / 2 * nodes
    # Beyond 30, 1 − t·h(t) cancels: its asymptotic series in 1/t² takes over.
    far = np.maximum(t, 30.0) ** -2.0
    series = far * (1 - 3 * far * (1 - 5 * far * (1 - 7 * far * (1 - 9 * far))))
    mills = math.sqrt(math.pi / 2) * erfcx(np.minimum(t, 30.0) / math.sqrt(2))
    slope = np.where(t > 30, series, 1 - t * mills)
    return float(width / 2 * (weights @ slope))


def _log_delta_zcdp(root: float, epsilon: float) -> float:
    """log δ(ε; ρ) for √ρ, at the order where the derivative (2α−1)ρ − ε + ln(1−1/α) is
    zero; u stands for 1/(α − 1).
    """
    rho = root * root
    u = _bisect_last_true(
        lambda u: 2 * root * (root / u) + rho > epsilon + math.log1p(u), 1e300
    )
    # root * (root / u) and not rho / u: that could underflow where this does not.
    exponent = (root * (root / u) + rho - epsilon - math.log1p(u)) / u
    return exponent - math.log1p(1 / u)


def _bisect_largest_allowed(holds: Callable[[float], bool], high: float) -> float:
    """The same as `_bisect_last_true`, for what may be spent: nothing, if even the
    least is too much.
    """
    return _bisect_last_true(holds, high) if holds(_BISECTION_START) else 0.0


def _bisect_last_true(holds: Callable[[float], bool], high: float) -> float:
    """Where a condition that holds up to some point below `high` stops holding;
    `_BISECTION_START` if it never holds. By halving in logarithms.
    """
    low = _BISECTION_START
    for _ in range(_MAX_BISECTION_HALVINGS):
        # The geometric mean; √low · √high does not underflow where low · high would.
        middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@cache
def _legendre_nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights on [−1, 1], enough for double precision on an interval no
    longer than 1.
    """
    from scipy.special import roots_legendre

    return roots_legendre(24)


def _round_epsilon_up(epsilon: float) -> Fraction:
    """ε as it is reported: never too small."""
    with_margin = Fraction(epsilon) * (1 + CONVERSION_MARGIN)
    steps = math.ceil(with_margin * _EPSILON_GRID_DENOMINATOR)
    return Fraction(steps, _EPSILON_GRID_DENOMINATOR)


def _convert_down(amount: Fraction) -> float:
    """A double that is not above the number by more than a rounding that
    `CONVERSION_MARGIN` covers.
    """
    return _to_convertible_float(amount) if amount >= SMALLEST_DOUBLE else 0.0


def _convert_up(amount: Fraction) -> float:
    """A double that is not below the number by more than a rounding that
    `CONVERSION_MARGIN` covers.
    """
    return max(_to_convertible_float(amount), SMALLEST_DOUBLE)


def _to_convertible_float(amount: Fraction) -> float:
    if amount > MAX_CONVERTED_AMOUNT:
        raise InvalidBudget(
            f"An ε, μ² or ρ above {MAX_CONVERTED_AMOUNT:,} protects nobody and is not"
            " converted. Nothing was spent."
        )
    return float(amount)


def _root_down(square: Fraction) -> Fraction:
    """The square root of a number of any size, rounded down to 64 significant bits or
    more.
    """
    small = square.denominator.bit_length() - square.numerator.bit_length()
    bits = 64 + max(0, small)
    shifted = (square.numerator << 2 * bits) // square.denominator
    return Fraction(math.isqrt(shifted), 1 << bits)


def _log_delta(delta: Fraction) -> float:
    """log δ, also of a δ that no float can hold."""
    if delta <= 0:
        raise InvalidBudget(
            "δ = 0 buys pure ε only: give a δ above 0, such as 1e-9, or add discrete"
            " Laplace noise. Nothing was spent."
        )
    if delta > Fraction(1, 2):
        return math.log(0.5)
    return math.log(delta.numerator) - math.log(delta.denominator)
