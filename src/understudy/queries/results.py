"""The answer to a query as a table: keys, numbers, and an interval with every number.

Having, order and limit are applied here, to noisy numbers: post-processing, free.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from understudy.accounting.budget import spell_value
from understudy.accounting.cost import Cost
from understudy.accounting.filter import ACCOUNTING_SYMBOLS
from understudy.errors import Refused
from understudy.queries.answer_rows import (
    AnswerRow,
    derive_numbers,
    keep_rows,
    order_quantiles,
)
from understudy.queries.cells import KeyValue
from understudy.queries.estimates import (
    ANSWER_DOUBT,
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
from understudy.svg.interval_chart import IntervalPoint, draw_intervals
from understudy.text import align_columns

if TYPE_CHECKING:
    import pandas
    import polars


MAX_ANSWER_FIGURES = 6
"""Figures with one answer: the table has the rest."""

_MAX_PLACES = 6
"""Decimals that are shown at most."""

_OPEN_PLACES = 2
"""Decimals of a number whose interval has no end."""


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
    limit_cost: Cost | None = None
    """What stored answers that were new to an analyst took from their limit."""
    counted: str = ""
    """Which rows were counted, where the privacy unit bounds them."""

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

    def to_plain(self) -> dict[str, list[Any]]:
        """The same for JSON, which has no infinity: an interval without an end says so
        in a word.
        """

        def spell_end(cell: Any) -> Any:
            is_open = isinstance(cell, float) and not math.isfinite(cell)
            return str(cell) if is_open else cell

        return {
            title: [spell_end(cell) for cell in column]
            for title, column in self.to_dict().items()
        }

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
        """How it was made, what was charged for it, and which rows were counted."""
        counted = f" {self.counted}." if self.counted else ""
        return self._spell_charge() + counted

    def _spell_charge(self) -> str:
        taken = None if self.limit_cost is None else _spell_cost(self.limit_cost)
        if self.cost is not None:
            line = f"Charged: {_spell_cost(self.cost)} ({self.basis})."
            stored = f" From the analyst's limit, for stored answers: {taken}."
            return line if taken is None else line + stored
        if taken is not None:
            return f"From the analyst's limit: {taken} ({self.basis})."
        return f"Free ({self.basis})."

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def figures(self) -> list[str]:
        """A figure (SVG) for each column of numbers, with the intervals as bars; of the
        first columns if there are many.

        >>> row = AnswerRow(("F",), (NumberEstimate(512, 482, 542),))
        >>> answer = AnswerTable("count by sex", ("sex",), ("count",), (row,), "stored")
        >>> [drawn.count("<circle") for drawn in answer.figures()]
        [1]
        """
        figures = []
        for place, title in enumerate(self.number_titles[:MAX_ANSWER_FIGURES]):
            points = []
            for row in self.rows:
                label = ", ".join(spell_key(key) for key in row.keys) or title
                number = row.numbers[place]
                points.append(
                    IntervalPoint(label, number.value, number.low, number.high)
                )
            figures.append(str(draw_intervals(points, title=title)))
        return figures

    def _repr_html_(self) -> str:
        head, *rows = self._text_rows()
        cells = "".join(f"<th>{escape(title)}</th>" for title in head)
        body = ""
        for row in rows:
            body += "<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>"
        caption = f"{escape(self.question)} ({escape(self.basis)})"
        if self.counted:
            caption += f". {escape(self.counted)}"
        table = f"<table><caption>{caption}</caption><tr>{cells}</tr>{body}</table>"
        return "".join([table, *self.figures()])


def _spell_cost(cost: Cost) -> str:
    return f"{ACCOUNTING_SYMBOLS[cost.accounting]} = {spell_value(cost.amount)}"


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
    # An interval without an end leaves all digits open.
    if math.isinf(half_width):
        places = _OPEN_PLACES
    elif half_width > 0:
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

    def estimate_group(group: int, doubt: float) -> list[NumberEstimate]:
        numbers = []
        for aggregate, chosen, step in zip(
            aggregates, parts_by_aggregate, steps, strict=True
        ):
            parts = [part[group] for part in chosen]
            numbers.append(estimate_aggregate(aggregate, parts, step, doubt))
        return order_quantiles(aggregates, numbers)

    for group, keys in enumerate(plan.cells.iterate_groups()):
        numbers = estimate_group(group, ANSWER_DOUBT)
        derived = derive_numbers(plan.query, partial(estimate_group, group))
        rows.append(AnswerRow(keys, (*numbers, *derived)))
    counted = plan.source_schema.unit.counted_rows
    return finish_answer(plan.query, rows, basis=basis, cost=cost, counted=counted)


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
    query: Query,
    rows: Sequence[AnswerRow],
    *,
    basis: str,
    cost: Cost | None,
    counted: str,
) -> AnswerTable:
    """The rows that are shown, in their order, and the columns that are shown. Each row
    has the numbers of the aggregates and of the computed columns.
    """
    keys = tuple(key.title for key in query.keys)
    numbers = query.number_titles
    kept = keep_rows(query, rows, keys, numbers)
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
        counted=counted,
    )


def _find_shown(query: Query, titles: Sequence[str]) -> list[int]:
    """The places of the columns that are shown, as they were asked for: all where none
    is named.
    """
    if not query.shown:
        return list(range(len(titles)))
    shown = dict.fromkeys(query.shown)
    return [titles.index(title) for title in shown if title in titles]
