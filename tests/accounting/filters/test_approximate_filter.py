"""The (ε, δ) filter holds its budget for every adaptive adversary that can be
enumerated.
"""

from fractions import Fraction

import pytest

from kit.accounting.loss_distributions import randomised_response
from kit.accounting.transcripts import revealed_delta, strategies
from understudy.accounting.budget import Budget
from understudy.accounting.filters.approximate_filter import ApproximateFilter
from understudy.errors import BudgetExceeded, InvalidBudget


def pure(epsilon):
    return Budget(Fraction(epsilon), Fraction(0))


@pytest.mark.parametrize("sizes", [("0.05", "0.3"), ("0.3", "0.7")])
def test_no_adaptive_adversary_learns_more_than_the_budget(sizes):
    budget = Budget.of("1.5", "0.2")
    found = [
        revealed_delta(ApproximateFilter.of(budget), pure, strategy, 1.5, depth=10)
        for strategy in strategies(tuple(map(Fraction, sizes)))
    ]
    assert max(found) <= budget.delta


def test_a_filter_that_forgets_the_logarithm_would_be_caught():
    """The teeth: with ln(1/δ') for a δ' near 1 nearly everything composes."""
    mutant = ApproximateFilter(Fraction("1.5"), Fraction("0.999"))
    found = [
        revealed_delta(mutant, pure, strategy, 1.5, depth=11)
        for strategy in strategies((Fraction("0.3"), Fraction("0.7")))
    ]
    assert max(found) > Fraction("0.05")


@pytest.mark.parametrize("epsilon", ["0.01", "0.05", "0.2"])
def test_what_is_admitted_stays_below_the_budget_by_numerical_composition(epsilon):
    run, asked = ApproximateFilter.of(Budget.of(1, "1e-6")), 0
    while run.admits(pure(epsilon)):
        run.admit(pure(epsilon))
        asked += 1
    assert asked >= 1 / float(epsilon)
    true = randomised_response(epsilon).self_compose(asked)
    assert true.get_epsilon_for_delta(1e-6) <= 1


def test_mechanisms_have_a_delta_of_their_own():
    whole = Budget.of(1, "1e-6")
    run = ApproximateFilter.of(whole, mechanism_delta=Fraction(1, 10**7))
    run.admit(Budget.of("0.1", "1e-7"))
    with pytest.raises(BudgetExceeded, match=r"does not compose.*Nothing was spent"):
        run.admit(Budget.of("0.1", "1e-12"))
    run.admit(pure("0.1"))
    assert run.spent == Fraction("0.2")
    with pytest.raises(InvalidBudget, match="within the whole δ"):
        ApproximateFilter.of(whole, mechanism_delta=Fraction(1, 10**5))


def test_without_a_delta_it_is_plain_composition():
    run = ApproximateFilter.of(Budget.of(1, 0))
    for _ in range(10):
        run.admit(pure("0.1"))
    assert not run.admits(pure("1e-9"))
