"""Models as files see them: out as JSON and arrays, back as they were, and nothing else
is believed.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from kit.models.build import schema_of
from understudy.errors import ReleaseError
from understudy.models import (
    MODEL_KINDS,
    DenseModel,
    NetworkModel,
    ProductModel,
    RefinedTreeModel,
    RowsModel,
    SparseModel,
    TreeModel,
    from_parts,
)
from understudy.models.network_nodes import NetworkNode

SCHEMA = schema_of(2, 3)
CELLS = np.array([[0, 2], [1, 1]])
EXAMPLES = {
    "aimed": RefinedTreeModel(
        TreeModel.from_marginals(
            SCHEMA,
            12.5,
            {("a",): np.array([4.5, 8.0]), ("b",): np.array([3.5, 5.0, 4.0])},
        ),
        {("b", "a"): np.array([[1.5, 2.0], [2.0, 3.0], [1.0, 3.0]])},
    ),
    "product": ProductModel(
        SCHEMA, 12.5, {"a": np.array([0.3, 0.7]), "b": np.array([0.1, 0.2, 0.7])}
    ),
    "dense": DenseModel(SCHEMA, 12.5, ("b", "a"), np.full((3, 2), 1 / 6)),
    "network": NetworkModel(
        SCHEMA,
        12.5,
        (
            NetworkNode("b", (), np.array([0.2, 0.3, 0.5])),
            NetworkNode("a", ("b",), np.array([[0.1, 0.9]] * 3)),
        ),
    ),
    "rows": RowsModel(
        SCHEMA,
        12.5,
        {"a": np.array([0, 1, 1], np.uint8), "b": np.array([2, 0, 1], np.uint8)},
    ),
    "tree": TreeModel.from_marginals(
        SCHEMA, 12.5, {("a", "b"): np.array([[1.5, 2.0, 1.0], [2.0, 3.0, 3.0]])}
    ),
    "sparse": SparseModel(SCHEMA, 12.5, ("a", "b"), CELLS, np.array([0.4, 0.6]), 0.25),
}


def test_every_kind_has_an_example_here():
    assert set(EXAMPLES) == set(MODEL_KINDS)


@pytest.mark.parametrize("kind", MODEL_KINDS)
def test_a_model_comes_back_as_it_was(kind):
    model = EXAMPLES[kind]
    facts, arrays = model.to_parts()
    back = from_parts(SCHEMA, json.loads(json.dumps(facts)), arrays)
    assert type(back) is type(model)
    assert back.total == model.total
    assert np.array_equal(back.marginal(("a", "b")), model.marginal(("a", "b")))
    first, second = (m.sample(40, np.random.default_rng(0)) for m in (model, back))
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert back.to_parts()[0] == facts


def test_what_stayed_below_the_threshold_is_remembered():
    back = from_parts(SCHEMA, *EXAMPLES["sparse"].to_parts())
    assert back.suppressed == 0.25


@pytest.mark.parametrize("kind", MODEL_KINDS)
def test_array_names_are_safe_as_file_names(kind):
    _, arrays = EXAMPLES[kind].to_parts()
    assert all(name.isalnum() for name in arrays)


@pytest.mark.parametrize("kind", MODEL_KINDS)
@pytest.mark.parametrize(
    "facts",
    [
        {"total": -1.0},
        {"total": float("nan")},
        {"total": float("inf")},
        {"total": "12"},
        {"total": True},
        {"total": None},
        {"surprise": 1},
        {"kind": "no such kind"},
        {"kind": ["product"]},
    ],
)
def test_facts_no_model_could_have_written_are_refused(kind, facts):
    good, arrays = EXAMPLES[kind].to_parts()
    with pytest.raises(ReleaseError):
        from_parts(SCHEMA, {**good, **facts}, arrays)
    with pytest.raises(ReleaseError):
        from_parts(
            SCHEMA,
            {key: value for key, value in good.items() if key != "total"},
            arrays,
        )


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(
    "clique", [["a", "a"], ["a"], ["a", "z"], "ab", [0, 1], None, [["a"], "b"]]
)
def test_columns_that_are_not_the_schemas_are_refused(kind, clique):
    facts, arrays = EXAMPLES[kind].to_parts()
    with pytest.raises(ReleaseError):
        from_parts(SCHEMA, {**facts, "clique": clique}, arrays)


SPOILED = {
    "missing": lambda a: None,
    "no array": lambda a: a.tolist(),
    "longer": lambda a: np.concatenate([a, a]),
    "another type": lambda a: a.astype(np.float32),
    "objects": lambda a: a.astype(object),
    "words": lambda a: a.astype(str),
    "an axis more": lambda a: a[None],
    "not a number": lambda a: np.full_like(a, np.nan, dtype=np.float64),
    "infinite": lambda a: np.full_like(a, np.inf, dtype=np.float64),
    "negative": lambda a: -a,
    "too much": lambda a: a * 2 + 1,
    "nothing": lambda a: a * 0,
}


@pytest.mark.parametrize("how", SPOILED)
@pytest.mark.parametrize("kind", ["product", "dense", "sparse"])
def test_shares_that_are_no_distribution_are_refused(kind, how):
    facts, arrays = EXAMPLES[kind].to_parts()
    name = "column0" if kind == "product" else "shares"
    with pytest.raises(ReleaseError):
        from_parts(SCHEMA, facts, {**arrays, name: SPOILED[how](arrays[name])})


@pytest.mark.parametrize("kind", MODEL_KINDS)
def test_an_array_too_many_or_too_few_is_refused(kind):
    facts, arrays = EXAMPLES[kind].to_parts()
    with pytest.raises(ReleaseError, match="arrays"):
        from_parts(SCHEMA, facts, {**arrays, "more": np.zeros(1)})
    with pytest.raises(ReleaseError, match="arrays"):
        from_parts(SCHEMA, facts, dict(list(arrays.items())[1:]))


@pytest.mark.parametrize(
    "cells",
    [
        CELLS + 1,
        CELLS - 1,
        CELLS.astype(np.float64),
        CELLS[:, :1],
        CELLS.ravel(),
        CELLS[:1],
        np.int64([[2**62, 0]] * 2),
    ],
)
def test_cells_outside_the_domain_are_refused(cells):
    facts, arrays = EXAMPLES["sparse"].to_parts()
    with pytest.raises(ReleaseError):
        from_parts(SCHEMA, facts, {**arrays, "cells": cells})


@pytest.mark.parametrize("suppressed", [-0.1, 1.1, float("nan"), "a", None, True])
def test_a_suppressed_share_is_a_share(suppressed):
    facts, arrays = EXAMPLES["sparse"].to_parts()
    with pytest.raises(ReleaseError, match="suppressed"):
        from_parts(SCHEMA, {**facts, "suppressed": suppressed}, arrays)
