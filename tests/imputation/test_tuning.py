"""Tuning: what is measured, what is recommended, and that it is what is written."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import Refused
from understudy.evaluation.risk.matching import RiskLevel
from understudy.imputation.record_risks import list_risks

FORMULA = "cost ~ age + sex"


def make_people(rows=400, seed=2):
    rng = np.random.default_rng(seed)
    age = np.rint(rng.normal(50, 12, rows))
    sex = rng.choice(["F", "M"], rows)
    cost = np.rint(1000 + 30 * age + 400 * (sex == "M") + rng.normal(0, 300, rows))
    return pd.DataFrame({"age": age, "sex": sex, "cost": cost})


PEOPLE = make_people()


@pytest.fixture(scope="module")
def tuned():
    return us.tune_mask(
        PEOPLE,
        formulas=[FORMULA],
        replaced=["age", "sex"],
        grid=us.MaskGrid(copies=(1, 50), keep=(0.6, 0.98)),
        copies=[2, 6],
        radius={"age": 2},
        risk_target=0.03,
        seed=7,
    )


def test_the_figures_are_those_of_the_copies(tuned):
    """Measured again from the copies, by `analyse` and `match_copies`."""
    place = 3
    setting, masked = tuned.settings[place], tuned.tables[place]
    found = masked.match_copies(radius={"age": 2})
    assert setting.unique_rate == found.true_rate
    assert setting.mean_chance == pytest.approx(found.own.mean())
    combined = us.analyse(masked, FORMULA).combined
    original = us.analyse(_twice(PEOPLE), FORMULA).combined
    distance = (combined.estimate - original.estimate) / original.error
    assert setting.rmse == pytest.approx(np.sqrt((distance**2).mean()))


def _twice(frame):
    """The original as two copies that agree: b = 0."""
    rule = us.mask(frame, replaced=["age"], copies=2).rule
    return us.SyntheticCopies.of_frames([frame, frame], rule)


def test_fewer_copies_are_the_first_of_more(tuned):
    fewer, more = tuned.tables[0], tuned.tables[1]
    assert (fewer.copies, more.copies) == (2, 6)
    assert fewer.frame(1).equals(more.frame(1))


def test_masks_that_let_more_through_keep_more_and_risk_more(tuned):
    by_name = {one.name: one for one in tuned.settings}
    weak, strong = by_name["K/σ²=1, π=0.6, M=6"], by_name["K/σ²=50, π=0.98, M=6"]
    assert strong.mean_chance > 2 * weak.mean_chance
    assert strong.propensity < weak.propensity
    assert strong.rmse < weak.rmse


def test_the_recommendation_is_the_most_useful_within_the_target(tuned):
    chosen = tuned.recommended_setting
    assert chosen.risk <= 0.03
    for one in tuned.settings:
        assert one.risk > 0.03 or one.overlap <= chosen.overlap
    assert any(one.risk > 0.03 for one in tuned.settings)
    masked = tuned.recommend_copies()
    assert masked.match_copies(radius={"age": 2}).true_rate == chosen.unique_rate


def test_a_target_that_nothing_meets_names_the_least_risk(tuned):
    strict = us.tune_mask(
        PEOPLE,
        replaced=["age"],
        grid=us.MaskGrid(copies=(200,), keep=(0.9,)),
        methods=["da-mi"],
        copies=[2],
        risk_target=0.0,
    )
    assert strict.recommended_setting is None
    assert strict.settings[0].overlap is None
    with pytest.raises(Refused, match="the least is"):
        strict.recommend_copies()


def test_the_picture_has_a_point_a_setting_and_one_ring(tuned):
    picture = tuned.picture()
    assert (
        picture.count("risk 0.") + picture.count("risk 0,") >= len(tuned.settings) - 4
    )
    key = 2
    assert picture.count("<circle") == len(tuned.settings) + key + 1
    assert picture.count("stroke-dasharray") == 1
    # What has no overlap is not drawn by U_p, on another scale.
    first, *others = tuned.settings
    lost = replace(tuned, settings=(replace(first, overlap=None), *others)).picture()
    assert f"{first.name}: risk" not in lost
    assert f"{others[0].name}: risk" in lost


def test_the_settings_fit_a_terminal_and_say_which_are_over_the_target(tuned):
    head, *lines = tuned.list_lines()
    assert len(lines) == len(tuned.settings)
    assert max(map(len, [head, *lines])) < 80
    risky = [line.endswith("  over") for line in lines]
    assert risky == [one.risk > 0.03 for one in tuned.settings]
    assert str(tuned).endswith(tuned.describe_choice())


def test_a_copy_that_loses_a_label_has_no_overlap_and_stops_nothing():
    """Two people have the first label of a column, and small trees lose it."""
    people = PEOPLE.assign(kind=np.where(np.arange(400) < 2, "a", "b"))
    people["kind"] = people.kind.where(np.arange(400) % 3 > 0, "c")
    people.loc[:1, "kind"] = "a"
    tuned = us.tune_mask(
        people,
        formulas=["cost ~ kind"],
        replaced=["kind"],
        methods=["cart", "norm+logit"],
        copies=[6],
        seed=3,
    )
    by_name = {one.name: one for one in tuned.settings}
    lost = by_name["cart, M=6"]
    assert any("a" not in set(frame.kind) for frame in tuned.tables[0])
    assert (lost.overlap, lost.rmse) == (None, None)
    # What cannot be compared is never preferred.
    assert lost.utility_rank[0] == np.inf
    assert "–" in str(tuned)


def test_a_mask_of_columns_that_are_not_there_is_no_setting():
    grid = us.MaskGrid(copies=(1, 2, 4), variance=(1.0, 2.0), keep=(0.7, 0.9))
    assert len(grid.list_strengths()) == 2 * len({0.5, 1, 2, 4})
    assert len(grid.list_strengths(has_labels=False)) == 4
    assert len(grid.list_strengths(has_numbers=False)) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"risk_target": 2}, "between 0 and 1"),
        ({"copies": [1]}, "at least 2"),
        ({"methods": ["magic"]}, "among"),
        ({"methods": ["copula"]}, "among"),
        ({"replaced": ["age", "sex", "cost"]}, "keep at least one"),
        ({"formulas": ["cost ~ agee"]}, "cannot be fitted"),
        ({"radius": {"agee": 2}}, 'radius: column "agee" is no number'),
    ],
)
def test_refusals_name_the_remedy(options, said):
    with pytest.raises(Refused, match=said):
        us.tune_mask(PEOPLE, **{"replaced": ["age"], **options})


def test_the_list_of_risks_is_for_the_custodian_alone(tmp_path):
    people = make_people(rows=60)
    # One person whose label nobody shares, and whose masks hide nothing.
    people.loc[7, "sex"] = "X"
    strength = us.MaskStrength(copies=10000, keep=0.9999)
    masked = us.mask(
        people, replaced=["age", "sex"], method="da-mi", strength=strength, copies=2
    )
    risks = list_risks(masked, radius={"age": 3})
    assert risks.levels[7] == RiskLevel.HIGH
    risks.write(tmp_path / "risks.csv")
    assert (tmp_path / "risks.csv").stat().st_mode & 0o777 == 0o600
    with (tmp_path / "risks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60
    listed = {int(row["row"]): row for row in rows}
    assert listed[8]["level"] == "high"
    chances = [float(row["match_chance"]) for row in rows]
    assert float(listed[8]["match_chance"]) == pytest.approx(risks.chances[7], abs=1e-6)
    assert max(chances) <= 1
