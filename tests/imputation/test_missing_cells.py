"""Missing cells: imputed several times, then masked, then combined by the nested rule."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import Refused
from understudy.imputation.record_risks import list_risks


def make_holed(rows=1200, seed=3):
    """Ages of those with high costs are missing more often: dropping rows is biased."""
    rng = np.random.default_rng(seed)
    age = np.rint(rng.normal(50, 12, rows))
    sex = rng.choice(["F", "M"], rows)
    cost = np.rint(1000 + 30 * age + 400 * (sex == "M") + rng.normal(0, 300, rows))
    whole = pd.DataFrame({"age": age, "sex": sex, "cost": cost})
    holed = whole.copy()
    chance = 0.6 * (cost > np.median(cost))
    holed.loc[rng.random(rows) < chance, "age"] = np.nan
    holed.loc[rng.random(rows) < 0.1, "sex"] = None
    return whole, holed


WHOLE, HOLED = make_holed()


@pytest.mark.parametrize("method", ["norm+logit", "da-mi"])
def test_nothing_is_missing_and_estimates_hold(method):
    masked = us.mask(
        HOLED, replaced=["age"], method=method, imputations=3, copies=2, seed=1
    )
    assert masked.copies == 6
    frames = list(masked)
    assert not any(frame.isna().any().any() for frame in frames)
    # Two copies of one imputation share its kept cells; imputations do not.
    assert frames[0].sex.equals(frames[1].sex)
    assert not frames[0].sex.equals(frames[2].sex)
    assert frames[4].equals(masked.frame(4))
    mean = np.mean([frame.age.mean() for frame in frames])
    error = WHOLE.age.std() / np.sqrt(len(WHOLE))
    assert abs(mean - WHOLE.age.mean()) < 6 * error
    # What dropping rows would say is far off: the test can fail.
    assert abs(HOLED.age.mean() - WHOLE.age.mean()) > 6 * error


def test_the_manifest_names_the_nested_rule(tmp_path):
    masked = us.mask(HOLED, replaced=["age"], imputations=2, copies=3, seed=2)
    masked.write(tmp_path / "nested")
    rule = json.loads((tmp_path / "nested" / "copies.json").read_text())["rule"]
    assert (rule["kind"], rule["nest"]) == ("nested", 3)
    got = us.analyse(tmp_path / "nested", "cost ~ age + sex").to_frame()
    assert abs(got.estimate["age"] - 30) < 6 * got.std_error["age"]


def test_only_people_whose_values_are_known_are_looked_for():
    masked = us.mask(HOLED, replaced=["age"], imputations=2, copies=2, seed=2)
    found = masked.match_copies()
    assert len(found.own) == HOLED.age.notna().sum()
    risks = list_risks(masked)
    known = np.flatnonzero(HOLED.age.notna())
    assert risks.rows.tolist() == (known + 1).tolist()
    assert (risks.chances == found.own).all()
    assert len(risks.levels) == len(risks.found) == len(known)


def test_masks_are_shared_by_all_imputations():
    """Else an average over imputations would be nearer to the original."""
    strength = us.MaskStrength(copies=1)
    masked = us.mask(
        HOLED.assign(z=0),
        replaced=["age"],
        method="da-mi",
        strength=strength,
        predictors={"age": ["z"]},
        imputations=4,
        copies=2,
        seed=4,
    )
    known = HOLED.age.notna().to_numpy()
    mean = np.mean([frame.age.to_numpy()[known] for frame in masked], axis=0)
    left = (mean - HOLED.age[known]).std() / HOLED.age.std()
    # κ = ½: the mask's own error, half a deviation, stays; separate masks leave .5/√4.
    assert left > 0.45


@pytest.mark.parametrize(
    "options", [{"imputations": 1}, {"imputations": 2, "copies": 1}]
)
def test_too_few_to_combine_is_refused(options):
    with pytest.raises(Refused, match="at least 2"):
        us.mask(HOLED, replaced=["age"], **options)
