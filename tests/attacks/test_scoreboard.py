"""The scoreboard names more the more is known, rarely wrongly, and nobody where nothing is known."""

from __future__ import annotations

import numpy as np

from understudy.attacks.scoreboard import CASES, Known, Ratings, _named, scoreboard


def test_the_more_is_known_the_more_are_named():
    found = scoreboard(records=2_000, targets=80).facts
    for case in CASES:
        shares = list(found["named"][case.label].values())
        assert shares[-1] > 0.9
        assert shares[-1] > shares[0]
    exact = found["named"][CASES[0].label]
    assert all(exact[k] >= found["named"]["no dates"][k] for k in exact)
    assert found["wrongly_named"] <= 0.1


def test_nobody_is_named_by_ratings_that_are_all_wrong():
    rng = np.random.default_rng(1)
    ratings = Ratings.made(2_000, 300, rng)
    knows = Known(label="nothing", days=3, wrong=1)
    right, _ = _named(ratings, knows, 2, 100, rng)
    truly, _ = _named(ratings, CASES[0], 4, 100, rng)
    assert right < 0.4 < 0.7 < truly
