"""Rényi costs against numerical composition, which is never above them."""

from fractions import Fraction
from functools import reduce

import mpmath
import numpy as np
import pytest
from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

from kit.accounting.loss_distributions import gaussian, randomised_response
from understudy.accounting.budget import Budget
from understudy.accounting.conversion import epsilon_of
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.filters.renyi import (
    ACCOUNTED_RENYI_ORDERS,
    RenyiCost,
    epsilon_of_renyi,
    renyi_allowed,
    renyi_of_choice,
    renyi_of_cost,
    renyi_of_gaussian,
    renyi_of_pure,
    renyi_of_zcdp,
)
from understudy.errors import InvalidBudget, Refused

DELTA = Fraction(1, 10**6)


def test_compositions_are_never_below_the_numerical_ones():
    chance = np.random.default_rng(21)
    worst = []
    for _ in range(12):
        mus = [Fraction(int(n), 1000) for n in chance.integers(1, 60, 4)]
        pures = [Fraction(int(n), 100) for n in chance.integers(1, 60, 4)]
        parts = [*map(renyi_of_gaussian, mus), *map(renyi_of_pure, pures)]
        stated = epsilon_of_renyi(sum(parts[1:], parts[0]), DELTA)
        judges = [*map(gaussian, mus), *map(randomised_response, pures)]
        true = reduce(lambda a, b: a.compose(b), judges)
        worst.append(float(stated) / true.get_epsilon_for_delta(float(DELTA)))
    assert min(worst) >= 1
    assert max(worst) < 1.35


def test_half_a_cost_would_be_below():
    """The teeth: a Gaussian charged α·μ²/4 is caught by the same judge."""
    wrong = renyi_of_gaussian(Fraction(1, 20))
    true = gaussian(Fraction(1, 10)).get_epsilon_for_delta(float(DELTA))
    assert epsilon_of_renyi(wrong, DELTA) < true


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**5), Fraction(1, 10), 1, 5, 300])
def test_pure_privacy_is_randomised_response_at_every_order(epsilon):
    epsilon = Fraction(epsilon)
    with mpmath.workdps(60):
        e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        for order, amount in zip(
            ACCOUNTED_RENYI_ORDERS, renyi_of_pure(epsilon).amounts, strict=True
        ):
            assert amount <= min(epsilon, order * epsilon**2 / 2)
            a = mpmath.mpf(order.numerator) / order.denominator
            sums = mpmath.exp(a * e) + mpmath.exp((1 - a) * e)
            true = (mpmath.log(sums) - mpmath.log1p(mpmath.exp(e))) / (a - 1)
            stated = mpmath.mpf(amount.numerator) / amount.denominator
            assert (
                true <= stated <= true * (1 + mpmath.mpf("1e-4")) + mpmath.mpf("1e-8")
            )


def test_conversion_agrees_with_another_implementation():
    for rho in (Fraction(1, 100), Fraction(1, 2), Fraction(3)):
        cost = renyi_of_zcdp(rho)
        orders = [float(order) for order in cost.orders]
        other, _ = compute_epsilon(orders, list(map(float, cost.amounts)), float(DELTA))
        assert float(epsilon_of_renyi(cost, DELTA)) == pytest.approx(other, rel=1e-6)
        # Any order proves something, so a grid of them is a little above the best.
        best = epsilon_of(Accounting.ZCDP, rho, DELTA)
        assert best <= epsilon_of_renyi(cost, DELTA) <= best * Fraction(102, 100)


def test_what_is_allowed_converts_back_to_the_budget():
    for budget in (Budget.of(1), Budget.of("0.1", "1e-5"), Budget.of(10, "0.1")):
        for order in ACCOUNTED_RENYI_ORDERS:
            allowed = renyi_allowed(budget, order)
            if allowed >= 0:
                back = epsilon_of_renyi(RenyiCost((order,), (allowed,)), budget.delta)
                assert back <= budget.epsilon


def test_costs_of_other_accountings_are_converted():
    third = Fraction(1, 3)
    assert renyi_of_cost(Cost(Accounting.GDP, third)) == renyi_of_gaussian(third)
    assert renyi_of_cost(Cost(Accounting.ZCDP, third)) == renyi_of_zcdp(third)
    assert renyi_of_cost(Cost(Accounting.PURE, third)) == renyi_of_pure(third)
    assert renyi_of_choice(third).amounts < renyi_of_pure(third).amounts
    with pytest.raises(Refused, match="keep the δ apart"):
        renyi_of_cost(Cost(Accounting.PURE, third, third))
    with pytest.raises(InvalidBudget, match="needs a δ above 0"):
        epsilon_of_renyi(renyi_of_zcdp(third), Fraction(0))
    with pytest.raises(ValueError, match="other orders"):
        renyi_of_zcdp(third) + renyi_of_zcdp(third, (Fraction(2),))
    for orders, amounts in (((1,), (0,)), ((2,), (-1,)), ((), ()), ((2, 3), (0,))):
        with pytest.raises(ValueError, match="order"):
            RenyiCost(tuple(map(Fraction, orders)), tuple(map(Fraction, amounts)))
