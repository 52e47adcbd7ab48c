"""Client and server together, exactly: what each report supports, and how often."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import understudy_client
from kit.local.enumeration import enumerate_law
from kit.local.plans import small_plan
from understudy.local import counting, reports
from understudy.local.choice import plan_collection
from understudy.local.collector import Collector
from understudy.local.support import PURE_PROTOCOLS, support_probabilities
from understudy_client import CollectionPlan, draw_answer, write_report

ENUMERATED = sorted(set(PURE_PROTOCOLS) - {"olh"})
"""Optimal local hashing draws a function from 2^62: it has a test of its own."""


def supports(plan: CollectionPlan, value: str) -> list[Fraction]:
    """With which probability a client with this value supports each value."""
    expected = [Fraction(0)] * len(plan.values)
    for answer, weight in enumerate_law(partial(draw_answer, plan, value)).items():
        collector = Collector(plan)
        assert collector.add([write_report(plan, list(answer))]) == 1
        for i, one in enumerate(collector.count_support()):
            expected[i] += int(one) * weight
    return expected


@pytest.mark.parametrize("mechanism", ENUMERATED)
def test_estimates_are_unbiased_and_their_variance_is_the_formula(
    mechanism: str,
) -> None:
    plan = small_plan(mechanism)
    support = support_probabilities(plan)
    for i, value in enumerate(plan.values):
        expected = supports(plan, value)
        assert expected.pop(i) == support.p
        assert set(expected) == {support.q}


def test_hashing_supports_as_often_as_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all functions of a smaller prime; and what the prime leaves out."""
    for module in (understudy_client, counting, reports):
        monkeypatch.setattr(module, "HASH_PRIME", 11)
    plan = small_plan("olh")
    p = support_probabilities(plan).p
    for i, value in enumerate(plan.values):
        expected = supports(plan, value)
        assert expected.pop(i) == p
        assert set(expected) == {share_bucket(11, 3, p)}
    monkeypatch.undo()
    # The stated ⅓ is that of the real prime, up to 2^-60.
    assert share_bucket(11, 3, p) != Fraction(1, 3)
    rest = share_bucket(understudy_client.HASH_PRIME, 3, p) - Fraction(1, 3)
    assert abs(rest) < Fraction(1, 1 << 60)


def share_bucket(prime: int, buckets: int, p: Fraction) -> Fraction:
    """With which probability a report supports another value: the hashed pair of two
    values is uniform on all pairs of numbers below the prime.
    """
    sizes = [len(range(bucket, prime, buckets)) for bucket in range(buckets)]
    collide = Fraction(sum(size**2 for size in sizes), prime**2)
    return collide * p + (1 - collide) * (1 - p) / (buckets - 1)


@pytest.mark.parametrize("mechanism", sorted(PURE_PROTOCOLS))
def test_reports_of_real_clients_are_decoded_within_the_noise(mechanism: str) -> None:
    plan = small_plan(mechanism, Fraction(2))
    shares = np.array([0.5, 0.3, 0.2, 0.0])[: len(plan.values)]
    shares = shares / shares.sum()
    n = 2_000
    counts = np.rint(shares * n).astype(int)
    values = np.repeat(plan.values, counts)
    collector = Collector(plan)
    collector.add(write_report(plan, draw_answer(plan, value)) for value in values)
    support = support_probabilities(plan)
    table = collector.estimate()
    for i, share in enumerate(counts / n):
        # 5.5 standard errors: 26 estimates, false alarm 1e-6.
        reach = 5.5 * support.noise_variance(share, n) ** 0.5
        assert abs(table.shares[i] - share) < reach


def test_the_examples_of_the_literature() -> None:
    warner = support_probabilities(small_plan("two_coin"))
    # p = 2A - ½ and 4A(1 - A)/n.
    assert warner.estimate_share(0.4) == pytest.approx(2 * 0.4 - 0.5)
    assert warner.variance(0.3, 1000) == pytest.approx(9.6e-4)


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "printed"),
    [
        ("krr", 1, 22.5),
        ("oue", 1, 3.71),
        ("olh", 1, 3.73),
        ("subset", 1, 3.57),
        ("hadamard", 1, 4.68),
        ("krr", 3, 0.290),
        ("oue", 3, 0.250),
        ("olh", 3, 0.250),
        ("subset", 3, 0.213),
        ("hadamard", 3, 1.22),
    ],
)
def test_variances_of_64_values(mechanism: str, epsilon: int, printed: float) -> None:
    """n · Var of a share, as in the papers' formulas."""
    plan = plan_collection("t", values=range(64), epsilon=epsilon, mechanism=mechanism)
    variance = support_probabilities(plan).variance(1 / 64, 1)
    assert variance == pytest.approx(printed, rel=0.02)
