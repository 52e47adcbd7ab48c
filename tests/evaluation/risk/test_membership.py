"""Membership: the likelihood ratio in closed form, density ratios and shadow releases
on data where the answer is known.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from kit.people import SCHEMA, made, table
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.evaluation.risk.membership import (
    attack_by_density,
    attack_by_measurements,
    attack_by_shadows,
)
from understudy.evaluation.risk.membership.density import density_ratios
from understudy.evaluation.risk.membership.likelihood import (
    apply_maps,
    likelihood_ratios,
    simulate_ratios,
)
from understudy.evaluation.risk.membership.roc import area_under_roc, roc_finding
from understudy.evaluation.risk.rates import MembershipBound
from understudy.findings import Unavailable
from understudy.measurements import Centring, Identity, Measurement, Partition
from understudy.schema import Categorical, Schema
from understudy.tables import Records

FREE = Cost(Accounting.GDP, Fraction(1))
PEOPLE = 2000
CELLS = Schema(
    columns=(
        Categorical(
            name="cell",
            values=tuple(f"v{i}" for i in range(2 * PEOPLE)),
            nullable=False,
        ),
    )
)


class Exact:
    """A table that knows its counts."""

    def __init__(self, counts: np.ndarray) -> None:
        self._counts = counts

    def counts(self, cliques: list) -> list:
        assert cliques == [("cell",)]
        return [self._counts]


def people(first: int, last: int) -> Records:
    return Records(CELLS, {"cell": np.arange(first, last).astype(np.uint16)}, {})


def measured(
    counts: np.ndarray,
    sigma: float,
    seed: int,
    *,
    law: Law = Law.DISCRETE_GAUSSIAN,
    stated: float | None = None,
) -> Measurement:
    rng = np.random.default_rng(seed)
    noise = (
        rng.laplace(0, sigma, len(counts))
        if law is Law.DISCRETE_LAPLACE
        else rng.normal(0, sigma, len(counts))
    )
    values = counts + np.round(noise).astype(np.int64)
    return Measurement(
        ("cell",),
        (Identity(len(counts)),),
        values,
        law,
        Fraction(stated or sigma),
        FREE,
    )


def attack(
    sigma: float,
    seed: int,
    *,
    counts: np.ndarray | None = None,
    law: Law = Law.DISCRETE_GAUSSIAN,
    stated: float | None = None,
    guarantee: MembershipBound | None = None,
):
    """The attack on a table of which every cell holds one person, or as counted."""
    cells = np.repeat([1, 0], PEOPLE) if counts is None else counts
    return attack_by_measurements(
        Exact(cells),
        [measured(cells, sigma, seed, law=law, stated=stated)],
        people(0, min(PEOPLE, len(cells))),
        rng=np.random.default_rng(seed),
        guarantee=guarantee or MembershipBound(1.0, 1e-6),
    )


FALSE_ALARM = norm.isf(0.5e-6)


@pytest.mark.parametrize("cells", [1, 2, 2 * PEOPLE])
def test_the_area_is_that_of_gaussian_privacy_however_many_share_a_cell(
    cells: int,
) -> None:
    """A count with noise σ is μ = 1/σ: the best attack has area Φ(μ/√2). With everybody
    in one cell, members and others scored against the same noise differ by 1/σ² for
    certain, and the area would be 1.
    """
    sigma = 2.0
    # The spread of an area is at most √(1/(4·min(n, m))) (Birnbaum, Klose 1957).
    tolerance = FALSE_ALARM * np.sqrt(1 / (4 * 20_000))
    expected = norm.cdf(1 / sigma / np.sqrt(2))
    found = attack(sigma, 1, counts=np.full(cells, 1000))
    assert abs(found.value - expected) < tolerance


@pytest.mark.parametrize("sigma", [0.8, 5.0, 30.0])
def test_a_sound_release_stays_below_its_bound(sigma: float) -> None:
    """Twenty sound releases of a table of three cells, at a bound that is tight."""
    bound = MembershipBound(50.0, 0.0, mu=1 / sigma)
    for seed in range(20):
        found = attack(
            sigma,
            seed,
            counts=np.array([500, 20, 3]),
            law=Law.ROUNDED_GAUSSIAN,
            guarantee=bound,
        )
        assert found.facts["bound"] == pytest.approx(norm.cdf(1 / sigma / np.sqrt(2)))
        deviation = (found.interval[1] - found.value) / 1.96
        assert found.value - FALSE_ALARM * deviation <= found.facts["bound"]


def test_noise_smaller_than_stated_is_noticed() -> None:
    """The broken twin draws a third of the noise it states."""
    for sigma, sound in ((2.0, True), (2.0 / 3, False)):
        found = attack(sigma, 1, stated=2.0)
        size = next(part for part in found.parts if "size of" in part.name)
        assert (size.value > size.facts["expected_low"] - 0.02) is sound


def test_no_attack_beats_the_bound_and_a_broken_release_does() -> None:
    # μ = 1/4 is (1, 1e-6)-private with room to spare; μ = 7 is not.
    for sigma, broken in ((4.0, False), (0.15, True)):
        found = attack(sigma, 2)
        parts = [part for part in found.parts if "true positives" in part.name]
        assert [part.facts["low"] > part.facts["bound"] for part in parts] == [
            broken,
            broken,
        ]
        assert (found.interval[0] > found.facts["bound"]) is broken
        odds = next(part for part in found.parts if "odds" in part.name)
        assert (odds.value > odds.facts["bound"]) is broken


@pytest.mark.parametrize("law", [Law.DISCRETE_GAUSSIAN, Law.DISCRETE_LAPLACE])
def test_simulated_scores_are_those_of_releases(law: Law) -> None:
    """Means of simulated ratios against ratios of made releases, on a table of
    contrasts and counts.
    """
    schema = Schema(
        columns=tuple(
            Categorical(name=name, values=("x", "y", "z"), nullable=False)
            for name in ("a", "b")
        )
    )
    rng = np.random.default_rng(6)
    row = Records(
        schema, {"a": np.array([1], np.uint8), "b": np.array([2], np.uint8)}, {}
    )
    maps = (Centring(3), Identity(3))
    counts = np.array([[4, 0, 1], [2, 2, 7], [0, 3, 1]])
    scale = Fraction(3)

    def released() -> Measurement:
        noise = (
            rng.laplace(0, 3, (3, 3))
            if law is Law.DISCRETE_LAPLACE
            else rng.normal(0, 3, (3, 3))
        )
        values = apply_maps(maps, counts) + np.rint(noise).astype(np.int64)
        return Measurement(("a", "b"), maps, values, law, scale, FREE)

    for inside in (True, False):
        own = [
            likelihood_ratios(released(), counts, row, inside=inside)[0]
            for _ in range(4000)
        ]
        simulated = simulate_ratios(released(), rng, inside=inside)
        error = np.sqrt(np.var(own) / len(own) + np.var(simulated) / len(simulated))
        assert abs(np.mean(own) - np.mean(simulated)) < FALSE_ALARM * error + 0.02
        assert np.std(own) == pytest.approx(np.std(simulated), rel=0.1)


def test_laplace_moves_a_likelihood_by_at_most_its_epsilon() -> None:
    counts = np.repeat([1, 0], PEOPLE)
    measurement = measured(counts, 2.0, 3, law=Law.DISCRETE_LAPLACE)
    found = likelihood_ratios(measurement, counts, people(0, PEOPLE), inside=True)
    assert np.abs(found).max() == pytest.approx(0.5)


def test_a_ratio_by_hand_on_every_kind_of_axis() -> None:
    schema = Schema(
        columns=tuple(
            Categorical(name=name, values=("x", "y", "z"), nullable=False)
            for name in ("a", "b")
        )
    )
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 5, (3, 3))
    rows = Records(
        schema, {"a": np.array([0, 2], np.uint8), "b": np.array([1, 1], np.uint8)}, {}
    )
    for maps in (
        (Identity(3), Identity(3)),
        (Partition((0, 0, 1)), Identity(3)),
        (Centring(3), Identity(3)),
        (Centring(3), Centring(3)),
    ):
        exact = apply_maps(maps, counts)
        assert np.array_equal(
            exact, np.einsum("ia,jb,ab->ij", maps[0].matrix(), maps[1].matrix(), counts)
        )
        values = exact + rng.integers(-3, 4, exact.shape)
        measurement = Measurement(
            ("a", "b"), maps, values, Law.DISCRETE_GAUSSIAN, Fraction(2), FREE
        )
        for inside in (True, False):
            found = likelihood_ratios(measurement, counts, rows, inside=inside)
            for i in range(2):
                alone = np.zeros((3, 3), np.int64)
                alone[rows.codes["a"][i], rows.codes["b"][i]] = 1
                with_, without = (
                    (counts, counts - alone) if inside else (counts + alone, counts)
                )
                logs = [
                    -((values - apply_maps(maps, c)) ** 2).sum() / 8
                    for c in (with_, without)
                ]
                assert found[i] == pytest.approx(logs[0] - logs[1])


def test_a_copy_is_denser_at_its_own_people_and_fresh_rows_are_not() -> None:
    members, holdout = table(made(500, 1)).records(), table(made(1000, 2)).records()
    names = [("age", "income", "sex")]
    rng = np.random.default_rng(1)
    copy = attack_by_density(SCHEMA, members, members, holdout, cliques=names, rng=rng)
    assert copy.interval[0] > 0.6
    areas = [
        attack_by_density(
            SCHEMA,
            table(made(500, s)).records(),
            members,
            holdout,
            cliques=names,
            rng=rng,
        ).value
        for s in range(3, 9)
    ]
    assert abs(np.mean(areas) - 0.5) < 0.05
    assert (
        attack_by_density(SCHEMA, members, members, holdout, rng=rng).facts["cliques"]
        == 15
    )


def test_strangers_with_rare_values_are_strangers_whatever_the_sizes() -> None:
    """Cells that neither table has say nothing, however many rows each has; the broken
    twin adds half a row instead and is biased.
    """
    letters = Schema(
        columns=(
            Categorical(
                name="a", values=tuple(f"v{i}" for i in range(400)), nullable=False
            ),
        )
    )
    rng = np.random.default_rng(4)

    def drawn(n: int) -> Records:
        return Records(letters, {"a": rng.integers(0, 400, n).astype(np.uint16)}, {})

    synthetic, reference = drawn(600), drawn(150)
    people_ = Records(letters, {"a": np.arange(400).astype(np.uint16)}, {})
    found = density_ratios(letters, synthetic, reference, people_, [("a",)])
    nowhere = ~np.isin(np.arange(400), [*synthetic.codes["a"], *reference.codes["a"]])
    assert nowhere.any()
    assert found[nowhere] == pytest.approx(0)
    assert np.log(0.5 / 600) - np.log(0.5 / 150) < -1


def test_shadows_tell_a_copy_and_not_a_release_that_ignores_its_rows() -> None:
    schema = Schema(
        columns=tuple(
            Categorical(name=name, values=tuple("pqrst"), nullable=False)
            for name in "abc"
        )
    )
    rng = np.random.default_rng(2)
    rows = {name: rng.integers(0, 4, 60).astype(np.uint8) for name in "abc"}
    for name in "abc":
        rows[name][0] = 4  # the target alone has the last value

    def resampled(codes):
        drawn = rng.integers(0, len(codes["a"]), 200)
        return {name: column[drawn] for name, column in codes.items()}

    def ignorant(codes):
        return {name: rng.integers(0, 5, 200).astype(np.uint8) for name in codes}

    told = attack_by_shadows(rows, 0, resampled, schema=schema, rng=rng, shadows=60)
    assert told.interval[0] > 0.8
    quiet = attack_by_shadows(rows, 0, ignorant, schema=schema, rng=rng, shadows=60)
    assert quiet.interval[0] < 0.5 + 0.1
    with pytest.raises(Unavailable, match="eight"):
        attack_by_shadows(rows, 0, ignorant, schema=schema, rng=rng, shadows=4)


def test_an_area_against_all_pairs_and_its_interval_covers() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 6, 30).astype(float), rng.integers(0, 6, 20).astype(float)
    assert area_under_roc(a, b) == pytest.approx(
        np.mean([(x > y) + (x == y) / 2 for x in a for y in b])
    )
    held = 0
    for _ in range(300):
        found = roc_finding(
            "x",
            "X",
            rng.normal(1, 1, 80),
            rng.normal(0, 1, 80),
            guarantee=None,
            facts={},
            note="",
        )
        held += found.interval[0] <= norm.cdf(1 / np.sqrt(2)) <= found.interval[1]
    assert held > 260  # of 300; at 95 % fewer has a chance under 1e-6
    assert "100 people" in found.parts[0].reason


def test_what_it_takes() -> None:
    rows = table(made(3, 1)).records()
    with pytest.raises(Unavailable, match="holdout"):
        attack_by_density(SCHEMA, rows, rows, rows, rng=np.random.default_rng(1))
    with pytest.raises(Unavailable, match="no noisy measurement"):
        attack_by_measurements(
            Exact(np.zeros(2)),
            [],
            people(0, 9),
            rng=np.random.default_rng(1),
            guarantee=None,
        )
