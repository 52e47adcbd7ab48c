"""What predicates mean: codes against values, by brute force over small lattices."""

from __future__ import annotations

import itertools
from datetime import date, datetime, time, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.schema.predicates import (
    CODECS,
    contents,
    lists,
    pair_tests,
    single_tests,
    sums,
)
from understudy.schema import (
    Categorical,
    Datetime,
    Integer,
    Time,
    codec_of,
    holds_for_row,
    parse_predicate,
    possibly_true_cells,
    surely_true_cells,
    truth_of_cells,
)
from understudy.schema.predicates.ast import (
    And,
    ColumnName,
    IfThen,
    InCombinations,
    LinearComparison,
    Literal,
    Not,
    Or,
)
from understudy.schema.predicates.kleene import KLEENE_FALSE, KLEENE_MAYBE, KLEENE_TRUE
from understudy.schema.predicates.on_cells import surely_true_rows


def truths(predicate, clique):
    """For each cell, the set of truth values over all rows of values in it."""
    sizes = tuple(CODECS[name].size for name in clique)
    found = np.empty(sizes, object)
    values = [contents(name) for name in clique]
    for cell in np.ndindex(sizes):
        rows = itertools.product(
            *(values[axis][code] for axis, code in enumerate(cell))
        )
        found[cell] = {
            holds_for_row(predicate, dict(zip(clique, row, strict=True)), CODECS)
            for row in rows
        }
    return found


def sharp(found):
    return np.vectorize(
        lambda s: (
            KLEENE_TRUE
            if s == {True}
            else KLEENE_FALSE
            if s == {False}
            else KLEENE_MAYBE
        ),
        otypes=[np.int8],
    )(found)


@settings(max_examples=150, deadline=None)
@given(st.one_of(sums(), lists()))
def test_sums_and_lists_are_sound(predicate):
    """TRUE and FALSE are never wrong; a sum of an order is sharp where its columns'
    values fill their bins.
    """
    clique = tuple(sorted(predicate.columns))
    ours, right = (
        truth_of_cells(predicate, CODECS, clique),
        sharp(truths(predicate, clique)),
    )
    assert np.all((ours == right) | (ours == KLEENE_MAYBE))
    if isinstance(predicate, LinearComparison) and predicate.operator.needs_order:
        np.testing.assert_array_equal(ours, right)


@settings(max_examples=150, deadline=None)
@given(st.one_of(sums(), lists(), pair_tests(), single_tests()), st.integers(0, 2**32))
def test_rows_are_judged_as_their_cells_are(predicate, seed):
    rng = np.random.default_rng(seed)
    clique = tuple(sorted(predicate.columns))
    codes = {name: rng.integers(0, CODECS[name].size, 50) for name in clique}
    whole = surely_true_cells(predicate, CODECS, clique)[
        tuple(codes[name] for name in clique)
    ]
    np.testing.assert_array_equal(surely_true_rows(predicate, CODECS, codes), whole)


def test_a_long_list_of_pairs_is_laid_out_at_once():
    """A map of a thousand towns is one table, not a thousand comparisons."""
    towns, cantons = [f"t{i}" for i in range(1000)], [f"c{i}" for i in range(26)]
    codecs = {
        "town": codec_of(Categorical(name="town", values=tuple(towns), nullable=False)),
        "canton": codec_of(
            Categorical(name="canton", values=tuple(cantons), nullable=False)
        ),
    }
    rows = tuple(
        (Literal(town), Literal(cantons[i % 26])) for i, town in enumerate(towns)
    )
    listed = surely_true_cells(
        InCombinations((ColumnName("town"), ColumnName("canton")), rows),
        codecs,
        ("canton", "town"),
    )
    assert listed.shape == (26, 1000)
    assert listed.sum() == 1000
    assert all(listed[i % 26, i] for i in range(1000))


def test_a_listed_constant_of_another_kind_decides_nothing():
    predicate = InCombinations(
        (ColumnName("age"), ColumnName("sex")),
        ((Literal("old"), Literal("F")),),
        negated=True,
    )
    assert not surely_true_cells(predicate, CODECS, ("age", "sex")).any()


@given(single_tests())
def test_a_single_test_is_sharp(predicate):
    """With one constant or one list, the three values are exactly right."""
    clique = tuple(predicate.columns)
    np.testing.assert_array_equal(
        truth_of_cells(predicate, CODECS, clique), sharp(truths(predicate, clique))
    )


@given(pair_tests())
def test_a_comparison_of_columns_is_sound_and_sharp_but_for_equality(predicate):
    clique = tuple(sorted(predicate.columns))
    ours, right = (
        truth_of_cells(predicate, CODECS, clique),
        sharp(truths(predicate, clique)),
    )
    if predicate.operator.needs_order:
        np.testing.assert_array_equal(ours, right)
    else:
        assert np.all(
            (ours == right) | (ours == KLEENE_MAYBE)
        )  # two bins may overlap and share no value of both lattices


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.one_of(single_tests(), pair_tests()),
        lambda part: st.one_of(
            st.builds(Not, part),
            st.builds(And, part, part),
            st.builds(Or, part, part),
            st.builds(IfThen, part, part),
        ),
        max_leaves=3,
    ).filter(lambda p: len(p.columns) <= 3),
    st.randoms(use_true_random=False),
)
def test_compound_predicates_are_sound(predicate, random):
    """TRUE and FALSE are never wrong, in any order of the clique's axes and with a
    column it does not name.
    """
    clique = [
        *sorted(predicate.columns),
        *(["married"] if "married" not in predicate.columns else []),
    ]
    random.shuffle(clique)
    clique = tuple(clique)
    ours, right = (
        truth_of_cells(predicate, CODECS, clique),
        sharp(truths(predicate, clique)),
    )
    assert ours.shape == right.shape
    assert np.all((ours == right) | (ours == KLEENE_MAYBE))
    np.testing.assert_array_equal(
        surely_true_cells(predicate, CODECS, clique), ours == KLEENE_TRUE
    )
    np.testing.assert_array_equal(
        possibly_true_cells(predicate, CODECS, clique), ours != KLEENE_FALSE
    )


def test_without_bins_codes_are_values_and_answers_are_sharp():
    codecs = {
        "a": codec_of(Integer(name="a", min=0, max=5)),
        "b": codec_of(Integer(name="b", min=0, max=5, missing=("9",))),
    }
    predicate = parse_predicate(
        "if a < 3 then not (b = a or b > 4) and b is not missing"
    )
    ours = truth_of_cells(predicate, codecs, ("a", "b"))
    assert set(ours.ravel().tolist()) == {KLEENE_FALSE, KLEENE_TRUE}
    values = {"a": [*range(6), None], "b": [*range(6), None, 9]}
    right = [
        [holds_for_row(predicate, {"a": a, "b": b}, codecs) for b in values["b"]]
        for a in values["a"]
    ]
    np.testing.assert_array_equal(ours == KLEENE_TRUE, right)


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
        (
            "start <= end",
            {"start": date(2020, 1, 2), "end": datetime(2020, 1, 2, 6)},
            True,
        ),
        (
            "start < end",
            {"start": date(2020, 1, 2), "end": datetime(2020, 1, 2, 6)},
            False,
        ),
        ("if age < 3 then dose = 0.5", {"age": 2, "dose": "0.5"}, True),
        ("if age < 3 then dose = 0.5", {"age": 2, "dose": 1}, False),
        ("if age < 3 then dose = 0.5", {"age": None, "dose": 1}, True),
    ],
)
def test_meaning_on_values(text, row, expected):
    """Numbers beyond the bounds count as the bound, unlisted labels as `other`, moments
    as their lattice point.
    """
    assert holds_for_row(parse_predicate(text), row, CODECS) is expected


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
    assert holds_for_row(
        parse_predicate("here = there"),
        {"here": "2020-01-01 03:00", "there": "2020-01-01 02:00"},
        codecs,
    )
    assert (
        surely_true_cells(
            parse_predicate("here = there"), codecs, ("here", "there")
        ).sum()
        == 6
    )


def test_times_of_day_compare():
    codecs = {
        "t": codec_of(Time(name="t", resolution=timedelta(hours=6), nullable=False))
    }
    assert surely_true_cells(
        parse_predicate("t >= '12:00'"), codecs, ("t",)
    ).tolist() == [False, False, True, True]
    assert holds_for_row(parse_predicate("t < '12:00'"), {"t": time(11, 59)}, codecs)


def test_a_constant_of_another_kind_decides_nothing():
    """A learned type may turn out to be another than a predicate expects; then no cell
    is sure.
    """
    for text in (
        "age = 'old'",
        "age > 'old'",
        "sex = 3",
        "sex < 'F'",
        "age < sex",
        "married = 'yes'",
    ):
        predicate = parse_predicate(text)
        clique = tuple(sorted(predicate.columns))
        assert not surely_true_cells(predicate, CODECS, clique).any()
        assert possibly_true_cells(predicate, CODECS, clique).any()
