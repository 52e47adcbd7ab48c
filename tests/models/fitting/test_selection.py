"""In which way marginals are best heard together."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from understudy.measurements import Centring, Identity
from understudy.models.estimates.loss_terms import Term
from understudy.models.fitting.selection import (
    MAX_FISSION_CELL_TERMS,
    MAX_FOREST_HIDDEN_SHARE,
    MIN_HIDDEN_SHARE,
    choose_fit_settings,
    share_hidden_by_noise,
    split_by_fission,
)
from understudy.models.fitting.staged import FitSettings, fit_in_stages
from understudy.models.inference.calibration import Calibration
from understudy.models.inference.junction_tree import JunctionTree

N = 20_000


class World:
    """Columns, all pairs of them with noise, and a model to fit to those."""

    def __init__(
        self, codes: np.ndarray, size: int, deviation: float, seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        names = "abcdef"[: len(codes)]
        self.columns = {
            n: np.bincount(c, minlength=size).astype(float)
            for n, c in zip(names, codes, strict=True)
        }
        self.true = {}
        for a, b in combinations(range(len(codes)), 2):
            flat = np.bincount(codes[a] * size + codes[b], minlength=size * size)
            self.true[names[a], names[b]] = flat.reshape(size, size).astype(float)
        self.terms = [
            Term((n,), (Identity(size),), c, 25.0) for n, c in self.columns.items()
        ] + [
            Term(
                pair,
                (Identity(size),) * 2,
                t + rng.normal(0, deviation, t.shape),
                deviation**2,
            )
            for pair, t in self.true.items()
        ]
        sizes = dict.fromkeys(names, size)
        cliques = [tuple(names), *self.true, *((n,) for n in names)]
        self.oracle = Calibration(JunctionTree.of(cliques, sizes), cliques, sizes)
        self.base = {
            (n,): np.log(np.maximum(c, 0.5) / N) for n, c in self.columns.items()
        }

    def best(self) -> FitSettings:
        return self.best_of(self.terms)

    def best_of(self, terms: list[Term], cells: int = 1) -> FitSettings:
        return choose_fit_settings(
            self.oracle, terms, self.columns, N, base=self.base, cells=cells
        )

    def off(self, way: FitSettings) -> float:
        found = fit_in_stages(
            self.oracle,
            self.terms,
            self.columns,
            N,
            base=self.base,
            warm={},
            tolerance=1e-2,
            way=way,
        )
        shares, _ = self.oracle.run(found.potentials)
        return float(
            np.mean(
                [np.abs(N * shares[pair] - t).sum() for pair, t in self.true.items()]
            )
        )


def alike(seed: int) -> np.ndarray:
    """A hidden kind of row decides all columns: every pair says much the same."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(4, N)
    return np.stack(
        [
            np.where(
                rng.random(N) < 0.7, rng.integers(0, 5, 4)[kind], rng.integers(0, 5, N)
            )
            for _ in range(6)
        ]
    )


def chained(seed: int) -> np.ndarray:
    """Each column follows the one before it."""
    rng = np.random.default_rng(seed)
    made = [rng.integers(0, 5, N)]
    for _ in range(5):
        made.append(np.where(rng.random(N) < 0.6, made[-1], rng.integers(0, 5, N)))
    return np.stack(made)


def test_the_way_that_is_taken_is_nearer_where_all_columns_say_the_same():
    """Six columns that one hidden thing decides: whatever is chosen over the usual way
    comes nearer to the truth, in the mean.
    """
    worlds = [World(alike(seed), 5, 150.0, seed) for seed in range(8)]
    chosen = [world.best() for world in worlds]
    assert any(way != FitSettings() for way in chosen)
    usual, taken = (
        float(
            np.mean([world.off(way) for world, way in zip(worlds, ways, strict=True)])
        )
        for ways in ([FitSettings()] * len(worlds), chosen)
    )
    assert taken < 0.97 * usual


def test_a_chain_keeps_its_forest():
    """Its forest explains everything: a fit of all pairs at once follows their noise,
    and less trust brings nothing.
    """
    worlds = [World(chained(seed), 5, 300.0, seed) for seed in range(4)]
    chosen = [world.best() for world in worlds]
    assert sum(way.forest for way in chosen) >= 3
    usual, taken, at_once = (
        float(
            np.mean([world.off(way) for world, way in zip(worlds, ways, strict=True)])
        )
        for ways in ([FitSettings()] * 4, chosen, [FitSettings(forest=False)] * 4)
    )
    assert taken < 1.03 * usual < 1.03 * at_once


def test_nothing_is_tried_where_noise_hides_nothing_or_one_marginal_is_all(
    monkeypatch: pytest.MonkeyPatch,
):
    clear = World(alike(0), 5, 5.0, 0)
    assert (
        share_hidden_by_noise(
            [t for t in clear.terms if len(t.clique) > 1], clear.columns, N
        )
        < MIN_HIDDEN_SHARE
    )

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a fit was made for nothing")

    monkeypatch.setattr("understudy.models.fitting.selection.fit_in_stages", fail)
    assert clear.best() == FitSettings()
    blurred = World(alike(0), 5, 300.0, 0)
    one = blurred.terms[:7]
    assert blurred.best_of(one) == FitSettings()
    with pytest.raises(AssertionError, match="for nothing"):
        blurred.best()


class Skipped(World):
    """A questionnaire that skips what does not apply: most cells are empty, and what
    triples add is in a few of them.
    """

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        made = [rng.integers(0, 4, N)]
        for _ in range(4):
            made.append(rng.choice(4, N, p=[0.55, 0.25, 0.15, 0.05]))
            made[-1][(made[-2] == 0) | (made[0] < 2)] = 0
        super().__init__(np.stack(made), 4, 5.0, seed)
        places = {name: i for i, name in enumerate(self.columns)}
        self.true = {}
        for clique in combinations(places, 3):
            self.true[clique] = np.zeros((4, 4, 4))
            np.add.at(
                self.true[clique], tuple(made[places[name]] for name in clique), 1
            )
        self.terms += [
            Term(clique, (Identity(4),) * 3, t + rng.normal(0, 5.0, t.shape), 25.0)
            for clique, t in self.true.items()
        ]
        sizes = dict.fromkeys(places, 4)
        cliques = [tuple(places), *(t.clique for t in self.terms)]
        self.oracle = Calibration(JunctionTree.of(cliques, sizes), cliques, sizes)


def test_triples_are_believed_more_where_that_serves_them():
    """Told by the answers alone; a way that is taken comes nearer to the truth, and
    larger trees are not tried.
    """
    worlds = [Skipped(seed) for seed in range(2)]
    chosen = [world.best() for world in worlds]
    assert all(way.trust > 1 for way in chosen)
    usual, taken = (
        float(
            np.mean([world.off(way) for world, way in zip(worlds, ways, strict=True)])
        )
        for ways in ([FitSettings()] * len(worlds), chosen)
    )
    assert taken < 0.9 * usual
    assert all(
        world.best_of(world.terms, cells=int(MAX_FISSION_CELL_TERMS)).trust <= 1
        for world in worlds
    )


def test_the_two_halves_have_the_truth_in_common_and_nothing_else():
    """The noise of both is twice as large, and they are not correlated; halves made by
    less noise than there is would be.
    """
    rng = np.random.default_rng(9)
    numbers, deviation = 40_000, 7.0
    noise = rng.normal(0, deviation, (200, 200))
    shown, hidden = split_by_fission(
        [Term(("a", "b"), (Identity(200),) * 2, 50 + noise, deviation**2)]
    )
    assert shown[0].variance == hidden[0].variance == 2 * deviation**2
    one, two = (h.values - 50 for h in (shown[0], hidden[0]))
    limit = norm.isf(1e-6 / 2) / math.sqrt(numbers)
    assert abs(np.corrcoef(one.ravel(), two.ravel())[0, 1]) < limit
    for half in (one, two):
        assert abs(half.var() / (2 * deviation**2) - 1) < limit * math.sqrt(2)
    less = 0.8 * (one - two) / 2
    assert (
        abs(np.corrcoef((noise + less).ravel(), (noise - less).ravel())[0, 1]) > limit
    )


def test_single_columns_are_shown_as_they_are_and_differences_are_split_too():
    column = Term(("a",), (Identity(2),), np.array([60.0, 40.0]), 4.0)
    difference = Term(
        ("a", "b"), (Centring(2),) * 2, np.array([[9.0, -9.0], [-9.0, 9.0]]), 16.0
    )
    shown, hidden = split_by_fission([column, difference])
    assert shown[0] is column
    assert [t.clique for t in hidden] == [("a", "b")]
    assert np.allclose((shown[1].values + hidden[0].values) / 2, difference.values)
    again = split_by_fission([column, difference])
    assert np.array_equal(
        again[0][1].values, shown[1].values
    )  # the same answers give the same model


def test_no_forest_comes_first_where_noise_hides_most_of_what_pairs_say():
    """Deviations of 1,200 rows on counts of 800: all pairs are taken at once, and that
    is nearer in the mean than after a forest.
    """
    worlds = [World(alike(seed), 5, 1200.0, seed) for seed in range(10)]
    for world in worlds:
        assert (
            share_hidden_by_noise(
                [t for t in world.terms if len(t.clique) > 1], world.columns, N
            )
            > MAX_FOREST_HIDDEN_SHARE
        )
    assert not any(world.best().forest for world in worlds)
    once, after = (
        float(np.mean([world.off(FitSettings(forest=forest)) for world in worlds]))
        for forest in (False, True)
    )
    assert once < after
