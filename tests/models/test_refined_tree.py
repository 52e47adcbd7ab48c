"""A tree whose rows also meet marginals across its nodes."""

from __future__ import annotations

import numpy as np
import pytest

from kit.models.build import schema_of
from understudy.errors import ReleaseError
from understudy.models import (
    ConditionalModel,
    Model,
    RefinedTreeModel,
    TreeModel,
    from_parts,
)
from understudy.models.sampling.to_targets import MAX_REFINED_ROWS, MIN_REFINED_ROWS
from understudy.schema import parse_predicate

SCHEMA = schema_of(3, 4, 2)
AIM = np.array(
    [[0.15, 0.05, 0.05, 0.05], [0.05, 0.2, 0.05, 0.05], [0.05, 0.05, 0.05, 0.2]]
)


def made(schema=SCHEMA, total=1000.0):
    columns = {"a": AIM.sum(axis=1), "b": AIM.sum(axis=0), "c": np.array([0.7, 0.3])}
    tree = TreeModel.from_marginals(
        schema, total, {(name,): total * share for name, share in columns.items()}
    )
    return RefinedTreeModel(tree, {("a", "b"): total * AIM})


def counted(codes, clique):
    table = np.zeros(SCHEMA.sizes(clique))
    np.add.at(table, tuple(codes[name] for name in clique), 1)
    return table


def apart(codes, clique, shares):
    rows = len(codes["a"])
    return np.abs(counted(codes, clique) / rows - shares).sum() / 2


def test_it_is_a_model_that_completes_rows():
    assert isinstance(made(), Model)
    assert isinstance(made(), ConditionalModel)


@pytest.mark.parametrize(
    ("rows", "near"),
    [
        (MIN_REFINED_ROWS, 0.12),
        (200, 0.03),
        (5000, 0.01),
        (MAX_REFINED_ROWS, 0.002),
        (MAX_REFINED_ROWS + 1, 0.02),
    ],
)
def test_rows_meet_the_aim_and_the_tree(rows, near):
    model = made()
    codes = model.sample(rows, np.random.default_rng(1))
    assert {name: (column.size, column.dtype) for name, column in codes.items()} == {
        name: (rows, codec.dtype) for name, codec in SCHEMA.codecs.items()
    }
    assert apart(codes, ("a", "b"), AIM) < near
    assert apart(codes, ("b", "c"), np.outer(AIM.sum(axis=0), [0.7, 0.3])) < near
    assert (
        apart(model.tree.sample(rows, np.random.default_rng(1)), ("a", "b"), AIM) > 0.2
    )  # a tree alone cannot


def test_many_rows_meet_their_columns():
    """Weights alone leave columns off by chance and by the trial that they come from;
    without the exchange the largest distance here is 0.0014.
    """
    rows = MAX_REFINED_ROWS + 50_000
    codes = made().sample(rows, np.random.default_rng(6))
    columns = {"a": AIM.sum(axis=1), "b": AIM.sum(axis=0), "c": np.array([0.7, 0.3])}
    for name, shares in columns.items():
        assert apart(codes, (name,), shares) < 1e-4
    assert apart(codes, ("a", "b"), AIM) < 0.02


def test_rows_come_in_random_order():
    codes = made().sample(4000, np.random.default_rng(2))
    assert apart({n: c[:2000] for n, c in codes.items()}, ("a", "b"), AIM) < 0.08


@pytest.mark.parametrize("rows", [0, 1, MIN_REFINED_ROWS - 1])
def test_few_rows_are_the_trees(rows):
    assert all(
        column.size == rows
        for column in made().sample(rows, np.random.default_rng(0)).values()
    )


def test_chunks_are_samples_of_their_own():
    chunks = list(made().sample_chunks(2500, np.random.default_rng(3), 1000))
    assert [len(chunk["a"]) for chunk in chunks] == [1000, 1000, 500]
    assert all(apart(chunk, ("a", "b"), AIM) < 0.03 for chunk in chunks)
    with pytest.raises(ValueError, match="at least one row"):
        next(made().sample_chunks(5, np.random.default_rng(0), 0))


def test_marginals_are_the_aims_where_there_are_any():
    model = made()
    assert np.allclose(model.marginal(("b", "a")), 1000 * AIM.T)
    assert np.allclose(model.marginal(("c",)), [700, 300])
    found = model.marginals([("b", "a"), ("a", "c")])
    assert np.allclose(found["b", "a"], 1000 * AIM.T)
    assert np.allclose(found["a", "c"], np.outer(1000 * AIM.sum(axis=1), [0.7, 0.3]))


def test_given_codes_stay():
    given = {"a": np.array([0, 1, 2, 2], np.uint8)}
    assert np.array_equal(
        made().complete(given, np.random.default_rng(0))["a"], given["a"]
    )


def test_no_row_is_impossible():
    schema = schema_of(3, 4, 2)
    schema = type(schema)(
        columns=schema.columns, impossible=(parse_predicate("a = 'a0' and c = 'c1'"),)
    )
    for rows in (3000, MAX_REFINED_ROWS + 1):
        codes = made(schema).sample(rows, np.random.default_rng(4))
        assert not np.any((codes["a"] == 0) & (codes["c"] == 1))


def test_a_model_without_rows_gives_rows():
    assert made(total=0.0).sample(300, np.random.default_rng(0))["a"].size == 300


def test_it_travels():
    model = made()
    back = from_parts(SCHEMA, *model.to_parts())
    assert isinstance(back, RefinedTreeModel)
    assert np.array_equal(back.aims["a", "b"], model.aims["a", "b"])
    one, other = (m.sample(500, np.random.default_rng(5)) for m in (model, back))
    assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    "change",
    [
        lambda f, _: f.update(aims=7),
        lambda f, _: f.update(aims=[["a", "nobody"]]),
        lambda f, _: f.update(aims=[["a", "a"]]),
        lambda f, _: f.update(aims=[["a"]]),
        lambda f, _: f.update(aims=[]),
        lambda f, _: f.update(aims=[["a", "b"], ["a", "b"]]),
        lambda f, _: f.pop("aims"),
        lambda _, a: a.update(aim0=np.zeros((2, 2))),
        lambda _, a: a.update(aim0=a["aim0"].astype(np.float32)),
        lambda _, a: a.update(aim0=-a["aim0"]),
        lambda _, a: a.update(aim0=a["aim0"] * np.nan),
        lambda _, a: a.pop("aim0"),
        lambda _, a: a.update(aim1=a["aim0"]),
        lambda _, a: a.pop("potential0"),
    ],
)
def test_damaged_parts_are_refused(change):
    facts, arrays = made().to_parts()
    change(facts, arrays)
    with pytest.raises(ReleaseError, match="damaged"):
        from_parts(SCHEMA, facts, arrays)
