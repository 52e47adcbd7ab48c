"""Runs for a part of the table: the account pays for its dearest unit, and no question
leaves the part.
"""

import shutil
import sqlite3
from dataclasses import replace
from fractions import Fraction

import pytest

from understudy.accounting.budget import Budget
from understudy.accounting.chain import digest_of
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.ledger import Ledger
from understudy.accounting.ledger_files.tables import read_entries
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.questions.partition import PartitionScope
from understudy.accounting.questions.question_run import open_questions
from understudy.errors import BudgetExceeded, LedgerError, LedgerTampered

NORTH = PartitionScope("region", "d", 4, frozenset({0}))
SOUTH = PartitionScope("region", "d", 4, frozenset({1}))
BOTH = PartitionScope("region", "d", 4, frozenset({0, 1}))
COST = Cost(Accounting.PURE, Fraction(1, 100))


def reserve_four(path, neighbours, unit="row"):
    """Runs of 0.5 and 0.25 for everybody, of 0.2 and 0.25 for one region each."""
    with Ledger.create(
        path, dataset="people", neighbours=neighbours, unit=unit
    ) as ledger:
        asked = [("0.5", ""), ("0.2", NORTH), ("0.25", SOUTH), ("0.25", "")]
        for epsilon, scope in asked:
            ledger.reserve(Budget.of(epsilon, 0), event="count", scope=scope)
        ledger.verify()
        return ledger.totals().epsilon


def test_the_account_charges_the_dearest_part_or_the_two_dearest(tmp_path):
    several = "person, at most 3 rows"
    assert reserve_four(tmp_path / "a", Neighbours.ADD_REMOVE) == 1
    assert reserve_four(tmp_path / "b", Neighbours.REPLACE) == Fraction("1.2")
    assert reserve_four(tmp_path / "c", Neighbours.ADD_REMOVE, several) == Fraction(
        "1.2"
    )


@pytest.fixture
def ledger(tmp_path):
    with Ledger.create(
        tmp_path / "people.ledger", dataset="people", cap=Budget.of(1, "1e-9")
    ) as ledger:
        yield ledger


def test_the_cap_holds_for_the_dearest_unit(ledger):
    ledger.reserve(Budget.of(1, 0), event="x", scope=NORTH)
    ledger.reserve(Budget.of(1, 0), event="x", scope=SOUTH)
    for scope in (NORTH, BOTH, ""):
        with pytest.raises(BudgetExceeded):
            ledger.reserve(Budget.of("0.1", 0), event="x", scope=scope)
    assert ledger.totals().epsilon == 1
    with Ledger.open(ledger.path) as again, pytest.raises(BudgetExceeded):
        again.reserve(Budget.of("0.1", 0), event="x", scope=SOUTH)


def test_no_question_leaves_the_scope_of_its_run(ledger):
    run = open_questions(ledger, Budget.of(1, 0), scope=NORTH)
    step = run.charge(COST, digest_of(1), scope=NORTH)
    run.store(step, digest_of(1), b"17")
    other = PartitionScope("region", "another schema", 4, frozenset({0}))
    again = open_questions(ledger)
    for outside in (None, SOUTH, BOTH, other):
        for refuse in (
            lambda scope: again.charge(COST, digest_of(2), scope=scope),
            lambda scope: again.refuse_unaffordable(COST, scope=scope),
        ):
            with pytest.raises(LedgerError, match="is for a part of region"):
                refuse(outside)
    ledger.verify()


def test_a_run_with_a_scope_is_the_owners(ledger):
    with pytest.raises(LedgerError, match="leave the analyst out"):
        ledger.reserve(Budget.of(1), event="x", scope=NORTH, analyst="ada")
    assert ledger.totals().runs == 0


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ('"cells":[1],', '"cells":[2],', "of its scope other than it says"),
        ('"epsilon":"1/2"', '"epsilon":"9/10"', "of its scope other than it says"),
    ],
)
def test_a_scope_that_was_sealed_anew_still_has_to_add_up(
    ledger, tmp_path, before, after, named
):
    for scope in (NORTH, SOUTH):
        ledger.reserve(Budget.of("0.5", 0), event="x", scope=scope)
    ledger.close()
    copy = shutil.copy(ledger.path, tmp_path / "copy.ledger")
    file = sqlite3.connect(copy, isolation_level=None)
    file.execute("UPDATE entry SET detail = replace(detail, ?, ?)", (before, after))
    previous = "0" * 64
    for entry in list(read_entries(file)):
        sealed = replace(entry, previous=previous)
        previous = sealed.seal()
        file.execute(
            "UPDATE entry SET previous = ?, digest = ? WHERE number = ?",
            (sealed.previous, previous, entry.number),
        )
    file.execute("UPDATE account SET head = ?", (previous,))
    file.close()
    with pytest.raises(LedgerTampered, match=named):
        Ledger.open(copy)
