"""Tables of households: how far one household or one person moves them, what they lose,
and whether an auditor notices when they lose more.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import duckdb
import numpy as np
import pytest

from kit.curator.contexts import context_of, no_noise
from kit.privacy.audit import audited
from kit.privacy.world import additive
from understudy.accounting.cost import Accounting, Sensitivity
from understudy.accounting.neighbours import Neighbours
from understudy.curator.mechanisms import households
from understudy.curator.mechanisms.geounits import UnitLevel
from understudy.curator.mechanisms.households import HouseholdHistogram
from understudy.schema import Categorical, Identifier, Schema, Unit
from understudy.tables import Table, open_table

PERSONS = Schema(
    columns=(
        Identifier(name="home"),
        Categorical(name="county", values=("a", "b"), nullable=False),
        Categorical(name="tenure", values=("own", "rent"), nullable=False),
    )
)
HOMES = replace(PERSONS, unit=Unit(id="home", max_rows=2))
LEVELS = (
    UnitLevel("nation", np.array([0, 0]), 1),
    UnitLevel("county", np.array([0, 1]), 2),
)
MOST = 2


def histogram(context, schema):
    leaves = np.array([[0], [1]])
    return HouseholdHistogram(
        context,
        schema,
        ("county",),
        ("size", "tenure"),
        leaves,
        key="home",
        max_persons=MOST,
        kinds=np.array([True, True]),
    )


@cache
def count(rows, is_unit, level, clique):
    schema = HOMES if is_unit else PERSONS
    context = context_of([dict(row) for row in rows], schema, noise=no_noise)
    return histogram(context, schema)._count_level(level, clique)


def freeze(rows):
    return tuple(sorted(tuple(row.items()) for row in rows))


def row(home, tenure, county="a"):
    return {"home": home, "county": county, "tenure": tenure}


def pairs_of_persons(relation):
    """Tables of up to three persons of two households that differ in one person. Three
    show the worst case: both households leave one kind for the other.
    """
    universe = [row(*each) for each in product("12", ("own", "rent"), "ab")]
    for size in range(4):
        for table in combinations_with_replacement(universe, size):
            if relation is Neighbours.ADD_REMOVE:
                yield from (([*table], [*table, more]) for more in universe)
            else:
                yield from (
                    ([*table], [*table[:i], more, *table[i + 1 :]])
                    for i, more in product(range(size), universe)
                )


def pairs_of_homes(relation):
    """Tables of up to two households that differ in one, of up to three persons before
    they are bounded.
    """
    kinds = [
        [(tenure, county)] * size
        for tenure, county, size in product(("own", "rent"), "ab", (1, 2))
    ]
    for first, second, other in product(kinds, repeat=3):
        same = [row("1", *each) for each in first]
        here = [row("2", *each) for each in second]
        there = [row("3", *each) for each in other]
        if relation is Neighbours.ADD_REMOVE:
            yield same, [*same, *here]
        else:
            yield [*same, *here], [*same, *there]


ASSUMED = {
    (Neighbours.ADD_REMOVE, False): 2,
    (Neighbours.REPLACE, False): 8,
    (Neighbours.ADD_REMOVE, True): 1,
    (Neighbours.REPLACE, True): 2,
}


@pytest.mark.parametrize(("relation", "is_unit"), ASSUMED)
def test_nobody_moves_a_table_further_than_its_price_assumes(relation, is_unit):
    """And each bound is reached: no smaller one would do."""
    schema = HOMES if is_unit else PERSONS
    pairs = pairs_of_homes(relation) if is_unit else pairs_of_persons(relation)
    asked = [(LEVELS[0], ("tenure",)), (LEVELS[1], ("size", "tenure"))]
    largest: dict[str, int] = {"l1": 0, "l2_squared": 0, "l0": 0, "linf": 0}
    for here, there in pairs:
        for level, clique in asked:
            both = [
                count(freeze(rows), is_unit, level, clique) for rows in (here, there)
            ]
            moved = np.abs(both[0] - both[1])
            norms = (
                moved.sum(),
                (moved**2).sum(),
                np.count_nonzero(moved),
                moved.max(),
            )
            for name, norm in zip(largest, norms, strict=True):
                largest[name] = max(largest[name], int(norm))
    context = context_of([], schema, neighbours=relation, accounting=Accounting.ZCDP)
    stated = histogram(context, schema).find_sensitivity()
    assert largest["l2_squared"] == stated.l2_squared == ASSUMED[relation, is_unit]
    for name, norm in largest.items():
        assert norm <= getattr(stated, name)


def test_the_table_counts_as_the_list_does():
    """The query of the real table against plain Python, on rows in any order, of
    households in two places, and without a key.
    """
    rng = np.random.default_rng(4)
    rows = [
        row(
            *(
                str(rng.choice(choice))
                for choice in (["", "1", "2", "3"], ["own", "rent"], ["a", "b"])
            )
        )
        for _ in range(40)
    ]
    cells = ", ".join(
        f"('{r['home']}', '{r['county']}', '{r['tenure']}')" for r in rows
    )
    source = duckdb.sql(f"SELECT * FROM (VALUES {cells}) t(home, county, tenure)")
    real = Table(open_table(source), PERSONS)
    listed = context_of(rows, PERSONS).table
    clique = ("county", "tenure")
    for most in (1, 3, 50):
        answers = [
            sorted(
                zip(
                    *(c.tolist() for c in table.group_sizes("home", clique, most)),
                    strict=True,
                )
            )
            for table in (real, listed)
        ]
        assert answers[0] == answers[1]


# Two households that leave one kind for the other: the worst case of one person.
HERE = [row("1", "own", "a"), row("1", "rent", "b"), row("2", "own", "b")]
THERE = {
    Neighbours.REPLACE: [row("2", "rent", "a"), *HERE[1:]],
    Neighbours.ADD_REMOVE: HERE[1:],
}
OPTIONS = {"accounting": Accounting.ZCDP, "epsilon": 10}


def ask_all(context, schema):
    asked = histogram(context, schema)
    whole = context.payments.amount_left
    for clique in (("tenure",), ("size", "tenure")):
        asked.measure_units(LEVELS[0], clique, amount=whole / 2)


@pytest.mark.parametrize("relation", Neighbours)
def test_households_lose_no_more_than_they_cost(relation):
    """False alarm: 1e-6."""
    here, there, cost = additive(
        ask_all,
        HERE,
        THERE[relation],
        PERSONS,
        times=8000,
        relation=relation,
        **OPTIONS,
    )
    assert not audited(here, there, cost).violated


def test_a_person_priced_as_a_household_is_caught(monkeypatch):
    """A broken twin that forgets that a person can change two households."""

    def forget(neighbours, *, is_unit):
        return Sensitivity(l1=Fraction(1), l2_squared=Fraction(1))

    monkeypatch.setattr(households, "find_household_sensitivity", forget)
    relation = Neighbours.REPLACE
    here, there, cost = additive(
        ask_all,
        HERE,
        THERE[relation],
        PERSONS,
        times=8000,
        relation=relation,
        **OPTIONS,
    )
    assert audited(here, there, cost).violated
