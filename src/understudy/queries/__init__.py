"""Questions about a table: a small tree, from Python or SQL, evaluated on public cells.

Nothing here reads a row. A query becomes integer statistics of the cells of a public
domain, with their exact sensitivities (plan.py); the curator adds them up and draws
noise; what is made of the noisy numbers is computed here again (results.py).
"""

from understudy.queries.builders import (
    bins,
    cases,
    correlation,
    count,
    count_distinct,
    covariance,
    histogram,
    mean,
    median,
    quantile,
    select,
    share,
    stddev,
    total,
    variance,
)
from understudy.queries.query import Aggregate, AggregateKind, GroupKey, Query

__all__ = [
    "Aggregate",
    "AggregateKind",
    "GroupKey",
    "Query",
    "bins",
    "cases",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "histogram",
    "mean",
    "median",
    "quantile",
    "select",
    "share",
    "stddev",
    "total",
    "variance",
]
