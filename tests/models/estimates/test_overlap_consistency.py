"""Overlapping marginals made to agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kit.models.build import schema_of
from understudy.models.estimates.overlap_consistency import (
    enforce_consistency,
    shared_sets,
)
from understudy.models.estimates.pooling import PooledMarginal
from understudy.schema import parse_predicate

SCHEMA = schema_of(2, 3, 4)


def noisy(scale, seed=0, rows=1_000):
    """The pairs of a table, noisy, and exact."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(24)).reshape(2, 3, 4) * rows
    axes = {"a": 0, "b": 1, "c": 2}
    exact = {}
    for clique in (("a",), ("b",), ("a", "b"), ("b", "c"), ("a", "c")):
        exact[clique] = table.sum(axis=tuple(axes[n] for n in "abc" if n not in clique))
    looks = {
        c: PooledMarginal(t + rng.normal(0, scale, t.shape), scale**2)
        for c, t in exact.items()
    }
    return looks, exact


def test_counts_agree_are_not_negative_and_sum_to_the_total():
    found = enforce_consistency(SCHEMA, noisy(30)[0], 1_000.0)
    for table in found.values():
        assert table.min() >= 0
        assert table.sum() == pytest.approx(1_000)
    for name in "abc":
        sums = [
            t.sum(axis=tuple(i for i, n in enumerate(c) if n != name))
            for c, t in found.items()
            if name in c
        ]
        for other in sums[1:]:
            assert np.abs(other - sums[0]).sum() < 0.01 * 1_000


def test_what_agrees_already_stays():
    _, exact = noisy(0)
    found = enforce_consistency(
        SCHEMA, {c: PooledMarginal(t, 1.0) for c, t in exact.items()}, 1_000.0
    )
    for clique, table in exact.items():
        assert found[clique] == pytest.approx(table)


def test_agreement_brings_marginals_nearer_to_the_truth():
    """Over forty draws, the error of one-ways falls: pairs know something about them
    too.
    """
    before = after = 0.0
    for seed in range(40):
        looks, exact = noisy(20, seed)
        found = enforce_consistency(SCHEMA, looks, 1_000.0)
        before += sum(
            np.abs(looks[c].values - exact[c]).sum() for c in (("a",), ("b",))
        )
        after += sum(np.abs(found[c] - exact[c]).sum() for c in (("a",), ("b",)))
    assert after < 0.85 * before


def test_the_sharper_look_leads():
    sharp, vague = (
        PooledMarginal(np.array([60.0, 40.0]), 1.0),
        PooledMarginal(np.array([[20.0, 20.0, 20.0], [0, 20, 20]]) * 0, 1e6),
    )
    found = enforce_consistency(
        schema_of(2, 3), {("a",): sharp, ("a", "b"): vague}, 100.0
    )
    assert found["a", "b"].sum(axis=1) == pytest.approx([60, 40], abs=0.1)


def test_structural_zeros_hold_nothing():
    schema = replace(
        schema_of(2, 2), impossible=(parse_predicate("a = 'a1' and b = 'b1'"),)
    )
    found = enforce_consistency(
        schema,
        {("a", "b"): PooledMarginal(np.array([[5.0, 5.0], [5.0, 5.0]]), 1.0)},
        30.0,
    )
    assert found["a", "b"].tolist() == [[10, 10], [10, 0]]


def test_sets_that_marginals_share():
    assert shared_sets([("a",), ("b", "c")]) == []
    assert shared_sets([("a", "b", "c"), ("b", "c", "d"), ("d",)]) == [
        ("d",),
        ("b", "c"),
    ]
