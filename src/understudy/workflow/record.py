"""The record of a run that its release carries: the guarantee, the statement of what
was charged, and the options it was made with.

Nothing here reads a row: a record is written from the schema, the ledger's charges and
what the curator learned inside the budget.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256

from understudy.accounting.budget import Budget
from understudy.accounting.cost import Cost
from understudy.accounting.filter import Filter
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator
from understudy.releases import BudgetStatement, BudgetStep, Guarantee
from understudy.releases.output.frames import FRAME_KINDS
from understudy.releases.summary import ROW_COUNT_STEP
from understudy.schema import Schema, schema_to_dict
from understudy.schema.disclosed import (
    describe_declared,
    describe_learned,
)
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.options import option_text
from understudy.synthesizers.workload import WorkloadTarget
from understudy.tables import TableSource
from understudy.workflow.public_prior import describe_public_table

OptionValue = str | int | float | bool | None
"""What a release file holds of an option."""


def synthesizer_options(method: Synthesizer) -> dict[str, OptionValue]:
    """The synthesizer's options as a release writes them down and `make` reads them
    again.
    """
    plain = (str, int, float, bool, type(None))
    options: dict[str, OptionValue] = {}
    # Options are the dataclass's fields, by contract (synthesizers/base.py).
    for field in fields(method):
        value = getattr(method, field.name)
        options[field.name] = value if isinstance(value, plain) else option_text(value)
    return options


def run_options(
    targets: Sequence[WorkloadTarget], public: TableSource | None
) -> dict[str, OptionValue]:
    """Options of the run besides those of its synthesizer, none of which has an option
    of these names.
    """
    options: dict[str, OptionValue] = {}
    if targets:
        options["workload"] = "; ".join(map(str, targets))
    if public is not None:
        options["public_table"] = public.title
    return options


def context_digest(
    schema: Schema, method: Synthesizer, options: Mapping[str, object]
) -> str:
    """A digest of what every answer depends on besides its own question: the schema as
    given, the synthesizer and the options. A run is resumed in the same context only.
    """
    facts = [schema_to_dict(schema), method.name, synthesizer_options(method)]
    # Only where there are any: digests of runs without them stay as they were.
    if options:
        facts.append(dict(options))
    return sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def make_guarantee(
    curator: Curator,
    *,
    given: Schema,
    budget: Budget,
    filter: Filter,
    method: Synthesizer,
    public: TableSource | None,
    row_count: Cost | None = None,
) -> Guarantee:
    """The guarantee of a run; `given` is the schema before discovery filled its gaps,
    which says what was declared. `row_count` is what the filter did not pay for.
    """
    schema, neighbours = curator.schema, curator.neighbours
    invariants: tuple[str, ...] = ()
    # All neighbours under replace have the same number of rows, but not where the unit
    # is a person with several.
    if neighbours is Neighbours.REPLACE and schema.unit.id is None:
        invariants = ("the number of rows",)
    declared = [*describe_declared(given), *method.public_declarations]
    if public is not None:
        declared.append(describe_public_table(public, schema))
    learned = [*describe_learned(schema), *curator.notes, *_clipped_columns(schema)]
    return Guarantee(
        epsilon=budget.epsilon,
        delta=budget.delta,
        accounting=filter.accounting,
        amount=filter.total + _amount_of(row_count),
        neighbours=neighbours,
        unit=schema.unit.noun,
        max_rows=schema.unit.max_rows,
        invariants=invariants,
        public=tuple(declared),
        learned=tuple(learned),
    )


def _clipped_columns(schema: Schema) -> list[str]:
    """What discovery noted of columns whose bounds or bins it learned."""
    lines = []
    for name in schema:
        column = schema[name]
        binned = "bins" in column.learned and column.note
        if binned or column.is_lost:
            lines.append(f"{name}: {column.note}")
    return lines


def make_statement(
    curator: Curator,
    *,
    budget: Budget,
    filter: Filter,
    dataset: str,
    head: str,
    run: str,
    row_count: Cost | None = None,
) -> BudgetStatement:
    """What the run was charged, step by step; `head` is the ledger's digest then, and
    `row_count` the cost of counting the rows before all else.
    """
    first = [] if row_count is None else [(ROW_COUNT_STEP, row_count)]
    total = filter.total + _amount_of(row_count)
    # One step for each charge, in the order in which the ledger has them.
    steps = tuple(
        BudgetStep(asked=asked, cost=cost, share=cost.amount / total)
        for asked, cost in [*first, *curator.charges]
    )
    return BudgetStatement(
        dataset=dataset,
        epsilon=budget.epsilon,
        delta=budget.delta,
        steps=steps,
        ledger=head,
        run=run,
        day=datetime.now(UTC).date(),
    )


def _amount_of(cost: Cost | None) -> Fraction:
    return Fraction(0) if cost is None else cost.amount


def frame_kind(source: TableSource) -> str | None:
    """The kind of frame that came in, to give the same back; None for a file."""
    return source.kind if source.kind in FRAME_KINDS else None
