"""Masks by risk on a copula: relations stay, people who stand out move further, and
masks that say nothing leave no trace of the original.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.evaluation.risk.matching import RiskLevel
from understudy.imputation.copula import RankedColumn, start_chain, sweep_chain
from understudy.imputation.risk_targeted import find_groups

NOTHING = us.MaskStrength(copies=0, keep=0.5)
WEAK = us.MaskStrength(copies=1, variance=0.01, keep=0.99)


def make_people(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    age = np.rint(rng.normal(50, 12, rows))
    ill = rng.random(rows) < 1 / (1 + np.exp(-(age - 50) / 8))
    income = np.rint(1000 + 30 * age + 200 * ill + rng.normal(0, 200, rows))
    return pd.DataFrame(
        {"age": age, "ill": np.where(ill, "yes", "no"), "income": income}
    )


def mask_people(strengths: us.RiskStrengths | None, seed: int = 1, copies: int = 2):
    return us.mask(
        make_people(),
        replaced=["age", "ill"],
        method="copula",
        strength=strengths,
        copies=copies,
        seed=seed,
    )


def test_the_chain_finds_the_correlation_of_ranks():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    y = 0.8 * x + 0.6 * rng.normal(size=2000)
    columns = [
        RankedColumn(np.digitize(z, [-1.0, 0.0, 1.0]).astype(np.int64), 4)
        for z in (x, y)
    ]
    found = []
    state = sweep_chain(columns, start_chain(columns, rng), 50, rng)
    for _ in range(50):
        state = sweep_chain(columns, state, 1, rng)
        c = state.covariance
        found.append(c[0, 1] / np.sqrt(c[0, 0] * c[1, 1]))
    assert np.mean(found) == pytest.approx(0.8, abs=0.05)


def test_masks_that_say_nothing_keep_relations_and_no_trace():
    """A draw without masks is that of the model: as near to any other person's cell with
    the same kept cells as to one's own.
    """
    strengths = us.RiskStrengths(low=NOTHING, medium=NOTHING, high=NOTHING)
    people, copy = make_people(), mask_people(strengths).frame(0)
    assert (copy.income == people.income).all()
    slope = np.polyfit(people.income, people.age, 1)
    rest = people.age - np.polyval(slope, people.income)
    drawn = copy.age - np.polyval(slope, copy.income)
    assert abs(np.corrcoef(rest, drawn)[0, 1]) < 0.2
    assert np.corrcoef(copy.age, copy.income)[0, 1] == pytest.approx(
        np.corrcoef(people.age, people.income)[0, 1], abs=0.08
    )
    gap = people.groupby("ill").age.mean().diff().iloc[-1]
    assert copy.groupby("ill").age.mean().diff().iloc[-1] == pytest.approx(gap, abs=3)


def test_people_who_stand_out_move_further():
    strong = us.MaskStrength(copies=1, variance=2.0, keep=0.6)
    radius = {"age": 1.0}
    targeted = us.RiskStrengths(low=WEAK, medium=strong, high=strong, radius=radius)
    masked = mask_people(targeted)
    groups = find_groups(masked.original, ["age", "ill"], targeted)
    moved = np.abs(masked.frame(0).age - make_people().age)
    is_low = groups == RiskLevel.LOW
    assert 0 < is_low.sum() < len(groups)
    assert moved[~is_low].mean() > 2 * moved[is_low].mean()


def test_the_same_seed_gives_the_same_copies_and_analysis_has_a_rule():
    first, again = mask_people(None), mask_people(None)
    assert first.frame(1).equals(again.frame(1))
    assert not first.frame(0).equals(first.frame(1))
    found = us.analyse(first, "income ~ age + ill").to_frame()
    original = np.polyfit(make_people().age, make_people().income, 1)[0]
    assert found.loc["age", "estimate"] == pytest.approx(original, rel=0.25)


def test_refusals_say_the_remedy():
    people = make_people()
    people["town"] = np.resize(["a", "b", "c"], len(people))
    with pytest.raises(us.UnderstudyError, match=r'"town".*Declare them `ordered`'):
        us.mask(people, replaced=["town"], method="copula")
    with pytest.raises(us.UnderstudyError, match="copula"):
        us.mask(people, replaced=["age"], strength=us.RiskStrengths())
    people.loc[3, "age"] = np.nan
    masked = us.mask(people, replaced=["age"], method="copula")
    with pytest.raises(us.UnderstudyError, match="imputations"):
        masked.draw(0)
