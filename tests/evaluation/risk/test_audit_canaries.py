"""One-run auditing: the p-value is right, a private run is never refuted, and a run
without noise is.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest

from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.evaluation.risk.audit_canaries import (
    choose_best_guesses,
    largest_refuted_epsilon,
    p_value,
    score_canaries,
)
from understudy.measurements import Identity, Measurement, Measurements, Partition


def test_the_p_value_of_randomised_response_is_exact():
    """Every coin answered rightly with e^ε/(1 + e^ε): the bound is reached, by
    enumeration.
    """
    epsilon, m = 1.3, 6
    q = exp(epsilon) / (1 + exp(epsilon))
    for right in range(m + 1):
        exact = sum(
            q ** sum(bits) * (1 - q) ** (m - sum(bits))
            for bits in product((0, 1), repeat=m)
            if sum(bits) >= right
        )
        assert p_value(right, m, m, epsilon, 0.0) == pytest.approx(exact)


def test_delta_makes_it_larger():
    assert p_value(90, 100, 1000, 1.0, 1e-5) > p_value(90, 100, 1000, 1.0, 0.0)
    assert p_value(90, 100, 1000, 1.0, 0.9) == 1


def test_what_is_refuted_has_that_p_value():
    found = largest_refuted_epsilon(480, 500, 1000, delta=1e-9)
    assert p_value(480, 500, 1000, found, 1e-9) == pytest.approx(1e-6, rel=1e-3)
    # Where a claim allows every canary to be given away once in a million, one run at
    # 1e-6 can refute nothing.
    assert largest_refuted_epsilon(480, 500, 1000, delta=1e-6) == 0
    assert largest_refuted_epsilon(255, 500, 1000, delta=0.0) == 0


def test_randomised_response_is_not_refuted_and_a_bolder_one_is():
    rng = np.random.default_rng(3)
    coins = rng.random(20_000) < 0.5
    for epsilon in (0.5, 2.0):
        lies = rng.random(len(coins)) > exp(epsilon) / (1 + exp(epsilon))
        found = choose_best_guesses(
            np.where(coins ^ lies, 1.0, 0.0) + 1e-9 * rng.random(len(coins)),
            coins,
            delta=0.0,
        )
        assert 0.6 * epsilon < found.epsilon < epsilon


def measured(
    noise: int, coins: np.ndarray, cells: np.ndarray, size: int, base: np.ndarray
) -> Measurements:
    values = base + np.bincount(cells[coins], minlength=size)
    values = values + np.random.default_rng(4).integers(-noise, noise + 1, size)
    cost = Cost(Accounting.GDP, Fraction(1))
    law, scale = Law.ROUNDED_GAUSSIAN, Fraction(max(noise, 1))
    whole = Measurement(
        ("x",), (Identity(size),), values.astype(np.int64), law, scale, cost
    )
    coarse = Measurement(
        ("x",), (Partition((0,) * size),), np.array([values.sum()]), law, scale, cost
    )
    return Measurements((whole, coarse))


def test_exact_counts_give_every_canary_away():
    rng = np.random.default_rng(2)
    coins, cells, base = (
        rng.random(300) < 0.5,
        rng.permutation(1000)[:300],
        rng.integers(0, 9, 1000),
    )
    found = score_canaries(
        measured(0, coins, cells, 1000, base), {("x",): base}, {"x": cells}, None
    )
    assert ((found > 0) == coins).all()
    assert choose_best_guesses(found, coins, delta=0.0).epsilon > 2
    blurred = score_canaries(
        measured(200, coins, cells, 1000, base), {("x",): base}, {"x": cells}, None
    )
    assert choose_best_guesses(blurred, coins, delta=0.0).epsilon == 0


def test_replaced_rows_are_told_from_those_that_replace_them():
    rng = np.random.default_rng(5)
    coins, base = rng.random(200) < 0.5, rng.integers(0, 9, 1000)
    places = rng.permutation(1000)
    inside, outside = places[:200], places[200:400]
    held = np.where(coins, inside, outside)
    exact = base + np.bincount(held, minlength=1000)
    law, cost = Law.ROUNDED_GAUSSIAN, Cost(Accounting.GDP, Fraction(1))
    told = Measurements(
        (Measurement(("x",), (Identity(1000),), exact, law, Fraction(1), cost),)
    )
    assert (
        (score_canaries(told, {("x",): base}, {"x": inside}, {"x": outside}) > 0)
        == coins
    ).all()
