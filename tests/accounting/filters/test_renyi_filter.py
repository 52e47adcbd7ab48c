"""A Rényi filter holds its budget for every adaptive adversary that can be enumerated."""

from fractions import Fraction
from functools import reduce

import pytest

from kit.accounting.loss_distributions import gaussian, randomised_response
from kit.accounting.transcripts import revealed_delta, strategies
from understudy.accounting.budget import Budget
from understudy.accounting.filters.renyi import (
    renyi_of_gaussian,
    renyi_of_pure,
    renyi_of_zcdp,
)
from understudy.accounting.filters.renyi_filter import RenyiFilter
from understudy.errors import BudgetExceeded, InvalidBudget

FEW_ORDERS = tuple(map(Fraction, (2, 4, 8, 16)))


def few_orders_pure(epsilon):
    return renyi_of_pure(epsilon, FEW_ORDERS)


@pytest.mark.parametrize("sizes", [("0.2", "0.6"), ("0.5", "0.9")])
def test_no_adaptive_adversary_learns_more_than_the_budget(sizes):
    budget = Budget.of("1.5", "0.05")
    for strategy in strategies(tuple(map(Fraction, sizes))):
        run = RenyiFilter.of(budget, FEW_ORDERS)
        found = revealed_delta(run, few_orders_pure, strategy, 1.5, depth=9)
        assert 0 <= found <= budget.delta


def test_a_filter_that_asks_once_too_often_would_be_caught():
    """The teeth: an allowance for twice the ε reveals more than δ at ε."""
    budget = Budget.of("1.5", "0.05")
    mutant = RenyiFilter.of(Budget.of(3, "0.05"), FEW_ORDERS)
    found = [
        revealed_delta(mutant, few_orders_pure, strategy, 1.5, depth=9)
        for strategy in strategies((Fraction("0.5"), Fraction("0.9")))
    ]
    assert max(found) > budget.delta


def test_what_is_admitted_stays_below_the_budget_by_numerical_composition():
    budget = Budget.of(1, "1e-6")
    run, judges = RenyiFilter.of(budget), []
    kinds = [
        (renyi_of_gaussian(Fraction(1, 500)), gaussian(Fraction(1, 500))),
        (renyi_of_pure(Fraction(1, 20)), randomised_response(Fraction(1, 20))),
    ]
    while run.admits(kinds[len(judges) % 2][0]):
        cost, judge = kinds[len(judges) % 2]
        run.admit(cost)
        judges.append(judge)
    true = reduce(lambda a, b: a.compose(b), judges).get_epsilon_for_delta(1e-6)
    assert len(judges) > 10
    assert 0.8 < true <= 1


def test_orders_are_lost_one_by_one_and_never_return():
    run = RenyiFilter.of(Budget.of(1))
    feasible = set(run.feasible_orders)
    assert Fraction(1024) in feasible
    while run.admits(renyi_of_zcdp(Fraction(1, 2000))):
        run.admit(renyi_of_zcdp(Fraction(1, 2000)))
        assert set(run.feasible_orders) <= feasible
        feasible = set(run.feasible_orders)
    assert 0 < len(feasible) < 5
    before = run.spent
    with pytest.raises(BudgetExceeded, match="no order of Rényi privacy"):
        run.admit(renyi_of_zcdp(Fraction(1, 2000)))
    assert run.spent == before


def test_a_budget_that_no_order_can_serve_is_refused():
    with pytest.raises(InvalidBudget, match="No order of Rényi privacy allows"):
        RenyiFilter.of(Budget.of("0.001", "1e-9"))
