"""Means and distributions of numbers."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from kit.local.enumeration import enumerate_law
from kit.local.plans import small_plan
from understudy.local import plan_collection
from understudy.local.collector import Collector, simulate_reports
from understudy.local.numeric import (
    bound_windows,
    estimate_distribution,
    estimate_mean,
    mean_variance,
    window_law,
)
from understudy_client import draw_answer


@pytest.mark.parametrize("mechanism", ["duchi", "piecewise"])
@pytest.mark.parametrize("number", ["0", "1", "10/3", "9.75", "10"])
def test_one_report_is_unbiased_with_the_stated_variance(
    mechanism: str, number: str
) -> None:
    """Exactly: all answers with their probabilities, each decoded by the server."""
    plan = small_plan(mechanism)
    law = enumerate_law(partial(draw_answer, plan, number))
    size = 2 if mechanism == "duchi" else window_law(plan).cells
    decoded = {}
    for (answer,) in law:
        counts = np.zeros(size, dtype=np.int64)
        counts[answer] = 1
        decoded[answer] = estimate_mean(plan, counts, 0.95).mean
    mean = sum(float(weight) * decoded[answer] for (answer,), weight in law.items())
    spread = sum(float(w) * (decoded[a] - mean) ** 2 for (a,), w in law.items())
    true = float(Fraction(number))
    assert mean == pytest.approx(true, abs=1e-9)
    assert spread == pytest.approx(100 * mean_variance(plan, true / 10), rel=1e-9)


def test_square_waves_are_unbiased_for_middles_of_levels() -> None:
    plan = small_plan("square_wave")
    for number in ("1", "5", "9"):
        law = enumerate_law(partial(draw_answer, plan, number))
        counts = np.zeros(window_law(plan).cells)
        for (answer,), weight in law.items():
            counts[answer] = float(weight)
        # The decoder is linear in the counts: these stand for infinitely many reports.
        found = estimate_mean(plan, np.rint(counts * 1e15).astype(np.int64), 0.95)
        assert found.mean == pytest.approx(float(number), abs=1e-6)


@pytest.mark.parametrize("mechanism", ["duchi", "piecewise", "square_wave"])
def test_the_interval_of_a_mean_covers(mechanism: str) -> None:
    rng = np.random.default_rng(8)
    plan = plan_collection("x", bounds=(0, 10), epsilon=1, mechanism=mechanism)
    truth = 3.75
    inside = 0
    for _ in range(300):
        # Numbers 2.5 and 5, equally often: the middle of no level is missed.
        if mechanism == "duchi":
            least = float(1 / (plan.ratio + 1))
            bit = least + 0.375 * (1 - 2 * least)
            ones = rng.binomial(500, bit)
            counts = np.array([500 - ones, ones])
        else:
            law = window_law(plan)
            matrix = law.matrix()
            first = (
                0.375 * law.outside if mechanism == "piecewise" else 0.375 * 64 - 0.5
            )
            low = int(first)
            mixed = (1 - first + low) * matrix[:, low] + (first - low) * matrix[
                :, low + 1
            ]
            counts = rng.multinomial(500, mixed)
        found = estimate_mean(plan, counts, 0.95)
        inside += found.low <= truth <= found.high
    assert 0.91 < inside / 300 < 0.99


@pytest.mark.parametrize("mechanism", ["piecewise", "square_wave"])
@pytest.mark.parametrize("epsilon", [1, 6])
@pytest.mark.parametrize("places", [(0.0,), (0.5,), (0.0, 1.0), (0.0, 0.0, 0.0, 1.0)])
def test_intervals_of_a_few_numbers_cover(
    mechanism: str, epsilon: int, places: tuple[float, ...]
) -> None:
    """Exactly, by the law of the sum of the reported cells, for numbers drawn from these
    places. An interval from the spread of one report has no width at all.
    """
    chosen = plan_collection("x", bounds=(0, 1), epsilon=epsilon, mechanism=mechanism)
    sizes = {"window": 3, "outside": round(3 * float(chosen.root_ratio(2)))}
    if mechanism == "square_wave":
        sizes = {"levels": 8, "reach": 2 if epsilon == 1 else 1}
    law = window_law(replace(chosen, sizes=sizes))
    firsts = np.array([round(place * law.outside) for place in places])
    report = law.columns(firsts).mean(axis=1)
    total = np.array([1.0])
    for n in range(1, 41):
        total = np.convolve(total, report)
        if n not in (1, 2, 5, 40):
            continue
        covered = 0.0
        for cells in np.flatnonzero(total > 1e-7):
            low, high = bound_windows(law, cells / n, n, 0.95)
            covered += total[cells] * (low <= firsts.mean() + 1e-9 <= high + 2e-9)
        assert covered >= 0.95


def test_the_error_of_a_large_epsilon_takes_no_memory() -> None:
    """All windows of all cells were listed to use two: 15 GB at ε = 20."""
    plan = plan_collection("x", bounds=(0, 1), epsilon=9, mechanism="piecewise")
    tracemalloc.start()
    mean_variance(plan, 0.5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


@pytest.mark.parametrize("mechanism", ["duchi", "piecewise", "square_wave"])
def test_real_clients_are_averaged(mechanism: str) -> None:
    plan = plan_collection("x", bounds=(0, 10), epsilon=2, mechanism=mechanism)
    collector = Collector(plan)
    collector.add(simulate_reports(plan, [2] * 600 + [9] * 400))
    found = collector.estimate(level=1 - 1e-8)
    interval = found.mean if mechanism == "square_wave" else found
    # A level of the square wave is 10/64 wide, and its middle stands for it.
    assert interval.low - 0.08 < 4.8 < interval.high + 0.08


def test_expectation_maximisation_finds_two_humps() -> None:
    rng = np.random.default_rng(9)
    plan = plan_collection("x", bounds=(0, 64), epsilon=3, statistic="distribution")
    truth = np.zeros(64)
    truth[10:16] = 0.6 / 6
    truth[40:46] = 0.4 / 6
    counts = rng.multinomial(50_000, window_law(plan).matrix() @ truth)
    found = estimate_distribution(plan, counts, 0.95)
    assert found.shares.sum() == pytest.approx(1)
    # Wasserstein distance, in levels; a uniform guess is more than eight away.
    assert np.abs(np.cumsum(found.shares - truth)).sum() < 1.5
    assert found.quantile(0.3) == pytest.approx(13, abs=1.5)
    assert np.abs(np.cumsum(1 / 64 - truth)).sum() > 8
