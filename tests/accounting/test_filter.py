"""Filters and composition."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.accounting.budget import Budget
from understudy.accounting.conversion import mu_squared_for, rho_for
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.filter import Filter, compose_parallel, compose_sequential
from understudy.accounting.neighbours import Neighbours
from understudy.errors import BudgetExceeded, InvalidBudget

costs = st.fractions(min_value=0, max_value=1, max_denominator=1000)


def pure(amount, delta=0):
    return Cost(Accounting.PURE, Fraction(amount), Fraction(delta))


@pytest.mark.parametrize("accounting", Accounting)
@given(asked=st.lists(st.tuples(costs, costs), max_size=20))
@settings(deadline=None, max_examples=40)
def test_whatever_is_asked_the_sum_stays_within_the_total(accounting, asked):
    filter, paid = (
        Filter(accounting, Fraction(2), Fraction(1)),
        Cost(accounting, Fraction(0)),
    )
    for amount, delta in asked:
        cost = Cost(accounting, amount, delta)
        fits = paid.amount + amount <= 2 and paid.delta + delta <= 1
        assert filter.admits(cost) is fits
        if fits:
            filter.admit(cost)
            paid = paid + cost
        else:
            before = (filter.spent, filter.spent_delta)
            with pytest.raises(BudgetExceeded):
                filter.admit(cost)
            assert (filter.spent, filter.spent_delta) == before
    assert (filter.spent, filter.spent_delta) == (paid.amount, paid.delta)
    assert filter.spent <= 2
    assert filter.spent_delta <= 1


@given(st.data())
def test_an_adaptive_asker_cannot_overspend(data):
    """Each price may depend on everything before it, also on what is left."""
    filter, total = Filter(Accounting.PURE, Fraction(1)), Fraction(0)
    for _ in range(data.draw(st.integers(0, 20))):
        cost = pure(
            data.draw(
                st.sampled_from(
                    [
                        filter.amount_left,
                        filter.amount_left / 2,
                        filter.amount_left + Fraction(1, 10**30),
                        Fraction(1, 3),
                    ]
                )
            )
        )
        if filter.admits(cost):
            filter.admit(cost)
            total += cost.amount
    assert total == filter.spent <= 1


@given(st.lists(costs, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_the_order_does_not_matter_for_the_sum(amounts, random):
    orders = [amounts, random.sample(amounts, len(amounts))]
    spent = []
    for order in orders:
        filter = Filter(Accounting.GDP, Fraction(100))
        for amount in order:
            filter.admit(Cost(Accounting.GDP, amount))
        spent.append(filter.spent)
    assert spent[0] == spent[1] == sum(amounts)


def test_a_total_divided_is_a_total_spent():
    filter = Filter(Accounting.PURE, Fraction(1))
    for _ in range(3):
        filter.admit(pure("1/3"))
    assert filter.amount_left == 0
    assert not filter.admits(pure(Fraction(1, 10**50)))


def test_long_fractions_are_rounded_up_and_never_down():
    """A thousand unlike denominators make a number of 20,000 digits; the filter keeps a
    short one that is no smaller.
    """
    filter, exactly = Filter(Accounting.GDP, Fraction(100)), Fraction(0)
    for k in range(2**40 + 1, 2**40 + 1001):
        cost = Fraction(2**30, k)
        filter.admit(Cost(Accounting.GDP, cost))
        exactly += cost
    assert filter.spent >= exactly
    assert filter.spent - exactly < Fraction(1, 10**100)
    assert filter.spent.denominator.bit_length() <= 1100


def test_a_refusal_says_what_is_left_and_that_nothing_was_spent():
    filter = Filter(Accounting.PURE, Fraction(1), spent=Fraction(4, 5))
    with pytest.raises(BudgetExceeded) as refusal:
        filter.admit(pure("0.5"))
    assert (
        str(refusal.value)
        == "This question would cost ε = 0.50 and only 0.20 of 1.00 is left in this run. Nothing was spent."
    )


def test_a_refused_delta_is_named():
    filter = Filter(Accounting.PURE, Fraction(1), Fraction(1, 10**9))
    with pytest.raises(
        BudgetExceeded, match="would cost δ = 2e-9 and only 1e-9 of 1e-9 is left"
    ):
        filter.admit(pure("0.5", Fraction(2, 10**9)))


def test_a_price_in_another_accounting_is_refused():
    with pytest.raises(
        InvalidBudget, match="adds up μ² and the question is priced in ε"
    ):
        Filter(Accounting.GDP, Fraction(1)).admits(pure(1))


def test_the_filter_of_a_budget():
    budget = Budget.of(1, "1e-9")
    assert Filter.of(budget) == Filter(Accounting.GDP, mu_squared_for(budget))
    assert Filter.of(budget, accounting=Accounting.ZCDP) == Filter(
        Accounting.ZCDP, rho_for(budget)
    )
    assert Filter.of(budget, accounting=Accounting.PURE) == Filter(
        Accounting.PURE, Fraction(1), Fraction(1, 10**9)
    )


def test_thresholds_take_their_share_of_delta_from_the_whole():
    budget, share = Budget.of(1, "1e-9"), Fraction(4, 10**10)
    filter = Filter.of(budget, threshold_delta=share)
    assert filter.total == mu_squared_for(Budget.of(1, "6e-10"))
    assert filter.delta == share
    assert filter.fits_budget(budget)
    assert not Filter(Accounting.GDP, filter.total, 2 * share).fits_budget(budget)
    assert not Filter(Accounting.GDP, Filter.of(budget).total, share).fits_budget(
        budget
    )
    for beyond in (budget.delta, 2 * budget.delta, Fraction(-1, 10**10)):
        with pytest.raises(InvalidBudget, match="set aside for thresholds"):
            Filter.of(budget, threshold_delta=beyond)


def test_a_pure_filter_fits_only_its_budget():
    assert Filter(Accounting.PURE, Fraction(1)).fits_budget(Budget.of(1))
    assert not Filter(Accounting.PURE, Fraction(1), Fraction(1, 10**8)).fits_budget(
        Budget.of(1)
    )


def test_four_questions_one_after_another():
    assert compose_sequential(
        pure(x) for x in ("0.5", "0.2", "0.25", "0.25")
    ).amount == Fraction("1.2")


@pytest.mark.parametrize(
    ("neighbours", "cost"),
    [(Neighbours.ADD_REMOVE, "1.0"), (Neighbours.REPLACE, "1.2")],
)
def test_two_of_them_about_disjoint_parts(neighbours, cost):
    """.5 + max(.2, .25) + .25, and the sum where a row may move from one part to the
    other.
    """
    apart = compose_parallel([pure("0.2"), pure("0.25")], neighbours)
    assert compose_sequential([pure("0.5"), apart, pure("0.25")]).amount == Fraction(
        cost
    )


@given(
    st.lists(st.tuples(costs, costs), min_size=1, max_size=8),
    st.sampled_from(Neighbours),
)
def test_parallel_is_never_dearer_than_sequential_nor_cheaper_than_its_dearest_part(
    parts, neighbours
):
    bill = [pure(*part) for part in parts]
    apart, together = compose_parallel(bill, neighbours), compose_sequential(bill)
    assert max(c.amount for c in bill) <= apart.amount <= together.amount
    assert max(c.delta for c in bill) <= apart.delta <= together.delta
    assert apart.amount <= 2 * max(c.amount for c in bill)


def test_parts_that_share_a_person_are_not_disjoint():
    bill = [pure("0.2"), pure("0.25"), pure("0.1")]
    assert compose_parallel(
        bill, Neighbours.ADD_REMOVE, constant_within_unit=False
    ) == compose_sequential(bill)
