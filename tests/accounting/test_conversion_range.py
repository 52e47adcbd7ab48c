"""Every conversion on the right side and tight, with 200 digits and more, over the
whole range that budgets allow.
"""

import itertools
from fractions import Fraction

import mpmath
import pytest

from understudy.accounting.budget import Budget
from understudy.accounting.conversion import (
    CONVERSION_MARGIN,
    delta_of_gdp,
    delta_of_zcdp,
    epsilon_of_gdp,
    epsilon_of_zcdp,
    mu_squared_for,
    mu_squared_of_pure,
    pure_of_mu_squared,
    rho_for,
    rho_of_pure,
)
from understudy.accounting.group import group_budget

GRID = Fraction(1, 10**12)
"""To which a converted ε is rounded up."""

EPSILONS = [
    "1e-300",
    "1e-120",
    "1e-12",
    "1e-9",
    "1e-7",
    "4e-6",
    "1e-4",
    "0.03",
    "1",
    "30",
    "1e4",
    "1e6",
]
DELTAS = ["1e-300", "1e-40", "1e-9", "1e-3", "0.49"]
AMOUNTS = [
    "1e-300",
    "1e-40",
    "1e-16",
    "1e-12",
    "1e-9",
    "1e-4",
    "0.3",
    "1",
    "40",
    "1e4",
    "1e6",
]
DENSE = [
    f"{mantissa}e{power}" for power in range(-300, 6, 9) for mantissa in (1, 2.7, 6)
]
DENSE_DELTAS = [
    f"{mantissa}e{power}" for power in range(-300, 0, 59) for mantissa in (1, 4)
]


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(200):
        yield


def exactly(value):
    """A fraction as a number of that many digits."""
    return mpmath.mpf(value.numerator) / value.denominator


def log_delta_gdp(mu_squared, epsilon):
    """log δ(ε; μ) of Dong, Roth and Su, as it is printed, with 200 digits after what
    the difference of two tails loses.
    """
    lost = max(0, -mpmath.log10(exactly(epsilon)), -mpmath.log10(exactly(mu_squared)))
    with mpmath.workdps(200 + int(lost)):
        mu, epsilon = mpmath.sqrt(exactly(mu_squared)), exactly(epsilon)
        if epsilon / mu > 10**50:
            return -mpmath.inf
        tail = lambda t: mpmath.erfc(t / mpmath.sqrt(2)) / 2  # noqa: E731
        delta = tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * tail(
            epsilon / mu + mu / 2
        )
        return mpmath.log(delta)


def log_delta_zcdp(rho, epsilon):
    """log δ(ε; ρ) of Canonne, Kamath and Steinke at the best order, found by halving in
    its logarithm.
    """
    rho, epsilon = exactly(rho), exactly(epsilon)
    low, high = mpmath.mpf(-1600), mpmath.mpf(1600)  # of ln(α − 1)
    for _ in range(
        60
    ):  # δ is flat at its minimum: ten digits of the order are twenty of δ
        middle = (low + high) / 2
        a = mpmath.exp(middle)
        low, high = (
            (middle, high)
            if (2 * a + 1) * rho - epsilon < mpmath.log1p(1 / a)
            else (low, middle)
        )
    a = mpmath.exp(low)
    return a * ((a + 1) * rho - epsilon) - a * mpmath.log1p(1 / a) - mpmath.log1p(a)


def log(delta):
    return mpmath.log(exactly(delta))


CONVERSIONS = [
    (mu_squared_for, epsilon_of_gdp, log_delta_gdp),
    (rho_for, epsilon_of_zcdp, log_delta_zcdp),
]


def check_budgets(epsilons, deltas):
    """What may be spent on each budget keeps its δ; three margins more would not."""
    for (convert, _, exact), epsilon, delta in itertools.product(
        CONVERSIONS, epsilons, deltas
    ):
        budget = Budget.of(epsilon, delta)
        amount = convert(budget)
        assert exact(amount, budget.epsilon) <= log(budget.delta), (convert, budget)
        assert exact(amount * (1 + 3 * CONVERSION_MARGIN), budget.epsilon) > log(
            budget.delta
        ), (convert, budget)


def check_amounts(amounts, deltas):
    """The ε of what was spent keeps δ; one that is smaller by three margins, or one
    step of its grid, would not.
    """
    for (_, convert, exact), spent, delta in itertools.product(
        CONVERSIONS, amounts, deltas
    ):
        amount, target = Fraction(spent), Fraction(delta)
        epsilon = convert(amount, target)
        assert exact(amount, epsilon) <= log(target), (convert, spent, delta)
        smaller = epsilon * (1 - 3 * CONVERSION_MARGIN) - GRID
        if smaller > 0:
            assert exact(amount, smaller) > log(target), (convert, spent, delta)


def check_pure(epsilons):
    """μ² passes through the corner of ε-privacy, and an ε found from it is never dearer
    than it.
    """
    for text in epsilons:
        epsilon = Fraction(text)
        corner = 1 / (1 + mpmath.exp(exactly(epsilon)))
        error = lambda square: mpmath.erfc(mpmath.sqrt(exactly(square) / 8)) / 2  # noqa: E731
        mu_squared = mu_squared_of_pure(epsilon)
        assert (
            error(mu_squared)
            <= corner
            < error(mu_squared * (1 - 5 * CONVERSION_MARGIN))
        ), text
        back = pure_of_mu_squared(min(mu_squared, Fraction(10**6)))
        assert mu_squared_of_pure(back) <= mu_squared
        if mu_squared <= 10**6:
            assert back >= epsilon * (1 - 5 * CONVERSION_MARGIN), text
        assert rho_of_pure(epsilon) == epsilon**2 / 2


def check_groups(epsilons, deltas):
    """δ of a group is the sum that walking from table to table gives, and hardly more."""
    checked = 0
    for text, delta, size in itertools.product(epsilons, deltas, (2, 3, 50)):
        budget = Budget(Fraction(text), Fraction(delta))
        one = exactly(budget.epsilon)
        factor = mpmath.expm1(size * one) / mpmath.expm1(one)
        if exactly(budget.delta) * factor < 0.99:
            group = group_budget(budget, size)
            assert (
                1 <= exactly(group.delta) / (exactly(budget.delta) * factor) <= 1 + 3e-9
            ), (text, delta, size)
            checked += 1
    assert checked


def test_what_a_budget_may_spend():
    check_budgets(EPSILONS, DELTAS)


def test_the_epsilon_of_what_was_spent():
    check_amounts(AMOUNTS, DELTAS[::2])


def test_pure_guarantees_in_a_gdp_run():
    with mpmath.workdps(500):  # both errors are one half, but for ε
        check_pure(EPSILONS)


TINY = f"1/{10**320}"
"""A δ, or an ε, that no double can hold."""


def test_groups():
    check_groups([*EPSILONS, TINY], [*DELTAS, TINY])


def test_numbers_that_no_double_can_hold():
    """They may be read as nothing to spend, and never as a guarantee that does not
    hold.
    """
    tiny = Fraction(TINY)
    for convert, back, exact in CONVERSIONS:
        for epsilon, delta in (
            (tiny, Fraction(1, 10**9)),
            (Fraction(1), tiny),
            (tiny, tiny),
        ):
            amount = convert(Budget(epsilon, delta))
            assert amount == 0 or exact(amount, epsilon) <= log(delta)
        for amount, delta in (
            (tiny, Fraction(1, 10**9)),
            (tiny**4, tiny),
            (Fraction(1), tiny),
        ):
            assert exact(amount, back(amount, delta)) <= log(delta)
    assert pure_of_mu_squared(tiny) > 0
    assert mu_squared_of_pure(pure_of_mu_squared(tiny)) <= tiny


def test_deltas_that_are_shown():
    for amount, epsilon in itertools.product(
        ("1e-12", "1e-4", "0.3", "40"), ("1e-9", "1e-3", "1", "30")
    ):
        for shown, exact in (
            (delta_of_gdp, log_delta_gdp),
            (delta_of_zcdp, log_delta_zcdp),
        ):
            true = float(mpmath.exp(exact(Fraction(amount), Fraction(epsilon))))
            assert shown(Fraction(amount), Fraction(epsilon)) == pytest.approx(
                true, rel=1e-9, abs=1e-300
            )


@pytest.mark.slow
def test_a_dense_grid():
    check_budgets(DENSE, DENSE_DELTAS)
    check_amounts(DENSE, DENSE_DELTAS)
    with mpmath.workdps(500):
        check_pure(DENSE)
    check_groups(DENSE, DENSE_DELTAS)
