"""Group privacy."""

import math
from fractions import Fraction

import pytest

from understudy.accounting.budget import Budget
from understudy.accounting.conversion import delta_of_gdp
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.group import group_budget, group_cost
from understudy.errors import Refused


def test_costs_of_a_group():
    assert [group_cost(Cost(c, Fraction(1, 10)), 3).amount for c in Accounting] == [
        Fraction(3, 10),
        Fraction(9, 10),
        Fraction(9, 10),
    ]


def test_a_budget_for_a_group_follows_the_formula():
    group = group_budget(Budget.of(1, "1e-9"), 3)
    assert group.epsilon == 3
    assert float(group.delta) == pytest.approx(
        1e-9 * math.expm1(3) / math.expm1(1), rel=1e-8
    )
    assert group.delta >= Fraction(1, 10**9) * Fraction(math.expm1(3) / math.expm1(1))


def test_the_group_formula_holds_for_a_gaussian():
    """Three steps of a μ-GDP mechanism are 3μ-GDP; its exact δ at 3ε is within the
    general bound.
    """
    budget = Budget.of(1, Fraction(delta_of_gdp(Fraction(1, 4), Fraction(1))))
    assert delta_of_gdp(Fraction(9, 4), Fraction(3)) <= group_budget(budget, 3).delta


def test_one_alone_is_no_group():
    assert group_budget(Budget.of(1), 1) == Budget.of(1)
    assert group_cost(
        Cost(Accounting.PURE, Fraction(1), Fraction(1, 10)), 1
    ).delta == Fraction(1, 10)


def test_where_nothing_is_guaranteed_it_is_said():
    with pytest.raises(Refused, match="nothing is guaranteed for a group of 10"):
        group_budget(Budget.of(3, "1e-9"), 10)
    with pytest.raises(Refused, match="group_budget"):
        group_cost(Cost(Accounting.PURE, Fraction(1), Fraction(1, 10)), 2)
