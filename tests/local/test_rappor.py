"""RAPPOR: decoded without bias, with intervals that cover."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from kit.local.plans import small_plan
from understudy.errors import Refused
from understudy.local.collector import Collector, simulate_reports
from understudy.local.rappor import bit_probabilities, design_matrix, estimate_rappor
from understudy_client import OS_COINS, read_bits, repeat_rappor, write_bits

SHARES = np.array([0.5, 0.3, 0.15, 0.05])
N = 5_000


def test_the_mean_and_the_interval() -> None:
    rng = np.random.default_rng(5)
    plan = replace(small_plan("rappor"), sizes={"rows": 8, "width": 32, "hashes": 2})
    zero, one = bit_probabilities(plan)
    design = design_matrix(plan, plan.values).reshape(8, 32, 4)
    found, inside = [], []
    for _ in range(300):
        members = np.array(
            [rng.multinomial(round(s * N), np.full(8, 1 / 8)) for s in SHARES]
        )
        held = np.einsum("jbv,vj->jb", design, members).astype(int)
        total = members.sum(axis=0)[:, None]
        ones = rng.binomial(held, one) + rng.binomial(total - held, zero)
        table = estimate_rappor(
            plan, np.concatenate([ones, total], axis=1), plan.values, 0.95
        )
        found.append(table.shares)
        inside.append((table.low <= SHARES) & (table.high >= SHARES))
    spread = np.std(found, axis=0)
    assert np.all(np.abs(np.mean(found, axis=0) - SHARES) < 5 * spread / 300**0.5)
    assert 0.93 < np.mean(inside) < 0.99


def test_real_clients_have_the_stated_probabilities() -> None:
    plan = replace(
        small_plan("rappor"),
        epsilon=Fraction(6),
        sizes={"rows": 4, "width": 32, "hashes": 2},
    )
    collector = Collector(plan)
    collector.add(simulate_reports(plan, ["a"] * 1_200))
    table = collector.estimate(level=1 - 1e-7)
    assert table.low[0] < 1 < table.high[0]
    assert np.all(table.low[1:] < 0)


def test_a_permanent_one_is_reported_as_often_as_a_zero_is_not() -> None:
    plan = small_plan("rappor")
    drawn = [
        repeat_rappor(plan, [0, write_bits([0], 6)], OS_COINS) for _ in range(2_000)
    ]
    ones = [read_bits(str(bits)) for _, bits in drawn]
    # Standard deviation .011 at most: 6 of them.
    assert abs(sum(0 in places for places in ones) / 2_000 - 3 / 4) < 0.067
    assert abs(sum(1 in places for places in ones) / 2_000 - 1 / 2) < 0.067


def test_too_many_candidates_are_refused() -> None:
    plan = replace(small_plan("rappor"), sizes={"rows": 1, "width": 4, "hashes": 1})
    collector = Collector(plan)
    collector.add(simulate_reports(plan, ["a"]))
    with pytest.raises(Refused, match="more candidates"):
        collector.estimate(candidates=[f"v{i}" for i in range(9)])
