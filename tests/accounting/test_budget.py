"""Budgets are exact, and what is no budget is refused in one line."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.accounting.budget import (
    DEFAULT_DELTA,
    Budget,
    spell_value,
    spell_values_apart,
    split_by_weights,
    split_evenly,
    to_exact_fraction,
)
from understudy.accounting.cost import Accounting
from understudy.errors import InvalidBudget

NOT_EPSILON = [
    0,
    -1,
    0.0,
    -0.5,
    float("nan"),
    float("inf"),
    float("-inf"),
    "x",
    "",
    "nan",
    "inf",
    "1e999999999",
    "1/0",
    None,
    True,
    False,
    [],
    1j,
]
NOT_DELTA = [
    -1,
    "-1e-9",
    1,
    1.0,
    2,
    float("nan"),
    float("inf"),
    "x",
    "nan",
    True,
    [],
    "1e999999999",
]


@pytest.mark.parametrize("epsilon", NOT_EPSILON, ids=repr)
def test_what_is_no_epsilon_is_refused_in_one_line(epsilon):
    with pytest.raises(InvalidBudget) as refusal:
        Budget.of(epsilon)
    assert "ε" in str(refusal.value)
    assert "Nothing was spent." in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 160


@pytest.mark.parametrize("delta", NOT_DELTA, ids=repr)
def test_what_is_no_delta_is_refused_in_one_line(delta):
    with pytest.raises(InvalidBudget, match=r"^δ must be .* Nothing was spent.$"):
        Budget.of(1, delta)


@pytest.mark.parametrize(
    "written",
    [
        "0.1",
        0.1,
        Decimal("0.1"),
        Fraction(1, 10),
        "1e-1",
        " 0.1 ",
        "1/10",
        np.float64(0.1),
        np.float32(0.1),
    ],
    ids=repr,
)
def test_a_tenth_is_a_tenth_however_it_is_written(written):
    assert Budget.of(written).epsilon == Fraction(1, 10)


@pytest.mark.parametrize("written", [3, 3.0, "3", np.int8(3), np.uint64(3)], ids=repr)
def test_whole_numbers_are_exact(written):
    assert Budget.of(written).epsilon == 3


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_a_float_means_the_decimal_that_python_shows(value):
    assert to_exact_fraction(value) == Fraction(repr(value))


def test_the_default_delta_is_stated_and_does_not_look_at_rows():
    assert Budget.of(1).delta == DEFAULT_DELTA == Fraction(1, 10**9)


def test_a_budget_made_directly_is_checked_too():
    assert Budget(1, 0.5) == Budget(Fraction(1), Fraction(1, 2))
    with pytest.raises(InvalidBudget):
        Budget(Fraction(0), Fraction(0))


def test_the_accounting_follows_from_delta():
    assert Budget.of(1).accounting is Accounting.GDP
    assert Budget.of(1, 0).accounting is Accounting.PURE


@given(st.fractions(min_value="1/1000", max_value=10), st.integers(1, 50))
def test_equal_parts_add_up_exactly(total, parts):
    assert sum(split_evenly(total, parts)) == total


@given(
    st.fractions(min_value="1/1000", max_value=10),
    st.lists(st.integers(1, 1000), min_size=1, max_size=20),
)
def test_weighted_parts_add_up_exactly_and_keep_their_proportions(total, weights):
    parts = split_by_weights(total, weights)
    assert sum(parts) == total
    assert all(
        part * weights[0] == parts[0] * weight
        for part, weight in zip(parts, weights, strict=True)
    )


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_a_split_budget_adds_up_in_both_numbers(weights):
    budget = Budget.of("1.5", "1e-7")
    parts = budget.split(*weights)
    assert sum(part.epsilon for part in parts) == budget.epsilon
    assert sum(part.delta for part in parts) == budget.delta


@pytest.mark.parametrize(
    "weights", [[], [0, 1], [-1, 2], ["x"], [float("nan")]], ids=repr
)
def test_weights_that_divide_nothing_are_refused(weights):
    with pytest.raises(InvalidBudget, match="weights"):
        split_by_weights(Fraction(1), weights)


def test_no_parts_at_all_are_refused():
    with pytest.raises(InvalidBudget, match="at least one part"):
        split_evenly(Fraction(1), 0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1", "1.00"),
        ("0.5", "0.50"),
        ("0.125", "0.125"),
        ("1e-9", "1e-9"),
        ("1.5e-7", "1.5e-7"),
        ("0", "0"),
        ("12", "12.00"),
    ],
)
def test_numbers_are_spelled_as_people_write_them(value, text):
    assert spell_value(Fraction(value)) == text


@given(
    st.fractions(min_value=0, max_value=5), st.fractions(min_value="1e-12", max_value=1)
)
def test_a_price_that_is_too_high_never_looks_equal_to_what_is_left(left, more):
    asked, rest = spell_values_apart(left + more, left)
    assert asked != rest
