"""Bins for every column that needs them, learned by a descent along a noisy tree, and
their counts.

Why it is private. The descents (tree_histogram.py) and the one-way marginals of the
binned columns (mechanisms/marginals.py) are paid for one by one, and their prices add
up. Everything between them is post-processing of noisy counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from understudy.accounting.expected_error import noise_deviation
from understudy.curator.context import MechanismContext, TableProtocol
from understudy.curator.discovery.bins import cut_column
from understudy.curator.discovery.shares import needs_bins
from understudy.curator.discovery.tree_counts import CountTree
from understudy.curator.discovery.tree_histogram import MIN_DESCENT_SIGMAS, descend_tree
from understudy.curator.mechanisms import marginals
from understudy.measurements import Measurements
from understudy.schema import Lattice, OutOfBoundsPolicy, Schema
from understudy.schema.predicates.cut_points import cut_points_in_bounds

DESCENT_SHARE = Fraction(1, 3)
"""Part of a column's amount that finds its bins; the rest counts them."""

MIN_LEARNED_BINS, MAX_LEARNED_BINS = 12, 32
"""Bins of a column that others are counted against: pairs multiply."""

MAX_LONE_COLUMN_BINS = 64
"""Bins of the only column of a table."""

MIN_BIN_SIGMAS = 4
"""Standard deviations of its own count that a bin should hold."""


class ClosedSchema(NamedTuple):
    """A schema without open columns, what was measured to close it, and the rows under
    it, encoded where they had to be counted.
    """

    schema: Schema
    measurements: Measurements
    table: TableProtocol


def learn_bins(
    context: MechanismContext,
    schema: Schema,
    *,
    column_amount: Fraction,
    progress: Callable[[str, float], None],
) -> ClosedSchema:
    """The schema with bins in every column that needs them, and their counts; each
    column for at most `column_amount`.
    """
    columns = [
        column
        for column in map(schema.__getitem__, schema)
        if isinstance(column, Lattice) and needs_bins(column)
    ]
    if not columns:
        return ClosedSchema(schema, Measurements(), context.table)
    before = context.payments.amount_left
    bins_amount = column_amount * len(columns)
    noise, pair_noise = _expected_noise(
        context,
        column_amount,
        before - bins_amount,
        len(schema),
    )
    for done, column in enumerate(columns):
        progress("bins", done / len(columns))
        tree = descend_tree(context, column, amount=column_amount * DESCENT_SHARE)
        binned = _bin_column(column, schema, tree, noise=noise, pair_noise=pair_noise)
        schema = schema.with_column(binned)
    progress("bins", 1.0)
    table = context.table.with_schema(schema)
    # What a descent that ended early did not spend sharpens the counts.
    counts_amount = bins_amount - (before - context.payments.amount_left)
    measured = marginals.measure_marginals(
        replace(context, table=table),
        schema,
        [(column.name,) for column in columns],
        amount=counts_amount,
    )
    return ClosedSchema(schema, measured, table)


def _expected_noise(
    context: MechanismContext,
    column_amount: Fraction,
    rest: Fraction,
    width: int,
) -> tuple[float, float]:
    """Standard deviations of the noise on a bin's own count, and on a cell of a pair."""
    one_unit = context.unit_vector()
    counting = column_amount * (1 - DESCENT_SHARE)
    own = noise_deviation(context.law, context.scale(counting, one_unit))
    if rest <= 0:
        return own, own
    # Assumes that the rest of the run measures about as many pairs as there are columns.
    pair = noise_deviation(context.law, context.scale(rest / width, one_unit))
    return own, pair


def _bin_column(
    column: Lattice,
    schema: Schema,
    tree: CountTree,
    *,
    noise: float,
    pair_noise: float,
) -> Lattice:
    rows = max(float(tree.levels[0].counts.sum()), 1.0)
    most = MAX_LONE_COLUMN_BINS
    if len(schema) > 1:
        # With k bins a column, a pair has k² cells: at √(rows / noise) bins, an average
        # cell holds about as many rows as its noise.
        balanced = int(math.sqrt(rows / max(pair_noise, 1e-9)))
        most = min(MAX_LEARNED_BINS, max(MIN_LEARNED_BINS, balanced))
    predicates = [predicate for _, predicate in schema.named_breaches]
    fences = cut_points_in_bounds(column, predicates)
    if len(fences) > most // 2:
        # Bins that all lie between the rules' cut points would follow no density.
        fences = ()
    binned = cut_column(
        column,
        tree,
        most=most,
        least=MIN_BIN_SIGMAS * noise,
        fences=fences,
    )
    clips = column.outside is OutOfBoundsPolicy.CLIP
    return replace(binned, note=_clipping_note(tree) if clips else "")


def _clipping_note(tree: CountTree) -> str:
    """How many values lay beyond the bounds and count as the nearest bound, as far as
    they stand out of the noise.
    """
    error = math.sqrt(tree.variance)
    sides = zip(tree.beyond, ("below", "above"), strict=True)
    words = [
        f"about {count:,} {side}"
        for count, side in sides
        if count > MIN_DESCENT_SIGMAS * error
    ]
    if not words:
        return ""
    return (
        f"values beyond the bounds, counted as the nearest: {' and '.join(words)}"
        f" (±{2 * error:,.0f})"
    )
