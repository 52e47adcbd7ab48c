"""A table of rows as a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kit.models.build import schema_of
from understudy.errors import ReleaseError
from understudy.models import ConditionalModel, Model, RowsModel, from_parts
from understudy.schema import parse_predicate

SCHEMA = schema_of(2, 3)
TABLE = {"a": np.array([0, 0, 1, 1], np.uint8), "b": np.array([0, 2, 2, 2], np.uint8)}
MODEL = RowsModel(SCHEMA, 8.0, TABLE)


def sorted_rows(codes):
    return sorted(zip(*(column.tolist() for column in codes.values()), strict=True))


def test_marginals_are_counted_and_scaled_to_the_total():
    assert MODEL.marginal(("b", "a")).tolist() == [[2, 0], [0, 0], [2, 4]]
    assert MODEL.marginal(()) == 8


def test_as_many_rows_as_the_table_has_are_the_table():
    assert sorted_rows(MODEL.sample(4, np.random.default_rng(0))) == sorted_rows(TABLE)


@pytest.mark.parametrize("rows", [0, 1, 3, 5, 9])
def test_no_row_of_the_table_comes_twice_more_often_than_another(rows):
    table = {"a": np.arange(2, dtype=np.uint8), "b": np.arange(2, dtype=np.uint8)}
    counts = np.bincount(
        RowsModel(SCHEMA, 2.0, table).sample(rows, np.random.default_rng(1))["a"],
        minlength=2,
    )
    assert counts.sum() == rows
    assert counts.max() - counts.min() <= 1


def test_it_says_by_type_that_it_cannot_complete_rows():
    assert isinstance(MODEL, Model)
    assert not isinstance(MODEL, ConditionalModel)


def test_without_any_row_it_is_uniform():
    nothing = {name: codes[:0] for name, codes in TABLE.items()}
    model = RowsModel(SCHEMA, 0.4, nothing)
    assert model.marginal(("a", "b")) == pytest.approx(np.full((2, 3), 0.4 / 6))
    assert np.bincount(model.sample(6, np.random.default_rng(0))["b"]).tolist() == [
        2,
        2,
        2,
    ]


SPOILED = {
    "another type": {"column0": TABLE["a"].astype(np.int64)},
    "an axis more": {"column0": TABLE["a"][None]},
    "outside": {"column1": TABLE["b"] + 1},
    "shorter": {"column1": TABLE["b"][:2]},
    "no array": {"column0": TABLE["a"].tolist()},
}


@pytest.mark.parametrize("how", SPOILED)
def test_what_no_table_could_have_written_is_refused(how):
    facts, arrays = MODEL.to_parts()
    with pytest.raises(ReleaseError):
        from_parts(SCHEMA, facts, {**arrays, **SPOILED[how]})


def test_impossible_rows_are_not_believed():
    facts, arrays = MODEL.to_parts()
    schema = replace(SCHEMA, impossible=(parse_predicate("a = 'a1' and b = 'b2'"),))
    with pytest.raises(ReleaseError, match="impossible"):
        from_parts(schema, facts, arrays)
    with pytest.raises(AssertionError, match="impossible"):
        RowsModel(schema, 8.0, TABLE)
