"""Questions to made-up rows, to try them for nothing: the same SQL, refusals, noise and
intervals, on a table that says nothing about anybody.

The rows are random and follow from the schema alone. No ledger and no real row is
within reach of this module, so nothing here has a privacy cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from understudy.accounting.budget import Budget, Number
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.questions.partition import PartitionScope
from understudy.accounting.questions.question_run import QuestionCharge
from understudy.curator.questions import QuestionCurator
from understudy.models.product import ProductModel
from understudy.queries.lookups import PublicTable
from understudy.queries.offers import offer_answer
from understudy.queries.query import Query
from understudy.queries.results import AnswerTable, make_answer, pool_statistics
from understudy.releases.output.frames import to_frame
from understudy.schema import Schema
from understudy.tables import Table, TableSource, open_table
from understudy.tables.sql.quoting import quoted_identifier
from understudy.workflow.asking.question_list import read_width
from understudy.workflow.asking.question_price import plan_question, read_amount_asked
from understudy.workflow.open import member_of
from understudy.workflow.preflight import parse_budget

SIMULATED_ROWS = 1_000
"""Made-up rows: enough for a few in every group of a usual question."""

SIMULATED_ROWS_SEED = 1
"""The rows are the same every time; only the noise differs."""

SIMULATED_BASIS = "made-up rows: the numbers mean nothing"


class SimulatedTable:
    """Made-up rows of a schema, and questions to them. `budget` and `accounting` are
    those of the run that real questions would be charged to: they decide the law and
    the scale of the noise.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        budget: Budget,
        accounting: Accounting,
        neighbours: Neighbours,
        public: Sequence[PublicTable] = (),
    ) -> None:
        self._schema = schema
        self._public = tuple(public)
        self._budget = budget
        self._accounting = accounting
        self._neighbours = neighbours
        self._source = simulate_rows(schema)

    def ask(
        self,
        question: str | Query,
        *,
        within: float | None = None,
        epsilon: Number | None = None,
    ) -> AnswerTable:
        """The answer to a question, with the noise and the intervals that the real one
        would have. Its numbers are about nobody.
        """
        within = read_width(within)
        plan = plan_question(question, self._schema, self._public)
        kind = self._accounting
        offer = offer_answer(
            plan,
            neighbours=self._neighbours,
            accounting=kind,
            within=within,
            amount=read_amount_asked(within, epsilon, self._budget, kind),
        )
        table = Table(self._source, self._schema)
        measured = QuestionCurator(table=table, run=_FreeRun()).answer(offer)
        pooled = pool_statistics(plan, measured)
        return make_answer(plan, pooled, basis=SIMULATED_BASIS, cost=None)

    def close(self) -> None:
        """Let go of the rows."""
        self._source.close()


class _FreeRun:
    """A run on which made-up rows are asked about: nothing is charged or kept."""

    def refuse_unaffordable(
        self,
        cost: Cost,
        *,
        analyst: str = "",
        scope: PartitionScope | None = None,
        recalled: Sequence[str] = (),
    ) -> None:
        pass

    def charge_together(
        self,
        charges: Sequence[QuestionCharge],
        *,
        recalled: Sequence[str] = (),  # noqa: ARG002
        analyst: str = "",  # noqa: ARG002
        purpose: str = "",  # noqa: ARG002
    ) -> tuple[int, ...]:
        return (0,) * len(charges)

    def store(self, step: int, digest: str, payload: bytes) -> None:
        pass


def simulate_rows(schema: Schema) -> TableSource:
    """Random rows under a schema, all codes of a column equally likely. Columns without
    a declared domain are empty; the rules between columns are not kept.
    """
    closed = [schema[name] for name in schema if schema[name].is_closed]
    # A column that is constant within a unit needs one, and here are plain rows.
    plain = Schema(columns=tuple(replace(column, constant=False) for column in closed))
    rng = np.random.default_rng(SIMULATED_ROWS_SEED)
    model = ProductModel.uniform(plain, total=float(SIMULATED_ROWS))
    codes = model.sample(SIMULATED_ROWS, rng)
    relation = to_frame(plain, codes, kind="duckdb", rng=rng)
    written = ["*"]
    for column in schema.columns:
        if column.name in plain:
            continue
        cell = "CAST(NULL AS VARCHAR)"
        if column.name == schema.unit.id:
            # Every unit has as many rows as it may have.
            cell = f"(row_number() OVER () - 1) // {schema.unit.max_rows}"
        written.append(f"{cell} AS {quoted_identifier(column.name)}")
    return open_table(relation.project(", ".join(written))).freeze_rows()


def try_question(
    schema: Schema | str | Path,
    question: str | Query,
    *,
    within: float | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    public: Sequence[PublicTable] = (),
) -> AnswerTable:
    """Try a question on 1,000 made-up rows that fit the schema: what is refused, how
    the answer looks and how wide its intervals are. Free, and its numbers mean nothing.
    It may join `public` tables.

    >>> from understudy.queries import count
    >>> from understudy.schema import Boolean
    >>> declared = Schema(columns=(Boolean(name="smoker"),))
    >>> tried = try_question(declared, count().by("smoker"), within=50)
    >>> tried.account_line(), tried.half_width <= 50
    ('Free (made-up rows: the numbers mean nothing).', True)
    """
    relation = member_of(Neighbours, neighbours, "neighbour relation")
    known = schema if isinstance(schema, Schema) else Schema.load(schema)
    budget = parse_budget(1, delta)
    table = SimulatedTable(
        known,
        budget=budget,
        accounting=budget.accounting,
        neighbours=relation,
        public=public,
    )
    try:
        return table.ask(question, within=within, epsilon=epsilon)
    finally:
        table.close()
