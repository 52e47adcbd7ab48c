"""Every score's sensitivity, tried on every small dataset."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.curator.scores import GRID, SCORES, Score, check_score, l1_distance


@pytest.mark.parametrize("name", sorted(SCORES))
def test_no_row_moves_a_score_by_more_than_it_claims(name: str):
    check_score(SCORES[name], cells=3, rows=6)


@pytest.mark.parametrize(
    "broken",
    [
        Score("halved", l1_distance, add_remove=GRID // 2, replace=2 * GRID),
        Score("replace as add", l1_distance, add_remove=GRID, replace=GRID),
        Score("squared", lambda c, e: l1_distance(c, e) ** 2 // GRID, add_remove=GRID, replace=2 * GRID),
        Score("normalised", lambda c, e: l1_distance(c, e) // max(int(c.sum()), 1), add_remove=1, replace=2),
    ],
    ids=lambda s: s.name,
)
def test_a_wrong_claim_is_found(broken: Score):
    with pytest.raises(AssertionError, match="is claimed"):
        check_score(broken)


def test_the_distance_is_what_it_says():
    assert l1_distance(np.array([3, 0]), np.array([GRID, GRID])) == 3 * GRID
