"""Independent columns: fitted, sampled and completed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.models.build import listed, measured, schema_of, surprising
from understudy.errors import Refused, SchemaError
from understudy.models import ConditionalModel, Model, ProductModel
from understudy.schema import parse_predicate

SCHEMA = schema_of(2, 3)
MODEL = ProductModel(
    SCHEMA, 60.0, {"a": np.array([0.25, 0.75]), "b": np.array([0.5, 0.5, 0.0])}
)


def test_it_is_a_model_that_can_complete_rows():
    assert isinstance(MODEL, Model)
    assert isinstance(MODEL, ConditionalModel)


def test_marginals_are_outer_products():
    assert MODEL.marginal(()).tolist() == 60
    assert MODEL.marginal(("b",)).tolist() == [30, 30, 0]
    assert MODEL.marginal(("b", "a")).tolist() == [[7.5, 22.5], [7.5, 22.5], [0, 0]]
    with pytest.raises(SchemaError, match="not in the schema"):
        MODEL.marginal(("z",))


def test_samples_have_the_rounded_counts_in_compact_codes():
    rows = MODEL.sample(20, np.random.default_rng(0))
    assert list(rows) == ["a", "b"]
    assert rows["a"].dtype == np.uint8
    assert np.bincount(rows["a"], minlength=2).tolist() == [5, 15]
    assert np.bincount(rows["b"], minlength=3).tolist() == [10, 10, 0]


def test_columns_are_shuffled_apart():
    """In 4000 rows the two columns meet as often as independence says; sorted columns
    would always meet.
    """
    rows = MODEL.sample(4000, np.random.default_rng(0))
    together = int(np.count_nonzero((rows["a"] == 0) & (rows["b"] == 0)))
    assert not surprising(together, 4000, 0.125)
    assert surprising(min(1000, 2000), 4000, 0.125)


def test_the_same_seed_gives_the_same_rows():
    first, second = (MODEL.sample(50, np.random.default_rng(4)) for _ in range(2))
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_given_codes_stay_and_the_rest_is_as_if_nothing_were_given():
    given_b = np.array([2, 0, 1, 1])
    rows = MODEL.complete({"b": given_b}, np.random.default_rng(0))
    assert rows["b"].tolist() == given_b.tolist()
    assert np.bincount(rows["a"], minlength=2).tolist() == [1, 3]


@pytest.mark.parametrize(
    ("partial", "error", "words"),
    [
        ({}, Refused, "at least one"),
        ({"z": np.array([0])}, SchemaError, '"z"'),
        ({"a": np.array([2])}, SchemaError, '"a"'),
        ({"a": np.array([-1])}, SchemaError, '"a"'),
        ({"a": np.array([0.5])}, SchemaError, '"a"'),
        ({"a": np.array([[0]])}, SchemaError, '"a"'),
        ({"a": np.array([0, 1]), "b": np.array([0])}, SchemaError, "length"),
    ],
)
def test_what_cannot_be_given_is_refused(partial, error, words):
    with pytest.raises(error, match=words):
        MODEL.complete(partial, np.random.default_rng(0))


def test_measurements_are_pooled_and_projected():
    looks = listed(
        measured(("a",), [10, 30]),
        measured(("b",), [25, 20, -8]),
        measured((), 40, scale=0),
    )
    model = ProductModel.from_measurements(SCHEMA, looks)
    assert model.total == pytest.approx(40, abs=1e-6)
    assert model.marginal(("a",)) == pytest.approx([10, 30], abs=1e-6)
    assert model.marginal(("b",)) == pytest.approx([22.5, 17.5, 0], abs=1e-6)


@given(
    st.lists(st.integers(-50, 200), min_size=2, max_size=2),
    st.lists(st.integers(-50, 200), min_size=3, max_size=3),
)
def test_marginals_are_counts_and_agree_whatever_was_measured(a, b):
    model = ProductModel.from_measurements(
        SCHEMA, listed(measured(("a",), a), measured(("b",), b, scale=3))
    )
    assert model.total >= 0
    for clique in ((), ("a",), ("b",), ("a", "b")):
        marginal = model.marginal(clique)
        assert np.all(marginal >= 0)
        assert marginal.sum() == pytest.approx(model.total)
    assert all(
        codes.size == 7 for codes in model.sample(7, np.random.default_rng(0)).values()
    )


def test_without_positive_mass_the_model_is_uniform_and_empty():
    model = ProductModel.from_measurements(
        SCHEMA, listed(measured(("a",), [-5, 2]), measured(("b",), [-9, 1, 1]))
    )
    assert model.total == 0
    assert model.shares["b"] == pytest.approx(np.full(3, 1 / 3))
    assert np.bincount(model.sample(6, np.random.default_rng(0))["a"]).tolist() == [
        3,
        3,
    ]


def test_an_unmeasured_column_is_uniform():
    model = ProductModel.from_measurements(SCHEMA, listed(measured(("a",), [10, 30])))
    assert model.shares["b"] == pytest.approx(np.full(3, 1 / 3))


def test_a_public_number_of_rows_is_kept():
    schema = schema_of(2, rows=50)
    model = ProductModel.from_measurements(schema, listed(measured(("a",), [10, 30])))
    assert model.total == 50
    assert model.marginal(("a",)).tolist() == pytest.approx([15, 35])


def test_what_rounding_leaves_is_told_of_single_columns_without_rules():
    assert MODEL.rounding_variance(("a",)).tolist() == [
        0,
        0,
    ]  # 15 and 45 rows are whole
    odd = ProductModel(SCHEMA, 61.0, MODEL.shares)
    assert odd.rounding_variance(("a",)).tolist() == [0.1875, 0.1875]
    assert odd.rounding_variance(("a", "b")) is None
    ruled = replace(SCHEMA, impossible=(parse_predicate("a = 'a0' and b = 'b0'"),))
    assert ProductModel(ruled, 61.0, MODEL.shares).rounding_variance(("a",)) is None
