"""The groups of a query to a release, each as a condition that its rows meet."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from understudy.errors import Refused
from understudy.queries.cells import KeyValue, make_cells
from understudy.queries.conditions import join_conditions
from understudy.queries.query import GroupKey, Query
from understudy.releases.evidence import Evidence
from understudy.schema import Boolean
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.columns.temporal import EPOCH_MOMENT, MICROSECOND_SPAN
from understudy.schema.predicates.ast import (
    ColumnComparison,
    ColumnName,
    IsMissing,
    Literal,
    Not,
    Operator,
    Or,
    Predicate,
)

MAX_RELEASE_GROUPS = 2000
"""Groups of a query to a release: each is a question of its own."""


def iterate_group_conditions(
    evidence: Evidence, query: Query
) -> Iterator[tuple[tuple[KeyValue, ...], Predicate | None]]:
    """Every group, with the condition that its rows meet."""
    condition = query.condition
    assert condition is None or isinstance(condition, Predicate)
    cells = make_cells(evidence.schema, query.keys, _case_conditions(query))
    if cells.groups > MAX_RELEASE_GROUPS:
        raise Refused(
            f"{cells.groups:,} groups are more than a release answers at once"
            f" ({MAX_RELEASE_GROUPS:,}). Group by bins, or by fewer columns"
        )
    for keys in cells.iterate_groups():
        own = condition
        for key, value in zip(query.keys, keys, strict=True):
            own = join_conditions(own, _key_condition(evidence, key, value))
        yield keys, own


def _case_conditions(query: Query) -> list[Predicate]:
    conditions = [condition for key in query.keys for condition, _ in key.cases]
    return [each for each in conditions if isinstance(each, Predicate)]


def _key_condition(evidence: Evidence, key: GroupKey, value: KeyValue) -> Predicate:
    """The condition that the rows of one value of a key meet."""
    if key.cases:
        return _case_condition(key, value)
    name = ColumnName(key.column)
    if value is None:
        return IsMissing(name)
    column = evidence.schema[key.column]
    if isinstance(column, Boolean):
        return ColumnComparison(name, Operator.EQUAL, Literal(bool(value)))
    if key.edges:
        return _bin_condition(
            name, key, value, is_number=isinstance(column, Integer | Real)
        )
    if not isinstance(column, Integer | Real):
        return ColumnComparison(name, Operator.EQUAL, Literal(str(value)))
    exact = Fraction(column.step) * column.index_of(value)
    return ColumnComparison(name, Operator.EQUAL, Literal(exact))


def _case_condition(key: GroupKey, value: KeyValue) -> Predicate:
    """That the first condition that a row meets has this label."""
    named = [*key.cases, (None, key.otherwise)]
    earlier: Predicate | None = None
    met: Predicate | None = None
    for condition, label in named:
        assert not isinstance(condition, str)
        rest = None if earlier is None else Not(earlier)
        first = join_conditions(rest, condition)
        if (type(label), label) == (type(value), value):
            assert first is not None
            met = first if met is None else Or(met, first)
        if condition is not None:
            earlier = condition if earlier is None else Or(earlier, condition)
    assert met is not None
    return met


def _bin_condition(
    name: ColumnName, key: GroupKey, value: KeyValue, *, is_number: bool
) -> Predicate:
    """From one edge of a bin to below the next."""
    labels = [float(label) for label in key.labels or key.edges[:-1]]
    assert value is not None
    place = labels.index(float(value))
    ends = []
    for edge in key.edges[place : place + 2]:
        moment = EPOCH_MOMENT + int(edge) * MICROSECOND_SPAN if not is_number else None
        ends.append(Literal(edge if moment is None else moment.date().isoformat()))
    both = join_conditions(
        ColumnComparison(name, Operator.AT_LEAST, ends[0]),
        ColumnComparison(name, Operator.LESS, ends[1]),
    )
    assert both is not None
    return both
