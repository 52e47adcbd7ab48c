"""Distances of marginals of one to three columns, by hand and by brute force."""

from __future__ import annotations

import numpy as np
import pytest

from kit.people import SCHEMA, Counts, made, table
from understudy.evaluation.utility.orders import assess_marginals, choose_cliques
from understudy.findings import Unavailable
from understudy.schema import Boolean, Schema

BITS = Schema(columns=tuple(Boolean(name=name, nullable=False) for name in "abc"))


def parity(sign: int) -> Counts:
    """Three bits whose sum is even, or odd: every pair is uniform either way, the
    triples have nothing in common.
    """
    joint = np.zeros((2, 2, 2), np.int64)
    for cell in np.ndindex(2, 2, 2):
        joint[cell] = 10 * (sum(cell) % 2 == sign)
    return Counts(("a", "b", "c"), joint)


def test_only_the_triple_tells_even_from_odd() -> None:
    found = [assess_marginals(parity(0), parity(1), BITS, order) for order in (1, 2, 3)]
    assert [finding.value for finding in found] == [0.0, 0.0, 1.0]
    assert found[2].facts["l1"] == 2.0
    assert found[2].parts[0].columns == ("a", "b", "c")


def test_every_pair_and_the_triples_that_were_drawn() -> None:
    real, synthetic = table(made(300, 1)), table(made(200, 2, related=False))
    pairs = assess_marginals(real, synthetic, SCHEMA, 2)
    assert pairs.facts["cliques"] == pairs.facts["of"] == 10
    triples = assess_marginals(
        real, synthetic, SCHEMA, 3, most=4, rng=np.random.default_rng(1)
    )
    assert len(triples.parts) == 4
    assert triples.facts["of"] == 10
    assert triples.parts[0].value == triples.facts["largest"]
    assert triples.value == pytest.approx(
        np.mean([part.value for part in triples.parts])
    )


def test_cliques_are_drawn_without_repetition_and_all_are_reachable() -> None:
    drawn = [
        choose_cliques(SCHEMA, 2, most=3, rng=np.random.default_rng(seed))
        for seed in range(60)
    ]
    assert all(len(set(cliques)) == 3 for cliques in drawn)
    assert {clique for cliques in drawn for clique in cliques} == set(
        choose_cliques(SCHEMA, 2, most=None, rng=np.random.default_rng())
    )


def test_a_table_with_too_few_columns_says_so() -> None:
    with pytest.raises(Unavailable, match="fewer than 4"):
        assess_marginals(parity(0), parity(1), BITS, 4)
