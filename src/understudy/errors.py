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


class UnderstudyError(Exception):
    """Base of every error Understudy raises on purpose; the command line prints it as
    one line.

    >>> issubclass(BudgetExceeded, UnderstudyError)
    True
    """

    run: str | None = None
    """The run that had reserved its budget when this was raised, and that `resume`
    takes up; None where nothing was spent.
    """


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
