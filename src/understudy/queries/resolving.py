"""The names in a query as the schema has them, and what is refused by names alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from understudy.errors import Refused
from understudy.queries.conditions import (
    check_predicate_columns,
    read_predicate,
    shorten_refusal,
)
from understudy.queries.having import read_kept
from understudy.queries.query import (
    Aggregate,
    AggregateKind,
    CaseLabel,
    Condition,
    DerivedColumn,
    GroupKey,
    Query,
)
from understudy.schema import Boolean, Categorical, Integer, Lattice, Real, Schema
from understudy.schema.predicates.ast import Predicate

MAX_QUERY_AGGREGATES = 50
"""Aggregates of one query: each is paid for."""


MAX_KEY_CASES = 1000
"""Conditions of one group key: each is evaluated on all cells."""


def find_open_keys(query: Query, schema: Schema) -> tuple[str, ...]:
    """The columns of labels by which a query groups, and whose values are not declared:
    which there are is learned by a threshold.
    """
    found: list[str] = []
    # Columns per unit have bounds or values by what they are.
    for key in () if query.features else query.keys:
        alike = [n for n in schema.by_name if n.casefold() == key.column.casefold()]
        names = [key.column] if key.column in schema.by_name else alike
        for name in names:
            column = schema[name]
            is_open = column.is_modelled and not column.is_closed
            if is_open and isinstance(column, Categorical):
                found.append(name)
    return tuple(dict.fromkeys(found))


def refuse_open_uses(query: Query, columns: Collection[str]) -> None:
    """Refuse a question that does more with columns of unknown labels than group by
    them.
    """
    used = {name for aggregate in query.aggregates for name in aggregate.columns}
    for condition in list_conditions(query):
        used.update(condition.columns)
    for name in sorted(used.intersection(columns)):
        raise Refused(
            f"{name}: its values are not declared, so it can group rows and nothing"
            " else. Declare `values` in the schema. Nothing was spent"
        )


def resolve_query(query: Query, schema: Schema) -> Query:
    """The query with its columns as the schema spells them, and its conditions read."""
    if not 1 <= len(query.aggregates) <= MAX_QUERY_AGGREGATES:
        raise Refused(
            f"A query has between 1 and {MAX_QUERY_AGGREGATES} aggregates. Nothing was"
            " spent"
        )
    aggregates = tuple(_resolve_aggregate(each, schema) for each in query.aggregates)
    keys = tuple(_resolve_key(key, schema) for key in query.keys)
    condition = _read_condition(query.condition, schema)
    named = replace(query, aggregates=aggregates)
    titles = [*(key.title for key in keys), *named.number_titles]
    _refuse_repeated(titles)
    _check_derived(query.derived, aggregates)
    _check_order(query, titles)
    texts = {key.title for key in keys if _is_called_by_texts(key, schema)}
    kept = None if query.kept is None else read_kept(query.kept, titles, texts)
    return replace(
        query,
        aggregates=aggregates,
        keys=keys,
        condition=condition,
        kept=kept,
        text=str(query),
    )


def _resolve_aggregate(aggregate: Aggregate, schema: Schema) -> Aggregate:
    columns = tuple(_find_column(name, schema) for name in aggregate.columns)
    if len(set(columns)) < len(columns):
        raise Refused(
            f"{columns[0]}: a column has a variance, and no covariance with itself."
            " Nothing was spent"
        )
    for name in columns:
        # The id of the privacy unit is counted, and nothing else of it is released.
        if name == schema.unit.id and aggregate.kind is not AggregateKind.DISTINCT:
            raise _never_released(name)
    condition = _read_condition(aggregate.condition, schema)
    # The name of its column stays as it was asked.
    return replace(
        aggregate, columns=columns, condition=condition, name=aggregate.title
    )


def _resolve_key(key: GroupKey, schema: Schema) -> GroupKey:
    if key.cases:
        return _resolve_cases(key, schema)
    return replace(key, column=_find_column(key.column, schema), name=key.title)


def _resolve_cases(key: GroupKey, schema: Schema) -> GroupKey:
    if len(key.cases) > MAX_KEY_CASES:
        raise Refused(
            f"A group key has at most {MAX_KEY_CASES:,} conditions. Nothing was spent"
        )
    _check_labels([*(label for _, label in key.cases), key.otherwise])
    pairs = []
    for condition, label in key.cases:
        read = _read_condition(condition, schema)
        assert read is not None
        pairs.append((read, label))
    return replace(key, cases=tuple(pairs), name=key.title)


def _check_labels(labels: Sequence[CaseLabel]) -> None:
    """Refuse groups that could not be put in order beside each other."""
    named = [label for label in labels if label is not None]
    kinds = {
        "number" if type(label) in (int, float) else type(label).__name__
        for label in named
    }
    is_open = any(isinstance(n, float) and not math.isfinite(n) for n in named)
    if len(kinds) > 1 or is_open or not kinds <= {"number", "str", "bool"}:
        raise Refused(
            "The groups of one key are all called by texts, all by numbers or all by"
            " true and false. Nothing was spent"
        )


def _is_called_by_texts(key: GroupKey, schema: Schema) -> bool:
    """Whether the groups of a key have texts as their values."""
    if key.cases:
        labels = [*(label for _, label in key.cases), key.otherwise]
        return any(isinstance(label, str) for label in labels)
    if key.mapping:
        return any(isinstance(group, str) for _, group in key.mapping)
    # Bins are called by numbers, and dates and times by themselves are texts.
    is_number = isinstance(schema[key.column], Integer | Real | Boolean)
    return not is_number and not key.edges


def list_case_columns(key: GroupKey) -> list[frozenset[str]]:
    """The columns of each condition of a key by conditions."""
    read = [condition for condition, _ in key.cases]
    return [each.columns for each in read if isinstance(each, Predicate)]


def list_conditions(query: Query) -> list[Predicate]:
    """Every condition of a query that is read: of its rows, aggregates and keys."""
    conditions = [query.condition, *(each.condition for each in query.aggregates)]
    conditions += [condition for key in query.keys for condition, _ in key.cases]
    return [each for each in conditions if isinstance(each, Predicate)]


def _check_derived(
    derived: Sequence[DerivedColumn], aggregates: Sequence[Aggregate]
) -> None:
    """Refuse a formula of columns that the answer does not have, or of a quantile and
    something else: its interval has one confidence alone.
    """
    kinds = {aggregate.title: aggregate.kind for aggregate in aggregates}
    for column in derived:
        for title in sorted(column.formula.titles - set(kinds)):
            raise Refused(
                f'{column.title}: "{title}" is no aggregate of the question. Nothing was'
                " spent"
            )
        named = [kinds[title] for title in column.formula.titles]
        if len(named) > 1 and AggregateKind.QUANTILE in named:
            raise Refused(
                f"{column.title}: a quantile is not combined with other numbers. Ask for"
                " it in a column of its own. Nothing was spent"
            )


def _check_order(query: Query, titles: Sequence[str]) -> None:
    """Refuse an order by columns that the answer does not have."""
    for title in sorted({sort.title for sort in query.order}.difference(titles)):
        raise Refused(
            f'The answer has no column "{title}" to be put in order by. Its columns:'
            f" {', '.join(titles)}. Nothing was spent"
        )


def _find_column(name: str, schema: Schema) -> str:
    """The column of this name; upper and lower case differ only if they must."""
    if name in schema.by_name:
        found = name
    else:
        alike = [n for n in schema.by_name if n.casefold() == name.casefold()]
        if len(alike) != 1:
            raise Refused(f'column "{name}" is not in the schema. Nothing was spent')
        (found,) = alike
    column = schema[found]
    if not column.is_modelled and found != schema.unit.id:
        raise _never_released(found)
    if column.is_modelled and not column.is_closed:
        remedy = (
            "Add `min` and `max`" if isinstance(column, Lattice) else "Declare them"
        )
        raise Refused(
            f"{found}: its values or bounds are not declared, and questions learn none."
            f" {remedy} in the schema. Nothing was spent"
        )
    return found


def _never_released(name: str) -> Refused:
    return Refused(
        f"{name}: identifiers, texts and columns that the schema leaves out are never"
        " released. Ask about other columns, or make an id the privacy unit and count it"
        " with COUNT(DISTINCT). Nothing was spent"
    )


def _read_condition(condition: Condition | None, schema: Schema) -> Predicate | None:
    if condition is None:
        return None
    try:
        if isinstance(condition, Predicate):
            return check_predicate_columns(condition, schema)
        return read_predicate(condition, schema)
    except Refused as refused:
        raise shorten_refusal(refused) from None


def _refuse_repeated(titles: Sequence[str]) -> None:
    for title in titles:
        if titles.count(title) > 1:
            raise Refused(
                f'Two columns of the answer are called "{title}". Name one of them'
                " (AS). Nothing was spent"
            )
