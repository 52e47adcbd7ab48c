"""Every error that Understudy raises on purpose.

UnderstudyError
├── SchemaError          a schema contradicts itself, or its file cannot be read
├── TableError           rows cannot be opened, or a table cannot answer a question
├── BudgetError
│   ├── InvalidBudget    ε or δ is not a valid privacy budget
│   └── BudgetExceeded   a request costs more than is left; nothing was spent
├── LedgerError
│   ├── LedgerTampered   the hash chain of the ledger's entries is broken
│   └── LedgerMismatch   the ledger belongs to other data, neighbours or unit
├── Refused              no budget makes the request safe, or it cannot work
│   └── TooFewRows       a table is too small for what its schema leaves open
└── ReleaseError         a release file is damaged, hostile or from a later version

A message is one line that says where, what, the remedy, and what did not happen. It
never contains a cell's value.
"""

from __future__ import annotations

import re

# The sentence that ends a message and says what did not happen.
_OUTCOME_REGEX = re.compile(r"(?:^|\s)(Nothing was [^.]*?)\.?\s*$")


class UnderstudyError(Exception):
    """Base of every error that Understudy raises on purpose; the command line prints it
    as one line.

    A message ends by saying what did not happen. Code that repeats or corrects an error
    takes its parts from `cause` and `outcome`, never from its text.

    >>> error = Refused("No column is left. Change the schema. Nothing was spent")
    >>> error.cause, error.outcome
    ('No column is left. Change the schema', 'Nothing was spent')
    """

    run: str | None = None
    """The run that had reserved its budget when this was raised, and that `resume` can
    continue; None if nothing was spent.
    """

    @property
    def cause(self) -> str:
        """The message without the sentence that says what did not happen."""
        return _OUTCOME_REGEX.sub("", str(self)).rstrip(". ")

    @property
    def outcome(self) -> str:
        """What did not happen, as the message says it; empty if it does not."""
        match = _OUTCOME_REGEX.search(str(self))
        return "" if match is None else match.group(1)

    def replace_outcome(self, sentence: str, *, run: str | None = None) -> None:
        """Replace what did not happen by another sentence, because by now it did
        happen; `run` is the run that reserved its budget.
        """
        self.args = (f"{self.cause}. {sentence}",)
        self.run = run


class SchemaError(UnderstudyError):
    """A schema contradicts itself, or its file cannot be read."""


class TableError(UnderstudyError):
    """Rows cannot be opened, or a table cannot answer a question."""


class BudgetError(UnderstudyError):
    """Something is wrong with ε, δ or what is left of them."""


class InvalidBudget(BudgetError):
    """ε or δ is not a valid privacy budget."""


class BudgetExceeded(BudgetError):
    """A request costs more than is left of the budget. Nothing was spent."""


class LedgerError(UnderstudyError):
    """A ledger cannot be used as requested."""


class LedgerTampered(LedgerError):
    """The hash chain of the ledger's entries is broken: an entry was changed, removed or
    added by other means.
    """


class LedgerMismatch(LedgerError):
    """The ledger belongs to other data, another neighbour relation or another privacy
    unit.
    """


class Refused(UnderstudyError):
    """No budget makes the request safe, or it cannot work; the message names the remedy."""


class TooFewRows(Refused):
    """A table is too small for what its schema leaves open: the run stopped before it
    spent its budget, or all of it but the count of the rows.
    """


class ReleaseError(UnderstudyError):
    """A release file is damaged, hostile or from a later version."""
