"""Least squares from noisy moments: the moments are those of the rows, move as far as
their sensitivities say, and give intervals that hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from kit.curator.contexts import no_noise
from kit.curator.listed import Listed, Row
from kit.plans import (
    audit_plan,
    exact_values,
    halve_noise,
    measure,
    neighbouring_tables,
)
from kit.queries.noiseless import table_of
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.schema import Schema
from understudy.toolbox.moments import plan_moments
from understudy.toolbox.regression import RegressionEstimate, fit_moments
from understudy.workflow.asking.questions import session
from understudy.workflow.toolbox.regress import regress

SMALL = Schema.parse(
    """
columns:
  x: {type: integer, min: 0, max: 2, nullable: true}
  g: {type: categorical, values: [a, b], nullable: false}
  y: {type: integer, min: -1, max: 3, nullable: false}
"""
)
PEOPLE = Schema.parse(
    """
columns:
  age: {type: integer, min: 18, max: 90, nullable: false}
  sex: {type: categorical, values: [F, M], nullable: false}
  town: {type: categorical, values: [a, b, c], other: rest, nullable: false}
  smoker: boolean
  pay: {type: real, min: 0, max: 200, step: 0.5, nullable: false}
"""
)
FORMULA = "pay ~ age + sex + smoker"


def make_people(rows: int, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 91, rows)
    is_male = rng.random(rows) < 0.4
    smokes = rng.random(rows) < 0.3
    pay = 40 + 0.5 * age + 8 * is_male - 5 * smokes + rng.normal(0, 12, rows)
    return pl.DataFrame(
        {
            "age": age,
            "sex": np.where(is_male, "M", "F"),
            "town": rng.choice(["a", "b", "c", "elsewhere"], rows),
            "smoker": smokes,
            "pay": np.round(np.clip(pay, 0, 200) * 2) / 2,
        }
    )


PAY = make_people(5_000)


def least_squares(frame: pl.DataFrame, *names: str) -> np.ndarray:
    columns = [np.ones(frame.height)]
    for name in names:
        if name == "town":
            columns += [(frame[name] == v).to_numpy() for v in ("b", "c", "elsewhere")]
        elif name == "sex":
            columns.append((frame[name] == "M").to_numpy())
        else:
            columns.append(frame[name].to_numpy())
    design = np.column_stack([c.astype(float) for c in columns])
    return np.linalg.lstsq(design, frame["pay"].to_numpy(), rcond=None)[0]


@pytest.mark.parametrize("relation", Neighbours)
def test_moments_move_as_far_as_their_sensitivity_says(relation: Neighbours) -> None:
    plan = plan_moments("y ~ x + g", SMALL)
    rows: list[Row] = [
        {"x": x, "g": g, "y": y} for x, g, y in product((None, 0, 2), "ab", (-1, 0, 3))
    ]
    largest = np.zeros(len(plan.plan.statistics))
    for one, other in neighbouring_tables(rows, relation, most_rows=1):
        here = exact_values(plan.plan, Listed(one, SMALL))
        there = exact_values(plan.plan, Listed(other, SMALL))
        moved = [abs(int(b[0] - a[0])) for a, b in zip(here, there, strict=True)]
        largest = np.maximum(largest, moved)
    stated = [
        float(plan.plan.sensitivity(statistic, relation).l1)
        for statistic in plan.plan.statistics
    ]
    assert np.all(largest <= stated)
    # Nothing is paid for that cannot happen.
    assert largest.tolist() == stated


def test_without_noise_it_is_least_squares() -> None:
    frame = make_people(400)
    plan = plan_moments("pay ~ age + town + smoker", PEOPLE)
    table = table_of(frame, PEOPLE)
    measured = measure(plan.plan, table, amount=Fraction(10**6), draw=no_noise)
    found = fit_moments(plan, [v[0] for v, _ in measured], [n for _, n in measured])
    assert found.rows == 400
    assert np.allclose(found.estimates, least_squares(frame, "age", "town", "smoker"))


def test_standard_errors_without_noise_are_those_of_the_textbook() -> None:
    frame = make_people(500)
    plan = plan_moments("pay ~ age", PEOPLE)
    table = table_of(frame, PEOPLE)
    measured = measure(plan.plan, table, amount=Fraction(10**6), draw=no_noise)
    found = fit_moments(plan, [v[0] for v, _ in measured], [n for _, n in measured])
    x, y = frame["age"].to_numpy(), frame["pay"].to_numpy()
    residual = y - found.estimates[0] - found.estimates[1] * x
    slope_error = np.sqrt(residual @ residual / 498 / ((x - x.mean()) ** 2).sum())
    assert np.isclose(found.error[1], slope_error, rtol=1e-3)


def test_intervals_hold() -> None:
    """450 intervals at 95 %: fewer than 400 hold less than once in a million."""
    frame = make_people(20_000)
    table = table_of(frame, PEOPLE)
    plan = plan_moments("pay ~ age + sex", PEOPLE)
    exact = [float(v[0]) for v in exact_values(plan.plan, table)]
    truth = least_squares(frame, "age", "sex")
    _, noises = zip(*measure(plan.plan, table, amount=Fraction(1, 40)), strict=True)
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(150):
        sums = [
            s + rng.normal(0, n.deviation) for s, n in zip(exact, noises, strict=True)
        ]
        found = fit_moments(plan, sums, noises, population="census")
        assert found.is_determined
        low, high = found.interval()
        held += int(((low <= truth) & (truth <= high)).sum())
    assert 400 <= held <= 449


@pytest.mark.parametrize("formula", ["pay ~ sex", "pay ~ age + town + smoker"])
def test_noise_of_sums_is_carried_to_coefficients(formula: str) -> None:
    """Against differences: the number of men is two entries of Z'Z, by one noise."""
    plan = plan_moments(formula, PEOPLE)
    sums = [float(v[0]) for v in exact_values(plan.plan, table_of(PAY, PEOPLE))]
    measured = measure(plan.plan, table_of(PAY, PEOPLE), amount=Fraction(1, 4))
    noises = [noise for _, noise in measured]

    def fit(sums: Sequence[float]) -> RegressionEstimate:
        return fit_moments(plan, sums, noises, population="census")

    slopes = []
    for place, noise in enumerate(noises):
        step = 1e-3 * noise.deviation
        ends = [list(sums), list(sums)]
        ends[0][place] -= step
        ends[1][place] += step
        low, high = (fit(end).estimates for end in ends)
        variance = noise.deviation**2 + noise.rounding / 6
        slopes.append((high - low) / (2 * step) * np.sqrt(variance))
    expected = np.transpose(slopes) @ np.array(slopes)
    assert np.allclose(fit(sums).covariance, expected, rtol=1e-4)


def test_noise_that_hides_the_predictors_is_said_to() -> None:
    table = table_of(make_people(60), PEOPLE)
    plan = plan_moments(FORMULA, PEOPLE)
    measured = measure(plan.plan, table, amount=Fraction(1, 50))
    found = fit_moments(plan, [v[0] for v, _ in measured], [n for _, n in measured])
    low, high = found.interval()
    assert not found.is_determined
    assert np.all(np.isneginf(low))
    assert np.all(np.isposinf(high))
    assert "larger ε" in str(found)


def test_an_audit_sees_the_charge_and_refutes_half_of_the_noise() -> None:
    plan = plan_moments("y ~ x", SMALL).plan
    common: list[Row] = [{"x": 1, "g": "a", "y": 1}]
    pair = Listed(common, SMALL), Listed([*common, {"x": 2, "g": "b", "y": 3}], SMALL)
    honest = audit_plan(plan, pair, trials=500)
    assert not honest.violated
    assert honest.share > 0.05
    assert audit_plan(plan, pair, trials=500, draw=halve_noise).violated


def test_a_session_charges_the_moments_once(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    make_people(3_000).write_csv(people)
    with session(people, PEOPLE, budget=2) as questions:
        first = regress(questions, FORMULA, epsilon=1)
        again = regress(questions, FORMULA, epsilon=1)
        part = regress(questions, FORMULA, epsilon=1, where="sex = F")
    assert first.cost is not None
    assert again.cost is None
    assert part.cost is not None
    assert np.array_equal(first.estimates, again.estimates)
    assert first.names == ("Intercept", "age", "sex=M", "smoker")


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("pay", "A formula is"),
        ("pay ~ log(age)", "A formula is"),
        ("pay ~ nothing", "not in the schema"),
        ("pay ~ age + age", "each column once"),
        ("smoker ~ age", "column of numbers"),
    ],
)
def test_bad_formulas_cost_nothing(formula: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        plan_moments(formula, PEOPLE)
