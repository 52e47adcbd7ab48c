"""A small table of every type, whose values can all be listed, and Hypothesis
strategies for predicates on it.
"""

from __future__ import annotations

import itertools
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cache

import numpy as np
from hypothesis import strategies as st

from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    DecodedCells,
    Integer,
    Lattice,
    Real,
    codec_of,
)
from understudy.schema.predicates.ast import (
    ColumnComparison,
    ColumnName,
    In,
    InCombinations,
    IsMissing,
    LinearComparison,
    Literal,
    Operator,
)

AGE = Integer(name="age", min=0, max=7, bins=(0, 1, 4, 8))
DOSE = Real(
    name="dose",
    min=Fraction(0),
    max=Fraction(4),
    step=Fraction(1, 2),
    bins=(0, 3, 4, 9),
    missing=("-7",),
)
SEX = Categorical(name="sex", values=("F", "M"), other="else", nullable=False)
PARTNER = Categorical(name="partner", values=("M", "F", "none"), missing=("NA",))
GRADE = Categorical(name="grade", values=("low", "mid", "high"), ordered=True)
GOAL = Categorical(
    name="goal", values=("low", "mid", "high"), ordered=True, nullable=False
)
MARRIED = Boolean(name="married")
START = Date(
    name="start", min=date(2020, 1, 1), max=date(2020, 1, 6), bins=(18262, 18264, 18268)
)
END = Datetime(
    name="end",
    min=datetime(2020, 1, 1),
    max=datetime(2020, 1, 6),
    resolution=timedelta(hours=12),
    nullable=False,
)
COLUMNS = {
    c.name: c for c in (AGE, DOSE, SEX, PARTNER, GRADE, GOAL, MARRIED, START, END)
}
CODECS = {name: codec_of(column) for name, column in COLUMNS.items()}

CONSTANTS = {
    "age": [Fraction(n, 2) for n in range(-2, 18)],
    "dose": [Fraction(n, 4) for n in range(-1, 18)],
    "sex": ["F", "M", "else"],
    "partner": ["M", "F", "none"],
    "grade": ["low", "mid", "high"],
    "goal": ["low", "mid", "high"],
    "married": [True, False],
    "start": [
        "2019-12-31",
        "2020-01-01",
        "2020-01-03",
        "2020-01-03 12:00",
        "2020-01-06",
        "2020-02-01",
    ],
    "end": [
        "2020-01-01",
        "2020-01-03",
        "2020-01-03 12:00",
        "2020-01-03 13:00",
        "2020-01-06",
        "2020-02-01",
    ],
}
PAIRS = [
    ("age", "dose"),
    ("dose", "age"),
    ("sex", "partner"),
    ("grade", "goal"),
    ("start", "end"),
    ("end", "start"),
]
ORDERED = {"age", "dose", "grade", "goal", "start", "end"}


@cache
def contents(name):
    """Every value of every code of a column: by code, the Python values that encode to
    it.
    """
    codec = CODECS[name]
    column = codec.column
    if isinstance(column, Lattice):
        by_code = [
            [column.value_at(i) for i in range(a, b)]
            for a, b in itertools.pairwise(codec.bins.edges)
        ]
    elif isinstance(column, Boolean):
        by_code = [[False], [True]]
    else:
        by_code = [[value] for value in column.values] + (
            [["unlisted"]] if column.other else []
        )
    by_code += [[None]] * column.nullable + [[spelling] for spelling in column.missing]
    assert [codec.code(v) for values in by_code for v in values] == [
        i for i, vs in enumerate(by_code) for _ in vs
    ]
    return by_code


@st.composite
def single_tests(draw):
    """One column against a constant, a list, or nothing at all."""
    name = draw(st.sampled_from(sorted(COLUMNS)))
    constants = st.sampled_from(CONSTANTS[name]).map(Literal)
    if draw(st.booleans()):
        listed = draw(st.lists(constants, min_size=1, max_size=4, unique=True))
        return In(ColumnName(name), tuple(listed), draw(st.booleans()))
    if draw(st.integers(0, 3)) == 0:
        return IsMissing(ColumnName(name), draw(st.booleans()))
    operators = [o for o in Operator if name in ORDERED or not o.needs_order]
    return ColumnComparison(
        ColumnName(name), draw(st.sampled_from(operators)), draw(constants)
    )


@st.composite
def pair_tests(draw):
    """One column against another."""
    left, right = draw(st.sampled_from(PAIRS))
    operators = [o for o in Operator if left in ORDERED or not o.needs_order]
    return ColumnComparison(
        ColumnName(left), draw(st.sampled_from(operators)), ColumnName(right)
    )


@st.composite
def sums(draw):
    """Sums over `age` and `dose` whose weights are small, so that their bounds can be
    reached.
    """
    weights = draw(
        st.tuples(
            *[st.sampled_from([Fraction(w, 2) for w in (-3, -2, -1, 1, 2, 4)])] * 2
        )
    )
    terms = sorted(
        zip(weights, (ColumnName("age"), ColumnName("dose")), strict=True),
        key=lambda term: term[0] < 0,
    )
    constant = draw(st.integers(-20, 40)) * Fraction(1, 4)
    return LinearComparison(
        tuple(terms), draw(st.sampled_from(list(Operator))), constant
    )


@st.composite
def lists(draw):
    """Listed values of one column, or pairs of two."""
    names = tuple(
        draw(
            st.lists(
                st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=2, unique=True
            )
        )
    )
    row = st.tuples(*(st.sampled_from(CONSTANTS[name]).map(Literal) for name in names))
    rows = draw(st.lists(row, max_size=6))
    return InCombinations(
        tuple(map(ColumnName, names)), tuple(rows), draw(st.booleans())
    )


@cache
def place(name, value):
    """Where a value lies in its column."""
    return CODECS[name].locate_value(value)


def decoded(rows):
    """Rows of Python values as `decode` would give them."""
    found = {}
    for name in rows[0]:
        places = [place(name, row[name]) for row in rows]
        found[name] = DecodedCells(
            np.array([index for index, _ in places], np.int64),
            np.array([state for _, state in places], np.uint8),
        )
    return found
