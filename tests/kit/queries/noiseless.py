"""Questions without noise: the real curator on real tables, a run in memory, and
DuckDB's own answer to the same SQL on the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import duckdb
import polars as pl

from kit.curator.contexts import no_noise
from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.filter import Filter
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.questions.partition import PartitionScope
from understudy.accounting.questions.question_run import QuestionCharge
from understudy.curator.context import Draw, TableProtocol
from understudy.curator.questions import QuestionCurator
from understudy.queries.offers import offer_answer
from understudy.queries.plan import plan_query
from understudy.queries.query import Query
from understudy.queries.results import AnswerTable, make_answer, pool_statistics
from understudy.queries.sql.reader import read_sql
from understudy.schema import Schema
from understudy.tables import Table, open_table


@dataclass
class QuestionRunInMemory:
    """A run of questions in memory, which remembers the order of what happened."""

    filter: Filter = field(default_factory=lambda: Filter.of(Budget.of(10**6)))
    events: list[str] = field(default_factory=list)
    charged: list[Cost] = field(default_factory=list)

    def refuse_unaffordable(
        self,
        cost: Cost,
        *,
        analyst: str = "",
        scope: PartitionScope | None = None,
        recalled: Sequence[str] = (),
    ) -> None:
        replace(self.filter).admit(cost)

    def charge_together(
        self,
        charges: Sequence[QuestionCharge],
        *,
        recalled: Sequence[str] = (),
        analyst: str = "",
        purpose: str = "",
    ) -> tuple[int, ...]:
        self.events += ["recall"] * len(recalled)
        first = len(self.charged) + 1
        for each in charges:
            self.events.append("charge")
            self.charged.append(each.cost)
        return tuple(range(first, first + len(charges)))

    def store(self, step: int, digest: str, payload: bytes) -> None:
        self.events.append("store")


def answer_once(
    table: TableProtocol,
    schema: Schema,
    question: str | Query,
    *,
    amount: Fraction = Fraction(1),
    accounting: Accounting = Accounting.GDP,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    draw: Draw = no_noise,
) -> AnswerTable:
    """One answer of the real curator, by default without noise."""
    query = question if isinstance(question, Query) else read_sql(question, schema)
    plan = plan_query(query, schema)
    offer = offer_answer(
        plan, neighbours=neighbours, accounting=accounting, amount=amount
    )
    budget = Budget.of(10**6, 0 if accounting is Accounting.PURE else None)
    run = QuestionRunInMemory(Filter.of(budget, accounting=accounting))
    measured = QuestionCurator(table=table, run=run, draw=draw).answer(offer)
    return make_answer(plan, pool_statistics(plan, measured), basis="", cost=None)


def table_of(rows: pl.DataFrame, schema: Schema) -> Table:
    return Table(open_table(rows), schema)


def duckdb_rows(rows: pl.DataFrame, sql: str) -> list[tuple[Any, ...]]:
    """What DuckDB answers; the table is called people."""
    with duckdb.connect() as connection:
        connection.register("people", rows.to_arrow())
        return connection.execute(sql).fetchall()


def duckdb_columns(rows: pl.DataFrame, sql: str) -> dict[str, list[Any]]:
    """What DuckDB answers, by the names of columns."""
    with duckdb.connect() as connection:
        connection.register("people", rows.to_arrow())
        result = connection.execute(sql)
        names = [column[0] for column in result.description or []]
        found = result.fetchall()
    return {name: [row[i] for row in found] for i, name in enumerate(names)}
