"""A question about a table as a small frozen tree: which rows, in which groups, which
aggregates of them.

    us.mean("income").by("sex").where("age > 60")
    SELECT sex, AVG(income) FROM people WHERE age > 60 GROUP BY sex      (sql/reader.py)

A query names columns and constants and nothing else: it holds no rows and no table. The
predicates of the schema are its only expressions. What follows the aggregates (having,
order, limit) is post-processing of noisy numbers and costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from understudy.errors import Refused
from understudy.queries.formulas import Formula, parse_formula
from understudy.schema.predicates.ast import Predicate


class AggregateKind(StrEnum):
    """What is computed of the rows of a group."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    DEVIATION = "stddev"
    COVARIANCE = "covariance"
    CORRELATION = "correlation"
    SHARE = "share"
    QUANTILE = "quantile"
    DISTINCT = "count_distinct"


_FEATURE_TEXT = re.compile(
    r"\s*(?P<kind>count|any|sum|min|max)\b(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
_WHERE_WORD = re.compile(r"\bwhere\b", re.IGNORECASE)

Condition = Predicate | str
"""A predicate, or its text until a schema says which columns there are."""


CaseLabel = str | int | float | bool | None
"""The name of a group by conditions; None is the group without one."""


@dataclass(frozen=True)
class Aggregate:
    """One number for each group. `columns` are what it is computed of: none for a count
    of rows, two for a covariance. Missing values take no part in it.

    `condition` limits it to some rows of each group; the share of a condition is that
    part of all rows of the group. `name` is the column of the answer.
    """

    kind: AggregateKind
    columns: tuple[str, ...] = ()
    condition: Condition | None = None
    level: Fraction | None = None
    """The level of a quantile: 1/2 for the median."""
    name: str = ""

    @property
    def title(self) -> str:
        """The name of its column in the answer.

        >>> Aggregate(AggregateKind.MEAN, ("income",)).title
        'mean_income'
        """
        if self.name:
            return self.name
        words = [str(self.kind), *self.columns]
        if self.kind is AggregateKind.QUANTILE and self.level is not None:
            is_median = self.level == Fraction(1, 2)
            words[0] = "median" if is_median else f"quantile_{float(self.level):g}"
        return "_".join(words)


@dataclass(frozen=True)
class GroupKey:
    """A column whose values are the groups, those that no row has too. With `edges`, a
    column of numbers or dates in bins, each from one edge to below the next, called by
    `labels` or by their first edges; dates in microseconds since 1970.

    Bins leave missing values out, unless `has_missing`.
    """

    column: str
    edges: tuple[Fraction, ...] = ()
    name: str = ""
    labels: tuple[int | float, ...] = ()
    has_missing: bool = False
    mapping: tuple[tuple[str, str | int | float], ...] = ()
    """Labels of the column, and the group that each is in; the others are in none."""
    cases: tuple[tuple[Condition, CaseLabel], ...] = ()
    """Instead of a column: conditions, and the group of rows of which it is the first
    that is met.
    """
    otherwise: CaseLabel = None
    """The group of rows that meet none of the conditions."""

    @property
    def title(self) -> str:
        """The name of its column in the answer."""
        return self.name or self.column or "case"


@dataclass(frozen=True)
class DerivedColumn:
    """A column of the answer that is computed of its aggregates, for nothing."""

    title: str
    formula: Formula


class FeatureKind(StrEnum):
    """What is computed of the rows of one unit."""

    COUNT = "count"
    ANY = "any"
    SUM = "sum"
    LEAST = "min"
    LARGEST = "max"


@dataclass(frozen=True)
class UnitFeature:
    """A derived column: of all rows of a unit, or of those that meet the condition. A
    sum, least or largest of no value is missing.
    """

    name: str
    kind: FeatureKind
    column: str | None = None
    condition: Condition | None = None

    def __str__(self) -> str:
        words = [
            str(self.kind),
            self.column,
            self.condition and f"where {self.condition}",
        ]
        return " ".join(str(word) for word in words if word)

    def describe(self) -> list[str | None]:
        """What identifies it, together with the columns it is made of."""
        condition = None if self.condition is None else str(self.condition)
        return [self.name, str(self.kind), self.column, condition]


@dataclass(frozen=True)
class SortKey:
    """A column of the answer by which its rows are put in order."""

    title: str
    is_descending: bool = False
    has_missing_first: bool = False
    """Where groups without a value come; last unless it is said, as in SQL."""


@dataclass(frozen=True)
class Query:
    """A question; see `count`, `mean` and the others in builders.py.

    >>> from understudy.queries import mean
    >>> print(mean("income").by("sex").where("age > 60"))
    mean of income by sex where age > 60
    """

    aggregates: tuple[Aggregate, ...]
    keys: tuple[GroupKey, ...] = ()
    condition: Condition | None = None
    kept: Condition | None = None
    """A condition on the columns of the answer."""
    order: tuple[SortKey, ...] = ()
    most_rows: int | None = None
    shown: tuple[str, ...] = ()
    """The columns of the answer that are shown, in their order; empty shows all."""
    text: str = ""
    features: tuple[UnitFeature, ...] = ()
    """Columns per privacy unit; with them, rows of the question are units."""
    joined: tuple[str, ...] = ()
    """Public tables that rows must have a match in."""
    derived: tuple[DerivedColumn, ...] = ()
    """Columns that are computed of the aggregates."""

    @property
    def number_titles(self) -> tuple[str, ...]:
        """The columns of numbers of the answer: of aggregates, then computed ones."""
        aggregates = [aggregate.title for aggregate in self.aggregates]
        return (*aggregates, *(column.title for column in self.derived))

    def by(self, *keys: str | GroupKey) -> Query:
        """The same for each value of these columns."""
        if not all(isinstance(key, str | GroupKey) for key in keys):
            raise Refused(
                'Groups are columns by their names, as in by("sex", "region"), or bins'
                " and cases of them. Nothing was spent"
            )
        groups = [key if isinstance(key, GroupKey) else GroupKey(key) for key in keys]
        return replace(self, keys=(*self.keys, *groups))

    def where(self, condition: Condition) -> Query:
        """The same for the rows that meet a condition alone; a second condition must be
        met too.
        """
        if not isinstance(condition, Predicate | str):
            raise Refused("A condition is a text such as `age > 60`, or a predicate")
        if self.condition is None:
            return replace(self, condition=condition)
        both = f"({self.condition}) and ({condition})"
        return replace(self, condition=both)

    def per_unit(self, **columns: str) -> Query:
        """The same about privacy units instead of rows: with columns that are computed
        of the rows of each unit.

        >>> from understudy.queries import mean
        >>> print(mean("visits").per_unit(visits="count"))
        mean of visits per unit visits = count
        """
        features = tuple(read_feature(name, text) for name, text in columns.items())
        return replace(self, features=(*self.features, *features))

    def compute(self, **formulas: str) -> Query:
        """The same with columns that are computed of its aggregates by their titles, for
        nothing: arithmetic, and round, sqrt, ln, exp and others.

        >>> from understudy.queries import total
        >>> print(total("income").compute(monthly="sum_income / 12"))
        sum of income with monthly = (sum_income / 12)
        """
        titles = [aggregate.title for aggregate in self.aggregates]
        added = tuple(
            DerivedColumn(title, parse_formula(text, titles))
            for title, text in formulas.items()
        )
        return replace(self, derived=(*self.derived, *added))

    def rename(self, name: str) -> Query:
        """The same with another name for the column of its only aggregate."""
        if len(self.aggregates) != 1:
            raise Refused("Each aggregate is named by itself, before `select`")
        if not isinstance(name, str):
            raise Refused("A column of the answer is named by a text")
        (aggregate,) = self.aggregates
        return replace(self, aggregates=(replace(aggregate, name=name),))

    def keep(self, condition: Condition) -> Query:
        """The rows of the answer that meet a condition on its columns (SQL's HAVING)
        alone: on noisy numbers, so it costs nothing. A second one must be met too.

        >>> from understudy.queries import count
        >>> print(count().by("town").keep("count > 50"))
        count by town having count > 50
        """
        if not isinstance(condition, Predicate | str):
            raise Refused("A condition is a text such as `count > 50`, or a predicate")
        if self.kept is None:
            return replace(self, kept=condition)
        return replace(self, kept=f"({self.kept}) and ({condition})")

    def order_by(self, title: str, *, descending: bool = False) -> Query:
        """The rows of the answer in the order of a column of it."""
        return replace(self, order=(*self.order, SortKey(title, descending)))

    def limit(self, rows: int) -> Query:
        """At most this many rows of the answer."""
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
            raise Refused("A limit is a whole number from 0 up. Nothing was spent")
        return replace(self, most_rows=rows)

    def __str__(self) -> str:
        if self.text:
            return self.text
        words = [", ".join(map(_spell_aggregate, self.aggregates))]
        if self.keys:
            words.append("by " + ", ".join(key.title for key in self.keys))
        if self.condition is not None:
            words.append(f"where {self.condition}")
        if self.kept is not None:
            words.append(f"having {self.kept}")
        if self.features:
            named = [f"{each.name} = {each}" for each in self.features]
            words.append("per unit " + ", ".join(named))
        if self.derived:
            computed = [f"{each.title} = {each.formula}" for each in self.derived]
            words.append("with " + ", ".join(computed))
        return " ".join(words)


def _spell_aggregate(aggregate: Aggregate) -> str:
    of_what = " and ".join(aggregate.columns)
    kind = aggregate.title if aggregate.level is not None else str(aggregate.kind)
    if aggregate.level is not None or not of_what:
        text = kind
    else:
        text = f"{kind} of {of_what}"
    if aggregate.condition is None:
        return text
    return f"{text} ({aggregate.condition})"


def join_queries(queries: Sequence[Query]) -> Query:
    """One query with the aggregates of several that ask about the same rows in the same
    groups.
    """
    if not queries or not all(isinstance(each, Query) for each in queries):
        raise Refused(
            "A query needs at least one aggregate, such as count() or mean(...)."
            " Nothing was spent"
        )
    first, *rest = queries
    for other in rest:
        if replace(other, aggregates=first.aggregates, text=first.text) != first:
            raise Refused(
                "Aggregates of one query are about the same rows in the same groups:"
                " put `by` and `where` behind `select`. Nothing was spent"
            )
    aggregates = [each for query in queries for each in query.aggregates]
    return replace(first, aggregates=tuple(aggregates), text="")


def read_feature(name: str, text: str) -> UnitFeature:
    """The derived column that a text means.

    >>> read_feature("visits", "count where ward = ICU").condition
    'ward = ICU'
    >>> read_feature("paid", "sum cost").column
    'cost'
    """
    found = _FEATURE_TEXT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise _unreadable_feature(name)
    kind = FeatureKind(found["kind"].lower())
    rest = found["rest"].strip()
    if kind is FeatureKind.ANY:
        met = _WHERE_WORD.sub("", rest, count=1).strip()
        if not met:
            raise _unreadable_feature(name)
        return UnitFeature(name, kind, None, met)
    column, *conditions = _WHERE_WORD.split(rest, maxsplit=1)
    named = column.strip().strip('"')
    if bool(named) == (kind is FeatureKind.COUNT):
        raise _unreadable_feature(name)
    condition = conditions[0].strip() if conditions else None
    return UnitFeature(name, kind, named or None, condition)


def _unreadable_feature(name: str) -> Refused:
    return Refused(
        f"{name}: a column per unit is `count`, `any CONDITION`, `sum x`, `min x` or"
        " `max x`, with `where CONDITION` behind it. Nothing was spent"
    )
