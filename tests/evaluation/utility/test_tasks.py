"""Train on synthetic, test on real, with both baselines."""

from __future__ import annotations

import numpy as np
import pytest

from kit.people import SCHEMA, made, table
from understudy.evaluation.utility.tasks import assess_tasks, auc, default_targets
from understudy.findings import Unavailable


def test_a_synthetic_table_with_the_dependence_teaches_and_one_without_does_not() -> (
    None
):
    real = table(made(1500, 1)).records()
    good, bad = (
        table(made(1500, 2)).records(),
        table(made(1500, 3, related=False)).records(),
    )
    # Only what goes with age can be learned from age: drop the columns that stay
    # related among themselves.
    few = [{n: r.codes[n] for n in ("age", "school")} for r in (real, good, bad)]
    real, good, bad = (
        type(r)(r.schema, codes, {"age": r.places["age"]})
        for r, codes in zip((real, good, bad), few, strict=True)
    )
    rng = np.random.default_rng(1)
    kept, lost = (
        assess_tasks(real, other, ["school"], rng=rng) for other in (good, bad)
    )
    assert kept.value < 0.45 < lost.value
    assert kept.baseline == pytest.approx(kept.facts["majority"])
    assert kept.facts["nonprivate"] <= kept.value + 0.05
    assert lost.facts["majority"] > 0.5


def test_every_target_and_learner_is_a_part() -> None:
    real, fake = table(made(300, 1)).records(), table(made(300, 2)).records()
    found = assess_tasks(real, fake, ["married", "sex"], rng=np.random.default_rng(1))
    assert {part.name for part in found.parts} == {
        f"{t}, {k}" for t in ("married", "sex") for k in ("logistic", "forest")
    }
    assert all("synthetic_auc" in part.facts for part in found.parts)


def test_it_is_judged_on_a_holdout_where_there_is_one() -> None:
    real, fake, held = (
        table(made(n, seed)).records() for n, seed in ((300, 1), (300, 2), (77, 3))
    )
    found = assess_tasks(
        real, fake, ["sex"], rng=np.random.default_rng(1), holdout=held
    )
    assert {part.facts["test_rows"] for part in found.parts} == {77}


def test_one_class_only_is_answered_with_that_class() -> None:
    real = table(made(200, 1)).records()
    married = table([(40, "F", "low", 1.0, True)] * 50).records()
    found = assess_tasks(real, married, ["married"], rng=np.random.default_rng(1))
    assert found.value > 0.3
    assert found.parts[0].facts["synthetic_auc"] == 0.5


def test_the_area_against_all_pairs() -> None:
    rng = np.random.default_rng(2)
    scores, positive = rng.integers(0, 5, 40).astype(float), rng.random(40) < 0.4
    pairs = [
        (a > b) + (a == b) / 2 for a in scores[positive] for b in scores[~positive]
    ]
    assert auc(scores, positive) == pytest.approx(np.mean(pairs))


def test_targets_nobody_named() -> None:
    assert default_targets(SCHEMA) == ("married", "sex", "school")
    with pytest.raises(Unavailable, match="name a target"):
        assess_tasks(
            table(made(30, 1)).records(),
            table(made(30, 1)).records(),
            (),
            rng=np.random.default_rng(1),
        )
    alone = table([(5, sex, "low", 1.0, True) for _, sex, *_ in made(100, 1)]).records()
    with pytest.raises(Unavailable, match="no other column"):
        assess_tasks(alone, alone, ("sex",), rng=np.random.default_rng(1))
    with pytest.raises(Unavailable, match="twenty rows"):
        assess_tasks(
            table(made(9, 1)).records(),
            table(made(9, 1)).records(),
            ("sex",),
            rng=np.random.default_rng(1),
        )
