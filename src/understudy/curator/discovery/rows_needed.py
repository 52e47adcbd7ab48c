"""From how many rows discovery finds something: what a plan states, and what decides
whether a small table is worth the rest of its budget.

Computed from the schema and the noise that discovery would draw, with the same shares
as in close.py. No row is read and nothing is paid.
"""

from __future__ import annotations

import math
from fractions import Fraction

from understudy.accounting.expected_error import noise_deviation
from understudy.curator.context import MechanismContext
from understudy.curator.discovery.bounds import stand_out_count
from understudy.curator.discovery.close import (
    BOUNDS_WEIGHT,
    VALUES_WEIGHT,
    VOTE_SHARE,
)
from understudy.curator.discovery.magnitudes import MAGNITUDE_EDGES
from understudy.curator.discovery.shares import (
    discovery_shares,
    needs_labels,
    open_columns,
)
from understudy.curator.discovery.vote_noise import VOTE_NOISE_SIGMAS
from understudy.curator.mechanisms.sparse_histogram import plan_threshold
from understudy.schema import Column, Schema, UndeclaredColumn

SURVIVAL_SIGMAS = 1.645
"""Standard deviations that noise falls below on one side 5 times in 100: a count this
far above a threshold passes it 19 times in 20.
"""


def rows_to_learn(
    context: MechanismContext, schema: Schema, *, amount: Fraction, delta: Fraction
) -> dict[str, int]:
    """For each open column, the rows that have to agree for anything of it to be found
    19 times in 20: on a type where it has none, then on a label or a magnitude.

    `amount` and `delta` are what the run has, discovery and all. A column without a type
    is taken for a list of labels.
    """
    columns = open_columns(schema)
    if not columns:
        return {}
    left = amount * discovery_shares(schema)[0]
    untyped = sum(isinstance(column, UndeclaredColumn) for column in columns)
    vote_rows = 0
    if untyped:
        vote_rows = _rows_to_elect(context, left * VOTE_SHARE, untyped)
        left *= 1 - VOTE_SHARE
    weights = {column.name: _column_weight(column) for column in columns}
    lists = sum(needs_labels(column) for column in columns)
    rows: dict[str, int] = {}
    for column in columns:
        part = left * weights[column.name] / sum(weights.values())
        if needs_labels(column):
            found = _rows_to_list(context, part, delta / lists)
        else:
            found = _rows_to_bound(context, part)
        rows[column.name] = found
        if isinstance(column, UndeclaredColumn):
            rows[column.name] = max(found, vote_rows)
    return rows


def _column_weight(column: Column) -> int:
    return VALUES_WEIGHT if needs_labels(column) else BOUNDS_WEIGHT


def _rows_to_elect(context: MechanismContext, amount: Fraction, columns: int) -> int:
    """Cells that have to be of one type to elect it."""
    scale = context.scale(amount, context.unit_vector(histograms=columns))
    noise = noise_deviation(context.law, scale)
    return math.ceil((VOTE_NOISE_SIGMAS + SURVIVAL_SIGMAS) * noise)


def _rows_to_list(context: MechanismContext, amount: Fraction, delta: Fraction) -> int:
    """Rows that have to share a label for it to be listed."""
    scale, _, at = plan_threshold(context, amount, delta)
    noise = noise_deviation(context.law, scale)
    return math.ceil(at + SURVIVAL_SIGMAS * noise)


def _rows_to_bound(context: MechanismContext, amount: Fraction) -> int:
    """Rows that have to share a magnitude for bounds to be learned."""
    # Half of the amount counts magnitudes.
    scale = context.scale(amount / 2, context.unit_vector())
    noise = noise_deviation(context.law, scale)
    at = stand_out_count(context.law, scale, cells=len(MAGNITUDE_EDGES) - 1)
    return math.ceil(at + SURVIVAL_SIGMAS * noise)
