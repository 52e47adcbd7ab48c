"""After a failure: what is said is what the account says."""

from __future__ import annotations

from pathlib import Path

import pytest

from understudy.accounting.aftermath import (
    account_for_failure,
    describe_spending,
    find_spent_note,
)
from understudy.accounting.budget import Budget
from understudy.accounting.cost import Cost
from understudy.accounting.ledger import Ledger
from understudy.errors import LedgerError, Refused

LEFT = "What run r1 reserved (ε = 0.50, δ = 1e-9) stays spent in"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A ledger on which r1 has reserved, and r2 has not."""
    path = tmp_path / "people.ledger"
    with Ledger.create(path, dataset="people") as ledger:
        ledger.reserve(Budget.of("0.5", "1e-9"), event="synthesize", run_id="r1")
    return path


def test_an_error_that_believes_nothing_was_spent_is_put_right(book):
    with pytest.raises(LedgerError) as caught, account_for_failure(book, "r1"):
        raise LedgerError(
            "people.ledger could not be used (string or blob too big). Nothing was spent."
        )
    assert str(caught.value) == (
        f"people.ledger could not be used (string or blob too big). {LEFT} {book}; --resume r1 takes it up at no new cost"
        " (in Python: resume='r1')."
    )
    assert caught.value.run == "r1"


def test_an_unforeseen_error_keeps_its_kind_and_gets_a_note(book):
    with pytest.raises(ZeroDivisionError) as caught, account_for_failure(book, "r1"):
        raise ZeroDivisionError
    assert find_spent_note(caught.value).startswith(f"{LEFT} {book}; --resume r1")


@pytest.mark.parametrize("kind", [Refused, ValueError])
def test_what_is_said_once_is_not_said_twice(kind, book):
    with (
        pytest.raises(kind) as caught,
        account_for_failure(book, "r1"),
        account_for_failure(book, "r1"),
    ):
        raise kind("It failed")
    said = " ".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert said.count(LEFT) == 1


@pytest.mark.parametrize("run", ["r2", ""])
def test_an_error_of_a_run_that_reserved_nothing_is_left_as_it_is(run, book):
    with (
        pytest.raises(
            Refused, match=r"^No such thing\. Nothing was spent\.$"
        ) as caught,
        account_for_failure(book, run),
    ):
        raise Refused("No such thing. Nothing was spent.")
    assert caught.value.run is None


def test_a_run_whose_paid_answer_is_lost_is_not_offered_again(book):
    with Ledger.open(book) as ledger:
        ledger.resume("r1").charge(
            0,
            Cost(
                ledger.resume("r1").filter.accounting, ledger.resume("r1").filter.total
            ),
            "q",
        )
    assert "It was cut off between paying and answering" in describe_spending(
        book, "r1"
    )
    assert "--resume" not in describe_spending(book, "r1")


def test_an_account_that_cannot_be_read_is_not_called_unspent(book):
    book.write_bytes(b"no ledger")
    assert describe_spending(book, "r1").startswith(
        "What run r1 reserved, if it did, stays spent:"
    )
