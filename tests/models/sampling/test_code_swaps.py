"""Exchanges: what the tree holds stays, what it does not hold comes closer, and nothing
rare dies out.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.models.build import schema_of
from understudy.models import TreeModel
from understudy.models.sampling import code_swaps
from understudy.models.sampling.code_swaps import swap_codes

RNG = np.random.default_rng


@given(st.integers(0, 400), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_groups_keep_their_codes(rows, groups, seed):
    rng = RNG(seed)
    members = rng.integers(0, groups, rows)
    codes, other = (
        rng.integers(0, 3, rows).astype(np.uint8),
        rng.integers(0, 4, rows).astype(np.uint8),
    )
    expected = rng.dirichlet(np.ones(12)).reshape(4, 3)
    order = np.lexsort((rng.random(rows), members))
    found = swap_codes(codes, {"z": other}, {"z": expected}, order, members, rng)
    assert found.dtype == codes.dtype
    for group in range(groups):
        here = members == group
        assert np.array_equal(np.sort(found[here]), np.sort(codes[here]))


def chain() -> TreeModel:
    schema = schema_of(6, 6, 6, 6, 6)
    cliques = list(itertools.pairwise(schema))
    rng = RNG(0)
    return TreeModel.from_potentials(
        schema, 1.0, cliques, {c: rng.normal(0, 1, (6, 6)) for c in cliques}
    )


def distance(model: TreeModel, codes) -> tuple[float, float]:
    """Mean total variation between rows and model, over pairs inside nodes and over the
    others.
    """
    near, far = [], []
    rows = len(codes["a"])
    for pair, share in model.marginals(itertools.combinations(model.schema, 2)).items():
        counts = (
            np.bincount(
                np.ravel_multi_index([codes[n] for n in pair], (6, 6)), minlength=36
            )
            / rows
        )
        (near if model.beliefs.tree.home(pair) is not None else far).append(
            np.abs(counts - share.ravel()).sum() / 2
        )
    return float(np.mean(near)), float(np.mean(far))


def test_far_pairs_come_closer_and_near_ones_stay(monkeypatch):
    model = chain()
    with_them = distance(model, model.sample(20_000, RNG(1)))
    monkeypatch.setattr(code_swaps, "SWAP_ROUNDS", 0)
    without = distance(model, model.sample(20_000, RNG(1)))
    assert with_them[1] < 0.7 * without[1]
    assert with_them[0] < 0.002


def test_the_same_seed_gives_the_same_rows():
    model = chain()
    first, second = (model.sample(500, RNG(3)) for _ in range(2))
    assert all(np.array_equal(first[name], second[name]) for name in first)


def rare(trials: int) -> float:
    """Rows in cells of a far pair that expect less than half a row, beside the rows
    expected there.
    """
    rng = RNG(0)
    schema = schema_of(25, 3, 25)
    model = TreeModel.from_marginals(
        schema,
        1.0,
        {
            ("a", "b"): rng.dirichlet(np.full(75, 0.3)).reshape(25, 3),
            ("b", "c"): rng.dirichlet(np.full(75, 0.3)).reshape(3, 25),
        },
    )
    rows = 1500
    expected = model.marginal(("a", "c")).ravel() * rows
    few, seen = expected < 0.5, 0
    for trial in range(trials):
        codes = model.sample(rows, RNG(trial))
        seen += int(
            np.bincount(codes["a"].astype(int) * 25 + codes["c"], minlength=625)[
                few
            ].sum()
        )
    return float(seen / (trials * expected[few].sum()))


def test_nothing_rare_dies_out():
    """Some 3,000 rows are expected, so a twelfth is more than four deviations of
    independent draws; the seeds are fixed.
    """
    assert rare(40) == pytest.approx(1, abs=1 / 12)


def test_aiming_at_every_cell_would_favour_the_likely(monkeypatch):
    monkeypatch.setattr(code_swaps, "MIN_SWAP_EXPECTED_ROWS", 0.0)
    assert rare(10) < 0.85
