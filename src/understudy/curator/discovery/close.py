"""Discovery: what nobody declared, bought. Types by a noisy vote, values by a stability
histogram, bounds by two noisy histograms, bins by a descent along a noisy tree.

A declared column costs nothing. What was bought is written into the column (`learned`),
so a guarantee can list it, and stays in `known`: the counts of the bins are a
measurement like any other, so nobody has to buy them again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from understudy.accounting.expected_error import noise_deviation
from understudy.curator.context import MechanismContext, TableProtocol
from understudy.curator.discovery.bins import cut_column
from understudy.curator.discovery.bounds import EMPTY_COLUMN_BOUNDS, learn_bounds
from understudy.curator.discovery.tree_counts import CountTree
from understudy.curator.discovery.tree_histogram import MIN_DESCENT_SIGMAS, descend_tree
from understudy.curator.discovery.types import ElectedColumn, learn_types
from understudy.curator.mechanisms import marginals
from understudy.curator.mechanisms.sparse_histogram import MAX_LABEL_BYTES, learn_labels
from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.schema import (
    Categorical,
    Column,
    Date,
    Datetime,
    Integer,
    Lattice,
    OutOfBoundsPolicy,
    Real,
    Schema,
    UndeclaredColumn,
)
from understudy.schema.columns.codec import MAX_UNIT_BINS
from understudy.schema.columns.discrete import MAX_LATTICE_INDEX
from understudy.schema.columns.storage_types import dtype_range
from understudy.schema.disclosed import LOST_COLUMN_NOTE
from understudy.schema.predicates.cut_points import cut_points_in_bounds

VOTE_SHARE = Fraction(1, 4)
"""Part of discovery that the vote on types gets, where one is needed."""

VALUES_WEIGHT, BOUNDS_WEIGHT = 3, 2
"""A list of values needs somewhat sharper counts than a pair of bounds."""

OPEN_SHARE, MIN_OPEN_SHARE = Fraction(2, 5), Fraction(1, 20)
"""Part of a run that finds types, values and bounds, if every column leaves them open:
a value that was clipped or not found is off in every table it is part of. A column's
own part does not grow where fewer do; for a single one of many it is the least.
"""

BINS_SHARE, MAX_BINS_FACTOR = Fraction(1, 5), 2
"""Part of a run that finds the bins of its columns and counts them, if half of the
columns need bins or more. Where fewer do, a column's own part does not grow. How well a
number's bins fit bounds how well anything about it is known, so they get more than an
even share.
"""

DESCENT_SHARE = Fraction(1, 3)
"""Part of a column's share that finds its bins; the rest counts them."""

MIN_LEARNED_BINS, MAX_LEARNED_BINS = 12, 32
"""Bins of a column that others are counted against: pairs multiply."""

MAX_LONE_COLUMN_BINS = 64
"""Bins of the only column of a table."""

MIN_BIN_SIGMAS = 4
"""Standard deviations of its own count that a bin should hold."""

OTHER_LABEL = "other"
"""Where values go that stayed below the threshold."""


def open_columns(schema: Schema) -> list[Column]:
    """Columns of a release about which something is left to learn."""
    return [schema[name] for name in schema if not schema[name].is_closed]


def needs_bins(column: Column) -> bool:
    """Whether a column needs bins and nobody declared any. Up to 64 values have a code
    each, for nothing.
    """
    if not isinstance(column, Lattice) or column.bins is not None:
        return False
    return (
        column.low is None
        or column.high is None
        or column.high - column.low >= MAX_UNIT_BINS
    )


def discovery_shares(schema: Schema) -> tuple[Fraction, Fraction]:
    """The parts of a run that discovery takes at most: for what is open, and for bins.

    >>> discovery_shares(Schema(columns=(Integer(name="income", min=0, max=10**6), Integer(name="age", min=0, max=9))))
    (Fraction(0, 1), Fraction(1, 5))
    """
    if not len(schema):
        return Fraction(0), Fraction(0)
    # Of a column without a type nobody knows yet whether it will need bins.
    needy = sum(
        needs_bins(schema[name]) or isinstance(schema[name], UndeclaredColumn)
        for name in schema
    )
    unknown = len(open_columns(schema))
    for_open = (
        max(OPEN_SHARE * unknown / len(schema), MIN_OPEN_SHARE)
        if unknown
        else Fraction(0)
    )
    return for_open, min(BINS_SHARE, MAX_BINS_FACTOR * BINS_SHARE * needy / len(schema))


def needs_delta(schema: Schema) -> bool:
    """Whether closing this schema takes a threshold, and so some δ."""
    return any(
        isinstance(column, Categorical | UndeclaredColumn)
        for column in open_columns(schema)
    )


def close_schema(
    context: MechanismContext,
    schema: Schema,
    *,
    amount: Fraction,
    delta: Fraction,
    progress: Callable[[str, float], None],
) -> tuple[Schema, Measurements, TableProtocol]:
    """The schema without holes, what was bought on the way, and the rows under it."""
    table, known = context.table, Measurements()
    for_open, for_bins = discovery_shares(schema)
    if not for_open + for_bins:
        return schema, known, table
    whole = amount / (for_open + for_bins)
    for_bins *= whole
    amount -= for_bins
    if needs_delta(schema) and delta <= 0:
        name = next(
            c.name
            for c in open_columns(schema)
            if isinstance(c, Categorical | UndeclaredColumn)
        )
        remedy = "Declare them in the schema, or allow a small δ such as 1e-9"
        raise Refused(
            f"{name}: its values have to be learned, which cannot be done with δ = 0."
            f" {remedy}. Nothing was spent"
        )
    undeclared = [c for c in open_columns(schema) if isinstance(c, UndeclaredColumn)]
    votes: dict[str, ElectedColumn] = {}
    if undeclared:
        for elected in learn_types(context, undeclared, amount=amount * VOTE_SHARE):
            schema = schema.with_column(elected.column)
            votes[elected.column.name] = elected
        amount *= 1 - VOTE_SHARE
        table = table.with_schema(schema)
    holes = open_columns(schema)
    weights = [_column_weight(column, votes.get(column.name)) for column in holes]
    lists = sum(isinstance(c, Categorical) for c in holes)
    for done, (column, weight) in enumerate(zip(holes, weights, strict=True)):
        progress("schema", done / len(holes))
        part = amount * weight / sum(weights)
        if isinstance(column, Categorical):
            here = replace(context, table=table)
            listing = amount * VALUES_WEIGHT / sum(weights)
            room_for_labels = MAX_LABEL_BYTES // lists
            shown, bought = learn_labels(
                here,
                column.name,
                amount=listing,
                delta=delta / lists,
                most_bytes=room_for_labels,
            )
            elected = votes.get(column.name, ElectedColumn(column))
            coded = elected.with_missing_codes(
                shown, bought.values.tolist(), noise_deviation(bought.law, bought.scale)
            )
            if coded is None:
                known = known + Measurements((), (bought,))
                schema = schema.with_column(_with_values(column, shown))
                continue
            column, part = coded, part - listing
            schema = schema.with_column(column)
            table = table.with_schema(schema)
            if column.is_closed:
                continue
        assert isinstance(column, Lattice)
        found = learn_bounds(replace(context, table=table), column.name, amount=part)
        closed = _with_bounds(column, *(found or EMPTY_COLUMN_BOUNDS))
        schema = schema.with_column(
            closed if found else replace(closed, note=LOST_COLUMN_NOTE)
        )
    needy = sum(needs_bins(schema[name]) for name in schema)
    if needy:  # of the columns that had no type, few may
        part = min(for_bins / needy, MAX_BINS_FACTOR * BINS_SHARE * whole / len(schema))
        schema, counted = _learn_bins(
            replace(context, table=table.with_schema(schema)),
            schema,
            part=part,
            progress=progress,
        )
        known = known + counted
    progress("schema", 1.0)
    return schema, known, table.with_schema(schema)


def _column_weight(column: Column, elected: ElectedColumn | None) -> int:
    """How much of discovery a column needs; one in which words stand beside values may
    need a list and bounds.
    """
    if not isinstance(column, Categorical):
        return BOUNDS_WEIGHT
    return VALUES_WEIGHT + (
        BOUNDS_WEIGHT if elected is not None and elected.beside is not None else 0
    )


def _with_values(column: Categorical, shown: tuple[str, ...]) -> Column:
    """The column with bought values, and a place for the rest under a name that none of
    them has.
    """
    other = column.other if column.other is not None else OTHER_LABEL
    while other in shown or other in column.missing or other in column.unfold:
        other += "_"
    return replace(
        column, values=shown, other=other, learned=(*column.learned, "values")
    )


def _learn_bins(
    context: MechanismContext,
    schema: Schema,
    *,
    part: Fraction,
    progress: Callable[[str, float], None],
) -> tuple[Schema, Measurements]:
    """The schema with bins in every column that needs them, and their counts; each
    column for at most `part`.
    """
    columns = [
        column
        for column in map(schema.__getitem__, schema)
        if isinstance(column, Lattice) and needs_bins(column)
    ]
    if not columns:
        return schema, Measurements()
    before = context.payments.amount_left
    after = before - part * len(columns)
    one = context.unit_vector()
    noise = noise_deviation(context.law, context.scale(part * (1 - DESCENT_SHARE), one))
    # What a pair's cell will carry, if what is left goes to about as many pairs as
    # there are columns.
    pair = (
        noise_deviation(context.law, context.scale(after / len(schema), one))
        if after > 0
        else noise
    )
    for done, column in enumerate(columns):
        progress("bins", done / len(columns))
        tree = descend_tree(context, column, amount=part * DESCENT_SHARE)
        total = max(float(tree.levels[0].counts.sum()), 1.0)
        walls = cut_points_in_bounds(
            column, [predicate for _, predicate in schema.named_breaches]
        )
        most = (
            MAX_LONE_COLUMN_BINS
            if len(schema) == 1
            else min(
                MAX_LEARNED_BINS,
                max(MIN_LEARNED_BINS, int(math.sqrt(total / max(pair, 1e-9)))),
            )
        )
        walls = walls if len(walls) <= most // 2 else ()
        found = cut_column(
            column, tree, most=most, least=MIN_BIN_SIGMAS * noise, fences=walls
        )
        schema = schema.with_column(
            replace(
                found,
                note=(
                    _clipping_note(tree)
                    if column.outside is OutOfBoundsPolicy.CLIP
                    else ""
                ),
            )
        )
    progress("bins", 1.0)
    here = replace(context, table=context.table.with_schema(schema))
    rest = part * len(columns) - (before - context.payments.amount_left)
    return schema, marginals.measure_marginals(
        here, schema, [(column.name,) for column in columns], amount=rest
    )


def _clipping_note(tree: CountTree) -> str:
    """How much lay beyond the bounds and counts as the nearest, as far as it stands out
    of the noise.
    """
    error = math.sqrt(tree.variance)
    sides = zip(tree.beyond, ("below", "above"), strict=True)
    words = [
        f"about {count:,} {side}"
        for count, side in sides
        if count > MIN_DESCENT_SIGMAS * error
    ]
    return (
        f"values beyond the bounds, counted as the nearest: {' and '.join(words)}"
        f" (±{2 * error:,.0f})"
        if words
        else ""
    )


def _with_bounds(column: Lattice, low: int, high: int) -> Column:
    """The column with bought bounds; a bound the owner declared stands."""
    low, high = max(low, 1 - MAX_LATTICE_INDEX), min(high, MAX_LATTICE_INDEX - 1)
    if column.low is not None:
        low = column.low
        high = max(high, low)
    if column.high is not None:
        high = column.high
        low = min(low, high)
    learned = (*column.learned, "bounds")
    if (
        isinstance(column, Integer | Real)
        and (held := dtype_range(column.dtype)) is not None
    ):
        # What the column is stored as is public: noise that points beyond it would only
        # widen the type that comes back.
        first, last = (
            math.ceil(held[0] / column.step),
            math.floor(held[1] / column.step),
        )
        low, high = (min(max(index, first), last) for index in (low, high))
    if isinstance(column, Integer):
        return replace(
            column, min=low * column.step, max=high * column.step, learned=learned
        )
    if isinstance(column, Real):
        return replace(
            column, min=low * column.step, max=high * column.step, learned=learned
        )
    assert isinstance(column, Date | Datetime)
    earliest, latest = _calendar_range(column)
    # Noise alone may point beyond either end of the calendar.
    low, high = (min(max(index, earliest), latest) for index in (low, high))
    return replace(
        column,
        min=column.value_at(low),  # type: ignore[arg-type]
        max=column.value_at(max(high, low)),  # type: ignore[arg-type]
        learned=learned,
    )


def _calendar_range(column: Date | Datetime) -> tuple[int, int]:
    """The years 1 to 9999 as lattice indices: what Python's calendar can write."""
    first, last = (
        (-719_162, 2_932_896)
        if isinstance(column, Date)
        else (-719_160 * 86_400, 2_932_894 * 86_400)
    )
    if isinstance(column, Date):
        return first, last
    step = column.resolution.total_seconds()
    return int(first / step), int(last / step)
