"""A workload target `model=…` measures all that a formula depends on, whatever the
synthesizer; a plan forecasts the intervals.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import Refused
from understudy.synthesizers import SYNTHESIZER_CLASSES
from understudy.synthesizers.workload import parse_target

SCHEMA = us.Schema.parse(
    """
columns:
  age: {type: integer, min: 0, max: 4, nullable: false}
  sex: {type: categorical, values: [F, M], nullable: false}
  ill: {type: integer, min: 0, max: 1, nullable: false}
  pet: {type: categorical, values: [cat, dog, none], nullable: false}
"""
)
FORMULA = "ill ~ age + sex"
PAYING = sorted(name for name, kind in SYNTHESIZER_CLASSES.items() if kind.reads_rows)


@pytest.fixture(scope="module")
def people():
    """Columns that have nothing to do with each other: no pair is worth its noise."""
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "age": rng.integers(5, size=400),
            "sex": rng.choice(["F", "M"], 400),
            "ill": rng.integers(2, size=400),
            "pet": rng.choice(["cat", "dog", "none"], 400),
        }
    )


@pytest.mark.parametrize("name", PAYING)
def test_every_synthesizer_measures_what_a_model_needs(people, tmp_path, name):
    release = us.synthesize(
        people,
        schema=SCHEMA,
        epsilon=1,
        synthesizer=name,
        workload=f"model={FORMULA}",
        ledger=tmp_path / "a.ledger",
    )
    found = release.infer(FORMULA, family="binomial")
    assert found.basis == ("measured",) * 3
    assert release.options["workload"] == f"model={FORMULA}"


def test_a_weight_alone_does_not(people, tmp_path):
    """The twin without the target: `adaptive` leaves weak pairs out, and says which."""
    release = us.synthesize(
        people,
        schema=SCHEMA,
        epsilon="0.1",
        synthesizer="adaptive",
        workload="group=age,sex,ill",
        ledger=tmp_path / "b.ledger",
    )
    with pytest.raises(Refused, match="did not measure"):
        release.infer(FORMULA)
    assert "modelled" in release.infer(FORMULA, assume=1).basis


def test_terms_of_two_columns_are_bought_together(people, tmp_path):
    release = us.synthesize(
        people,
        schema=SCHEMA,
        epsilon=1,
        synthesizer="independent",
        workload=["model=ill~age*sex", "triples"],
        ledger=tmp_path / "c.ledger",
    )
    assert len(release.infer("ill ~ age * sex").names) == 4
    assert release.mean("ill", by="sex").names == ("sex = F", "sex = M")
    assert release.odds_ratio("ill", by="sex").is_ratio


def test_a_plan_forecasts_intervals_and_spends_nothing():
    made = us.plan(SCHEMA, epsilon=1, rows=2000, workload=f"model={FORMULA}")
    (forecast,) = made.intervals
    assert forecast.family == "binomial"
    pairs = zip(forecast.half_widths, forecast.without_noise, strict=True)
    assert all(wide > narrow > 0 for wide, narrow in pairs)
    assert "95 % interval" in str(made)
    assert made.to_dict()["intervals"][0]["names"] == forecast.names
    finer = us.plan(SCHEMA, epsilon=4, rows=2000, workload=f"model={FORMULA}")
    assert finer.intervals[0].half_widths[1] < forecast.half_widths[1]


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        ("model=ill~agee", '"agee".*Nothing was spent'),
        ("model=ill", "A workload is"),
        ("model=ill~age*0", "A workload is"),
        ("model=ill~age:sex:pet", "at most 2 columns.*Nothing was spent"),
    ],
)
def test_bad_models_cost_nothing(people, tmp_path, workload, said):
    with pytest.raises(Refused, match=said):
        us.synthesize(
            people, schema=SCHEMA, epsilon=1, workload=workload, ledger=tmp_path / "d"
        )
    assert not (tmp_path / "d").exists()


def test_too_many_cells_are_refused_before_anything_is_spent():
    names = "abcd"
    wide = us.Schema.parse(
        "columns:\n"
        + "".join(
            f"  {name}: {{type: integer, min: 0, max: 99, nullable: false, bins: 100}}\n"
            for name in names
        )
    )
    with pytest.raises(Refused, match=r"cells together.*Nothing was spent"):
        us.plan(wide, epsilon=1, workload="model=a~b+c+d")


def test_a_target_is_written_as_it_was_read():
    target = parse_target("model = ill ~ age * sex * 2")
    assert (target.formula, target.weight) == ("ill ~ age * sex", 2.0)
    assert parse_target(str(target)) == target
