"""What a census would cost and how exact its tables would be, before anything is spent
and without a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from understudy.accounting.budget import Number
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.censuses.expected_error import ExpectedError, expect_errors
from understudy.schema import Schema
from understudy.workflow.censuses.census_check import (
    check_design,
    read_census_budget,
    read_design,
)
from understudy.workflow.open import member_of


def plan_census(
    schema: Schema | str | Path,
    design: Mapping[str, Any] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    neighbours: Neighbours | str = Neighbours.REPLACE,
    accounting: Accounting | str = Accounting.ZCDP,
) -> tuple[ExpectedError, ...]:
    """The expected error of every level and query of a census: free, from the design
    alone.

    >>> schema = Schema.parse('''
    ... columns:
    ...   state: {type: categorical, values: [north, south], nullable: false}
    ...   sex: {type: categorical, values: [f, m], nullable: false}
    ... ''')
    >>> errors = plan_census(schema, {"hierarchy": {"columns": ["state"]}}, rho=1)
    >>> [(e.level, e.query, e.noise_sd) for e in errors][:2]
    [('nation', 'total', 2.0), ('nation', 'detail', 2.0)]
    """
    relation = member_of(Neighbours, neighbours, "neighbour relation")
    _, privacy_filter = read_census_budget(rho, epsilon, delta, accounting)
    read = read_design(schema, design)
    check_design(read, privacy_filter, relation)
    return expect_errors(
        read, privacy_filter.total, relation, privacy_filter.accounting
    )
