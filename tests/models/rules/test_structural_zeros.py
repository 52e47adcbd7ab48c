"""Impossible rows: none is handed out, and columns keep their counts while it can be
done.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.models.build import listed, measured, schema_of
from understudy.errors import Refused
from understudy.models import DenseModel, ProductModel, SparseModel
from understudy.models.estimates.pooling import pool_total
from understudy.models.rules.structural_zeros import (
    forbidden_rows,
    impossible_masks,
    impossible_rows,
    keep_possible,
)
from understudy.models.sampling.unmeasured import uniform_shares
from understudy.schema import Schema, parse_predicate


def schema_with(*rules: str, sizes=(3, 4, 2)):
    return replace(
        schema_of(*sizes), impossible=tuple(parse_predicate(rule) for rule in rules)
    )


PAIRS = schema_with(
    "a = 'a0' and b = 'b1'",
    "b = 'b3' and c != 'c0'",
    "a = 'a2' and b in ('b0', 'b2') and c = 'c1'",
)
ALONE = schema_with("b = 'b2'")


def violations(schema, rows) -> int:
    """Counted one row at a time, from the declarations' own cells."""
    masks = [
        (tuple(p.columns), schema.zeros(tuple(p.columns))) for p in schema.impossible
    ]
    count = len(next(iter(rows.values())))
    return sum(
        any(zeros[tuple(rows[n][i] for n in clique)] for clique, zeros in masks)
        for i in range(count)
    )


def test_masks_are_those_of_the_schema():
    masks = impossible_masks(PAIRS)
    assert set(masks) == {("a", "b"), ("b", "c"), ("a", "b", "c")}
    assert masks["b", "c"].tolist() == [[False, False]] * 3 + [[False, True]]
    assert impossible_masks(schema_of(2, 2)) == {}


@given(st.integers(0, 2**32), st.integers(0, 400))
def test_products_are_sampled_without_an_impossible_row(seed, rows):
    rng = np.random.default_rng(seed)
    model = ProductModel(
        PAIRS,
        10.0,
        {
            name: rng.dirichlet(np.ones(n))
            for name, n in zip("abc", (3, 4, 2), strict=True)
        },
    )
    sample = model.sample(rows, rng)
    assert violations(PAIRS, sample) == 0
    assert not impossible_rows(impossible_masks(PAIRS), sample, rows).any()


def test_exchanges_leave_every_column_its_counts():
    model = ProductModel.uniform(PAIRS, 10.0)
    loose = replace(PAIRS, impossible=())
    before = ProductModel.uniform(loose, 10.0).sample(6000, np.random.default_rng(0))
    sample = model.sample(6000, np.random.default_rng(0))
    assert violations(PAIRS, before) > 500
    assert violations(PAIRS, sample) == 0
    for name in "abc":
        assert np.bincount(sample[name]).tolist() == np.bincount(before[name]).tolist()


def test_given_codes_stay_where_they_are():
    model = ProductModel.uniform(PAIRS, 10.0)
    b = np.repeat(np.arange(4), 25)
    whole = model.complete({"b": b}, np.random.default_rng(0))
    assert np.array_equal(whole["b"], b)
    assert violations(PAIRS, whole) == 0


def test_rows_get_new_codes_where_no_exchange_is_left():
    """Every row has the impossible pair: there is nobody to exchange with."""
    rows = {
        "a": np.zeros(9, np.uint8),
        "b": np.ones(9, np.uint8),
        "c": np.zeros(9, np.uint8),
    }
    repaired = keep_possible(PAIRS, rows, 9, np.random.default_rng(0))
    assert violations(PAIRS, repaired) == 0
    assert rows["b"].tolist() == [1] * 9


def test_a_contradiction_that_was_given_is_refused():
    model = ProductModel.uniform(PAIRS, 10.0)
    with pytest.raises(Refused, match="no possible row"):
        model.complete(
            {"a": np.array([0]), "b": np.array([1])}, np.random.default_rng(0)
        )


def test_declarations_that_leave_nothing_are_refused():
    schema = schema_with("a = 'a0'", "a != 'a0'")
    with pytest.raises(Refused, match="everything is declared impossible"):
        uniform_shares(schema, ("a",))


def test_a_dense_model_gives_structural_zeros_no_mass_and_no_row():
    clique = ("c", "b", "a")
    counts = np.random.default_rng(1).random((2, 4, 3))
    model = DenseModel.from_counts(PAIRS, clique, counts, 100.0)
    assert not model.marginal(("a", "b"))[0, 1].any()
    assert not model.marginal(("b", "c"))[3, 1].any()
    assert violations(PAIRS, model.sample(2000, np.random.default_rng(0))) == 0
    whole = model.complete({"b": np.repeat(np.arange(4), 50)}, np.random.default_rng(0))
    assert violations(PAIRS, whole) == 0


def test_a_dense_model_completes_massless_codes_possibly_or_not_at_all():
    """The only mass lies at a1, b0, c0: given b3 the rest follows what is possible."""
    counts = np.zeros((3, 4, 2))
    counts[1, 0, 0] = 1
    model = DenseModel.from_counts(PAIRS, ("a", "b", "c"), counts, 5.0)
    assert (
        violations(
            PAIRS, model.complete({"b": np.full(40, 3)}, np.random.default_rng(0))
        )
        == 0
    )
    assert (
        violations(
            PAIRS, model.complete({"c": np.full(40, 1)}, np.random.default_rng(0))
        )
        == 0
    )
    with pytest.raises(
        Refused, match=r"^a, b: .*no row has these values together. Nothing was sampled"
    ):
        model.complete(
            {"a": np.array([0]), "b": np.array([1])}, np.random.default_rng(0)
        )


def test_a_sparse_model_completes_what_no_cell_matches_possibly():
    model = SparseModel(
        PAIRS, 5.0, ("a", "b", "c"), np.array([[0, 0, 0]]), np.array([1.0])
    )
    whole = model.complete({"b": np.ones(20, np.int64)}, np.random.default_rng(0))
    assert violations(PAIRS, whole) == 0


def test_an_impossible_code_of_one_column_gets_nothing():
    model = ProductModel.from_measurements(
        ALONE, listed(measured(("b",), [5, 5, 0, 10]), measured(("a",), [4, 8, 8]))
    )
    assert model.shares["b"][2] == 0
    assert uniform_shares(ALONE, ("b",)) == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])


def test_structural_zeros_carry_no_noise_and_so_no_variance():
    """Three of four cells of b are noisy; a has three noisy cells too: both weigh the
    same.
    """
    total, _ = pool_total(
        ALONE, listed(measured(("b",), [5, 5, 0, 10]), measured(("a",), [10, 10, 10]))
    )
    assert total == pytest.approx(25)


def test_rules_that_take_several_exchanges_leave_every_column_its_counts():
    """A child has neither wage nor rent, an adult has both: with columns drawn apart,
    nearly every row breaks a rule or two.
    """
    schema = Schema.parse("""
columns:
  child: {type: boolean, nullable: false}
  wage: {type: integer, min: 1, max: 9}
  rent: {type: integer, min: 1, max: 9}
rules:
  - if child = true then wage is missing and rent is missing
  - if child = false then wage is not missing and rent is not missing
""")
    rng = np.random.default_rng(0)
    values = np.where(np.arange(20_000) < 3_000, 9, np.arange(20_000) % 9)
    loose = {
        "child": rng.permutation(np.arange(20_000) < 3_000).astype(np.uint8),
        "wage": rng.permutation(values).astype(np.uint8),
        "rent": rng.permutation(values).astype(np.uint8),
    }
    kept = keep_possible(schema, loose, 20_000, rng)
    assert not forbidden_rows(schema, kept, 20_000).any()
    assert abs(int(kept["child"].sum()) - 3_000) < 150, "the children are still there"
    for name in ("wage", "rent"):
        moved = np.abs(
            np.bincount(kept[name], minlength=10)
            - np.bincount(loose[name], minlength=10)
        ).sum()
        assert moved < 600
