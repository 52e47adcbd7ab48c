"""Counts of all units of a level: how far one row moves them, what they lose, and
whether an auditor notices when they lose more.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kit.curator.contexts import neighbouring, no_noise, room_of
from kit.privacy.audit import audited
from kit.privacy.world import additive
from understudy.accounting.conversion import epsilon_of_zcdp
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.neighbours import Neighbours
from understudy.curator.mechanisms import geounits
from understudy.curator.mechanisms.geounits import UnitHistogram, UnitLevel
from understudy.errors import Refused
from understudy.noise import draw_noise
from understudy.schema import Categorical, Schema, parse_predicate

SCHEMA = Schema(
    columns=(
        Categorical(name="state", values=("n", "s"), nullable=False),
        Categorical(name="county", values=("a", "b"), nullable=False),
        Categorical(name="sex", values=("f", "m"), nullable=False),
        Categorical(name="kind", values=("home", "gq"), nullable=False),
    ),
    impossible=(parse_predicate("sex = 'm' and kind = 'gq'"),),
)
LEAVES = np.array([[0, 0], [0, 1], [1, 0]])  # s/b is no unit
LEVELS = (
    UnitLevel("nation", np.array([0, 0, 0]), 1),
    UnitLevel("state", np.array([0, 0, 1]), 2),
    UnitLevel("county", np.array([0, 1, 2]), 3),
)
CLIQUES = ((), ("sex",), ("sex", "kind"))
UNIVERSE = [
    {"state": state, "county": county, "sex": sex, "kind": kind}
    for state, county, sex, kind in [
        *(("n", "a", "f", "home"), ("n", "b", "m", "home"), ("s", "a", "f", "gq")),
        *(("s", "b", "f", "home"), ("n", "a", "m", "gq")),
    ]
]


def histogram(context, schema=SCHEMA):
    return UnitHistogram(context, schema, ("state", "county"), ("sex", "kind"), LEAVES)


def ask_all(context, schema):
    """Every query of every level; counties get four fifths of the budget."""
    asked = histogram(context, schema)
    parts = (Fraction(1, 10), Fraction(1, 10), Fraction(8, 10))
    whole = context.payments.amount_left
    for level, part in zip(LEVELS, parts, strict=True):
        for clique in CLIQUES:
            asked.measure_units(level, clique, amount=whole * part / len(CLIQUES))


@pytest.mark.parametrize("relation", Neighbours)
def test_no_row_moves_a_level_further_than_its_price_assumes(relation):
    """On all tables of up to two rows, also of rows that count nowhere."""
    assumed = 1 if relation is Neighbours.ADD_REMOVE else 2
    largest = 0
    for pair in neighbouring(UNIVERSE, 2, relation):
        rooms = [
            room_of(
                rows,
                SCHEMA,
                neighbours=relation,
                accounting=Accounting.ZCDP,
                noise=no_noise,
            )
            for rows in pair
        ]
        for level in LEVELS:
            for clique in CLIQUES:
                counts = [histogram(room)._count_level(level, clique) for room in rooms]
                largest = max(largest, int(np.square(counts[0] - counts[1]).sum()))
    assert largest == rooms[0].unit_vector().l2_squared == assumed


def test_the_price_is_that_of_the_production_system():
    """σ² = 1/(ρ g w) under replace, and ρ = 2.5562 is ε = 17.14 at δ = 1e-10."""
    room = room_of(
        [],
        SCHEMA,
        neighbours=Neighbours.REPLACE,
        accounting=Accounting.ZCDP,
        epsilon=50,
    )
    rho, level_share, query_share = (
        Fraction("2.5562"),
        Fraction(165, 4099),
        Fraction(5, 4097),
    )
    amount = rho * level_share * query_share
    measured = histogram(room).measure_units(LEVELS[2], (), amount=amount)
    assert float(measured.scale) == pytest.approx(float(1 / amount) ** 0.5, rel=1e-3)
    assert float(measured.scale) == pytest.approx(89.2, abs=0.1)
    assert measured.cost.amount <= amount
    assert float(epsilon_of_zcdp(rho, Fraction(1, 10**10))) == pytest.approx(
        17.14, abs=0.01
    )


def test_rows_elsewhere_and_impossible_rows_count_nowhere():
    room = room_of(UNIVERSE, SCHEMA, accounting=Accounting.ZCDP, noise=no_noise)
    asked = histogram(room)
    assert asked.read_invariant(LEVELS[2], (), only_zeros=False).tolist() == [1, 1, 1]
    assert asked.read_invariant(LEVELS[0], ("kind",), only_zeros=False).tolist() == [
        [2, 1]
    ]


HERE = [UNIVERSE[0], UNIVERSE[1]]
THERE = {
    Neighbours.ADD_REMOVE: [*HERE, UNIVERSE[2]],
    Neighbours.REPLACE: [UNIVERSE[2], UNIVERSE[1]],
}
OPTIONS = {"accounting": Accounting.ZCDP, "epsilon": 10}


@pytest.mark.parametrize("relation", Neighbours)
def test_all_levels_together_lose_no_more_than_they_cost(relation):
    """False alarm: 1e-6."""
    here, there, cost = additive(
        ask_all, HERE, THERE[relation], SCHEMA, times=8000, relation=relation, **OPTIONS
    )
    audit = audited(here, there, cost)
    assert not audit.violated
    assert audit.share > 0.3  # the nation cannot tell where a replaced row went


def test_a_level_that_is_not_charged_is_caught(monkeypatch):
    real = geounits.price
    calls = iter(range(10**6))

    def forget_counties(law, scale, sensitivity, accounting):
        # Nine questions a run, those of the counties last.
        if next(calls) % 9 >= 6:
            return Cost(accounting, Fraction(0))
        return real(law, scale, sensitivity, accounting)

    monkeypatch.setattr(geounits, "price", forget_counties)
    relation = Neighbours.ADD_REMOVE
    here, there, cost = additive(
        ask_all,
        HERE,
        THERE[relation],
        SCHEMA,
        times=8000,
        relation=relation,
        **OPTIONS,
    )
    assert audited(here, there, cost).violated


def test_noise_that_siblings_share_is_caught():
    def draw_shared(law, scale, shape):
        shared = draw_noise(law, scale, (1, *shape[1:]))
        return np.broadcast_to(shared, shape).copy()

    relation = Neighbours.REPLACE
    # The row moves to another state and stays what it is: shared noise cancels.
    moved = [{**UNIVERSE[0], "state": "s"}, UNIVERSE[1]]
    here, there, cost = additive(
        ask_all,
        HERE,
        moved,
        SCHEMA,
        times=1000,
        relation=relation,
        noise=draw_shared,
        **OPTIONS,
    )
    assert audited(here, there, cost).violated


def leaks(read) -> bool:
    """Whether an invariant tells two neighbours apart that agree on its zeros."""
    level, clique = LEVELS[1], ("sex",)
    for pair in neighbouring(UNIVERSE, 3, Neighbours.ADD_REMOVE):
        rooms = [histogram(room_of(rows, SCHEMA, noise=no_noise)) for rows in pair]
        counts = [room._count_level(level, clique) for room in rooms]
        agree = ((counts[0] > 0) == (counts[1] > 0)).all()
        answers = [read(room, level, clique) for room in rooms]
        if agree and (answers[0] != answers[1]).any():
            return True
    return False


def test_an_invariant_says_no_more_than_it_declares():
    assert not leaks(
        lambda room, level, clique: room.read_invariant(level, clique, only_zeros=True)
    )
    # A broken twin that reads counts where zeros are declared is noticed.
    assert leaks(
        lambda room, level, clique: room.read_invariant(level, clique, only_zeros=False)
    )


def test_an_answer_that_no_ledger_could_hold_is_refused(monkeypatch):
    monkeypatch.setattr(geounits, "MAX_ANSWER_CELLS", 2)
    room = room_of([], SCHEMA, accounting=Accounting.ZCDP)
    with pytest.raises(Refused, match="not asked"):
        histogram(room).measure_units(LEVELS[2], (), amount=Fraction(1, 10))
