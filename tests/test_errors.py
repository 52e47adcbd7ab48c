"""An error holds its cause and what did not happen apart."""

from __future__ import annotations

import pickle

import pytest

from understudy.errors import Refused, TableError, UnderstudyError


@pytest.mark.parametrize(
    ("text", "cause", "outcome"),
    [
        ("No column. Add one. Nothing was spent", "No column. Add one", "Nothing was spent"),
        ("people.csv: is no file. Nothing was read.", "people.csv: is no file", "Nothing was read"),
        ("Too large. Nothing was spent after discovery", "Too large", "Nothing was spent after discovery"),
        ("Something else.", "Something else", ""),
        ("Nothing was spent", "", "Nothing was spent"),
    ],
)  # fmt: skip
def test_cause_and_outcome(text: str, cause: str, outcome: str) -> None:
    error = Refused(text)
    assert (error.cause, error.outcome, str(error)) == (cause, outcome, text)


def test_an_outcome_that_is_false_by_now_is_replaced() -> None:
    error = TableError("people.csv: broke off. Nothing was read")
    error.replace_outcome("What run r reserved stays spent.", run="r")
    assert str(error) == "people.csv: broke off. What run r reserved stays spent."
    assert error.run == "r"
    again: UnderstudyError = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
