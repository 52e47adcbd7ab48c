"""Keys of GROUP BY: a column, FLOOR(x / w), FLOOR(x / w) * w, the year of a date, CASE,
COALESCE, or a condition.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any

from understudy.errors import Refused
from understudy.queries.cells import MAX_QUERY_GROUPS
from understudy.queries.query import CaseLabel, GroupKey
from understudy.queries.resolving import MAX_KEY_CASES
from understudy.queries.sql.cases import CASE_NODES, read_branches
from understudy.queries.sql.conditions import (
    CONDITION_NODES,
    WHOLE_SQL_TYPES,
    ConditionReader,
    find_schema_column,
    year_column,
)
from understudy.queries.sql.dates import read_date_part
from understudy.queries.sql.labels import LABEL_NODES, LABEL_TESTS, read_labels
from understudy.queries.sql.literals import column_name, number_of
from understudy.queries.sql.refusals import refuse_node
from understudy.schema import Boolean, Categorical, Lattice, Schema
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.columns.temporal import EPOCH_MOMENT, MICROSECOND_SPAN, Date
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    Literal,
    Operator,
    Predicate,
)

_LABEL_SQL_TYPES = frozenset({"TEXT", "VARCHAR", "CHAR"})


def read_key(node: Any, alias: str, schema: Schema) -> GroupKey:
    """The key that an expression of GROUP BY means."""
    kind = type(node).__name__
    if kind == "Paren":
        return read_key(node.this, alias, schema)
    if kind == "Cast":
        return _read_cast(node, alias, schema)
    if kind in CASE_NODES:
        return _read_cases(node, alias, schema)
    if kind in LABEL_NODES:
        return _read_label_function(node, alias, schema)
    if kind in LABEL_TESTS or kind in CONDITION_NODES:
        return _read_truth(node, alias, schema)
    if kind == "Column":
        column = find_schema_column(column_name(node), schema)
        return GroupKey(column, name=alias)
    part = read_date_part(node, schema)
    year = year_column(node)
    if year is not None and (part is None or isinstance(part.column, Date)):
        return _read_years(find_schema_column(column_name(year), schema), alias, schema)
    if part is not None:
        return _key_of_cases(part.list_labels(), alias or part.title)
    if kind in ("Floor", "IntDiv"):
        return _read_bins(node, alias, schema, is_multiplied=False)
    if kind == "Mul":
        sides = [node.this, node.expression]
        sides.sort(key=lambda side: type(side).__name__ == "Literal")
        inner, factor = sides
        while type(inner).__name__ in ("Paren", "Cast"):
            inner = inner.this
        key = _read_bins(inner, alias, schema, is_multiplied=True)
        if number_of(factor) == key.edges[1] - key.edges[0]:
            return key
    raise refuse_node(node)


def _read_cast(node: Any, alias: str, schema: Schema) -> GroupKey:
    """A cast that changes no value: bins are whole numbers, labels are texts."""
    inner = node.this
    while type(inner).__name__ == "Paren":
        inner = inner.this
    target = str(getattr(node.args["to"].this, "value", ""))
    if type(inner).__name__ != "Column":
        key = read_key(inner, alias, schema)
        labels: list[CaseLabel] = [*key.labels, *(label for _, label in key.cases)]
        if target not in WHOLE_SQL_TYPES or not all(map(_is_whole, labels)):
            raise refuse_node(node)
        return key
    column = schema[find_schema_column(column_name(inner), schema)]
    is_kept = target in WHOLE_SQL_TYPES and isinstance(column, Integer)
    is_kept = is_kept or (
        target in _LABEL_SQL_TYPES and isinstance(column, Categorical)
    )
    if not is_kept:
        raise refuse_node(node)
    return read_key(inner, alias, schema)


def _is_whole(label: CaseLabel) -> bool:
    return isinstance(label, int | float) and float(label).is_integer()


def _key_of_cases(cases: Mapping[Any, Predicate], title: str) -> GroupKey:
    """What a function of a column makes of its values; rows without one are a group."""
    pairs = tuple((condition, label) for label, condition in cases.items())
    return GroupKey("", name=title, cases=pairs)


def _read_label_function(node: Any, alias: str, schema: Schema) -> GroupKey:
    found = read_labels(node, schema)
    if found is None:
        raise refuse_node(node)
    return _key_of_cases(found.list_texts(), alias or found.column.name)


def _read_truth(node: Any, alias: str, schema: Schema) -> GroupKey:
    """A condition as a key: rows of which it is true, false, or neither."""
    from sqlglot import exp

    reader = ConditionReader(schema)
    cases = ((reader.read(node), True), (reader.read(exp.Not(this=node)), False))
    return GroupKey("", name=alias or "condition", cases=cases)


def _read_cases(node: Any, alias: str, schema: Schema) -> GroupKey:
    """CASE and COALESCE: each result is a group. A column as a result is one group for
    each of its values.
    """
    cases: list[tuple[Predicate, CaseLabel]] = []
    for branch in read_branches(node, schema):
        if type(branch.result).__name__ == "Column":
            name = find_schema_column(column_name(branch.result), schema)
            for value, is_value in _list_values(name, schema):
                both = And(branch.condition, is_value)
                cases.append((both, value))
        else:
            cases.append((branch.condition, _read_label(branch.result)))
    return GroupKey("", name=alias or "case", cases=tuple(cases))


def _list_values(name: str, schema: Schema) -> list[tuple[CaseLabel, Predicate]]:
    """The values of a column, each with the condition that a row has it."""
    column = schema[name]
    column_named = ColumnName(name)
    values: list[CaseLabel] = []
    if isinstance(column, Boolean):
        values = [False, True]
    elif isinstance(column, Categorical) and column.other is None:
        values = list(column.values or ())
    elif isinstance(column, Integer):
        low, high = _require_bounds(column)
        if high - low < MAX_KEY_CASES:
            step = Fraction(column.step)
            values = [int(place * step) for place in range(low, high + 1)]
    if not values:
        raise Refused(
            f"{name}: its values are too many, or not listed, to be groups of a CASE."
            " Use constants. Nothing was spent"
        )
    pairs: list[tuple[CaseLabel, Predicate]] = []
    for value in values:
        literal = Literal(Fraction(value) if type(value) is int else value)  # type: ignore[arg-type]
        pairs.append((value, ColumnComparison(column_named, Operator.EQUAL, literal)))
    return pairs


def _read_label(node: Any) -> CaseLabel:
    match type(node).__name__:
        case "NoneType":
            return None
        case "Literal" if node.args.get("is_string"):
            return str(node.this)
        case "Boolean":
            return bool(node.this)
    number = number_of(node)
    return int(number) if number.denominator == 1 else float(number)


def _read_bins(
    node: Any, alias: str, schema: Schema, *, is_multiplied: bool
) -> GroupKey:
    """FLOOR(x / w), or x // w of whole numbers: bins of equal width over the whole
    domain of x.
    """
    is_whole = type(node).__name__ == "IntDiv"
    quotient = node if is_whole else node.this
    if not is_whole and (
        type(node).__name__ != "Floor" or type(quotient).__name__ != "Div"
    ):
        raise refuse_node(node)
    name = find_schema_column(column_name(quotient.this), schema)
    width = number_of(quotient.expression)
    column = schema[name]
    if not isinstance(column, Integer | Real) or width <= 0:
        raise refuse_node(node)
    low, high = _require_bounds(column)
    # Below 0 databases do not agree on what it is, nor for fractions.
    is_plain = isinstance(column, Integer) and width.denominator == 1 and low >= 0
    if is_whole and not is_plain:
        raise refuse_node(node)
    step = Fraction(column.step)
    first, last = math.floor(low * step / width), math.floor(high * step / width)
    if last - first >= MAX_QUERY_GROUPS:
        raise Refused(
            f"{name}: {last - first + 1:,} groups are too many. Use wider bins. Nothing"
            " was spent"
        )
    edges = tuple(place * width for place in range(first, last + 2))
    labels = tuple(float(edge) for edge in edges[:-1])
    if not is_multiplied:
        labels = tuple(float(place) for place in range(first, last + 1))
    title = alias or f"{name}_bin"
    return GroupKey(name, edges, title, labels, has_missing=True)


def _read_years(name: str, alias: str, schema: Schema) -> GroupKey:
    column = schema[name]
    if not isinstance(column, Date):
        raise Refused(f"{name}: only dates have years here. Nothing was spent")
    low, high = (column.value_at(index) for index in _require_bounds(column))
    years = range(low.year, high.year + 1)
    edges = []
    for year in range(low.year, high.year + 2):
        since = datetime(year, 1, 1) - EPOCH_MOMENT
        edges.append(Fraction(since // MICROSECOND_SPAN))
    title = alias or f"{name}_year"
    return GroupKey(name, tuple(edges), title, tuple(years), has_missing=True)


def _require_bounds(column: Lattice) -> tuple[int, int]:
    if column.low is None or column.high is None:
        raise Refused(
            f"{column.name}: it has no bounds. Add `min` and `max` to the schema."
            " Nothing was spent"
        )
    return column.low, column.high
