"""Rows per unit, broken rows and maps: what one unit can move, and that it is paid for."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import product
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from kit.curator.contexts import context_of, no_noise
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator
from understudy.curator.discovery import extras
from understudy.models import ProductModel
from understudy.releases.output.frames import to_frame
from understudy.schema import BrokenRowPolicy, FunctionalDependency, Schema
from understudy.schema.columns.weekdays import weekday_counts
from understudy.tables import Table, open_table


def context_for(rows, schema, *, draw=None):
    """A context around a real table."""
    context = context_of([], schema)
    return replace(context, table=rows, **({} if draw is None else {"draw": draw}))


PAGE = """
unit: {id: who, max_rows: 2}
columns:
  who: {type: identifier, generate: true}
  a: {type: integer, min: 0, max: 1}
  b: {type: integer, min: 0, max: 1}
rules: [a <= b]
"""
ROW = list(product((0, 1), repeat=2))
PEOPLE = [
    (),
    *((row,) for row in ROW),
    *((one, two) for one in ROW for two in ROW),
    ((1, 0),) * 4,
    ((0, 1),) * 4,
]
"""Everything one person may have: no row, one, two, and more than are used."""


def table(people, broken="keep"):
    rows = [(f"p{i}", *row) for i, person in enumerate(people) for row in person]
    frame = pl.DataFrame(
        rows, schema={"who": pl.String, "a": pl.Int64, "b": pl.Int64}, orient="row"
    )
    return Table(open_table(frame), Schema.parse(PAGE + f"broken: {broken}"))


@pytest.mark.parametrize("broken", list(BrokenRowPolicy))
def test_one_person_moves_the_answers_by_no_more_than_is_charged(broken):
    """Brute force: a second person with any rows at all, beside one with any of a few."""
    add = extras.sizes_sensitivity(Neighbours.ADD_REMOVE)
    exchange = extras.sizes_sensitivity(Neighbours.REPLACE)
    for first in (PEOPLE[1], PEOPLE[8]):
        found = [
            (t.sizes(), t.broken())
            for t in (table([first, second], broken) for second in PEOPLE)
        ]
        for i, (sizes, count) in enumerate(found):
            assert np.abs(sizes - found[0][0]).sum() <= add.l1
            assert abs(count - found[0][1]) <= 2
            for other, another in found[:i]:
                assert np.abs(sizes - other).sum() <= exchange.l1
                assert np.square(sizes - other).sum() <= exchange.l2_squared
                assert abs(count - another) <= 2
        assert any(
            np.abs(sizes - other).sum() == exchange.l1
            for sizes, _ in found
            for other, _ in found
        ), "it is reached"


def test_sizes_are_those_of_the_bounded_units():
    assert table([PEOPLE[1], PEOPLE[-1], PEOPLE[9]]).sizes().tolist() == [1, 2]


def test_what_is_learned_is_paid_for_and_written_down():
    schema = Schema.parse(PAGE + "broken: drop\ncount_broken: true")
    context = context_for(
        table([PEOPLE[-1]] * 5 + [PEOPLE[-2]] * 3 + [PEOPLE[4]] * 9, "drop"),
        schema,
        draw=no_noise,
    )
    curator = Curator(context, schema)
    closed = curator.discover(
        share=Fraction(1, 5), delta=Fraction(0), progress=lambda stage, done: None
    )
    assert closed.unit.sizes == (9, 5)
    assert closed.unit.learned
    assert curator.notes[0].startswith(
        "that about 6 rows break a rule (standard deviation "
    )
    assert [asked for asked, _ in curator.charges] == ["broken rows", "rows per unit"]
    whole = context.payments.amount_left + sum(
        cost.amount for _, cost in curator.charges
    )
    for (_, cost), share in zip(
        curator.charges, (extras.BROKEN_SHARE, extras.SIZES_SHARE), strict=True
    ):
        assert share * whole * Fraction(9, 10) < cost.amount <= share * whole


MAPS = Schema.parse("""
columns:
  town: {type: categorical, values: [Bern, Biel, Zug, Ur]}
  canton: {type: categorical, values: [BE, ZG]}
rules:
  - {from: town, to: canton, map: learn}
""")


def test_a_map_is_bought_where_it_stands_out():
    frame = pl.DataFrame(
        {
            "town": ["Bern"] * 3000 + ["Biel"] * 2000 + ["Zug"] * 2000 + ["Zug"] * 5,
            "canton": ["BE"] * 5000 + ["ZG"] * 2000 + ["BE"] * 5,
        }
    )
    curator = Curator(context_for(Table(open_table(frame), MAPS), MAPS), MAPS)
    closed = curator.discover(
        share=Fraction(1, 5), delta=Fraction(0), progress=lambda stage, done: None
    )
    (rule,) = closed.rules
    assert isinstance(rule, FunctionalDependency)
    assert rule.learned
    assert {"Bern": "BE", "Biel": "BE", "Zug": "ZG"}.items() <= rule.map.items()
    assert [asked for asked, _ in curator.charges] == ["marginals"]
    assert closed.zeros(("town", "canton"))[2, 0], (
        "the bought map is kept like a declared one"
    )


def test_rules_that_what_was_learned_leaves_no_row_for_are_set_aside():
    """A paid run does not end in an error because of the bounds it bought."""
    schema = Schema.parse("""
columns:
  a: {type: integer, bounds: learn, nullable: false}
  b: {type: integer, min: -9, max: -5, nullable: false}
rules: [a <= b]
""")
    frame = pl.DataFrame({"a": list(range(100)) * 50, "b": [-7] * 5000})
    curator = Curator(
        context_for(Table(open_table(frame), schema), schema, draw=no_noise), schema
    )
    closed = curator.discover(
        share=Fraction(1, 5), delta=Fraction(0), progress=lambda stage, done: None
    )
    assert closed.rules == ()
    assert curator.notes == [
        "that no row can keep the rule a <= b, which was set aside"
    ]


def test_days_of_the_week_are_bought_and_kept():
    """Thousands of working days: what is released has hardly a weekend, in every year."""
    schema = Schema.parse(
        "columns: {day: {type: date, min: 2015-01-01, max: 2024-12-31, weekdays: learn, nullable: false}}"
    )
    rng = np.random.default_rng(0)
    days = rng.integers(16_436, 20_000, 10_000)
    days = days[(days + 3) % 7 < 5]
    frame = pl.DataFrame({"day": pl.Series(days).cast(pl.Int32).cast(pl.Date)})
    curator = Curator(context_for(Table(open_table(frame), schema), schema), schema)
    closed = curator.discover(
        share=Fraction(1, 5), delta=Fraction(0), progress=lambda stage, done: None
    )
    assert "weekdays of day" in [asked for asked, _ in curator.charges]
    assert "weekdays" in closed["day"].learned
    weights = np.array(closed["day"].weekdays)
    # The histogram's noise has a standard deviation of about 60 rows here, and about
    # 1,430 lie on each working day: twelve of them.
    assert weights[5:].sum() < weights[:5].min()
    rng = np.random.default_rng(1)
    sample = to_frame(
        closed,
        ProductModel.uniform(closed, 3_000).sample(3_000, rng),
        kind="polars",
        rng=rng,
    )
    weekend = (sample["day"].dt.weekday() > 5).mean()
    assert weekend < 0.15, "without weights it would be 2 in 7"


def test_one_row_lies_on_one_day_of_the_week():
    schema = Schema.parse(
        "columns: {day: {type: date, min: 2024-01-01, max: 2024-01-14}}"
    )
    found = []
    for extra in (
        [],
        *([date(2024, 1, d)] for d in range(1, 15)),
        [None],
        [date(2030, 1, 1)],
    ):
        frame = pl.DataFrame(
            {
                "day": pl.Series(
                    [date(2024, 1, 3), date(2024, 1, 7), *extra], dtype=pl.Date
                )
            }
        )
        found.append(
            weekday_counts(
                schema["day"], *Table(open_table(frame), schema).lattice("day")
            )
        )
    assert all(np.abs(counts - found[0]).sum() <= 1 for counts in found)


def test_days_of_the_week_in_a_zone_are_bought_and_kept():
    """Late shifts on working days in New York: by UTC half of Friday's would be
    Saturday's.
    """
    schema = Schema.parse(
        "columns: {at: {type: datetime, zone: America/New_York, resolution: 1h, min: 2015-01-01, max: 2024-12-31,"
        " weekdays: learn, nullable: false}}"
    )
    rng = np.random.default_rng(0)
    days = rng.integers(16_436, 20_000, 6_000)
    days = days[(days + 3) % 7 < 5]
    zone = ZoneInfo("America/New_York")
    moments = [
        datetime(1970, 1, 1, 21, tzinfo=zone) + timedelta(days=int(d)) for d in days
    ]
    frame = pl.DataFrame(
        {"at": pl.Series(moments).dt.convert_time_zone("America/New_York")}
    )
    curator = Curator(context_for(Table(open_table(frame), schema), schema), schema)
    closed = curator.discover(
        share=Fraction(1, 5), delta=Fraction(0), progress=lambda stage, done: None
    )
    weights = np.array(closed["at"].weekdays)
    assert weights[5:].sum() < weights[:5].min()
    rng = np.random.default_rng(1)
    sample = to_frame(
        closed,
        ProductModel.uniform(closed, 3_000).sample(3_000, rng),
        kind="polars",
        rng=rng,
    )
    weekend = (sample["at"].dt.weekday() > 5).mean()
    assert weekend < 0.15, "without weights it would be 2 in 7"
