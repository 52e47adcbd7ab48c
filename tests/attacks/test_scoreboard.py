"""The scoreboard names more the more is known, rarely wrongly, and nobody where nothing
is known.
"""

from __future__ import annotations

import numpy as np

from understudy.attacks.scoreboard import (
    KNOWLEDGE_CASES,
    RatingKnowledge,
    Ratings,
    _identification_rates,
    run_scoreboard_attack,
)


def test_the_more_is_known_the_more_are_named():
    found = run_scoreboard_attack(records=2_000, targets=80).facts
    for case in KNOWLEDGE_CASES:
        shares = list(found["named"][case.label].values())
        assert shares[-1] > 0.9
        assert shares[-1] > shares[0]
    exact = found["named"][KNOWLEDGE_CASES[0].label]
    assert all(exact[k] >= found["named"]["no dates"][k] for k in exact)
    assert found["wrongly_named"] <= 0.1


def test_nobody_is_named_by_ratings_that_are_all_wrong():
    rng = np.random.default_rng(1)
    ratings = Ratings.simulate(2_000, 300, rng)
    knows = RatingKnowledge(label="nothing", days=3, wrong=1)
    right, _ = _identification_rates(ratings, knows, 2, 100, rng)
    truly, _ = _identification_rates(ratings, KNOWLEDGE_CASES[0], 4, 100, rng)
    assert right < 0.4 < 0.7 < truly
