"""Conversions against printed values, 60-digit arithmetic and each other."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.accounting.budget import Budget
from understudy.accounting.conversion import (
    CONVERSION_MARGIN,
    delta_of_gdp,
    delta_of_zcdp,
    epsilon_of,
    epsilon_of_gdp,
    epsilon_of_zcdp,
    mu_squared_for,
    mu_squared_of_pure,
    pure_of_mu_squared,
    rho_for,
    rho_of_pure,
    total_for,
)
from understudy.accounting.cost import Accounting
from understudy.errors import InvalidBudget

mpmath.mp.dps = 60


def exact_delta_gdp(epsilon, mu):
    """δ(ε; μ) with sixty digits."""
    epsilon, mu = _mp(epsilon), _mp(mu)
    tail = lambda t: mpmath.erfc(t / mpmath.sqrt(2)) / 2  # noqa: E731
    return tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * tail(
        epsilon / mu + mu / 2
    )


def exact_delta_zcdp(epsilon, rho, alpha):
    epsilon, rho, alpha = _mp(epsilon), _mp(rho), _mp(alpha)
    return (
        mpmath.exp((alpha - 1) * (alpha * rho - epsilon))
        * (1 - 1 / alpha) ** alpha
        / (alpha - 1)
    )


def _mp(value):
    return (
        mpmath.mpf(value.numerator) / value.denominator
        if isinstance(value, Fraction)
        else mpmath.mpf(value)
    )


def random_budgets(count, seed):
    """ε from a thousandth to a hundred, δ from 1e-30 to 0.3: far beyond what anybody
    uses.
    """
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield Budget.of(
            f"{10 ** rng.uniform(-3, 2):.6g}", f"{10 ** rng.uniform(-30, -0.5):.6g}"
        )


@pytest.mark.parametrize(
    ("epsilon", "delta", "half_mu_squared", "rho"),
    [
        ("1", "1e-9", 0.016557, 0.014973),
        ("1", "1e-6", 0.028014, 0.024356),
        ("1", "1e-5", 0.035926, 0.030557),
        ("0.1", "1e-9", 0.000198, 0.000177),
        ("10", "1e-9", 1.182533, 1.090786),
    ],
)
def test_printed_budgets(epsilon, delta, half_mu_squared, rho):
    budget = Budget.of(epsilon, delta)
    assert float(mu_squared_for(budget)) / 2 == pytest.approx(half_mu_squared, abs=6e-7)
    assert float(rho_for(budget)) == pytest.approx(rho, abs=6e-7)


def test_gdp_at_the_printed_point():
    assert (
        round(float(epsilon_of_gdp(2 * Fraction("2.5562"), Fraction(1, 10**10))), 4)
        == 16.4651
    )


def test_zcdp_at_the_printed_point():
    """The printed value is 17.1436; the best order gives 17.14345."""
    assert (
        17.1434
        < float(epsilon_of_zcdp(Fraction("2.5562"), Fraction(1, 10**10)))
        < 17.1436
    )


@pytest.mark.parametrize(
    ("rho", "at_1e6", "at_1e5"),
    [("0.1", 2.1419, 1.9142), ("0.5", 5.2215, 4.7284), ("1", 7.7662, 7.0772)],
)
def test_zcdp_table(rho, at_1e6, at_1e5):
    assert round(float(epsilon_of_zcdp(Fraction(rho), Fraction(1, 10**6))), 4) == at_1e6
    assert round(float(epsilon_of_zcdp(Fraction(rho), Fraction(1, 10**5))), 4) == at_1e5


def test_mu_squared_is_never_too_large_and_hardly_too_small():
    """Against sixty digits: safe as it is, unsafe three margins higher."""
    for budget in random_budgets(150, seed=1):
        mu_squared = mu_squared_for(budget)
        assert exact_delta_gdp(budget.epsilon, mpmath.sqrt(_mp(mu_squared))) <= _mp(
            budget.delta
        )
        assert exact_delta_gdp(
            budget.epsilon, mpmath.sqrt(_mp(mu_squared * (1 + 3 * CONVERSION_MARGIN)))
        ) > _mp(budget.delta)


def test_the_safety_margin_is_many_times_the_numerical_error():
    worst = 0.0
    for budget in random_budgets(150, seed=2):
        mu = mpmath.sqrt(_mp(mu_squared_for(budget) / (1 - CONVERSION_MARGIN)))
        root = mpmath.findroot(
            lambda m, b=budget: (
                mpmath.log(exact_delta_gdp(b.epsilon, m)) - mpmath.log(_mp(b.delta))
            ),
            mu,
        )
        worst = max(worst, float(abs(root / mu - 1)))
    assert worst < float(CONVERSION_MARGIN) / 100


def test_gdp_epsilon_is_never_too_small_and_hardly_too_large():
    rng = np.random.default_rng(3)
    for _ in range(150):
        mu_squared, delta = (
            Fraction(10 ** rng.uniform(-8, 3)),
            Fraction(10 ** rng.uniform(-30, -0.5)),
        )
        epsilon, mu = epsilon_of_gdp(mu_squared, delta), mpmath.sqrt(_mp(mu_squared))
        assert exact_delta_gdp(epsilon, mu) <= _mp(delta)
        if epsilon > Fraction(1, 10**9):
            assert exact_delta_gdp(
                epsilon * (1 - 3 * CONVERSION_MARGIN) - Fraction(2, 10**12), mu
            ) > _mp(delta)


def test_zcdp_numbers_hold_with_sixty_digits():
    """There is an order that proves the claim, which is all a proof needs."""
    for budget in random_budgets(25, seed=4):
        rho = rho_for(budget)
        assert _best_delta_zcdp(budget.epsilon, rho) <= _mp(budget.delta)
        assert _best_delta_zcdp(epsilon_of_zcdp(rho, budget.delta), rho) <= _mp(
            budget.delta
        )
        assert _best_delta_zcdp(
            budget.epsilon, rho * (1 + 3 * CONVERSION_MARGIN)
        ) > _mp(budget.delta)


def _best_delta_zcdp(epsilon, rho):
    slope = lambda a: (2 * a - 1) * _mp(rho) - _mp(epsilon) + mpmath.log(1 - 1 / a)  # noqa: E731
    low, high = mpmath.mpf(1) + mpmath.mpf(10) ** -25, mpmath.mpf(10) ** 12
    for _ in range(250):
        middle = 1 + mpmath.sqrt((low - 1) * (high - 1))
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return exact_delta_zcdp(epsilon, rho, low)


@given(
    st.fractions(min_value="1/100", max_value=20),
    st.integers(2, 15).map(lambda k: Fraction(1, 10**k)),
    st.sampled_from([Accounting.GDP, Accounting.ZCDP, Accounting.PURE]),
)
@settings(deadline=None, max_examples=60)
def test_there_and_back_again(epsilon, delta, accounting):
    back = epsilon_of(accounting, total_for(Budget(epsilon, delta), accounting), delta)
    assert float(back) == pytest.approx(float(epsilon), rel=1e-8)


@given(
    st.fractions(min_value="1/1000", max_value=10),
    st.integers(3, 12).map(lambda k: Fraction(1, 10**k)),
)
@settings(deadline=None, max_examples=60)
def test_a_gaussian_is_cheaper_by_gdp_than_by_zcdp_and_by_that_than_by_the_simple_bound(
    rho, delta
):
    by_zcdp = epsilon_of_zcdp(rho, delta)
    assert epsilon_of_gdp(2 * rho, delta) <= by_zcdp
    assert (
        float(by_zcdp)
        <= float(rho) + 2 * math.sqrt(float(rho) * -math.log(delta)) + 1e-9
    )


def test_gdp_buys_ten_to_eighteen_per_cent_more_than_zcdp():
    gains = [
        float(mu_squared_for(b) / 2 / rho_for(b)) - 1
        for b in (Budget.of(1, d) for d in ("1e-9", "1e-6", "1e-5"))
    ]
    assert [round(100 * gain, 1) for gain in gains] == [10.6, 15.0, 17.6]


@pytest.mark.parametrize(
    "epsilon", ["1e-9", "1e-5", "0.0001", "0.01", "0.5", "1", "4", "30", "600"]
)
def test_a_pure_guarantee_is_dominated_by_its_gaussian(epsilon):
    """At the corner both errors are 1/(1 + e^ε); a Gaussian at least as informative has
    an error no larger there.
    """
    mu_squared = mu_squared_of_pure(Fraction(epsilon))
    corner = 1 / (1 + mpmath.exp(_mp(Fraction(epsilon))))
    gaussian = mpmath.erfc(mpmath.sqrt(_mp(mu_squared)) / 2 / mpmath.sqrt(2)) / 2
    assert gaussian <= corner
    assert mu_squared <= Fraction("1.5715") * Fraction(epsilon) ** 2


@given(st.floats(-16, 5).map(lambda x: Fraction(10**x)))
@settings(deadline=None)
def test_the_pure_epsilon_of_a_price_never_costs_more_than_the_price(mu_squared):
    epsilon = pure_of_mu_squared(mu_squared)
    assert mu_squared_of_pure(epsilon) <= mu_squared
    assert mu_squared_of_pure(epsilon) >= mu_squared * Fraction(97, 100)


def test_pure_to_zcdp():
    assert rho_of_pure(Fraction(1)) == Fraction(1, 2)


def test_shown_deltas_are_the_formulas():
    assert delta_of_gdp(Fraction(1, 4), Fraction(1)) == pytest.approx(
        float(exact_delta_gdp(1, mpmath.mpf("0.5"))), rel=1e-12
    )
    assert (
        delta_of_gdp(Fraction(0), Fraction(1))
        == delta_of_zcdp(Fraction(0), Fraction(1))
        == 0
    )
    assert delta_of_zcdp(
        Fraction(1, 2), epsilon_of_zcdp(Fraction(1, 2), Fraction(1, 10**6))
    ) == pytest.approx(1e-6, rel=1e-6)


def test_nothing_spent_is_nothing_spent():
    assert (
        epsilon_of_gdp(Fraction(0), Fraction(1, 10))
        == epsilon_of_zcdp(Fraction(0), Fraction(1, 10))
        == 0
    )


@pytest.mark.parametrize("convert", [mu_squared_for, rho_for])
def test_no_delta_buys_no_gaussian(convert):
    with pytest.raises(
        InvalidBudget, match=r"δ = 0 buys pure ε only: .* Nothing was spent"
    ):
        convert(Budget.of(1, 0))


@pytest.mark.parametrize("convert", [mu_squared_for, rho_for])
def test_absurd_budgets_are_refused(convert):
    with pytest.raises(InvalidBudget, match="protects nobody"):
        convert(Budget.of("1e7"))


def test_a_delta_above_one_half_is_read_as_one_half():
    assert mu_squared_for(Budget.of(1, "0.99")) == mu_squared_for(Budget.of(1, "0.5"))
    assert epsilon_of_gdp(Fraction(9), Fraction(99, 100)) == epsilon_of_gdp(
        Fraction(9), Fraction(1, 2)
    )
