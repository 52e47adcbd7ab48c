"""Queries in Python: one function for each aggregate, each giving a `Query`.

count().where("age > 60")      mean("income").by("sex")      share("smoker = true")
select(count(), mean("income"), median("age")).by("sex", bins("age", 0, 18, 65, 91))
"""

from __future__ import annotations

from fractions import Fraction

from understudy.accounting.budget import Number, to_exact_fraction
from understudy.errors import Refused
from understudy.queries.query import (
    Aggregate,
    AggregateKind,
    CaseLabel,
    Condition,
    GroupKey,
    Query,
    join_queries,
)
from understudy.schema.predicates.ast import Predicate

MAX_LEVEL_PARTS = 10**6
"""Most parts that the level of a quantile may be divided into: one row counts that
often.
"""


def count(column: str | None = None) -> Query:
    """The number of rows, or of rows that have a value in a column.

    >>> print(count().where("age > 60"))
    count where age > 60
    """
    return _query_of(AggregateKind.COUNT, *([] if column is None else [column]))


def count_distinct(column: str) -> Query:
    """The number of different values of a column, or of privacy units if the column is
    their id.

    >>> print(count_distinct("patient").by("region"))
    count_distinct of patient by region
    """
    return _query_of(AggregateKind.DISTINCT, column)


def total(column: str) -> Query:
    """The sum of a column of numbers, each clipped to the column's bounds.

    >>> print(total("income").by("sex"))
    sum of income by sex
    """
    return _query_of(AggregateKind.SUM, column)


def mean(column: str) -> Query:
    """The mean of a column of numbers, each clipped to the column's bounds.

    >>> print(mean("income").by("sex").where("age > 60"))
    mean of income by sex where age > 60
    """
    return _query_of(AggregateKind.MEAN, column)


def variance(column: str) -> Query:
    """The sample variance of a column of numbers.

    >>> print(variance("income"))
    variance of income
    """
    return _query_of(AggregateKind.VARIANCE, column)


def stddev(column: str) -> Query:
    """The sample standard deviation of a column of numbers.

    >>> print(stddev("income"))
    stddev of income
    """
    return _query_of(AggregateKind.DEVIATION, column)


def covariance(one: str, other: str) -> Query:
    """The sample covariance of two columns of numbers.

    >>> print(covariance("age", "income"))
    covariance of age and income
    """
    return _query_of(AggregateKind.COVARIANCE, one, other)


def correlation(one: str, other: str) -> Query:
    """Pearson's correlation of two columns of numbers.

    >>> print(correlation("age", "income"))
    correlation of age and income
    """
    return _query_of(AggregateKind.CORRELATION, one, other)


def share(condition: Condition) -> Query:
    """The share of rows that meet a condition; with `where`, of the rows that meet that
    one: the share of A given B.

    >>> print(share("smoker = true").where("age > 60"))
    share (smoker = true) where age > 60
    """
    if not isinstance(condition, Predicate | str):
        raise Refused("A share is of a condition, such as `smoker = true`")
    aggregate = Aggregate(AggregateKind.SHARE, condition=condition, name="share")
    return Query((aggregate,))


def quantile(column: str, level: Number) -> Query:
    """The smallest value that at least this part of the rows does not exceed.

    >>> print(quantile("income", 0.9))
    quantile_0.9_income
    """
    try:
        exact = to_exact_fraction(level)
    except ValueError:
        exact = Fraction(-1)
    if not 0 < exact < 1 or exact.denominator > MAX_LEVEL_PARTS:
        raise Refused(
            "The level of a quantile lies between 0 and 1, in at most a million parts."
            " The smallest and the largest value are those of single rows and cannot be"
            " released. Nothing was spent"
        )
    aggregate = Aggregate(AggregateKind.QUANTILE, (column,), level=exact)
    return Query((aggregate,))


def median(column: str) -> Query:
    """The smallest value that at least half of the rows do not exceed.

    >>> print(median("income").by("sex"))
    median_income by sex
    """
    return quantile(column, Fraction(1, 2))


def bins(column: str, *edges: Number) -> GroupKey:
    """Groups of a column of numbers, each from one edge to below the next; rows outside
    all of them are in none.

    >>> count().by(bins("age", 0, 18, 65, 91)).keys[0].title
    'age'
    """
    try:
        exact = tuple(to_exact_fraction(edge) for edge in edges)
    except ValueError:
        exact = ()
    if len(exact) < 2 or list(exact) != sorted(set(exact)):
        raise Refused(
            f"{column}: bins have at least two edges, rising. Nothing was spent"
        )
    return GroupKey(column, exact)


def cases(
    *pairs: tuple[Condition, CaseLabel],
    otherwise: CaseLabel = None,
    name: str = "case",
) -> GroupKey:
    """Groups by conditions: a row is in the group of the first that it meets.

    >>> stage = cases(("age < 18", "minor"), otherwise="adult", name="stage")
    >>> print(count().by(stage))
    count by stage
    """
    is_read = all(
        isinstance(pair, tuple)
        and len(pair) == 2
        and isinstance(pair[0], Predicate | str)
        for pair in pairs
    )
    if not pairs or not is_read:
        raise Refused(
            "Groups by conditions are pairs of a condition and a label. Nothing was"
            " spent"
        )
    return GroupKey("", name=name, cases=pairs, otherwise=otherwise)


def histogram(column: str, *edges: Number) -> Query:
    """The number of rows in each bin of a column of numbers.

    >>> print(histogram("age", 0, 18, 65, 91))
    count by age
    """
    return count().by(bins(column, *edges))


def select(*queries: Query) -> Query:
    """Several aggregates of the same rows in one query; what they have in common is
    measured once.

    >>> print(select(count(), mean("income")).by("sex"))
    count, mean of income by sex
    """
    return join_queries(queries)


def _query_of(kind: AggregateKind, *columns: str) -> Query:
    if not all(isinstance(column, str) and column for column in columns):
        raise Refused("An aggregate is of a column, by its name. Nothing was spent")
    return Query((Aggregate(kind, columns),))
