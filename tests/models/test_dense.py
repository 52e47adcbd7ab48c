"""The whole table: marginals, rounding, exact conditioning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.models.build import schema_of, surprising
from understudy.models import ConditionalModel, DenseModel

SCHEMA = schema_of(2, 3, 2)


def random_model(seed: int, *, clique=("a", "b", "c"), total=100.0) -> DenseModel:
    rng = np.random.default_rng(seed)
    counts = rng.gamma(0.5, size=SCHEMA.sizes(clique)) * rng.integers(
        0, 2, SCHEMA.sizes(clique)
    )
    return DenseModel.from_counts(SCHEMA, clique, counts, total)


@given(st.integers(0, 2**32), st.permutations(["a", "b", "c"]), st.integers(0, 3))
def test_marginals_are_sums_in_the_order_asked_for(seed, names, length):
    model = random_model(seed, clique=("b", "c", "a"))
    clique = tuple(names[:length])
    spelled = np.einsum(model.shares, [1, 2, 0], ["abc".index(n) for n in clique]) * 100
    assert np.allclose(model.marginal(clique), spelled)


def test_columns_outside_the_clique_are_uniform():
    model = random_model(1, clique=("c", "a"))
    both = model.marginal(("b", "a"))
    assert both.shape == (3, 2)
    assert np.allclose(both, np.broadcast_to(model.marginal(("a",)) / 3, (3, 2)))
    rows = model.sample(30, np.random.default_rng(0))
    assert np.bincount(rows["b"]).tolist() == [10, 10, 10]


@given(st.integers(0, 2**32), st.integers(0, 500))
def test_samples_are_within_one_of_every_cell(seed, rows):
    model = random_model(seed)
    sample = model.sample(rows, np.random.default_rng(seed))
    counts = np.zeros(model.shares.shape)
    np.add.at(counts, tuple(sample[name] for name in model.clique), 1)
    assert counts.sum() == rows
    assert np.all(np.abs(counts - model.shares * rows) < 1)
    assert not counts[model.shares == 0].any()


def test_integer_counts_come_back_as_they_are():
    """As many copies of each cell as its count says."""
    counts = np.arange(12).reshape(2, 3, 2).astype(float)
    model = DenseModel.from_counts(SCHEMA, ("a", "b", "c"), counts, counts.sum())
    rows = model.sample(66, np.random.default_rng(0))
    back = np.zeros_like(counts)
    np.add.at(back, tuple(rows.values()), 1)
    assert back.tolist() == counts.tolist()


@given(
    st.integers(0, 2**32),
    st.sampled_from([("a",), ("b",), ("c", "a"), ("b", "c"), ("a", "b", "c")]),
)
def test_completed_rows_keep_what_was_given_and_follow_the_conditional(seed, known):
    """Inside each group of equal given codes, counts are within one of the conditional
    distribution.
    """
    model = random_model(seed)
    rng = np.random.default_rng(seed)
    partial = {name: rng.integers(0, SCHEMA.codecs[name].size, 60) for name in known}
    rows = model.complete(partial, rng)
    assert all(np.array_equal(rows[name], codes) for name, codes in partial.items())
    asked = tuple(name for name in "abc" if name not in known)
    if not asked:
        return
    joint = model.marginal((*known, *asked)) / 100
    for key in {tuple(int(partial[name][i]) for name in known) for i in range(60)}:
        mine = np.all(
            [partial[name] == code for name, code in zip(known, key, strict=True)],
            axis=0,
        )
        conditional = joint[key]
        if conditional.sum() == 0:
            conditional = model.marginal(asked)  # the stated fall-back
        counts = np.zeros(conditional.shape)
        np.add.at(counts, tuple(rows[name][mine] for name in asked), 1)
        assert np.all(
            np.abs(counts - conditional / conditional.sum() * mine.sum()) < 1 + 1e-9
        )


def test_one_completed_row_is_an_exact_draw():
    model = random_model(3)
    conditional = model.marginal(("a", "b"))[1]
    chances = conditional / conditional.sum()
    rng, trials = np.random.default_rng(0), 2000
    drawn = [
        int(model.complete({"a": np.array([1])}, rng)["b"][0]) for _ in range(trials)
    ]
    hits = np.bincount(drawn, minlength=3)
    assert not any(
        surprising(int(h), trials, float(p), tests=3)
        for h, p in zip(hits, chances, strict=True)
    )
    overall = model.marginal(("b",)) / 100
    assert any(
        surprising(int(h), trials, float(p), tests=3)
        for h, p in zip(hits, overall, strict=True)
    )


def test_rows_of_one_group_are_equally_likely_to_get_each_cell():
    """The first row of ten must not always get the first cell."""
    model = DenseModel(SCHEMA, 10.0, ("a", "b"), np.full((2, 3), 1 / 6))
    rng, trials = np.random.default_rng(0), 1500
    first = [
        int(model.complete({"a": np.zeros(10, np.int64)}, rng)["b"][0])
        for _ in range(trials)
    ]
    assert not any(
        surprising(int(h), trials, 1 / 3, tests=3)
        for h in np.bincount(first, minlength=3)
    )


def test_giving_only_columns_outside_the_clique_conditions_on_nothing():
    model = DenseModel(SCHEMA, 10.0, ("a", "c"), np.array([[0.5, 0.0], [0.0, 0.5]]))
    rows = model.complete({"b": np.array([2] * 8)}, np.random.default_rng(0))
    assert rows["b"].tolist() == [2] * 8
    assert np.bincount(rows["a"]).tolist() == [4, 4]
    assert np.array_equal(rows["a"], rows["c"])


def test_completing_no_rows_gives_no_rows():
    rows = random_model(1).complete(
        {"a": np.zeros(0, np.int64)}, np.random.default_rng(0)
    )
    assert [codes.size for codes in rows.values()] == [0, 0, 0]


def test_nothing_at_all_becomes_uniform():
    model = DenseModel.from_counts(SCHEMA, ("a", "b"), np.zeros((2, 3)), 0.0)
    assert model.shares == pytest.approx(np.full((2, 3), 1 / 6))
    assert isinstance(model, ConditionalModel)
