"""Discovery: what nobody declared is bought; what is declared is free."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import numpy as np
import pytest

from curator.rooms import room_of
from understudy.accounting.cost import Currency
from understudy.curator import Custody
from understudy.curator.discovery import close
from understudy.errors import Refused
from understudy.schema import Boolean, Categorical, Date, Integer, Schema, Undeclared
from understudy.synthesizers import silent

RNG = np.random.default_rng(5)
ROWS = [
    {"age": str(int(a)), "place": str(p), "born": str(date(1990, 1, 1 + int(a) % 28)), "smoker": str(s)}
    for a, p, s in zip(
        RNG.integers(18, 80, 6000), RNG.choice(["A", "B", "C"], 6000), RNG.choice(["yes", "no"], 6000), strict=True
    )
]


def test_a_closed_schema_costs_nothing():
    schema = Schema(columns=(Boolean(name="smoker"), Integer(name="age", min=0, max=99)))
    room = room_of([], schema)
    before = room.till.left
    closed, known, _ = close(room, schema, amount=before, delta=Fraction(0), progress=silent)
    assert closed == schema
    assert room.till.left == before
    assert len(known) == len(known.sparse) == 0


def test_an_open_schema_is_closed_within_the_share():
    schema = Schema(columns=tuple(Undeclared(name=n) for n in ("age", "place", "born", "smoker")))
    room = room_of(ROWS, schema, epsilon=4)
    custody = Custody(room, schema)
    before = room.till.left
    closed = custody.discover(share=Fraction(1, 2), delta=room.till.left_delta, progress=silent)
    assert [closed[n].type for n in closed] == ["integer", "categorical", "date", "categorical"]
    assert closed["place"].values == ("A", "B", "C")
    assert 8 <= closed["age"].min <= 28
    assert 68 <= closed["age"].max <= 127
    assert all(closed[n].learned for n in closed)
    assert Fraction(45, 100) * before <= before - room.till.left <= before / 2
    assert [s.clique for s in custody.known.sparse] == [("place",), ("smoker",)]
    assert closed["smoker"].values == ("no", "yes")


def test_declared_bounds_stand():
    schema = Schema(columns=(Integer(name="age", min=18),))
    rows = [{"age": int(r["age"])} for r in ROWS]
    room = room_of(rows, schema)
    closed, *_ = close(room, schema, amount=room.till.left, delta=Fraction(0), progress=silent)
    assert closed["age"].min == 18


def test_learned_dates_stay_on_the_calendar():
    schema = Schema(columns=(Date(name="day"),))
    room = room_of([{"day": date(9999, 12, 31)}] * 5000, schema)
    closed, *_ = close(room, schema, amount=room.till.left, delta=Fraction(0), progress=silent)
    assert closed["day"].max <= date(9999, 12, 31)


def test_delta_zero_with_open_categories_is_refused_and_free():
    schema = Schema(columns=(Categorical(name="place"),))
    room = room_of([], schema, currency=Currency.PURE, delta=0)
    with pytest.raises(Refused, match=r"place.*δ = 0.*Nothing was spent"):
        close(room, schema, amount=Fraction(1, 2), delta=Fraction(0), progress=silent)
    assert room.till.left == 1


@pytest.mark.parametrize(("declared", "values"), [({"max": 10}, 1000), ({"min": 1000}, 10)])
def test_a_declared_bound_stands_even_where_the_values_lie_beyond_it(declared, values):
    schema = Schema(columns=(Integer(name="x", **declared),))
    room = room_of([{"x": values}] * 5000, schema)
    closed, *_ = close(room, schema, amount=room.till.left, delta=Fraction(0), progress=silent)
    assert all(getattr(closed["x"], name) == bound for name, bound in declared.items())
    assert closed["x"].min <= closed["x"].max


def test_bounds_at_the_end_of_the_lattice_are_bounds():
    schema = Schema(columns=(Integer(name="x"),))
    room = room_of([{"x": -(2**62) + 1}] * 5000, schema)
    closed, *_ = close(room, schema, amount=room.till.left, delta=Fraction(0), progress=silent)
    assert closed["x"].closed
