"""Which predicates make sense for which columns."""

from __future__ import annotations

import operator as ops
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import SchemaError
from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Identifier,
    Integer,
    Real,
    Text,
    Time,
    UndeclaredColumn,
    parse_predicate,
)
from understudy.schema.predicates.ast import Operator
from understudy.schema.predicates.comparable import (
    check_predicate,
    exact_integer_dtype,
    integer_bound,
)

COLUMNS = {
    c.name: c
    for c in (
        Integer(name="age"),
        Real(name="dose"),
        Categorical(name="sex", values=("F", "M"), other="else"),
        Categorical(name="grade", values=("low", "high"), ordered=True),
        Categorical(name="level", values=("low", "mid", "high"), ordered=True),
        Categorical(name="open"),
        Boolean(name="married"),
        Date(name="born"),
        Datetime(name="seen"),
        Datetime(name="sent", zone="UTC", resolution=timedelta(hours=1)),
        Time(name="clock"),
        Text(name="remarks"),
        Identifier(name="key"),
        UndeclaredColumn(name="what"),
    )
}


@pytest.mark.parametrize(
    "text",
    [
        "age > 60 and sex = 'F' or not sex in ('M', 'else')",
        "age < dose",
        "grade >= 'low' and grade != level",
        "open = 'anything'",
        "married = true",
        "born <= seen and born < '2020-01-01' and seen > '2020-01-01 10:00'",
        "sent = '2020-01-01T00:00Z'",
        "clock < '12:00'",
        "age is missing",
        "what > 5 and what = 'x' and what is missing and what < age",
    ],
)
def test_sense(text):
    check_predicate(parse_predicate(text), COLUMNS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "sex = F",
            "column \"F\" is not in the schema. Labels stand in single quotes: 'F'",
        ),
        (
            "age > 'old'",
            "column \"age\": 'old' is none of its values. Write them as a number",
        ),
        (
            "sex = 1",
            'column "sex": 1 is none of its values. Write them in single quotes',
        ),
        ("sex = 'X'", "column \"sex\": 'X' is not one of its values"),
        ("sex in ('F', 'X')", "'X' is not one of its values"),
        ("sex < 'M'", "its values have no order. Add `ordered: true`"),
        ("married > false", "no order"),
        ("married = 'yes'", "Write them as true or false"),
        ("grade < level", "list different values"),
        ("grade < sex", 'column "sex": its values have no order'),
        (
            "age < born",
            'columns "age" (number) and "born" (wall clock) cannot be compared',
        ),
        ("born < sent", "cannot be compared"),
        ("born < '1.1.2020'", "Write them in full, as '2024-12-31'"),
        ("clock < 'noon'", "Write them as '23:59'"),
        (
            "remarks = 'x'",
            'column "remarks" is text, which a predicate cannot speak of',
        ),
        ("key is missing", 'column "key" is identifier'),
        ("if age > 3 then not (sex = 'X' or age = 1)", "'X' is not one of its values"),
    ],
)
def test_nonsense(text, message):
    with pytest.raises(SchemaError) as caught:
        check_predicate(parse_predicate(text), COLUMNS)
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["sex = 'X'", "grade < level"])
def test_what_was_bought_is_not_refused_afterwards(text):
    """A paid list of values may lack a label a constraint names; that must not end the
    run.
    """
    bought = {
        name: replace(column, learned=("values",)) for name, column in COLUMNS.items()
    }
    check_predicate(parse_predicate(text), bought)
    typed = {
        name: replace(column, learned=("type",)) for name, column in COLUMNS.items()
    }
    check_predicate(parse_predicate("age > 'old' and sex < 3 and born < sent"), typed)


ORDERS = {
    Operator.LESS: ops.lt,
    Operator.AT_MOST: ops.le,
    Operator.MORE: ops.gt,
    Operator.AT_LEAST: ops.ge,
}


@given(st.sampled_from(list(ORDERS)), st.integers(-20, 20), st.fractions(-10, 10))
def test_a_whole_bound_orders_whole_numbers_as_the_fraction(operator, number, bound):
    whole = integer_bound(operator, bound)
    assert ORDERS[operator](number, whole) == ORDERS[operator](number, bound)


@pytest.mark.parametrize("operator", ORDERS)
@pytest.mark.parametrize("bound", [Fraction(10**40), Fraction(-(10**40))])
def test_a_bound_beyond_every_lattice_fits_64_bits(operator, bound):
    whole = np.int64(integer_bound(operator, bound))
    for index in (-(2**62) + 1, 0, 2**62 - 1):
        assert ORDERS[operator](index, whole) == ORDERS[operator](index, bound)


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=5))
def test_sums_in_the_exact_type_never_wrap(numbers):
    dtype = exact_integer_dtype(sum(abs(number) for number in numbers))
    total = np.zeros((), dtype)
    for number in numbers:
        total = total + np.array(number, dtype)
    assert int(total) == sum(numbers)
