"""Scopes of a partition: what the dearest unit pays, and no unit more than that."""

import json
import sqlite3
from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.accounting.budget import Budget
from understudy.accounting.chain import digest_of
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.ledger import Ledger
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.questions.partition import (
    PartitionScope,
    PartitionTally,
    ScopedSpending,
)
from understudy.errors import BudgetExceeded, LedgerTampered, Refused

NORTH, SOUTH = frozenset({0}), frozenset({1})


def region(cells, size=4):
    return PartitionScope("region", "d", size, frozenset(cells))


def pure(amount):
    return Cost(Accounting.PURE, Fraction(amount))


def spend_in_regions(tmp_path, neighbours, unit="row"):
    """Four questions: two about the whole table, one about each of two regions."""
    with Ledger.create(
        tmp_path / "people.ledger", dataset="people", neighbours=neighbours, unit=unit
    ) as ledger:
        run = ledger.reserve(Budget.of(2, 0), event="questions")
        asked = [("0.5", None), ("0.2", NORTH), ("0.25", SOUTH), ("0.25", None)]
        for step, (amount, cells) in enumerate(asked):
            scope = None if cells is None else region(cells)
            run.charge(step, pure(amount), digest_of(step), scope=scope)
        ledger.verify()
        return run.filter.spent


def test_the_account_charges_the_dearest_part_or_the_two_dearest(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "c").mkdir()
    assert spend_in_regions(tmp_path / "a", Neighbours.ADD_REMOVE) == 1
    assert spend_in_regions(tmp_path / "b", Neighbours.REPLACE) == Fraction("1.2")
    several = "person, at most 3 rows"
    assert spend_in_regions(tmp_path / "c", Neighbours.ADD_REMOVE, several) == Fraction(
        "1.2"
    )


def worst_pair(charges, neighbours, sizes):
    """What any two neighbouring units pay, unit by unit: brute force."""
    units = list(product(*(range(size) for size in sizes.values())))
    places = {column: place for place, column in enumerate(sizes)}

    def paid(*touched):
        return sum(
            (
                cost
                for column, cells, cost in charges
                if any(unit[places[column]] in cells for unit in touched)
            ),
            Fraction(0),
        )

    if neighbours is Neighbours.ADD_REMOVE:
        return max(paid(unit) for unit in units)
    return max(paid(*pair) for pair in combinations(units, 2))


cells = st.frozensets(st.integers(0, 2), max_size=3)
amounts = st.fractions(0, 1, max_denominator=50)
charges = st.lists(st.tuples(st.sampled_from(["a", "b"]), cells, amounts), max_size=6)


@given(charges)
@settings(deadline=None, max_examples=150)
def test_no_unit_pays_more_than_the_run_is_charged(charged):
    sizes = {"a": 3, "b": 3}
    for neighbours in Neighbours:
        spending, total = ScopedSpending(), Fraction(0)
        for column, held, amount in charged:
            scope = PartitionScope(column, "d", 3, held)
            grown = spending.charge(pure(amount), scope, neighbours)
            total += grown.amount
        worst = worst_pair(charged, neighbours, sizes)
        assert worst <= total <= sum((amount for *_, amount in charged), Fraction(0))
        if neighbours is Neighbours.ADD_REMOVE:
            assert total == worst
        facts = json.loads(json.dumps(spending.to_facts()))
        assert ScopedSpending.of_facts(facts) == spending


def charge_all(charged, neighbours):
    """What a run is charged for these, and what some pair of units pays."""
    spending, total = ScopedSpending(), Fraction(0)
    for column, held, amount in charged:
        scope = PartitionScope(column, "d", 3, held)
        total += spending.charge(pure(amount), scope, neighbours).amount
    return total, worst_pair(charged, neighbours, {"a": 3, "b": 3})


def the_largest_alone(self, neighbours):
    return PartitionTally.honest(self, Neighbours.ADD_REMOVE)


def the_smallest(self, neighbours):
    return min(self.cells.values(), default=(Fraction(0), Fraction(0)))


@pytest.mark.parametrize("broken", [the_largest_alone, the_smallest])
def test_a_broken_composition_is_caught(monkeypatch, broken):
    """The teeth: parallel composition under replace, or of the cheapest part, charges
    less than some unit pays.
    """
    charged = [("a", NORTH, Fraction(1, 5)), ("a", SOUTH, Fraction(1, 4))]
    total, worst = charge_all(charged, Neighbours.REPLACE)
    assert worst <= total
    monkeypatch.setattr(
        PartitionTally, "honest", PartitionTally.worst_unit, raising=False
    )
    monkeypatch.setattr(PartitionTally, "worst_unit", broken)
    total, worst = charge_all(charged, Neighbours.REPLACE)
    assert worst > total


def test_columns_that_were_taken_for_one_partition_would_be_caught():
    """The teeth: region = North and sex = F are not disjoint, and both count."""
    charged = [("a", NORTH, Fraction(1, 5)), ("b", SOUTH, Fraction(1, 4))]
    total, worst = charge_all(charged, Neighbours.ADD_REMOVE)
    assert total == worst == Fraction(9, 20)


def test_cells_of_two_schemas_are_not_the_same_partition():
    spending = ScopedSpending()
    for domain, held in (("old", NORTH), ("new", SOUTH)):
        scope = PartitionScope("region", domain, 4, held)
        spending.charge(pure("0.2"), scope, Neighbours.ADD_REMOVE)
    assert spending.worst_unit(Neighbours.ADD_REMOVE) == (Fraction("0.4"), 0)


def test_the_filter_of_a_run_refuses_the_cell_that_has_spent_all(tmp_path):
    with Ledger.create(tmp_path / "people.ledger", dataset="people") as ledger:
        run = ledger.reserve(Budget.of("0.5", 0), event="questions")
        run.charge(0, pure("0.5"), digest_of(0), scope=region(NORTH))
        run.charge(1, pure("0.5"), digest_of(1), scope=region(SOUTH))
        for scope in (region(NORTH), region(NORTH | SOUTH), None, region(range(4))):
            with pytest.raises(BudgetExceeded):
                run.charge(2, pure("0.1"), digest_of(2), scope=scope)
        run.charge(2, pure("0.1"), digest_of(2), scope=region([]))
        ledger.verify()
    with Ledger.open(ledger.path) as again:
        resumed = again.resume(run.id)
        assert resumed.filter.spent == Fraction("0.5")
        with pytest.raises(BudgetExceeded):
            resumed.charge(3, pure("0.1"), digest_of(3), scope=region(SOUTH))


def test_a_scope_that_was_narrowed_afterwards_is_found(tmp_path):
    with Ledger.create(tmp_path / "people.ledger", dataset="people") as ledger:
        run = ledger.reserve(Budget.of(1, 0), event="questions")
        run.charge(0, pure("0.5"), digest_of(0), scope=region(NORTH))
        file = sqlite3.connect(ledger.path, isolation_level=None)
        file.execute(
            "UPDATE entry SET detail = replace(detail, '\"cells\":[0]', '\"cells\":[1]')"
        )
        file.close()
        with pytest.raises(LedgerTampered, match="entry 3 was changed"):
            ledger.verify()


def test_long_sums_stay_short_in_the_file_and_are_rounded_up():
    spending, exact = ScopedSpending(), Fraction(0)
    for step in range(60):
        amount = Fraction(2**20, (2**20 + 2 * step + 1) ** 2)
        exact += amount
        spending.charge(pure(amount), region(NORTH), Neighbours.ADD_REMOVE)
    stated, _ = spending.worst_unit(Neighbours.ADD_REMOVE)
    assert exact < stated < exact + Fraction(60, 2**128)
    assert len(json.dumps(spending.to_facts())) < 500


def test_a_scope_names_cells_that_exist_and_few_enough():
    with pytest.raises(Refused, match="does not have"):
        region([4])
    with pytest.raises(Refused, match="at most 256 cells"):
        region([0], size=257)
