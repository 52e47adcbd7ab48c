"""The k-marginal score at its ends, and the sub-sampling equivalent against drawn
samples.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from kit.people import SCHEMA, Counts, made, table
from understudy.evaluation.utility.kmarginal import (
    assess_kmarginal,
    equivalent_share,
    expected_sample_l1,
    sampling_deviation,
)
from understudy.schema import Boolean, Schema

BITS = Schema(
    columns=(Boolean(name="a", nullable=False), Boolean(name="b", nullable=False))
)


def two(*cells: int) -> Counts:
    return Counts(("a", "b"), np.array(cells, np.int64).reshape(2, 2))


def test_the_original_scores_1000_and_nothing_in_common_0() -> None:
    real = table(made(400, 3))
    assert assess_kmarginal(real, real, SCHEMA).value == 1000
    assert assess_kmarginal(real, real, SCHEMA).facts["equivalent_share"] == 1
    assert assess_kmarginal(two(5, 0, 0, 0), two(0, 0, 0, 9), BITS).value == 0


def test_a_score_by_hand() -> None:
    # Shares (½, 0, 0, ½) and (¼, ¼, ¼, ¼): L1 = 1.
    assert assess_kmarginal(two(2, 0, 0, 2), two(1, 1, 1, 1), BITS).value == 500


@pytest.mark.parametrize("cells", [(3, 4, 1), (1, 1, 1, 1, 1), (7, 2)])
def test_mean_deviation_against_every_sample(cells: tuple[int, ...]) -> None:
    owners = np.repeat(np.arange(len(cells)), cells)
    for sample in range(1, len(owners) + 1):
        drawn = list(combinations(range(len(owners)), sample))
        counts = np.array(
            [np.bincount(owners[list(s)], minlength=len(cells)) for s in drawn]
        )
        expected = np.abs(counts - sample * np.array(cells) / len(owners)).mean(axis=0)
        assert sampling_deviation(np.array(cells), sample) == pytest.approx(
            expected, abs=1e-12
        )


def test_a_sample_of_a_fifth_is_worth_a_fifth() -> None:
    rng = np.random.default_rng(4)
    joint = rng.multinomial(4000, rng.dirichlet(np.ones(60)))
    target = expected_sample_l1([joint], 800)
    assert equivalent_share([joint], target) == pytest.approx(0.2, abs=1 / 4000)
    drawn = [
        np.abs(rng.multivariate_hypergeometric(joint, 800) / 800 - joint / 4000).sum()
        for _ in range(400)
    ]
    # The mean of 400 draws; its standard error is known from them, and five of those is
    # one false alarm in a million.
    assert abs(np.mean(drawn) - target) < 5 * np.std(drawn) / 20
    # The broken twin, sampling with replacement, is farther off.
    twin = [
        np.abs(rng.multinomial(800, joint / 4000) / 800 - joint / 4000).sum()
        for _ in range(400)
    ]
    assert abs(np.mean(twin) - target) > 5 * np.std(twin) / 20


def test_what_a_single_row_would_beat_has_no_equivalent() -> None:
    assert equivalent_share([np.array([5, 5])], 2.0) is None
    assert equivalent_share([np.array([0])], 0.0) is None
