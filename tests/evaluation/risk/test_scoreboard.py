"""The scoreboard: many columns name a copy's people, wrong values or not, and nobody in
independent rows.
"""

from __future__ import annotations

import numpy as np
import pytest

from kit.people import table
from understudy.evaluation.risk.scoreboard import (
    RowScoreboard,
    assess_scoreboard,
    find_outstanding_row,
)
from understudy.findings import Unavailable
from understudy.schema import Categorical, Integer, Schema
from understudy.tables import Records

FILMS = Schema(
    columns=tuple(
        Categorical(name=f"f{i}", values=("1", "2", "3", "4", "5")) for i in range(20)
    )
)
AGES = Schema(columns=(Integer(name="age", min=0, max=100),))


def ratings(n: int, seed: int) -> Records:
    rng = np.random.default_rng(seed)
    return table(
        [
            tuple(
                str(s) if rng.random() < 0.4 else None for s in rng.integers(1, 6, 20)
            )
            for _ in range(n)
        ],
        FILMS,
    ).records()


def test_scores_by_hand() -> None:
    board = RowScoreboard(table([(50,), (60,), (None,)], AGES).records())
    ages = board.rows.numbers("age")
    scores = board.scores(table([(50,)], AGES).records(), ["age"])
    # One row holds the value's bin, so the weight is 1/ln 2; likeness is e^(-10/10) at
    # ten years.
    by_age = dict(
        zip(np.nan_to_num(ages, nan=-1).tolist(), scores.tolist(), strict=True)
    )
    assert by_age[50] == pytest.approx(1 / np.log(2))
    assert by_age[60] == pytest.approx(np.exp(-1) / np.log(2))
    assert by_age[-1] == 0


def test_only_a_row_that_stands_out_is_named() -> None:
    assert find_outstanding_row(np.array([0, 0, 0, 0, 9.0])) == 4
    assert find_outstanding_row(np.array([9.0, 9.0, 0, 0])) is None
    assert find_outstanding_row(np.array([1.0, 1.0])) is None
    assert find_outstanding_row(np.array([1.0])) is None


def test_a_copy_names_its_people_with_some_values_wrong() -> None:
    members, control = ratings(300, 1), ratings(300, 2)
    found = assess_scoreboard(
        members,
        control,
        members,
        list(FILMS),
        rng=np.random.default_rng(1),
        targets=100,
        known=12,
    )
    assert found.value > 0.7
    other = assess_scoreboard(
        members,
        control,
        ratings(300, 3),
        list(FILMS),
        rng=np.random.default_rng(1),
        targets=100,
        known=12,
    )
    assert other.value == 0
    with pytest.raises(Unavailable, match="holdout"):
        assess_scoreboard(
            members, None, members, list(FILMS), rng=np.random.default_rng(1)
        )
