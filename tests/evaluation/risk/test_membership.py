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
    apply_maps,
    area_under_roc,
    attack_by_density,
    attack_by_measurements,
    attack_by_shadows,
    density_ratios,
    likelihood_ratios,
    roc_finding,
)
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


def attack(sigma: float, seed: int, *, stated: float | None = None):
    """Everybody in a cell of their own: members' cells hold one, the control's none."""
    counts = np.repeat([1, 0], PEOPLE)
    return attack_by_measurements(
        Exact(counts),
        [measured(counts, sigma, seed, stated=stated)],
        people(0, PEOPLE),
        people(PEOPLE, 2 * PEOPLE),
        guarantee=(1.0, 1e-6),
    )


def test_the_area_is_that_of_gaussian_privacy() -> None:
    """A count with noise σ is μ = 1/σ: the best attack has area Φ(μ/√2)."""
    sigma = 2.0
    limit = norm.isf(0.5e-6)
    # The spread of an area is at most √(1/(4·min(n, m))) (Birnbaum, Klose 1957).
    tolerance = limit * np.sqrt(1 / (4 * PEOPLE))
    expected = norm.cdf(1 / sigma / np.sqrt(2))
    assert abs(attack(sigma, 1).value - expected) < tolerance
    # The broken twin draws a third of the noise it states.
    assert attack(sigma / 3, 1, stated=sigma).value - expected > tolerance


def test_no_attack_beats_the_bound_and_a_broken_release_does() -> None:
    # μ = 1/4 is (1, 1e-6)-private with room to spare; μ = 7 is not.
    for sigma, broken in ((4.0, False), (0.15, True)):
        parts = attack(sigma, 2).parts
        assert [part.facts["low"] > part.facts["bound"] for part in parts] == [
            broken,
            broken,
        ]


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
            Exact(np.zeros(2)), [], people(0, 9), people(9, 20), guarantee=None
        )
