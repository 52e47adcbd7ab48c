"""Sketches: unbiased, with the variance of the formula and intervals that cover."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from kit.local.enumeration import enumerate_law
from kit.local.plans import small_plan
from understudy.local.collector import Collector, simulate_reports
from understudy.local.sketches import estimate_sketch, sketch_variance
from understudy_client import (
    Answer,
    CollectionPlan,
    draw_answer,
    hadamard_bit,
    read_bits,
)

SHARES = np.array([0.5, 0.3, 0.15, 0.05])
N = 1_000


def simulate_counts(
    plan: CollectionPlan, rng: np.random.Generator, clients: int = N
) -> np.ndarray:
    """The counts of some clients, drawn at once."""
    rows, width = plan.sizes["rows"], plan.sizes["width"]
    held = np.zeros((rows, width), dtype=np.int64)
    held_by = np.rint(SHARES * clients).astype(int)
    for value, count in zip(plan.values, held_by, strict=True):
        for row, members in enumerate(rng.multinomial(count, np.full(rows, 1 / rows))):
            held[row, plan.hash_value(value, row, width)] += members
    if plan.mechanism == "cms":
        root = float(plan.root_ratio(2))
        keep = root / (root + 1)
        total = held.sum(axis=1, keepdims=True)
        ones = rng.binomial(held, keep) + rng.binomial(total - held, 1 - keep)
        return np.concatenate([ones, total], axis=1)
    keep = float(plan.ratio / (plan.ratio + 1))
    counts = np.zeros((rows, width, 2), dtype=np.int64)
    for (row, place), members in np.ndenumerate(held):
        for column, drawn in enumerate(
            rng.multinomial(members, np.full(width, 1 / width))
        ):
            true = rng.binomial(drawn, keep)
            bit = hadamard_bit(column, place)
            counts[row, column, bit] += true
            counts[row, column, 1 - bit] += drawn - true
    return counts


@pytest.mark.parametrize(("mechanism", "width"), [("cms", 3), ("hcms", 4)])
def test_mean_and_variance_are_the_formulas_exactly(
    mechanism: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over every report of every client, under every pair of hash functions."""
    rows, values = 2, ("a", "b", "c")
    plan = replace(
        small_plan(mechanism), values=values, sizes={"rows": rows, "width": width}
    )
    hashes: dict[tuple[str, int], int] = {}
    monkeypatch.setattr(
        CollectionPlan, "hash_value", lambda plan, value, row, width: hashes[value, row]
    )
    counts = np.array([5, 3, 2])
    respondents, shares = counts.sum(), counts / counts.sum()
    bias, error = np.zeros(3), np.zeros(3)
    # All places are alike, so that the first value may stay in its own.
    drawn = list(product(range(width), repeat=rows * 2))
    for places in drawn:
        hashes.update(zip(product(values, range(rows)), (0, 0, *places), strict=True))
        means, variances = describe_single_reports(plan)
        # Respondents are independent, and the estimate is the mean of their reports.
        found = shares @ means
        bias += (found - shares) / len(drawn)
        error += ((found - shares) ** 2 + shares @ variances / respondents) / len(drawn)
    assert bias == pytest.approx(np.zeros(3), abs=1e-12)
    theory = sketch_variance(plan, shares, respondents)
    assert error == pytest.approx(theory, rel=1e-9)


def describe_single_reports(plan: CollectionPlan) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of what one report says about each value (columns), for each
    true value (rows).
    """
    means, variances = [], []
    for value in plan.values:
        law = enumerate_law(partial(draw_answer, plan, value))
        weights = np.array([float(weight) for weight in law.values()])
        said = np.array([decode_report(plan, list(answer)) for answer in law])
        means.append(weights @ said)
        variances.append(weights @ (said - means[-1]) ** 2)
    return np.array(means), np.array(variances)


def decode_report(plan: CollectionPlan, answer: Answer) -> np.ndarray:
    """The server's estimate from one report."""
    rows, width = plan.sizes["rows"], plan.sizes["width"]
    if plan.mechanism == "hcms":
        counts = np.zeros((rows, width, 2), dtype=np.int64)
        counts[tuple(map(int, answer))] = 1
    else:
        counts = np.zeros((rows, width + 1), dtype=np.int64)
        counts[int(answer[0]), [*read_bits(str(answer[1])), width]] = 1
    return estimate_sketch(plan, counts, plan.values, 0.95).shares


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["cms", "hcms"])
def test_the_variance_is_within_two_percent(mechanism: str) -> None:
    rng = np.random.default_rng(12)
    plan = replace(small_plan(mechanism), sizes={"rows": 8, "width": 4})
    squares = []
    for run in range(10_000):
        seeded = replace(plan, seed=str(run))
        table = estimate_sketch(seeded, simulate_counts(seeded, rng), plan.values, 0.95)
        squares.append((table.shares - SHARES) ** 2)
    theory = sketch_variance(plan, SHARES, N)
    # The relative error of each mean of squares is √(2/10,000) = 1.4 %, and less of
    # their mean over four values; the seed is fixed.
    assert (np.mean(squares, axis=0) / theory).mean() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("mechanism", ["cms", "hcms"])
def test_mean_variance_and_intervals(mechanism: str) -> None:
    rng = np.random.default_rng(11)
    plan = replace(small_plan(mechanism), sizes={"rows": 8, "width": 4})
    runs = 400
    found, inside = [], []
    for run in range(runs):
        # Other hash functions in every run: the variance is over them too.
        seeded = replace(plan, seed=str(run))
        table = estimate_sketch(seeded, simulate_counts(seeded, rng), plan.values, 0.95)
        found.append(table.shares)
        inside.append((table.low <= SHARES) & (table.high >= SHARES))
    theory = sketch_variance(plan, SHARES, N)
    errors = np.array(found) - SHARES
    assert np.all(np.abs(errors.mean(axis=0)) < 5 * np.sqrt(theory / runs))
    # Four values of 400 runs: the relative error of this mean of squares is about 3.5 %.
    assert (errors**2 / theory).mean() == pytest.approx(1, abs=0.15)
    assert 0.92 < np.mean(inside) < 0.99


def test_intervals_of_six_clients_cover() -> None:
    """Most rows of the sketch are empty: their spread alone missed 40 of 100 times."""
    rng = np.random.default_rng(13)
    sizes = {"rows": 64, "width": 32}
    plan = replace(small_plan("cms"), epsilon=Fraction(4), sizes=sizes)
    inside = []
    for run in range(200):
        seeded = replace(plan, seed=str(run))
        counts = simulate_counts(seeded, rng, 6)
        table = estimate_sketch(seeded, counts, ("a", "nobody's"), 0.95)
        inside.append((table.low <= [0.5, 0]) & (table.high >= [0.5, 0]))
    # At .95, fewer than 165 of 200 happens less than once in a hundred million.
    assert np.min(np.sum(inside, axis=0)) >= 165


@pytest.mark.parametrize("mechanism", ["cms", "hcms"])
def test_real_clients_are_decoded(mechanism: str) -> None:
    plan = replace(small_plan(mechanism), sizes={"rows": 8, "width": 16})
    counts = np.rint(SHARES * N).astype(int)
    collector = Collector(plan)
    collector.add(simulate_reports(plan, np.repeat(plan.values, counts)))
    # The hash functions of a fixed seed are those of one draw: their collisions are in
    # the variance, and 6 standard errors bound four values at 1e-8 each.
    reach = 6 * np.sqrt(sketch_variance(plan, SHARES, N))
    assert np.all(np.abs(collector.estimate().shares - SHARES) < reach)


def test_another_value_has_no_share() -> None:
    plan = replace(small_plan("cms"), values=(), sizes={"rows": 16, "width": 64})
    collector = Collector(plan)
    collector.add(simulate_reports(plan, ["😀"] * 400))
    table = collector.estimate(candidates=["😀", "🎉"], level=1 - 1e-7)
    assert table.low[0] < 1 < table.high[0]
    assert table.low[1] < 0 < table.high[1]
