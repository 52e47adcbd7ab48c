"""Dinur and Nissim: the bound 4E is never passed and is reached; linear decoding
follows the known curve.
"""

from __future__ import annotations

import pytest

from understudy.attacks.decoding import run_decoding_attack, run_exhaustive_attack


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("people", [8, 12])
def test_no_table_that_agrees_is_further_than_4e(people, seed):
    found = run_exhaustive_attack(
        people=people, errors=tuple(range(people // 4 + 1)), seed=seed
    ).facts
    for error, furthest in found["furthest"].items():
        assert furthest <= found["bound"][error]
        assert found["furthest_random"][error] <= found["bound"][error]
    assert found["furthest"][str(people // 4)] == people, (
        "the bound is reached where errors mislead"
    )


def test_the_decoding_curve():
    """Wrong shares at n = 128: .02 at E = .25 √n, .17 at .5, .27 at 1, .41 at 2, .44 at
    4, each ± .05 on average of three.
    """
    found = [
        run_decoding_attack(levels=(0.25, 0.5, 1.0, 2.0, 4.0), seed=seed).facts
        for seed in range(3)
    ]
    for level, expected in {
        "0.25": 0.02,
        "0.5": 0.17,
        "1": 0.27,
        "2": 0.41,
        "4": 0.44,
    }.items():
        mean = sum(f["wrong"][level] for f in found) / 3
        assert abs(mean - expected) < 0.07
    # Chance alone is off by at most 5 standard deviations of 384 coins.
    private = sum(f["private_wrong"] for f in found) / 3
    assert 0.5 - private < 5 * 0.5 / 384**0.5
