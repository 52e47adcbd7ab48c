"""Counts of all units of a level: how far one row moves them, what they lose, and
whether an auditor notices when they lose more.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from kit.curator.contexts import context_of, neighbouring, no_noise
from kit.privacy.audit import audited
from kit.privacy.world import additive
from understudy.accounting.budget import Budget
from understudy.accounting.conversion import epsilon_of_zcdp
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.filter import Filter
from understudy.accounting.ledger import Ledger
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Payments
from understudy.curator.mechanisms import geounits
from understudy.curator.mechanisms.geounits import UnitHistogram, UnitLevel
from understudy.errors import BudgetExceeded
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
        contexts = [
            context_of(
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
                counts = [
                    histogram(context)._count_level(level, clique)
                    for context in contexts
                ]
                largest = max(largest, int(np.square(counts[0] - counts[1]).sum()))
    assert largest == contexts[0].unit_vector().l2_squared == assumed


def test_the_price_is_that_of_the_production_system():
    """σ² = 1/(ρ g w) under replace, and ρ = 2.5562 is ε = 17.14 at δ = 1e-10."""
    context = context_of(
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
    measured = histogram(context).measure_units(LEVELS[2], (), amount=amount)
    assert float(measured.scale) == pytest.approx(float(1 / amount) ** 0.5, rel=1e-3)
    assert float(measured.scale) == pytest.approx(89.2, abs=0.1)
    assert measured.cost.amount <= amount
    assert float(epsilon_of_zcdp(rho, Fraction(1, 10**10))) == pytest.approx(
        17.14, abs=0.01
    )


def test_rows_elsewhere_and_impossible_rows_count_nowhere():
    context = context_of(UNIVERSE, SCHEMA, accounting=Accounting.ZCDP, noise=no_noise)
    asked = histogram(context)
    assert asked.read_invariant(LEVELS[2], (), only_zeros=False).tolist() == [1, 1, 1]
    assert asked.read_invariant(LEVELS[0], ("kind",), only_zeros=False).tolist() == [
        [2, 1]
    ]


def test_places_are_found_however_many_labels_there_are():
    """10²⁰ combinations have no number of 64 bits: the run failed after its reservation."""
    labels = tuple(map(str, range(10_000)))
    names = ("region", "state", "county", "tract", "block")
    columns = [Categorical(name=n, values=labels, nullable=False) for n in names]
    schema = Schema(columns=(*columns, SCHEMA["sex"]))
    leaves = np.array([[9, 9, 9, 9, 1], [9, 9, 9, 9, 0], [0, 9, 9, 9, 1]])
    rows = [
        dict(zip((*names, "sex"), (*map(str, place), "f"), strict=True))
        for place in [*leaves, *leaves[:1], [0, 9, 9, 9, 0], [9, 0, 9, 9, 1]]
    ]
    context = context_of(rows, schema, accounting=Accounting.ZCDP, noise=no_noise)
    asked = UnitHistogram(context, schema, names, ("sex",), leaves)
    block = UnitLevel("block", np.arange(3), 3)
    assert asked.read_invariant(block, (), only_zeros=False).tolist() == [2, 1, 1]


HERE = [UNIVERSE[0], UNIVERSE[1]]
THERE = {
    Neighbours.ADD_REMOVE: [*HERE, UNIVERSE[2]],
    Neighbours.REPLACE: [UNIVERSE[2], UNIVERSE[1]],
}
OPTIONS = {"accounting": Accounting.ZCDP, "epsilon": 10}


@pytest.mark.parametrize("accounting", [Accounting.ZCDP, Accounting.GDP])
@pytest.mark.parametrize("relation", Neighbours)
def test_all_levels_together_lose_no_more_than_they_cost(relation, accounting):
    """False alarm: 1e-6."""
    options = {**OPTIONS, "accounting": accounting}
    here, there, cost = additive(
        ask_all, HERE, THERE[relation], SCHEMA, times=8000, relation=relation, **options
    )
    assert cost.accounting is accounting
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
        contexts = [
            histogram(context_of(rows, SCHEMA, noise=no_noise)) for rows in pair
        ]
        counts = [context._count_level(level, clique) for context in contexts]
        agree = ((counts[0] > 0) == (counts[1] > 0)).all()
        answers = [read(context, level, clique) for context in contexts]
        if agree and (answers[0] != answers[1]).any():
            return True
    return False


def test_an_invariant_says_no_more_than_it_declares():
    assert not leaks(
        lambda context, level, clique: context.read_invariant(
            level, clique, only_zeros=True
        )
    )
    # A broken twin that reads counts where zeros are declared is noticed.
    assert leaks(
        lambda context, level, clique: context.read_invariant(
            level, clique, only_zeros=False
        )
    )


@pytest.mark.parametrize("level", [1, 2])
def test_a_level_in_parts_is_charged_once_and_says_the_same(monkeypatch, level):
    whole = context_of(UNIVERSE, SCHEMA, accounting=Accounting.ZCDP, noise=no_noise)
    asked = {"amount": Fraction(1, 100)}
    expected = histogram(whole).measure_units(LEVELS[level], ("kind",), **asked)
    monkeypatch.setattr(geounits, "MAX_PART_CELLS", 2)
    parts = context_of(UNIVERSE, SCHEMA, accounting=Accounting.ZCDP, noise=no_noise)
    answer = histogram(parts).measure_units(LEVELS[level], ("kind",), **asked)
    assert (answer.values == expected.values).all()
    charges = [cost.amount for _, cost in parts.payments.charges]
    assert len(charges) == LEVELS[level].units
    assert charges == [expected.cost.amount] + [0] * (len(charges) - 1)
    assert answer.values.dtype == np.int16


@pytest.mark.parametrize("spare", [0, 1])
def test_a_level_resumed_between_its_parts_is_charged_again(
    monkeypatch, tmp_path, spare
):
    """The rows may be others by then, and a person who moved is in both parts: without
    a second charge L2² was 2 and 1 was paid for. Which rows of a unit are kept is drawn
    anew as well.
    """
    monkeypatch.setattr(geounits, "MAX_PART_CELLS", 2)
    state, cost = LEVELS[1], Cost(Accounting.ZCDP, Fraction(1, 100))
    total = Filter(Accounting.ZCDP, cost.amount * (1 + spare))

    def measure(run, rows, noise):
        context = replace(
            context_of(rows, SCHEMA, accounting=Accounting.ZCDP, noise=noise),
            payments=Payments(run, replace(total)),
        )
        answer = histogram(context).measure_units(state, ("kind",), amount=cost.amount)
        return answer.values, context.payments.charges

    drawn = []

    def die_at_the_second(law, scale, shape):
        drawn.append(shape)
        if len(drawn) == 2:
            raise KeyboardInterrupt
        return no_noise(law, scale, shape)

    here, moved = UNIVERSE[0], {**UNIVERSE[0], "state": "s"}
    with Ledger.create(tmp_path / "people.ledger", dataset="people") as ledger:
        run = ledger.reserve(Budget.of(9, "1e-9"), event="census", filter=total)
        with pytest.raises(KeyboardInterrupt):
            measure(run, [here], die_at_the_second)
        if not spare:
            with pytest.raises(BudgetExceeded, match="begin a new run"):
                measure(ledger.resume(run.id), [moved], no_noise)
            return
        values, charges = measure(ledger.resume(run.id), [moved], no_noise)
        # One person, seen in two places: L2² is 2, and two charges pay for it.
        assert (values**2).sum() == 2
        first, second = (paid.amount for _, paid in charges)
        assert first == second > 0
        # What is stored now is replayed for what it had cost.
        again, replayed = measure(ledger.resume(run.id), [], no_noise)
        assert (again == values).all()
        assert [paid.amount for _, paid in replayed] == [first, 0]


def test_all_levels_in_parts_lose_no_more_than_they_cost(monkeypatch):
    """False alarm: 1e-6. A row that moves from one part to another is what one charge for
    all parts has to cover.
    """
    monkeypatch.setattr(geounits, "MAX_PART_CELLS", 2)
    relation = Neighbours.REPLACE
    here, there, cost = additive(
        ask_all, HERE, THERE[relation], SCHEMA, times=4000, relation=relation, **OPTIONS
    )
    assert not audited(here, there, cost).violated
