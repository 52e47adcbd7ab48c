"""The plan: what a run would ask, pay and miss by, before anything is spent and without a row."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path

from understudy.accounting.advice import advice
from understudy.accounting.budget import DEFAULT_DELTA, Budget
from understudy.accounting.cost import Currency
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.preview import deviation
from understudy.curator.rehearsal import ASSUMED_RANGE, ASSUMED_VALUES, rehearse
from understudy.measurements import Clique
from understudy.schema import Categorical, Column, Schema, Undeclared, load_schema
from understudy.synthesizers import Synthesizer, make, silent
from understudy.workflow.run import DEFAULT_SYNTHESIZER, filter_for, perform, refuse_early


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One marginal a run would measure: its cells, the standard deviation of the noise on each, and its share of the run."""

    clique: Clique
    cells: int
    deviation: float
    share: Fraction


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run would do.

    `expected` of a marginal is the total variation distance that noise alone is expected to cause, known once the number of rows is.

    >>> from understudy.schema import Boolean
    >>> made = plan(Schema(columns=(Boolean(name="smoker"),)), epsilon=1, rows=1000)
    >>> made.cells, f"{made.expected(made.marginals[0]):.3f}"
    (3, '0.007')
    """

    synthesizer: str
    budget: Budget
    currency: Currency
    amount: Fraction
    discovery: Fraction
    marginals: tuple[Asked, ...]
    assumed: tuple[str, ...]
    warnings: tuple[str, ...]
    rows: int | None

    @property
    def cells(self) -> int:
        """Cells that get noise."""
        return sum(m.cells for m in self.marginals)

    @property
    def memory(self) -> int:
        """Bytes of counts and measurements at their peak."""
        return 3 * 8 * self.cells

    def expected(self, marginal: Asked) -> float | None:
        """Expected total variation distance from noise alone: half of E|noise| summed over the cells, per row."""
        if not self.rows:
            return None
        return min(1.0, 0.5 * marginal.cells * 0.8 * marginal.deviation / self.rows)


def plan(
    schema: Schema | str | Path,
    *,
    epsilon: object,
    delta: object = None,
    rows: int | None = None,
    synthesizer: str | Synthesizer = DEFAULT_SYNTHESIZER,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    currency: Currency | str | None = None,
) -> Plan:
    """What `synthesize` with the same arguments would ask and pay; no data touched, nothing spent.

    >>> from understudy.schema import Boolean
    >>> plan(Schema(columns=(Boolean(name="smoker"),)), epsilon=1, rows=1000).marginals[0].cells
    3
    """
    method = synthesizer if isinstance(synthesizer, Synthesizer) else make(synthesizer)
    described = schema if isinstance(schema, Schema) else load_schema(schema)
    budget = Budget.of(epsilon, DEFAULT_DELTA if delta is None else delta)
    filter = filter_for(budget, described, method, Currency(currency) if currency else None)
    refuse_early(described, method, filter, budget.epsilon)
    custody = rehearse(described, filter, epsilon=budget.epsilon, neighbours=Neighbours(neighbours))
    measured = perform(custody, method, silent) if method.reads_rows else None
    spent = sum((cost.amount for asked, cost in custody.charges if asked not in {"marginals", "cells"}), Fraction(0))
    marginals = tuple(
        Asked(
            clique=m.clique,
            cells=prod(m.values.shape),
            deviation=deviation(m.law, m.scale),
            share=m.cost.amount / filter.total,
        )
        for m in measured or ()
    )
    known_rows = rows if rows is not None else described.rows
    return Plan(
        synthesizer=method.name,
        budget=budget,
        currency=filter.currency,
        amount=filter.total,
        discovery=spent / filter.total,
        marginals=marginals,
        assumed=tuple(f"{c.name}: {_assumption(c)}" for c in map(described.__getitem__, described) if not c.closed),
        warnings=advice(budget, rows=known_rows),
        rows=known_rows,
    )


def _assumption(column: Column) -> str:
    if isinstance(column, Categorical | Undeclared):
        return f"{ASSUMED_VALUES} values"
    return f"bounds {ASSUMED_RANGE:,} steps apart"
