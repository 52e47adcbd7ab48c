"""Masked copies through an evaluation: estimates are combined, risk is that of all."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import understudy as us

rng = np.random.default_rng(4)
AGE = np.rint(rng.normal(50, 12, 800))
PEOPLE = pd.DataFrame(
    {
        "age": AGE,
        "sex": rng.choice(["F", "M"], 800),
        "income": np.rint(300 * AGE + rng.normal(0, 4000, 800)),
    }
)


def test_estimates_of_a_folder_of_copies_are_combined(tmp_path):
    masked = us.mask(PEOPLE, replaced=["age"], method="norm+logit", copies=3, seed=1)
    masked.write(tmp_path / "masked")
    report = us.evaluate(
        PEOPLE, tmp_path / "masked", formulas=["income ~ age"], risk=False
    )
    found = report.utility["estimates_1"]
    assert found.facts["copies"] == 3
    combined = us.analyse(masked, "income ~ age").to_frame().loc["age"]
    part = next(part for part in found.parts if part.name == "age")
    assert part.facts["synthetic_low"] == pytest.approx(combined.low)
    assert part.facts["synthetic_high"] == pytest.approx(combined.high)
