"""Preflight: every refusal before anything is spent, in the order in which they happen.

`check_run` goes from 1 to 18 and reads no cell except to see that the file can be read
at all. `synthesize` goes on from 19, with the ledger open. The check of each line stands
where its knowledge is; the order stands here.

The arguments alone:
   1. the synthesizer exists, and its options fit           synthesizers.make
   2. the seed is a whole number                            check_seed
   3. the neighbour relation exists                         open.member_of
   4. ε and δ are a budget                                  accounting.Budget
The header and the schema:
   5. the table opens, and its names are names              open.open_source
   6. without a schema, the header is no row of data        TableSource.check_header
   7. with one, it can be read again, and the table has
      its columns                                           open.schema_for
   8. the accounting exists, and fits δ                     measure.filter_for
   9. there is a column to release                          refuse_empty_schema
  10. there are not too many for a release file             refuse_wide_schema
  11. the rules can be kept, each and together              models.rules.satisfiability
  12. noise at this budget is not wider than any drawn      open.refuse_tiny
  13. values that must be learned have a δ, and an ε
      large enough for thresholds                           refuse_unlearnable_values
  14. the synthesizer works on this schema, and under
      this relation                                         Synthesizer.check…
  15. rows that break rules are not dropped under replace   refuse_dropping
  16. the workload names columns of the schema, and its
      models are not too large                              synthesizers.workload
  17. a public table is another one, with its columns       public_prior.refuse_unlike
  18. every file can be read to its end                     TableSource.check
The account:
  19. no other account may be that of the same rows         account.announce_account
  20. the ledger protects the same unit by the same
      relation                                              account.open_ledger
  21. a declared number of rows that is public is right     rowcount.refuse_miscounted
  22. a resumed run has this budget, accounting and table   resuming.resume_run
  23. what is left of the ledger's cap pays for the run     Ledger.reserve
  24. the table is not too small to be learned from         small_tables

21 is the only refusal that states an exact fact about the rows, and comes after 20: an
account that protects the number of rows has refused the relation that makes it public.
24 is decided by a number of rows that is public, and then nothing was spent, or by a
noisy count that is paid for. Nothing else about rows is revealed for free; 18 names a
line or a column where a file is damaged, and no cell. The command line checks its own
arguments before all of these: that outputs can be written and are no inputs
(cli/paths.py), and that the number of rows to sample is one
(releases.release.check_rows).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from understudy.accounting.budget import DEFAULT_DELTA, Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.accounting.neighbours import Neighbours
from understudy.curator import check_epsilon, needs_delta
from understudy.curator.curator import has_agreed_rows
from understudy.curator.discovery.shares import open_columns
from understudy.errors import Refused
from understudy.models.rules.satisfiability import refuse_contradictions
from understudy.releases.file.document import MAX_RELEASE_COLUMNS
from understudy.schema import BrokenRowPolicy, Schema
from understudy.synthesizers import Synthesizer, make
from understudy.synthesizers.workload import (
    WorkloadTarget,
    check_targets,
    parse_targets,
)
from understudy.tables import TableSource
from understudy.workflow.measure import filter_for
from understudy.workflow.model_targets import check_model_targets
from understudy.workflow.open import (
    member_of,
    open_source,
    refuse_tiny,
    schema_for,
    without_notes,
)
from understudy.workflow.public_prior import refuse_unlike

ROW_COUNT_SHARE = Fraction(1, 50)
"""Part of ε that counts the rows before most columns of a table are learned: about ±70
rows at ε = 1, where a column takes a few hundred.
"""


@dataclass(frozen=True, kw_only=True)
class RunDesign:
    """What a run would do, apart from the rows it would do it to: checked, and the same
    for a plan.
    """

    schema: Schema
    method: Synthesizer
    budget: Budget
    filter: Filter
    neighbours: Neighbours
    accounting: Accounting | None
    """The accounting that was asked for; the filter knows which is used."""
    targets: tuple[WorkloadTarget, ...]
    row_count: Budget | None = None
    """What counts the rows before all else, a part of the budget with an account of its
    own; None where nothing hangs on their number.
    """

    @property
    def main_budget(self) -> Budget:
        """What is left for all but the first count of the rows."""
        if self.row_count is None:
            return self.budget
        return Budget(
            self.budget.epsilon - self.row_count.epsilon,
            self.budget.delta - self.row_count.delta,
        )

    def with_row_count(self, row_count: Budget | None) -> RunDesign:
        """The same run with another first count of the rows, or none."""
        counted = replace(self, row_count=row_count)
        remaining = filter_for(
            counted.main_budget, self.schema, self.method, self.accounting
        )
        return replace(counted, filter=remaining)


@dataclass(frozen=True, kw_only=True)
class CheckedRun:
    """A design with the tables it is for, past refusal 18."""

    design: RunDesign
    source: TableSource
    public: TableSource | None


def check_run(
    data: object,
    schema: Schema | str | Path | None,
    method: Synthesizer,
    *,
    epsilon: object,
    delta: object,
    neighbours: Neighbours | str,
    accounting: Accounting | str | None,
    workload: str | Sequence[str],
    public: object,
) -> CheckedRun:
    """Refusals 3 to 18."""
    relation = member_of(Neighbours, neighbours, "neighbour relation")
    budget = parse_budget(epsilon, delta)
    source = open_source(data, schema=schema)
    described = without_notes(schema_for(source, schema))
    design = check_design(
        described,
        method,
        budget=budget,
        neighbours=relation,
        accounting=accounting,
        workload=workload,
    )
    # The public table after the private one: refusals about the latter come first.
    prior = None
    if public is not None:
        prior = open_source(public).without_formula_guards(described)
        refuse_unlike(prior, described, source)
    # The id is not released, and still read: it bounds a person's rows.
    unit_columns = [] if described.unit.id is None else [described.unit.id]
    source.check([*described, *unit_columns])
    return CheckedRun(design=design, source=source, public=prior)


def check_design(
    schema: Schema,
    method: Synthesizer,
    *,
    budget: Budget,
    neighbours: Neighbours,
    accounting: Accounting | str | None,
    workload: str | Sequence[str],
) -> RunDesign:
    """Refusals 8 to 16, which need no table: a plan has them in common with a run."""
    asked = member_of(Accounting, accounting, "accounting") if accounting else None
    privacy_filter = filter_for(budget, schema, method, asked)
    check_schema(schema, method, privacy_filter, budget.epsilon)
    method.check_neighbours(neighbours)
    refuse_dropping(schema, neighbours)
    targets = tuple(parse_targets(workload))
    check_targets(targets, schema)
    check_model_targets(targets, schema)
    design = RunDesign(
        schema=schema,
        method=method,
        budget=budget,
        filter=privacy_filter,
        neighbours=neighbours,
        accounting=asked,
        targets=targets,
    )
    return design.with_row_count(plan_row_count(design))


def plan_row_count(design: RunDesign) -> Budget | None:
    """What counts the rows first: a part of ε where most columns are open, so that a
    table may turn out too small for them; None where the number of rows is public.
    """
    schema = design.schema
    is_public = schema.rows is not None or has_agreed_rows(schema, design.neighbours)
    if is_public or not design.method.reads_rows:
        return None
    if 2 * len(open_columns(schema)) <= len(schema):
        return None
    return Budget(design.budget.epsilon * ROW_COUNT_SHARE, Fraction(0))


def check_schema(
    schema: Schema, method: Synthesizer, filter: Filter, epsilon: Fraction
) -> None:
    """Refusals 9 to 14: whether this schema can be released by this method at all."""
    refuse_empty_schema(schema)
    refuse_wide_schema(schema)
    refuse_contradictions(schema)
    refuse_tiny(filter, schema.unit.max_rows)
    refuse_unlearnable_values(schema, method, filter, epsilon)
    method.check(schema, delta=filter.delta)


def choose_synthesizer(
    synthesizer: str | Synthesizer, options: Mapping[str, object] | None = None
) -> Synthesizer:
    """The synthesizer by its name and options, or as it was made.

    >>> choose_synthesizer("aim", {"rounds": 20}).rounds
    20
    """
    if not isinstance(synthesizer, Synthesizer):
        return make(synthesizer, **(options or {}))
    if options:
        raise Refused(
            "Options go with the name of a synthesizer; one that is made has its own."
            " Leave `options` out. Nothing was spent"
        )
    return synthesizer


def check_seed(seed: int | None) -> None:
    """Refuse a seed that numpy would refuse after the budget is spent."""
    if seed is None:
        return
    # True is an int to Python.
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or seed < 0:
        raise Refused("A seed is a whole number from 0 up. Nothing was spent.")


def parse_budget(epsilon: object, delta: object) -> Budget:
    """The budget, with the default δ where none is given."""
    return Budget.of(epsilon, DEFAULT_DELTA if delta is None else delta)


def refuse_empty_schema(schema: Schema) -> None:
    """Refuse a schema that leaves no column to release."""
    if len(schema) == 0:
        raise Refused(
            "No column is left to release: all are identifiers, text or left out."
            " Change the schema. Nothing was spent"
        )


def refuse_wide_schema(schema: Schema) -> None:
    """Refuse more columns than a release file can hold: it would be paid for and lost."""
    if len(schema.columns) > MAX_RELEASE_COLUMNS:
        raise Refused(
            f"A release has at most {MAX_RELEASE_COLUMNS:,} columns. Leave some out"
            " with a schema, or split the table. Nothing was spent"
        )


def refuse_unlearnable_values(
    schema: Schema, method: Synthesizer, filter: Filter, epsilon: Fraction
) -> None:
    """Refuse values that have to be learned without a δ, or with an ε too small for the
    threshold that hides rare ones.
    """
    if needs_delta(schema) and filter.delta <= 0:
        raise Refused(
            "Values that nobody declared have to be learned, and that cannot be done"
            " with δ = 0. Declare them in a schema (understudy describe), or allow a"
            " small δ such as 1e-9. Nothing was spent"
        )
    # Below this ε a threshold would hide every value.
    if needs_delta(schema) or method.needs_delta:
        check_epsilon(epsilon, filter.accounting)


def refuse_dropping(schema: Schema, neighbours: Neighbours) -> None:
    """Refuse to drop rows under replace: the number of rows is exact there, and rows
    that are left out would show in it.
    """
    drops = schema.broken is BrokenRowPolicy.DROP and schema.named_breaches
    if drops and neighbours is Neighbours.REPLACE:
        raise Refused(
            "broken: drop changes the number of rows, which the replace relation makes"
            " public. Choose missing or keep, or protect by add_remove. Nothing was"
            " spent"
        )
