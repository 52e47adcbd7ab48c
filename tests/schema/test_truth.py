"""What predicates mean: codes against values, by brute force over small lattices."""

from __future__ import annotations

import itertools
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Integer,
    Lattice,
    Real,
    Time,
    cells,
    codec_of,
    holds,
    parse_predicate,
    possibly,
    surely,
)
from understudy.schema.predicate import (
    And,
    Comparison,
    IfThen,
    In,
    Linear,
    Listed,
    Literal,
    Missing,
    Name,
    Not,
    Operator,
    Or,
)
from understudy.schema.truth import FALSE, MAYBE, TRUE, rows_surely

AGE = Integer(name="age", min=0, max=7, bins=(0, 1, 4, 8))
DOSE = Real(name="dose", min=Fraction(0), max=Fraction(4), step=Fraction(1, 2), bins=(0, 3, 4, 9), missing=("-7",))
SEX = Categorical(name="sex", values=("F", "M"), other="else", nullable=False)
PARTNER = Categorical(name="partner", values=("M", "F", "none"), missing=("NA",))
GRADE = Categorical(name="grade", values=("low", "mid", "high"), ordered=True)
GOAL = Categorical(name="goal", values=("low", "mid", "high"), ordered=True, nullable=False)
MARRIED = Boolean(name="married")
START = Date(name="start", min=date(2020, 1, 1), max=date(2020, 1, 6), bins=(18262, 18264, 18268))
END = Datetime(
    name="end", min=datetime(2020, 1, 1), max=datetime(2020, 1, 6), resolution=timedelta(hours=12), nullable=False
)
COLUMNS = {c.name: c for c in (AGE, DOSE, SEX, PARTNER, GRADE, GOAL, MARRIED, START, END)}
CODECS = {name: codec_of(column) for name, column in COLUMNS.items()}

CONSTANTS = {
    "age": [Fraction(n, 2) for n in range(-2, 18)],
    "dose": [Fraction(n, 4) for n in range(-1, 18)],
    "sex": ["F", "M", "else"],
    "partner": ["M", "F", "none"],
    "grade": ["low", "mid", "high"],
    "goal": ["low", "mid", "high"],
    "married": [True, False],
    "start": ["2019-12-31", "2020-01-01", "2020-01-03", "2020-01-03 12:00", "2020-01-06", "2020-02-01"],
    "end": ["2020-01-01", "2020-01-03", "2020-01-03 12:00", "2020-01-03 13:00", "2020-01-06", "2020-02-01"],
}
PAIRS = [("age", "dose"), ("dose", "age"), ("sex", "partner"), ("grade", "goal"), ("start", "end"), ("end", "start")]
ORDERED = {"age", "dose", "grade", "goal", "start", "end"}


@cache
def contents(name):
    """Every value of every code of a column: by code, the Python values that encode to it."""
    codec = CODECS[name]
    column = codec.column
    if isinstance(column, Lattice):
        by_code = [[column.value_at(i) for i in range(a, b)] for a, b in itertools.pairwise(codec.bins.edges)]
    elif isinstance(column, Boolean):
        by_code = [[False], [True]]
    else:
        by_code = [[value] for value in column.values] + ([["unlisted"]] if column.other else [])
    by_code += [[None]] * column.nullable + [[spelling] for spelling in column.missing]
    assert [codec.code(v) for values in by_code for v in values] == [i for i, vs in enumerate(by_code) for _ in vs]
    return by_code


def truths(predicate, clique):
    """For each cell, the set of truth values over all rows of values in it."""
    sizes = tuple(CODECS[name].size for name in clique)
    found = np.empty(sizes, object)
    values = [contents(name) for name in clique]
    for cell in np.ndindex(sizes):
        rows = itertools.product(*(values[axis][code] for axis, code in enumerate(cell)))
        found[cell] = {holds(predicate, dict(zip(clique, row, strict=True)), CODECS) for row in rows}
    return found


def sharp(found):
    return np.vectorize(lambda s: TRUE if s == {True} else FALSE if s == {False} else MAYBE, otypes=[np.int8])(found)


@st.composite
def single_tests(draw):
    name = draw(st.sampled_from(sorted(COLUMNS)))
    constants = st.sampled_from(CONSTANTS[name]).map(Literal)
    if draw(st.booleans()):
        listed = draw(st.lists(constants, min_size=1, max_size=4, unique=True))
        return In(Name(name), tuple(listed), draw(st.booleans()))
    if draw(st.integers(0, 3)) == 0:
        return Missing(Name(name), draw(st.booleans()))
    operators = [o for o in Operator if name in ORDERED or not o.ordering]
    return Comparison(Name(name), draw(st.sampled_from(operators)), draw(constants))


@st.composite
def pair_tests(draw):
    left, right = draw(st.sampled_from(PAIRS))
    operators = [o for o in Operator if left in ORDERED or not o.ordering]
    return Comparison(Name(left), draw(st.sampled_from(operators)), Name(right))


@st.composite
def sums(draw):
    """Sums over `age` and `dose` whose weights are small, so that their bounds can be reached."""
    weights = draw(st.tuples(*[st.sampled_from([Fraction(w, 2) for w in (-3, -2, -1, 1, 2, 4)])] * 2))
    terms = sorted(zip(weights, (Name("age"), Name("dose")), strict=True), key=lambda term: term[0] < 0)
    constant = draw(st.integers(-20, 40)) * Fraction(1, 4)
    return Linear(tuple(terms), draw(st.sampled_from(list(Operator))), constant)


@st.composite
def lists(draw):
    names = tuple(draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=2, unique=True)))
    row = st.tuples(*(st.sampled_from(CONSTANTS[name]).map(Literal) for name in names))
    rows = draw(st.lists(row, max_size=6))
    return Listed(tuple(map(Name, names)), tuple(rows), draw(st.booleans()))


@settings(max_examples=150, deadline=None)
@given(st.one_of(sums(), lists()))
def test_sums_and_lists_are_sound(predicate):
    """TRUE and FALSE are never wrong; a sum of an order is sharp where its columns' values fill their bins."""
    clique = tuple(sorted(predicate.columns))
    ours, right = cells(predicate, CODECS, clique), sharp(truths(predicate, clique))
    assert np.all((ours == right) | (ours == MAYBE))
    if isinstance(predicate, Linear) and predicate.operator.ordering:
        np.testing.assert_array_equal(ours, right)


@settings(max_examples=150, deadline=None)
@given(st.one_of(sums(), lists(), pair_tests(), single_tests()), st.integers(0, 2**32))
def test_rows_are_judged_as_their_cells_are(predicate, seed):
    rng = np.random.default_rng(seed)
    clique = tuple(sorted(predicate.columns))
    codes = {name: rng.integers(0, CODECS[name].size, 50) for name in clique}
    whole = surely(predicate, CODECS, clique)[tuple(codes[name] for name in clique)]
    np.testing.assert_array_equal(rows_surely(predicate, CODECS, codes), whole)


def test_a_long_list_of_pairs_is_laid_out_at_once():
    """A map of a thousand towns is one table, not a thousand comparisons."""
    towns, cantons = [f"t{i}" for i in range(1000)], [f"c{i}" for i in range(26)]
    codecs = {
        "town": codec_of(Categorical(name="town", values=tuple(towns), nullable=False)),
        "canton": codec_of(Categorical(name="canton", values=tuple(cantons), nullable=False)),
    }
    rows = tuple((Literal(town), Literal(cantons[i % 26])) for i, town in enumerate(towns))
    listed = surely(Listed((Name("town"), Name("canton")), rows), codecs, ("canton", "town"))
    assert listed.shape == (26, 1000)
    assert listed.sum() == 1000
    assert all(listed[i % 26, i] for i in range(1000))


def test_a_listed_constant_of_another_kind_decides_nothing():
    predicate = Listed((Name("age"), Name("sex")), ((Literal("old"), Literal("F")),), negated=True)
    assert not surely(predicate, CODECS, ("age", "sex")).any()


@given(single_tests())
def test_a_single_test_is_sharp(predicate):
    """With one constant or one list, the three values are exactly right."""
    clique = tuple(predicate.columns)
    np.testing.assert_array_equal(cells(predicate, CODECS, clique), sharp(truths(predicate, clique)))


@given(pair_tests())
def test_a_comparison_of_columns_is_sound_and_sharp_but_for_equality(predicate):
    clique = tuple(sorted(predicate.columns))
    ours, right = cells(predicate, CODECS, clique), sharp(truths(predicate, clique))
    if predicate.operator.ordering:
        np.testing.assert_array_equal(ours, right)
    else:
        assert np.all((ours == right) | (ours == MAYBE))  # two bins may overlap and share no value of both lattices


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.one_of(single_tests(), pair_tests()),
        lambda part: st.one_of(
            st.builds(Not, part), st.builds(And, part, part), st.builds(Or, part, part), st.builds(IfThen, part, part)
        ),
        max_leaves=3,
    ).filter(lambda p: len(p.columns) <= 3),
    st.randoms(use_true_random=False),
)
def test_compound_predicates_are_sound(predicate, random):
    """TRUE and FALSE are never wrong, in any order of the clique's axes and with a column it does not name."""
    clique = [*sorted(predicate.columns), *(["married"] if "married" not in predicate.columns else [])]
    random.shuffle(clique)
    clique = tuple(clique)
    ours, right = cells(predicate, CODECS, clique), sharp(truths(predicate, clique))
    assert ours.shape == right.shape
    assert np.all((ours == right) | (ours == MAYBE))
    np.testing.assert_array_equal(surely(predicate, CODECS, clique), ours == TRUE)
    np.testing.assert_array_equal(possibly(predicate, CODECS, clique), ours != FALSE)


def test_without_bins_codes_are_values_and_answers_are_sharp():
    codecs = {
        "a": codec_of(Integer(name="a", min=0, max=5)),
        "b": codec_of(Integer(name="b", min=0, max=5, missing=("9",))),
    }
    predicate = parse_predicate("if a < 3 then not (b = a or b > 4) and b is not missing")
    ours = cells(predicate, codecs, ("a", "b"))
    assert set(ours.ravel().tolist()) == {FALSE, TRUE}
    values = {"a": [*range(6), None], "b": [*range(6), None, 9]}
    right = [[holds(predicate, {"a": a, "b": b}, codecs) for b in values["b"]] for a in values["a"]]
    np.testing.assert_array_equal(ours == TRUE, right)


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("age > 3", {"age": None}, False),
        ("age != 3", {"age": None}, False),
        ("age not in (3)", {"age": None}, False),
        ("not age = 3", {"age": None}, True),
        ("dose is missing", {"dose": -7.0}, True),
        ("dose is missing", {"dose": "not a number"}, True),
        ("dose is not missing", {"dose": 0}, True),
        ("age = 7", {"age": 200}, True),
        ("sex = 'else'", {"sex": "anything"}, True),
        ("sex = 'F'", {"sex": None}, True),
        ("married = true", {"married": "yes"}, True),
        ("grade > 'low'", {"grade": "high"}, True),
        ("start < '2020-01-02 12:00'", {"start": "2020-01-02"}, True),
        ("start <= end", {"start": date(2020, 1, 2), "end": datetime(2020, 1, 2, 6)}, True),
        ("start < end", {"start": date(2020, 1, 2), "end": datetime(2020, 1, 2, 6)}, False),
        ("if age < 3 then dose = 0.5", {"age": 2, "dose": "0.5"}, True),
        ("if age < 3 then dose = 0.5", {"age": 2, "dose": 1}, False),
        ("if age < 3 then dose = 0.5", {"age": None, "dose": 1}, True),
    ],
)
def test_meaning_on_values(text, row, expected):
    """Numbers beyond the bounds count as the bound, unlisted labels as `other`, moments as their lattice point."""
    assert holds(parse_predicate(text), row, CODECS) is expected


def test_instants_of_two_zones_compare():
    codecs = {
        name: codec_of(
            Datetime(
                name=name,
                zone=zone,
                min=datetime(2020, 1, 1),
                max=datetime(2020, 1, 1, 6),
                resolution=timedelta(hours=1),
            )
        )
        for name, zone in (("here", "Europe/Zurich"), ("there", "UTC"))
    }
    assert holds(parse_predicate("here = there"), {"here": "2020-01-01 03:00", "there": "2020-01-01 02:00"}, codecs)
    assert surely(parse_predicate("here = there"), codecs, ("here", "there")).sum() == 6


def test_times_of_day_compare():
    codecs = {"t": codec_of(Time(name="t", resolution=timedelta(hours=6), nullable=False))}
    assert surely(parse_predicate("t >= '12:00'"), codecs, ("t",)).tolist() == [False, False, True, True]
    assert holds(parse_predicate("t < '12:00'"), {"t": time(11, 59)}, codecs)


def test_a_constant_of_another_kind_decides_nothing():
    """A learned type may turn out to be another than a predicate expects; then no cell is sure."""
    for text in ("age = 'old'", "age > 'old'", "sex = 3", "sex < 'F'", "age < sex", "married = 'yes'"):
        predicate = parse_predicate(text)
        clique = tuple(sorted(predicate.columns))
        assert not surely(predicate, CODECS, clique).any()
        assert possibly(predicate, CODECS, clique).any()
