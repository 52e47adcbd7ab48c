"""Means, proportions, differences and odds ratios from noisy marginals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kit.noisy_pairs import draw_people, measure_pairs
from understudy.errors import Refused
from understudy.inference.population import InferenceSettings
from understudy.inference.population_means import (
    estimate_difference,
    estimate_means,
    estimate_odds_ratio,
    estimate_proportions,
)

SAMPLE = InferenceSettings()


@pytest.fixture(scope="module")
def people():
    return draw_people(np.random.default_rng(1), 5000)


@pytest.fixture(scope="module")
def pooled(people):
    return measure_pairs(people, np.random.default_rng(2), 1)


@pytest.fixture(scope="module")
def frame(people):
    return pd.DataFrame(people)


def test_little_noise_gives_the_means_and_errors_of_the_rows(pooled, frame):
    found = estimate_means(pooled, "age", by="sex", settings=SAMPLE)
    groups = frame.groupby("sex").age
    assert found.names == ("sex = F", "sex = M")
    assert found.estimates == pytest.approx(groups.mean().to_numpy(), abs=0.01)
    assert found.error == pytest.approx(groups.sem().to_numpy(), rel=0.05)
    assert found.naive_error == pytest.approx(found.error, rel=0.05)


def test_proportions_and_their_difference(pooled, frame):
    share = estimate_proportions(pooled, "ill", 1, by="sex", settings=SAMPLE)
    assert share.estimates == pytest.approx(
        frame.groupby("sex").ill.mean().to_numpy(), abs=0.01
    )
    less = estimate_difference(
        pooled, "ill", by="sex", between=None, value=1, settings=SAMPLE
    )
    assert less.names == ("M − F",)
    assert less.estimates[0] == pytest.approx(share.estimates[1] - share.estimates[0])
    other = estimate_difference(
        pooled, "ill", by="sex", between=("M", "F"), value=1, settings=SAMPLE
    )
    assert other.estimates[0] == pytest.approx(-less.estimates[0])


def test_an_odds_ratio_and_its_error(pooled, frame):
    found = estimate_odds_ratio(pooled, "ill", by="sex", between=None, settings=SAMPLE)
    counts = pd.crosstab(frame.sex, frame.ill).to_numpy()
    ratio = counts[1, 1] * counts[0, 0] / (counts[1, 0] * counts[0, 1])
    assert found.value[0] == pytest.approx(ratio, rel=0.02)
    # Woolf: the variance of the logarithm is the sum of the inverse counts.
    assert found.error[0] == pytest.approx(np.sqrt((1 / counts).sum()), rel=0.05)
    low, high = found.interval()
    assert low[0] < ratio < high[0]
    assert low[0] > 0


def test_a_mean_without_groups_needs_its_column_alone(pooled, frame):
    found = estimate_means(pooled, "age", settings=SAMPLE)
    assert found.estimates[0] == pytest.approx(frame.age.mean(), abs=0.01)


def test_noise_widens_means_beyond_the_naive_interval(people):
    noisy = measure_pairs(people, np.random.default_rng(3), 60)
    found = estimate_means(noisy, "age", by="sex", settings=SAMPLE)
    assert (found.error > 1.2 * found.naive_error).all()


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda p: estimate_means(p, "sex", settings=SAMPLE), "labels"),
        (lambda p: estimate_means(p, "none", settings=SAMPLE), "takes no part"),
        (lambda p: estimate_means(p, "age", by="age", settings=SAMPLE), "each once"),
        (
            lambda p: estimate_means(p, "age", by=("sex", "ill"), settings=SAMPLE),
            "did not measure age × sex × ill",
        ),
        (
            lambda p: estimate_proportions(p, "sex", "X", settings=SAMPLE),
            "no such value",
        ),
        (
            lambda p: estimate_odds_ratio(
                p, "ill", by="age", between=None, settings=SAMPLE
            ),
            "between",
        ),
    ],
)
def test_refusals_name_the_remedy(pooled, ask, said):
    with pytest.raises(Refused, match=said):
        ask(pooled)
