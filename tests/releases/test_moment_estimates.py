"""Moments of a release: bought by a workload target, kept in its file, and read by
`infer` and `mean` at full resolution.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import Refused, ReleaseError
from understudy.inference.regression import fit_regression
from understudy.releases.file.measurement_json import (
    moments_from_json,
    moments_to_json,
)

SCHEMA = us.Schema.parse(
    """
columns:
  age: {type: integer, min: 18, max: 90, nullable: false, bins: [18, 50]}
  sex: {type: categorical, values: [F, M], nullable: false}
  pay: {type: real, min: 0, max: 200, step: 0.01, nullable: false, bins: [0, 40, 60]}
"""
)
FORMULA = "pay ~ age + sex"


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    age = rng.integers(18, 91, 3000)
    sex = rng.choice(["F", "M"], 3000)
    pay = 20 + 0.4 * age + 5 * (sex == "M") + rng.normal(0, 12, 3000)
    return pd.DataFrame({"age": age, "sex": sex, "pay": np.clip(pay, 0, 200).round(2)})


@pytest.fixture(scope="module")
def release(people, tmp_path_factory):
    """At this ε noise moves a coefficient by less than 0.01 of its standard error, so
    that every tolerance below is at least fifteen of its deviations.
    """
    return us.synthesize(
        people,
        schema=SCHEMA,
        epsilon=20_000,
        delta=1e-9,
        synthesizer="independent",
        workload=f"moments={FORMULA}",
        ledger=tmp_path_factory.mktemp("moments") / "a.ledger",
    )


def test_with_little_noise_it_is_least_squares_on_the_rows(release, people):
    """Bins of the cells are far too wide for that; names are those of statsmodels."""
    found = release.infer(FORMULA)
    plain = fit_regression(FORMULA, people)
    assert set(found.names) == set(plain.params.index)
    wanted = plain.params[list(found.names)]
    errors = plain.bse[list(found.names)]
    assert (np.abs(found.estimates - wanted) < 0.2 * errors).all()
    assert found.error == pytest.approx(errors, rel=0.05)
    assert found.naive_error == pytest.approx(errors, rel=0.05)
    assert set(found.basis) == {"measured"}
    assert "unbinned" in str(found)


def test_parts_of_the_formula_and_means_are_answered_too(release, people):
    by_age = release.infer("pay ~ age").estimates
    assert by_age == pytest.approx(fit_regression("pay ~ age", people).params, rel=0.01)
    turned = release.infer("age ~ pay").estimates
    assert turned == pytest.approx(fit_regression("age ~ pay", people).params, rel=0.02)
    mean = release.mean("pay")
    assert mean.names == ("pay",)
    assert mean.value[0] == pytest.approx(people.pay.mean(), abs=0.1)
    assert mean.error[0] == pytest.approx(people.pay.sem(), rel=0.05)


def test_what_moments_do_not_say_is_asked_of_the_cells(release):
    """A joint term, and another family: with one-way marginals alone both are refused."""
    for formula, family in (("pay ~ age:sex", "gaussian"), ("pay ~ age", "poisson")):
        with pytest.raises(Refused, match="did not measure"):
            release.infer(formula, family=family)


def test_a_release_file_keeps_them(release, tmp_path):
    release.save(tmp_path / "a.understudy")
    again = us.load_release(tmp_path / "a.understudy")
    assert again.measurements.moments == release.measurements.moments
    assert again.infer(FORMULA).estimates.tolist() == (
        release.infer(FORMULA).estimates.tolist()
    )
    with zipfile.ZipFile(tmp_path / "a.understudy") as archive:
        document = json.loads(archive.read("release.json"))
    assert document["moments"][0]["formula"] == FORMULA


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("formula", "pay ~ shoe"),
        ("formula", "import os"),
        ("values", ["1"]),
        ("values", ["1e3"] * 10),
        ("scales", ["-1/2"] * 10),
        ("scales", ["1" * 90 + "/1"] * 10),
        ("law", "none"),
    ],
)
def test_a_damaged_field_is_named_and_nothing_is_loaded(release, field, value):
    document = moments_to_json(release.measurements.moments[0]) | {field: value}
    with pytest.raises(ReleaseError, match="Nothing was loaded"):
        moments_from_json(document, "moments[0]", SCHEMA)


def test_they_count_towards_the_cost_of_a_release(release):
    """A file whose moments cost more than its guarantee says is refused."""
    moments = release.measurements.moments[0]
    dear = replace(moments, cost=replace(moments.cost, amount=Fraction(10**9)))
    with pytest.raises(ReleaseError, match="cost more"):
        replace(release, measurements=replace(release.measurements, moments=(dear,)))


def test_rows_left_out_for_other_columns_are_not_taken_for_all(people, tmp_path):
    """Moments count rows that have all values: without the nullable column the formula
    is about more rows, and is refused.
    """
    columns = (SCHEMA["pay"], replace(SCHEMA["age"], nullable=True))
    release = us.synthesize(
        people[["pay", "age"]],
        schema=us.Schema(columns=columns),
        epsilon=5,
        delta=1e-9,
        synthesizer="independent",
        workload="moments=pay~age",
        ledger=tmp_path / "a.ledger",
    )
    assert release.infer("pay ~ age").by_moments
    assert not release.infer("pay ~ 1").by_moments


def test_moments_that_noise_leaves_singular_are_refused_with_the_remedy(
    people, tmp_path
):
    release = us.synthesize(
        people,
        schema=SCHEMA,
        epsilon=0.01,
        delta=1e-9,
        synthesizer="independent",
        workload=f"moments={FORMULA}",
        ledger=tmp_path / "a.ledger",
    )
    with pytest.raises(Refused, match="larger ε, or with moments of fewer columns"):
        release.infer(FORMULA)


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        ("moments=sex~age", "the response of least squares is a column of numbers"),
        ("moments=pay~shoe", '"shoe" of the formula takes no part'),
        ("moments=pay~np.log(age)", "A formula is a response and columns"),
        ("moments=pay", "A workload is"),
    ],
)
def test_bad_moments_cost_nothing(people, tmp_path, workload, said):
    with pytest.raises(Refused, match=said) as refusal:
        us.synthesize(
            people,
            schema=SCHEMA,
            epsilon=1,
            workload=workload,
            ledger=tmp_path / "a.ledger",
        )
    assert "Nothing was spent" in str(refusal.value)
    assert not (tmp_path / "a.ledger").exists()


def test_a_plan_charges_what_a_run_charges_and_says_that_widths_are_not_forecast():
    plan = us.plan(SCHEMA, epsilon=1, rows=3000, workload=f"moments={FORMULA}")
    assert "moments of numbers are not simulated" in str(plan)
