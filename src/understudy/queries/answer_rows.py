"""Rows of an answer, and what is done to them for nothing: columns that are computed of
its numbers, HAVING, order and limit. All of it sees noisy numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.errors import Refused
from understudy.queries.cells import KeyValue
from understudy.queries.estimates import ANSWER_DOUBT, NumberEstimate
from understudy.queries.formulas import evaluate_formula
from understudy.queries.having import holds
from understudy.queries.query import Aggregate, AggregateKind, Query, SortKey
from understudy.schema.predicates.ast import Predicate


@dataclass(frozen=True)
class AnswerRow:
    """One group of an answer: its keys, and a number for each aggregate."""

    keys: tuple[KeyValue, ...]
    numbers: tuple[NumberEstimate, ...]


def derive_numbers(
    query: Query, estimate: Callable[[float], Sequence[NumberEstimate]]
) -> tuple[NumberEstimate, ...]:
    """The computed columns of one group. `estimate` gives the aggregates with intervals
    of a doubt: that of a formula of several is divided among them.
    """
    titles = [aggregate.title for aggregate in query.aggregates]
    counts = frozenset(
        aggregate.title
        for aggregate in query.aggregates
        if aggregate.kind in (AggregateKind.COUNT, AggregateKind.DISTINCT)
    )
    derived = []
    for column in query.derived:
        parts = max(len(column.formula.titles), 1)
        numbers = estimate(ANSWER_DOUBT / parts)
        spans = {
            title: (number.value, number.low, number.high)
            for title, number in zip(titles, numbers, strict=True)
        }
        derived.append(NumberEstimate(*evaluate_formula(column.formula, spans, counts)))
    return tuple(derived)


def order_quantiles(
    aggregates: Sequence[Aggregate], numbers: Sequence[NumberEstimate]
) -> list[NumberEstimate]:
    """The numbers of one group, where no quantile is below one of a lower level of the
    same rows: estimates that cross are exchanged, which takes none of them further from
    the truth together (Chernozhukov, Fernández-Val, Galichon, "Quantile and probability
    curves without crossing", 2010). Intervals are widened to hold their estimates.
    """
    families: dict[object, list[tuple[Fraction, int]]] = {}
    for place, aggregate in enumerate(aggregates):
        if aggregate.level is not None:
            rows = aggregate.columns, aggregate.condition
            families.setdefault(rows, []).append((aggregate.level, place))
    ordered = list(numbers)
    for family in families.values():
        values = sorted(numbers[place].value for _, place in family)
        for value, (_, place) in zip(values, sorted(family), strict=True):
            low, high = numbers[place].low, numbers[place].high
            ordered[place] = NumberEstimate(value, min(low, value), max(high, value))
    return ordered


def append_derived(
    query: Query, numbers: Sequence[NumberEstimate]
) -> tuple[NumberEstimate, ...]:
    """The numbers of one group, and the columns that are computed of one of them each."""

    def estimate(doubt: float) -> Sequence[NumberEstimate]:
        assert doubt == ANSWER_DOUBT
        return numbers

    return (*numbers, *derive_numbers(query, estimate))


def combines_numbers(query: Query) -> bool:
    """Whether a computed column needs intervals of several numbers that hold together."""
    return any(len(column.formula.titles) > 1 for column in query.derived)


def keep_rows(
    query: Query,
    rows: Sequence[AnswerRow],
    keys: Sequence[str],
    numbers: Sequence[str],
) -> list[AnswerRow]:
    """The rows that HAVING and LIMIT keep, in the order that is asked for."""
    kept = list(rows)
    if query.kept is not None:
        assert isinstance(query.kept, Predicate), "a plan's conditions are read"
        kept = [row for row in kept if holds(query.kept, _cells_of(row, keys, numbers))]
    # Sorting is stable: sorted by the last key first, ties keep to the others.
    for sort in reversed(query.order):
        kept = _sort_rows(kept, sort, keys, numbers)
    return kept[: query.most_rows]


def _cells_of(
    row: AnswerRow, keys: Sequence[str], numbers: Sequence[str]
) -> dict[str, KeyValue]:
    cells: dict[str, KeyValue] = dict(zip(keys, row.keys, strict=True))
    values = [number.value for number in row.numbers]
    return cells | dict(zip(numbers, values, strict=True))


def _sort_rows(
    rows: list[AnswerRow],
    sort: SortKey,
    keys: Sequence[str],
    numbers: Sequence[str],
) -> list[AnswerRow]:
    if sort.title not in (*keys, *numbers):
        raise Refused(
            f'The answer has no column "{sort.title}" to be put in order by. Its'
            f" columns: {', '.join((*keys, *numbers))}"
        )
    cells = [_cells_of(row, keys, numbers)[sort.title] for row in rows]
    present = [i for i, cell in enumerate(cells) if cell is not None]
    absent = [i for i, cell in enumerate(cells) if cell is None]
    present.sort(key=lambda i: cells[i], reverse=sort.is_descending)  # type: ignore[arg-type,return-value]
    places = [*absent, *present] if sort.has_missing_first else [*present, *absent]
    return [rows[i] for i in places]
