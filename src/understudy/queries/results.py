"""The answer to a query as a table: keys, numbers, and an interval with every number.

Having, order and limit are applied here, to noisy numbers: post-processing, free.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from understudy.accounting.budget import spell_value
from understudy.accounting.cost import Cost
from understudy.accounting.filter import ACCOUNTING_SYMBOLS
from understudy.errors import Refused
from understudy.queries.cells import KeyValue
from understudy.queries.estimates import (
    NoisyStatistic,
    NumberEstimate,
    estimate_aggregate,
)
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.plan import QueryPlan
from understudy.queries.precision import NoisyValues, pool_values
from understudy.queries.query import Query
from understudy.queries.released import (
    ReleasedStatistics,
    choose_parts,
    pool_with_release,
)
from understudy.queries.searches import QuantileSearch
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    In,
    IsMissing,
    Literal,
    Not,
    Operator,
    Or,
    Predicate,
)
from understudy.text import align_columns

if TYPE_CHECKING:
    import pandas
    import polars


_MAX_PLACES = 6
"""Decimals that are shown at most."""


@dataclass(frozen=True)
class AnswerRow:
    """One group of an answer: its keys, and a number for each aggregate."""

    keys: tuple[KeyValue, ...]
    numbers: tuple[NumberEstimate, ...]


@dataclass(frozen=True)
class AnswerTable:
    """The answer to a query. Every number has an interval that holds the true one 95
    times in 100, by itself.

    >>> row = AnswerRow(("F",), (NumberEstimate(512, 482, 542),))
    >>> print(AnswerTable("count by sex", ("sex",), ("count",), (row,), "stored"))
    sex  count  low  high
    F      512  482   542
    """

    question: str
    key_titles: tuple[str, ...]
    number_titles: tuple[str, ...]
    rows: tuple[AnswerRow, ...]
    basis: str
    """How it was made: measured, from the release, or from stored answers."""
    cost: Cost | None = None
    """What was charged for it; None if it was free."""

    @property
    def value(self) -> float:
        """The only number of an answer that has one."""
        return self._only_number.value

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the only number."""
        return self._only_number.low, self._only_number.high

    @property
    def _only_number(self) -> NumberEstimate:
        numbers = [number for row in self.rows for number in row.numbers]
        if len(numbers) != 1:
            raise Refused(
                f"This answer has {len(numbers)} numbers: read its rows, or `to_frame`"
            )
        return numbers[0]

    @property
    def half_width(self) -> float:
        """The largest distance from a number to an end of its interval."""
        numbers = [number.half_width for row in self.rows for number in row.numbers]
        return max(numbers, default=0.0)

    def to_dict(self) -> dict[str, list[Any]]:
        """Its columns by their titles, the ends of intervals behind each number."""
        columns: dict[str, list[Any]] = {}
        for i, title in enumerate(self.key_titles):
            columns[title] = [row.keys[i] for row in self.rows]
        for i, title in enumerate(self.number_titles):
            numbers = [row.numbers[i] for row in self.rows]
            columns[title] = [number.value for number in numbers]
            columns[f"{title}_low"] = [number.low for number in numbers]
            columns[f"{title}_high"] = [number.high for number in numbers]
        return columns

    def to_pandas(self) -> pandas.DataFrame:
        """It as a pandas frame."""
        import pandas

        return pandas.DataFrame(self.to_dict())

    def to_polars(self) -> polars.DataFrame:
        """It as a polars frame."""
        import polars

        return polars.DataFrame(self.to_dict(), strict=False)

    def _text_rows(self) -> list[list[str]]:
        head = list(self.key_titles)
        for title in self.number_titles:
            head += [title, "low", "high"]
        lines = [head]
        for row in self.rows:
            cells = [spell_key(key) for key in row.keys]
            for number in row.numbers:
                ends = (number.value, number.low, number.high)
                cells += [spell_number(end, number.half_width) for end in ends]
            lines.append(cells)
        return lines

    def lines(self) -> list[str]:
        """It as lines of aligned text."""
        first = len(self.key_titles)
        width = first + 3 * len(self.number_titles)
        return align_columns(self._text_rows(), right=range(first, width))

    def account_line(self) -> str:
        """How it was made, and what was charged for it."""
        if self.cost is None:
            return f"Free ({self.basis})."
        symbol = ACCOUNTING_SYMBOLS[self.cost.accounting]
        return f"Charged: {symbol} = {spell_value(self.cost.amount)} ({self.basis})."

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        head, *rows = self._text_rows()
        cells = "".join(f"<th>{escape(title)}</th>" for title in head)
        body = ""
        for row in rows:
            body += "<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>"
        caption = f"{escape(self.question)} ({escape(self.basis)})"
        return f"<table><caption>{caption}</caption><tr>{cells}</tr>{body}</table>"


def spell_key(key: KeyValue) -> str:
    """A key as text."""
    if key is None:
        return "(missing)"
    return str(key).lower() if isinstance(key, bool) else str(key)


def spell_number(number: float, half_width: float) -> str:
    """A number with two of the digits that its interval leaves open.

    >>> spell_number(1234.5678, 20.0), spell_number(0.12345, 0.01)
    ('1,235', '0.123')
    """
    places = 0
    if half_width > 0:
        places = min(max(1 - math.floor(math.log10(half_width)), 0), _MAX_PLACES)
    return f"{number + 0.0:,.{places}f}"


def make_answer(
    plan: QueryPlan,
    measured: Sequence[Sequence[NoisyStatistic]],
    *,
    basis: str,
    cost: Cost | None,
    released: ReleasedStatistics = (),
) -> AnswerTable:
    """The answer from the noisy statistics of a plan: for each statistic one entry for
    each group, pooled with what a release tells of it.
    """
    rows = []
    aggregates = plan.query.aggregates
    steps = [column_steps(plan, aggregate.columns) for aggregate in aggregates]
    pooled = list(measured)
    for place, known in enumerate(released):
        if known is not None:
            statistic = plan.statistics[place]
            pooled[place] = pool_with_release(statistic, measured[place], known)
    parts_by_aggregate = [
        choose_parts(aggregate, places, measured, pooled)
        for aggregate, places in zip(aggregates, plan.parts, strict=True)
    ]
    for group, keys in enumerate(plan.cells.iterate_groups()):
        numbers = []
        for aggregate, chosen, step in zip(
            aggregates, parts_by_aggregate, steps, strict=True
        ):
            parts = [part[group] for part in chosen]
            numbers.append(estimate_aggregate(aggregate, parts, step))
        rows.append(AnswerRow(keys, tuple(numbers)))
    return finish_answer(plan.query, rows, basis=basis, cost=cost)


def pool_statistics(
    plan: QueryPlan, measured: Sequence[Sequence[NoisyValues]]
) -> list[list[NoisyStatistic]]:
    """Every statistic of every group, from all its measurements."""
    pooled = []
    for statistic, draws in zip(plan.statistics, measured, strict=True):
        if isinstance(statistic, QuantileSearch):
            pooled.append(_read_quantiles(statistic, draws))
            continue
        # A release told it exactly enough: nothing was measured.
        if not draws:
            pooled.append([])
            continue
        values, noise = pool_values(draws)
        pooled.append([NoisyStatistic(statistic, value, noise) for value in values])
    return pooled


def _read_quantiles(
    search: QuantileSearch, draws: Sequence[NoisyValues]
) -> list[NoisyStatistic]:
    """Every group's quantile by the best search: searches are not pooled."""
    best = min(draws, key=lambda each: each.scale)
    groups = len(best.values) // 3
    noise = NoiseScale(best.law, best.scale)
    found = []
    for group in range(groups):
        value, low, high = (float(v) for v in best.values[group::groups])
        found.append(NoisyStatistic(search, value, noise, (low, high)))
    return found


def column_steps(plan: QueryPlan, columns: Sequence[str]) -> list[float]:
    """The lattice steps of columns of numbers."""
    steps = []
    for name in columns:
        column = plan.source_schema[name]
        is_number = isinstance(column, Integer | Real)
        steps.append(float(column.step) if is_number else 1.0)  # type: ignore[attr-defined]
    return steps


def finish_answer(
    query: Query, rows: Sequence[AnswerRow], *, basis: str, cost: Cost | None
) -> AnswerTable:
    """The rows that are shown, in their order, and the columns that are shown."""
    keys = tuple(key.title for key in query.keys)
    numbers = tuple(aggregate.title for aggregate in query.aggregates)
    kept = _keep_rows(query, rows, keys, numbers)
    shown_keys = _find_shown(query, keys)
    shown_numbers = _find_shown(query, numbers)
    shown = [
        AnswerRow(
            tuple(row.keys[i] for i in shown_keys),
            tuple(row.numbers[i] for i in shown_numbers),
        )
        for row in kept
    ]
    return AnswerTable(
        str(query),
        tuple(keys[i] for i in shown_keys),
        tuple(numbers[i] for i in shown_numbers),
        tuple(shown),
        basis,
        cost,
    )


def _keep_rows(
    query: Query,
    rows: Sequence[AnswerRow],
    keys: Sequence[str],
    numbers: Sequence[str],
) -> list[AnswerRow]:
    """The rows that HAVING and LIMIT keep, in the order that is asked for."""
    kept = list(rows)
    if query.having is not None:
        kept = [
            row for row in kept if _holds(query.having, _cells_of(row, keys, numbers))
        ]
    # Sorting is stable: sorted by the last key first, ties keep to the others.
    for sort in reversed(query.order):
        kept = _sort_rows(kept, sort.title, sort.is_descending, keys, numbers)
    return kept[: query.most_rows]


def _find_shown(query: Query, titles: Sequence[str]) -> list[int]:
    """The places of the columns that are shown: all where none is named."""
    return [
        i for i, title in enumerate(titles) if not query.shown or title in query.shown
    ]


def _cells_of(
    row: AnswerRow, keys: Sequence[str], numbers: Sequence[str]
) -> dict[str, KeyValue]:
    cells: dict[str, KeyValue] = dict(zip(keys, row.keys, strict=True))
    values = [number.value for number in row.numbers]
    return cells | dict(zip(numbers, values, strict=True))


def _sort_rows(
    rows: list[AnswerRow],
    title: str,
    is_descending: bool,
    keys: Sequence[str],
    numbers: Sequence[str],
) -> list[AnswerRow]:
    if title not in (*keys, *numbers):
        raise Refused(
            f'The answer has no column "{title}" to be put in order by. Its columns:'
            f" {', '.join((*keys, *numbers))}"
        )
    cells = [_cells_of(row, keys, numbers)[title] for row in rows]
    # Missing values come last either way.
    present = [i for i, cell in enumerate(cells) if cell is not None]
    absent = [i for i, cell in enumerate(cells) if cell is None]
    present.sort(key=lambda i: cells[i], reverse=is_descending)  # type: ignore[arg-type,return-value]
    return [rows[i] for i in [*present, *absent]]


def check_having(predicate: Predicate, titles: Sequence[str]) -> None:
    """Refuse a condition on columns that the answer does not have."""
    for name in sorted(predicate.columns - set(titles)):
        raise Refused(
            f'HAVING names "{name}", which is no column of the answer. Nothing was'
            " spent"
        )


def _holds(predicate: Predicate, cells: Mapping[str, KeyValue]) -> bool:
    """Whether a row of an answer meets a condition; missing keys meet none."""
    match predicate:
        case And(left, right):
            return _holds(left, cells) and _holds(right, cells)
        case Or(left, right):
            return _holds(left, cells) or _holds(right, cells)
        case Not(part):
            return not _holds(part, cells)
        case IsMissing(name, negated):
            return (cells[name.column] is None) != negated
        case In(name, values, negated):
            cell = cells[name.column]
            is_listed = any(_compare(cell, Operator.EQUAL, v.value) for v in values)
            return cell is not None and is_listed != negated
        case ColumnComparison(name, operator, Literal(value)):
            return _compare(cells[name.column], operator, value)
        case ColumnComparison(name, operator, ColumnName(other)):
            return _compare(cells[name.column], operator, cells[other])
    raise Refused("HAVING compares columns of the answer with constants, no more")


def _compare(cell: KeyValue, operator: Operator, value: object) -> bool:
    other = float(value) if isinstance(value, Fraction) else value
    if cell is None or other is None:
        return False
    if isinstance(cell, str) != isinstance(other, str):
        return False
    one: Any = cell
    match operator:
        case Operator.EQUAL:
            return bool(one == other)
        case Operator.UNEQUAL:
            return bool(one != other)
        case Operator.LESS:
            return bool(one < other)
        case Operator.AT_MOST:
            return bool(one <= other)
        case Operator.MORE:
            return bool(one > other)
    return bool(one >= other)
