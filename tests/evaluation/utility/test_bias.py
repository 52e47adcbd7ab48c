"""Bias of counts: B by hand, and the sign pattern that projecting on non-negative
counts leaves.
"""

from __future__ import annotations

import numpy as np
import pytest

from kit.people import Counts
from understudy.evaluation.utility.bias import (
    assess_bias,
    assess_count_error,
    count_errors,
    error_imbalance,
)
from understudy.findings import FindingPart, Unavailable
from understudy.schema import Boolean, Categorical, Schema

UNITS = Schema(
    columns=(
        Categorical(
            name="unit", values=tuple(f"u{i}" for i in range(1000)), nullable=False
        ),
    )
)
BIT = Schema(columns=(Boolean(name="a", nullable=False),))


def one(*cells: int) -> Counts:
    return Counts(("a",), np.array(cells, np.int64))


def test_b_by_hand() -> None:
    assert error_imbalance(np.array([3.0, -1.0, -1.0])) == pytest.approx(
        (9 - 1) / (9 + 1)
    )
    assert error_imbalance(np.array([-2.0])) == -1
    assert error_imbalance(np.zeros(3)) is None


def projected(true: np.ndarray, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """Noisy counts projected on the non-negative ones with the true total: x = max(0, y
    − τ).
    """
    noisy = true + rng.normal(0, sigma, len(true))
    low, high = -10 * sigma, 10 * sigma
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if np.maximum(noisy - middle, 0).sum() > true.sum()
            else (low, middle)
        )
    return np.maximum(noisy - high, 0)


def test_projection_lifts_small_counts_and_lowers_large_ones() -> None:
    rng = np.random.default_rng(1)
    true = np.round(rng.lognormal(np.log(700), 2, 1000)).astype(np.int64)
    found = [
        by_size(true, np.round(projected(true, 200, rng)).astype(np.int64))
        for _ in range(30)
    ]
    lifted = {
        name: float(np.mean([each[name].facts["mean_error"] for each in found]))
        for name in found[0]
    }
    assert min(each["1 to 9"].value for each in found) > 0.9
    assert np.mean([each["10 to 49"].value for each in found]) > 0.8
    assert np.mean([each["100 to 199"].value for each in found]) > 0
    assert lifted["10 to 49"] > 20
    # 218 cells of σ = 200, thirty times: the mean of −14 has a standard error of 2.5.
    assert lifted["3000 and more"] < 0
    # Its broken twin, noise that may go below zero, shows none of it.
    rough = np.mean(
        [
            np.mean((true + rng.normal(0, 200, len(true)) - true)[true < 50])
            for _ in range(30)
        ]
    )
    assert abs(rough) < 20


def by_size(true: np.ndarray, made: np.ndarray) -> dict[str, FindingPart]:
    found = assess_bias(Counts(("unit",), true), Counts(("unit",), made), UNITS)
    return {part.name: part for part in found.parts if part.is_computed}


def test_the_consumer_sees_the_error_of_a_sample_too() -> None:
    found = assess_count_error(one(30, 70), one(40, 60), BIT)
    producer, consumer = found.parts
    assert producer.value == pytest.approx(10)
    assert consumer.value == pytest.approx(np.sqrt(100 + 100 * 0.3 * 0.7))
    assert consumer.facts["without_release"] == pytest.approx(np.sqrt(21))
    stated = assess_count_error(one(30, 70), one(40, 60), BIT, enumeration=0.1)
    assert stated.parts[1].value == pytest.approx(np.sqrt(100 + (3**2 + 7**2) / 2))


def test_counts_are_scaled_to_as_many_rows() -> None:
    true, errors = count_errors(one(30, 70), one(6, 14), BIT)
    assert true.tolist() == [30, 70]
    assert errors == pytest.approx([0, 0])
    assert assess_bias(one(30, 70), one(6, 14), BIT).value == 0


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(Unavailable, match="no rows"):
        assess_bias(one(0, 0), one(1, 1), BIT)
    with pytest.raises(Unavailable, match="share"):
        assess_count_error(one(1, 1), one(1, 1), BIT, enumeration=-1)
