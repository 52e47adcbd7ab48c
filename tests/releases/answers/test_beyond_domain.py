"""Questions that reach beyond what was learned: the interval holds every row that may
be there, and mistakes are refused.
"""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import numpy as np
import pytest

from understudy.accounting import Accounting, Cost, Law
from understudy.errors import Refused
from understudy.measurements import Identity, Measurement, Measurements
from understudy.models import ProductModel
from understudy.releases import Guarantee, Release
from understudy.schema import Categorical, Date, Integer, Schema, Time

COUNTS = {
    "town": [600, 300, 100],
    "age": [200, 700, 100],
    "born": [500, 300, 200],
    "woke": [400] * 2 + [100] * 2,
}


def made(*learned: str, **counts: list[int]) -> Release:
    """A release in which 100 rows are in another town, 200 at the lower bound of age
    and 100 at the upper.
    """
    days = (dt.date(1990, 1, 1), dt.date(1990, 1, 3))
    schema = Schema(
        columns=(
            Categorical(
                name="town",
                values=("Bern", "Basel"),
                other="other",
                nullable=False,
                learned=learned,
            ),
            Integer(name="age", min=20, max=22, nullable=False, learned=learned),
            Date(
                name="born", min=days[0], max=days[1], nullable=False, learned=learned
            ),
            Time(
                name="woke",
                resolution=dt.timedelta(hours=6),
                nullable=False,
                learned=learned[:1],
            ),
        )
    )
    cost = Cost(Accounting.GDP, Fraction(1, 1000))
    looks = tuple(
        Measurement(
            (name,),
            (Identity(len(found)),),
            np.array(found),
            Law.ROUNDED_GAUSSIAN,
            Fraction(1),
            cost,
        )
        for name, found in (COUNTS | counts).items()
    )
    found = Measurements(looks)
    promise = Guarantee(
        epsilon=Fraction(1),
        delta=Fraction(1, 10**9),
        accounting=Accounting.GDP,
        amount=Fraction(33, 1000),
    )
    return Release(
        guarantee=promise,
        schema=schema,
        measurements=found,
        model=ProductModel.from_measurements(schema, found),
        synthesizer="independent",
    )


@pytest.fixture(scope="module")
def learned() -> Release:
    return made("type", "values", "bounds")


@pytest.mark.parametrize(
    ("question", "estimate", "low", "high"),
    [
        ("count where town = Zug", 0, 0, 100),
        ("count where town = Bern", 600, 600, 600),
        ("count where town = other", 100, 100, 100),
        ("count where town in (Bern, Zug)", 600, 600, 700),
        ("count where town != Zug", 1000, 900, 1000),
        ("count where town not in (Bern, Zug)", 400, 300, 400),
        ("count where not (town = Zug or town = Bern)", 400, 300, 400),
        ("count where town = Zug and not town = Chur", 0, 0, 100),
        ("count where age > 60", 0, 0, 100),
        ("count where age <= 60", 1000, 900, 1000),
        ("count where age > 21", 100, 100, 100),
        ("count where age >= 18", 1000, 800, 1000),
        ("count where age in (21, 70)", 700, 700, 800),
        ("count where if age < 10 then town = Zug", 1000, 800, 1000),
        ("count where born < 1980-01-01", 0, 0, 500),
        ("count where born >= 1990-01-02", 500, 500, 500),
        ("count where woke >= 12:00", 200, 200, 200),
    ],
)
def test_what_was_counted_elsewhere_is_inside_the_interval(
    learned: Release, question, estimate, low, high
):
    found = learned.answer(question)
    noise = 20
    assert abs(found.estimate - estimate) < noise
    assert abs(found.low - low) < noise
    assert abs(found.high - high) < noise


@pytest.mark.parametrize("said", ["count", "share"])
def test_noise_below_zero_is_shown_as_nothing(said: str):
    """What ends between -1 and 0 ends at 0, and not at -0."""
    below = made(town=[701, 301, -2])
    found = below.answer(f"{said} where town = other")
    assert found.high == 0
    assert "-0" not in str(found)


def test_a_share_reaches_as_far(learned: Release):
    found = learned.answer("share where age > 60")
    assert found.low == found.estimate == 0
    assert 0.1 <= found.high < 0.12


def test_what_is_declared_ends_where_it_says():
    declared = made()
    found = declared.answer("count where age > 60")
    assert (found.estimate, found.low, found.high) == (0, 0, 0)
    with pytest.raises(Refused, match="is not one of its values"):
        declared.answer("count where town = Zug")


@pytest.mark.parametrize(
    "question",
    [
        "count where age > 'x'",
        "count where age > '60'",
        "count where born > 1990",
        "count where born > '1990-13-45'",
        "count where town > 3",
        "count where age > 12:00",
    ],
)
def test_a_constant_of_another_kind_is_refused_where_the_type_was_learned(
    learned: Release, question: str
):
    with pytest.raises(Refused, match="is none of its values"):
        learned.answer(question)


@pytest.mark.parametrize("question", [None, 5, [5], b"count"])
def test_a_question_is_a_text(learned: Release, question: object):
    with pytest.raises(Refused, match="A question reads"):
        learned.answer(question)  # type: ignore[arg-type]
