"""Everything Understudy raises on purpose.

UnderstudyError
├── SchemaError          a description of a table that contradicts itself, or a file that cannot be read as one
├── TableError           rows that cannot be opened or a question a table cannot answer
├── BudgetError
│   ├── InvalidBudget    an ε or δ that is no budget at all
│   └── BudgetExceeded   a question that costs more than is left; nothing was spent
├── LedgerError
│   ├── LedgerTampered   the chain of entries does not add up
│   └── LedgerMismatch   the ledger belongs to another dataset, neighbour relation or unit
├── Refused              a request no budget can make safe, with the remedy
└── ReleaseError         a release file that is damaged, hostile or from a later version

A message says where, what, the remedy, and what did not happen, in one line. It never
contains a cell's value.
"""

from __future__ import annotations

import re

_OUTCOME_REGEX = re.compile(r"(?:^|\s)(Nothing was [^.]*?)\.?\s*$")
"""The sentence that ends a message and says what did not happen."""


class UnderstudyError(Exception):
    """Base of every error Understudy raises on purpose; the command line prints it as
    one line.

    A message ends by saying what did not happen. Code that repeats or corrects an error
    takes its parts from `cause` and `outcome`, never from its text.

    >>> error = Refused("No column is left. Change the schema. Nothing was spent")
    >>> error.cause, error.outcome
    ('No column is left. Change the schema', 'Nothing was spent')
    """

    run: str | None = None
    """The run that had reserved its budget when this was raised, and that `resume`
    takes up; None where nothing was spent.
    """

    @property
    def cause(self) -> str:
        """The message without the sentence that says what did not happen."""
        return _OUTCOME_REGEX.sub("", str(self)).rstrip(". ")

    @property
    def outcome(self) -> str:
        """What did not happen, as the message says it; empty where it does not."""
        found = _OUTCOME_REGEX.search(str(self))
        return "" if found is None else found.group(1)

    def replace_outcome(self, sentence: str, *, run: str | None = None) -> None:
        """Say something else in the place of what did not happen, because by now it
        did; `run` is the run that reserved its budget.
        """
        self.args = (f"{self.cause}. {sentence}",)
        self.run = run


class SchemaError(UnderstudyError):
    """A description of a table that contradicts itself, or a file that cannot be read
    as one.
    """


class TableError(UnderstudyError):
    """Rows that cannot be opened, or a question a table cannot answer."""


class BudgetError(UnderstudyError):
    """Something about ε, δ or what is left of them."""


class InvalidBudget(BudgetError):
    """An ε or δ that is no budget at all."""


class BudgetExceeded(BudgetError):
    """A question that costs more than is left. Nothing was spent."""


class LedgerError(UnderstudyError):
    """A ledger that cannot be used as asked."""


class LedgerTampered(LedgerError):
    """The chain of entries does not add up."""


class LedgerMismatch(LedgerError):
    """The ledger belongs to another dataset, neighbour relation or unit."""


class Refused(UnderstudyError):
    """A request that no budget can make safe, or that cannot work; the message names
    the remedy.
    """


class ReleaseError(UnderstudyError):
    """A release file that is damaged, hostile or from a later version."""
