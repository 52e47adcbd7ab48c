"""Small tables: count the rows first, and stop where too few are there to learn what the
schema leaves open.

Why it is private. The count is a run of its own on the ledger: (ε/50, 0) of discrete
Laplace noise, reserved and charged before it is drawn, by the mechanism of every other
marginal (curator/mechanisms/marginals.py). Whether the rest of the budget is reserved at
all depends on this noisy number and on public facts alone. Runs of a ledger add up
plainly, whatever decided about them, so nothing has to be paid back to stop early: the
rest was not taken yet.

The rule. A table is too small where, for most of its columns, the rows that have to
agree for anything to be found (curator/discovery/rows_needed.py) are more than half of
the table: then not even the two answers of a yes-or-no question would be found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import median

from understudy.accounting.budget import Budget, spell_value
from understudy.accounting.cost import Accounting, Cost, Sensitivity
from understudy.accounting.expected_error import noise_half_width
from understudy.accounting.filter import Filter
from understudy.accounting.law import Law
from understudy.accounting.ledger import Ledger
from understudy.accounting.pricing import price
from understudy.accounting.reservation import row_count_run
from understudy.accounting.run import LedgerRun
from understudy.curator import Curator, MechanismContext, Payments
from understudy.curator.curator import agreed_rows
from understudy.curator.simulation.dry_run import open_dry_run
from understudy.errors import TooFewRows
from understudy.tables import Table
from understudy.text import format_count
from understudy.workflow.measure import discovery_delta
from understudy.workflow.preflight import RunDesign
from understudy.workflow.run_options import DEFAULT_RUN_OPTIONS, RunOptions

COUNT_CONFIDENCE = 0.95
"""How often the stated half-width holds the noise of the count."""


@dataclass(frozen=True)
class RowCount:
    """The number of rows as a run knows it before all else: public, or noisy and paid
    for.
    """

    rows: int
    half_width: int = 0
    paid: Budget | None = None

    def cost(self, accounting: Accounting) -> Cost | None:
        """What the count cost, in the accounting of the run that follows it; None where
        nothing was paid.
        """
        return None if self.paid is None else row_count_cost(self.paid, accounting)


def row_count_cost(paid: Budget, accounting: Accounting) -> Cost:
    """What a purely private count for this budget costs in another accounting."""
    # Laplace noise of scale 1/ε on one count that moves by one costs ε.
    one = Sensitivity(l1=Fraction(1), l2_squared=Fraction(1))
    return price(Law.DISCRETE_LAPLACE, 1 / paid.epsilon, one, accounting)


def find_row_count(account: Ledger, run: str) -> LedgerRun | None:
    """The first count of a run, where the ledger has one."""
    name = row_count_run(run)
    return next((found for found in account.runs() if found.id == name), None)


def count_rows_first(
    account: Ledger,
    table: Table,
    design: RunDesign,
    run: str,
    *,
    options: RunOptions = DEFAULT_RUN_OPTIONS,
    facts: Mapping[str, str] | None = None,
) -> RowCount | None:
    """The number of rows before anything else is asked: public, or counted on an
    account of its own; None where neither. A count that the ledger has is not paid for
    again.
    """
    known = design.schema.rows
    if known is None:
        known = agreed_rows(table, design.schema, design.neighbours)
    if known is not None:
        return RowCount(known)
    if design.row_count is None:
        return None
    reserved = find_row_count(account, run)
    if reserved is None:
        # The whole run first: a count that no run can follow would be paid for nothing.
        account.refuse_overspending(design.budget, analyst=options.analyst)
        reserved = account.reserve(
            design.row_count,
            event="count rows",
            analyst=options.analyst,
            purpose=options.purpose,
            run_id=row_count_run(run),
            table=facts,
        )
    counted = _measure_row_count(table, design, reserved)
    reserved.finish()
    return counted


def _measure_row_count(table: Table, design: RunDesign, run: LedgerRun) -> RowCount:
    filter = Filter.of(run.budget)
    context = MechanismContext(
        table=table,
        payments=Payments(run, filter),
        neighbours=design.neighbours,
        accounting=filter.accounting,
        epsilon=run.budget.epsilon,
        max_rows=design.schema.unit.max_rows,
    )
    measured = Curator(context, design.schema).count(share=1)
    half_width = noise_half_width(measured.law, measured.scale, COUNT_CONFIDENCE)
    return RowCount(
        rows=max(int(measured.values), 0),
        half_width=half_width,
        paid=run.budget,
    )


@dataclass(frozen=True)
class RowNeeds:
    """From how many rows on each open column of a run can be learned."""

    by_column: Mapping[str, int]
    columns: int
    """All columns of the table, the declared ones too."""

    @classmethod
    def of(cls, design: RunDesign) -> RowNeeds:
        """The needs of a run, from its design alone."""
        curator = open_dry_run(
            design.schema,
            # A copy: what is admitted here was not spent.
            replace(design.filter),
            epsilon=design.main_budget.epsilon,
            neighbours=design.neighbours,
        )
        delta = discovery_delta(curator, design.method)
        return cls(curator.rows_to_learn(delta=delta), len(design.schema))

    @property
    def typical(self) -> int:
        """The rows that have to agree for something of a column to be found, in the
        median of the open columns; 0 where none is open.
        """
        return math.ceil(median(self.by_column.values())) if self.by_column else 0

    def exceed(self, rows: int) -> bool:
        """Whether most columns need more than half of this many rows to agree."""
        hopeless = sum(2 * needed > rows for needed in self.by_column.values())
        return 2 * hopeless > self.columns


def refuse_small_table(
    design: RunDesign, counted: RowCount, *, run: str, account: Path
) -> None:
    """Stop a run whose table is too small for what its schema leaves open."""
    needs = RowNeeds.of(design)
    if not needs.exceed(counted.rows):
        return
    reason = describe_too_few(needs, design.budget, counted)
    error = TooFewRows(f"{reason} {_price_sentence(counted, run, account)}")
    if counted.paid is not None:
        error.run = run
    raise error


def describe_too_few(needs: RowNeeds, budget: Budget, counted: RowCount) -> str:
    """Why a table is too small, and what would help."""
    about = f"{counted.rows:,}"
    if counted.half_width:
        about = f"about {counted.rows:,} (±{counted.half_width:,})"
    open_columns = format_count(len(needs.by_column), "open column")
    return (
        f"The table is too small to learn its {open_columns} at ε ="
        f" {spell_value(budget.epsilon)}: it has {about} rows, and a value has to be in"
        f" about {needs.typical:,} of them to be found. Declare the columns in a schema"
        " (understudy describe drafts one), use fewer columns or a larger ε; --anyway"
        " (in Python: anyway=True) goes on all the same."
    )


def _price_sentence(counted: RowCount, run: str, account: Path) -> str:
    """What is and is not spent."""
    if counted.paid is None:
        return "Nothing was spent."
    return (
        f"Counting the rows cost ε = {spell_value(counted.paid.epsilon)}, which stays"
        f" spent in {account}, and nothing else was spent; with --resume {run} it is"
        " not paid for again."
    )
