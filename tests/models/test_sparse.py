"""A list of cells: marginals, sampling, matching what is given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.models.build import schema_of
from understudy.models import ConditionalModel, DenseModel, SparseModel

SCHEMA = schema_of(2, 3, 2)
CLIQUE = ("a", "b", "c")


def random_models(seed: int) -> tuple[SparseModel, DenseModel]:
    """The same distribution as a list and as a table."""
    rng = np.random.default_rng(seed)
    table = rng.gamma(1, size=(2, 3, 2)) * (rng.random((2, 3, 2)) < 0.6)
    table.flat[rng.integers(12)] += 1
    cells = np.argwhere(table)
    shares = table[table > 0] / table.sum()
    return SparseModel(SCHEMA, 50.0, CLIQUE, cells, shares), DenseModel(
        SCHEMA, 50.0, CLIQUE, table / table.sum()
    )


@given(st.integers(0, 2**32), st.permutations(list(CLIQUE)), st.integers(0, 3))
def test_marginals_are_those_of_the_table(seed, names, length):
    sparse, dense = random_models(seed)
    clique = tuple(names[:length])
    assert np.allclose(sparse.marginal(clique), dense.marginal(clique))


@given(st.integers(0, 2**32), st.integers(0, 300))
def test_samples_are_within_one_of_every_cell_and_nowhere_else(seed, rows):
    sparse, dense = random_models(seed)
    sample = sparse.sample(rows, np.random.default_rng(seed))
    counts = np.zeros((2, 3, 2))
    np.add.at(counts, tuple(sample[name] for name in CLIQUE), 1)
    assert counts.sum() == rows
    assert np.all(np.abs(counts - dense.shares * rows) < 1)
    assert not counts[dense.shares == 0].any()


@given(st.integers(0, 2**32), st.sampled_from([("a",), ("c", "b"), ("a", "b", "c")]))
def test_completed_rows_follow_the_cells_that_match(seed, known):
    sparse, dense = random_models(seed)
    rng = np.random.default_rng(seed)
    partial = {name: rng.integers(0, SCHEMA.codecs[name].size, 40) for name in known}
    rows = sparse.complete(partial, rng)
    assert all(np.array_equal(rows[name], codes) for name, codes in partial.items())
    asked = tuple(name for name in CLIQUE if name not in known)
    if not asked:
        return
    joint = dense.marginal((*known, *asked))
    for key in {tuple(int(partial[name][i]) for name in known) for i in range(40)}:
        mine = np.all(
            [partial[name] == code for name, code in zip(known, key, strict=True)],
            axis=0,
        )
        counts = np.zeros(SCHEMA.sizes(asked))
        np.add.at(counts, tuple(rows[name][mine] for name in asked), 1)
        if joint[key].sum() > 0:
            assert np.all(
                np.abs(counts - joint[key] / joint[key].sum() * mine.sum()) < 1 + 1e-9
            )
        else:
            assert not counts[
                dense.marginal(asked) == 0
            ].any()  # from the cells overall


def test_a_cell_without_weight_matches_nothing():
    model = SparseModel(
        SCHEMA, 5.0, CLIQUE, np.array([[0, 0, 0], [1, 1, 1]]), np.array([1.0, 0.0])
    )
    rows = model.complete({"a": np.array([1, 1])}, np.random.default_rng(0))
    assert rows["a"].tolist() == [1, 1]
    assert rows["b"].tolist() == [0, 0]


def test_a_model_without_cells_is_uniform():
    model = SparseModel(
        SCHEMA, 12.0, CLIQUE, np.zeros((0, 3), np.int64), np.zeros(0), 1.0
    )
    assert model.marginal(("b", "a")).tolist() == [[2, 2]] * 3
    assert model.marginal(()).tolist() == 12
    assert np.bincount(model.sample(6, np.random.default_rng(0))["b"]).tolist() == [
        2,
        2,
        2,
    ]
    assert (
        model.complete({"a": np.array([1] * 4)}, np.random.default_rng(0))["a"].tolist()
        == [1] * 4
    )
    assert isinstance(model, ConditionalModel)


def test_columns_outside_the_clique_are_uniform():
    model = SparseModel(SCHEMA, 10.0, ("c",), np.array([[1]]), np.array([1.0]))
    assert model.marginal(("a", "c")).tolist() == [[0, 5], [0, 5]]
    rows = model.sample(4, np.random.default_rng(0))
    assert np.bincount(rows["a"]).tolist() == [2, 2]
    assert rows["c"].tolist() == [1] * 4


def test_a_domain_nobody_could_list_costs_nothing():
    """Twenty-six columns of a thousand codes: 10^78 cells, two of them known."""
    schema = schema_of(*[1000] * 26)
    cells = np.array([[i * 30 for i in range(26)], [999] * 26])
    model = SparseModel(schema, 90.0, tuple(schema), cells, np.array([2 / 3, 1 / 3]))
    rows = model.sample(9, np.random.default_rng(0))
    assert sorted(rows["b"].tolist()) == [30] * 6 + [999] * 3
    whole = model.complete({"z": np.array([750, 999, 4])}, np.random.default_rng(0))
    assert whole["a"][:2].tolist() == [0, 999]
    assert whole["z"].tolist() == [750, 999, 4]
    assert model.marginal(("z",))[750] == pytest.approx(60)
