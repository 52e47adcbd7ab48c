"""Which pairs are worth their noise."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from understudy.synthesizers.published.privsyn_selection import (
    NoiseLevel,
    combine_pairs,
    count_occupied_cells,
    dense_marginals,
)

GAUSSIAN, LAPLACE = 2 / 3, 1 / 2


@pytest.mark.parametrize(("power", "falls"), [(GAUSSIAN, 1 / 2), (LAPLACE, 1)])
def test_the_closed_form_is_the_smallest_error_of_any_split(power, falls):
    """Noise ∝ part^-falls; no random split of the budget has a smaller Σ n · noise than
    n^power does.
    """
    sizes = np.array([6.0, 40.0, 500.0])
    noise = NoiseLevel(2.0, power)
    best = noise.error(sum(map(noise.part, sizes)))
    parts = sizes**power / np.sum(sizes**power)
    assert np.sum(sizes * 2.0 * parts**-falls) == pytest.approx(best)
    assert noise.on_cell(40.0, sum(map(noise.part, sizes))) == pytest.approx(
        2.0 * parts[1] ** -falls
    )
    for split in np.random.default_rng(0).dirichlet(np.ones(3), 500):
        assert np.sum(sizes * 2.0 * split**-falls) >= best * (1 - 1e-9)


@pytest.mark.parametrize("power", [GAUSSIAN, LAPLACE])
@pytest.mark.parametrize("seed", range(10))
def test_greedy_choice_is_close_to_the_best_set(seed, power):
    """Against every set of eight pairs."""
    rng = np.random.default_rng(seed)
    pairs = [(f"x{i}", f"y{i}") for i in range(8)]
    losses = dict(zip(pairs, rng.exponential(200, 8), strict=True))
    sizes = dict(zip(pairs, rng.integers(4, 60, 8).astype(float), strict=True))
    noise = NoiseLevel(0.8, power)

    def cost(chosen):
        load = sum(noise.part(sizes[p]) for p in chosen)
        return noise.error(load) + sum(losses[p] for p in pairs if p not in chosen)

    best = min(cost(c) for k in range(9) for c in combinations(pairs, k))
    assert cost(dense_marginals(losses, sizes, noise)) <= 1.1 * best


def test_more_budget_buys_more_pairs():
    losses = {(f"x{i}", f"y{i}"): 20.0 * i for i in range(1, 20)}
    sizes = dict.fromkeys(losses, 30.0)
    bought = [
        len(dense_marginals(losses, sizes, NoiseLevel(unit, GAUSSIAN)))
        for unit in (100.0, 1.0, 0.1, 0.001)
    ]
    assert bought[0] == 0
    assert bought == sorted(bought)
    assert bought[-1] == 19


def test_noise_below_zero_is_no_loss():
    assert (
        dense_marginals(
            {("a", "b"): -5.0}, {("a", "b"): 4.0}, NoiseLevel(0.0, GAUSSIAN)
        )
        == []
    )


def test_cells_that_expect_nothing_do_not_count():
    rows = np.zeros(1_000)
    rows[:10] = 500.0
    sizes = {("a", "b"): 1_000.0}
    assert count_occupied_cells(
        {("a", "b"): rows}, [("a", "b")], sizes, NoiseLevel(5.0, GAUSSIAN)
    ) == {("a", "b"): 10.0}
    assert count_occupied_cells(
        {("a", "b"): rows}, [], sizes, NoiseLevel(1e9, GAUSSIAN)
    ) == {("a", "b"): 1.0}


def test_every_pair_is_covered_and_no_clique_is_too_large():
    rng = np.random.default_rng(0)
    sizes = {name: int(rng.integers(2, 12)) for name in "abcdefghij"}
    pairs = [p for p in combinations(sizes, 2) if rng.random() < 0.5]
    found = combine_pairs(pairs, sizes, 300)
    edges = {frozenset(p) for p in pairs}
    assert edges == {frozenset(p) for c in found for p in combinations(c, 2)}
    used: set[str] = set()
    for clique in (c for c in found if len(c) > 2):
        assert np.prod([sizes[n] for n in clique]) < 300
        assert len(used & set(clique)) <= 2
        used |= set(clique)
    assert any(len(c) > 2 for c in found)
    assert combine_pairs(pairs, sizes, 1) == pairs
