"""The moments of a regression as statistics of public cells: one noisy sum for each
entry of Z'Z, where a row of Z is (1, predictors, response).

A column of numbers is a factor z = (x − m)/h around the middle m of its bounds, with h
its half range, so that |z| ≤ 1. A column of labels is one indicator for each label but
the first, a column of yes and no one indicator. A row without a value in one of the
formula's columns takes no part.

Why it is private. An entry of Z'Z is a sum of products of factors over the rows that
meet the indicators' conditions: a `Statistic`, whose exact sensitivity follows from the
bounds (queries/statistics.py). In units of its factors' half ranges one row moves each
entry by at most 1, so all get the same noise. In the corner of the bounds a row moves
all of them by 1 at once: splitting the budget over the entries loses nothing against the
joint sensitivity. Checked against all small tables in tests/toolbox/test_regression.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.queries.cells import make_cells
from understudy.queries.conditions import join_conditions
from understudy.queries.plan import QueryPlan, column_factor
from understudy.queries.query import Aggregate, AggregateKind, Condition, Query
from understudy.queries.resolving import resolve_query
from understudy.queries.statistics import ColumnFactor, Statistic
from understudy.schema import Boolean, Categorical, Schema
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.predicates.ast import (
    ColumnComparison,
    ColumnName,
    Literal,
    Operator,
    Predicate,
)

MAX_FORMULA_TERMS = 30
"""Terms of a formula: with t of them about t²/2 sums share the budget."""

INTERCEPT_NAME = "Intercept"

_FORMULA_NAME = re.compile(
    r"\s*(?:Q\(\s*[\"']([^\"']+)[\"']\s*\)|\"([^\"]+)\"|([^\W\d]\w*))\s*"
)


@dataclass(frozen=True)
class MomentTerm:
    """A column of Z: a factor, or an indicator of a condition, or 1 if it is neither."""

    name: str
    factor: ColumnFactor | None = None
    condition: Predicate | None = None
    step: float = 1.0
    """What one lattice step of the factor stands for."""

    @property
    def half_range(self) -> int:
        """The most that the factor is away from its origin, in lattice steps."""
        if self.factor is None:
            return 1
        origin = self.factor.origin
        return max(self.factor.high - origin, origin - self.factor.low, 1)

    @property
    def middle(self) -> float:
        """The value that the factor counts from."""
        return 0.0 if self.factor is None else self.factor.origin * self.step

    @property
    def width(self) -> float:
        """The half range as a difference of values."""
        return self.half_range * self.step


@dataclass(frozen=True, eq=False)
class MomentPlan:
    """The statistics of a formula, and where in Z'Z each belongs."""

    terms: tuple[MomentTerm, ...]
    """1 first, the response last."""
    plan: QueryPlan
    places: NDArray[np.int64]
    """For each entry of Z'Z the place of its statistic; -1 where it is always 0."""

    def fill(self, sums: Sequence[float]) -> NDArray[np.float64]:
        """Z'Z of sums by statistic, in units of the half ranges.

        >>> schema = Schema(columns=(Integer(name="y", min=-2, max=2, nullable=False),))
        >>> plan_moments("y ~ 1", schema).fill([10, 4, 12]).tolist()
        [[10.0, 2.0], [2.0, 3.0]]
        """
        return self._spread(np.asarray(sums, np.float64), 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a row must have values in to take part."""
        return self.plan.statistics[0].value_columns

    def select(self, other: MomentPlan) -> MomentPlan | None:
        """The part of this plan whose terms are those of another; None if it lacks one,
        or leaves out rows that the other counts.

        >>> columns = tuple(Integer(name=n, min=0, max=9, nullable=False) for n in "xyz")
        >>> schema = Schema(columns=columns)
        >>> whole = plan_moments("y ~ x + z", schema)
        >>> part = whole.select(plan_moments("x ~ z", schema))
        >>> [term.name for term in part.terms]
        ['Intercept', 'z', 'x']
        """
        if any(term not in self.terms for term in other.terms):
            return None
        schema = self.plan.source_schema
        further = set(self.columns) - set(other.columns)
        if not all(schema.codecs[name].is_value.all() for name in further):
            return None
        order = [self.terms.index(term) for term in other.terms]
        places = self.places[np.ix_(order, order)]
        return replace(self, terms=other.terms, places=places)

    def fill_variances(self, variances: Sequence[float]) -> NDArray[np.float64]:
        """The variance of each entry."""
        return self._spread(np.asarray(variances, np.float64), 2)

    def _spread(self, values: NDArray[np.float64], power: int) -> NDArray[np.float64]:
        widths = np.array([float(term.half_range) for term in self.terms])
        units = np.outer(widths, widths) ** power
        return np.where(self.places < 0, 0.0, values[self.places] / units)


def plan_moments(
    formula: str, schema: Schema, *, where: Condition | None = None
) -> MomentPlan:
    """The moments that `response ~ a + b` needs of tables with this schema; Refused, with
    the remedy, if there is none. Nothing is spent.
    """
    response, predictors = _read_formula(formula)
    columns = [*predictors, response]
    counted = tuple(
        Aggregate(AggregateKind.COUNT, (name,), name=f"n{i}")
        for i, name in enumerate(columns)
    )
    resolved = resolve_query(Query(counted, condition=where), schema)
    names = [aggregate.columns[0] for aggregate in resolved.aggregates]
    if len(set(names)) < len(names):
        raise Refused("A formula names each column once. Nothing was spent")
    terms = [MomentTerm(INTERCEPT_NAME)]
    for name in names:
        terms += _list_terms(name, schema)
    if not isinstance(schema[names[-1]], Integer | Real):
        raise Refused(
            f"{names[-1]}: the response of least squares is a column of numbers. For a"
            " column of yes and no, fit family=binomial on a release. Nothing was spent"
        )
    if len(terms) > MAX_FORMULA_TERMS:
        raise Refused(
            f"A formula has at most {MAX_FORMULA_TERMS} terms; a column of labels has"
            " one for each label but the first. Nothing was spent"
        )
    statistics, places = _list_moments(terms, tuple(names))
    condition = resolved.condition
    assert condition is None or isinstance(condition, Predicate)
    conditions = [condition, *(term.condition for term in terms)]
    cells = make_cells(schema, [], [each for each in conditions if each is not None])
    plan = QueryPlan(
        query=replace(resolved, text=formula),
        source_schema=schema,
        cells=cells,
        where=cells.holds_on_cells(condition),
        statistics=tuple(statistics),
        parts=tuple((0,) for _ in counted),
    )
    return MomentPlan(tuple(terms), plan, places)


def _read_formula(formula: str) -> tuple[str, list[str]]:
    """The response and the predictors."""
    left, tilde, right = formula.partition("~")
    response = _FORMULA_NAME.fullmatch(left)
    predictors = []
    for part in right.split("+"):
        found = _FORMULA_NAME.fullmatch(part)
        if part.strip() == "1":
            continue
        if found is None:
            response = None
            break
        predictors.append(found[1] or found[2] or found[3])
    if not tilde or response is None:
        raise Refused(
            "A formula is a response and columns between plus signs, such as"
            ' "income ~ age + sex"; other names stand in double quotes. Nothing was'
            " spent"
        )
    return response[1] or response[2] or response[3], predictors


def _list_terms(name: str, schema: Schema) -> list[MomentTerm]:
    column = schema[name]
    if isinstance(column, Integer | Real):
        return [MomentTerm(name, column_factor(schema, name), step=float(column.step))]
    if isinstance(column, Boolean):
        return [MomentTerm(name, condition=_equals(name, True))]
    if isinstance(column, Categorical):
        labels = [*(column.values or ())]
        if column.other is not None:
            labels.append(column.other)
        return [
            MomentTerm(f"{name}={label}", condition=_equals(name, label))
            for label in labels[1:]
        ]
    raise Refused(
        f"{name}: dates and times take no part in a formula yet. Nothing was spent"
    )


def _equals(name: str, value: str | bool) -> Predicate:
    return ColumnComparison(ColumnName(name), Operator.EQUAL, Literal(value))


def _list_moments(
    terms: Sequence[MomentTerm], columns: tuple[str, ...]
) -> tuple[list[Statistic], NDArray[np.int64]]:
    """Each different entry of Z'Z once, and the place of every entry."""
    places = np.full((len(terms), len(terms)), -1, np.int64)
    found: dict[Statistic, int] = {}
    for i, one in enumerate(terms):
        for j, other in enumerate(terms[: i + 1]):
            if _exclude_each_other(one, other):
                continue
            moment = _multiply_terms(one, other, columns)
            places[i, j] = places[j, i] = found.setdefault(moment, len(found))
    return list(found), places


def _exclude_each_other(one: MomentTerm, other: MomentTerm) -> bool:
    """Whether both are indicators of one column: no row has two labels."""
    if one.condition is None or other.condition is None or one == other:
        return False
    return one.condition.columns == other.condition.columns


def _multiply_terms(
    one: MomentTerm, other: MomentTerm, columns: tuple[str, ...]
) -> Statistic:
    factors = [term.factor for term in (other, one) if term.factor is not None]
    if len(factors) == 2 and factors[0] == factors[1]:
        factors = [replace(factors[0], power=2)]
    # An indicator is its own square.
    same = one == other
    condition = join_conditions(other.condition, None if same else one.condition)
    return Statistic(columns, tuple(factors), condition)
