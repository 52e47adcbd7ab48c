"""Discovery: learn what the owner did not declare. Types by a noisy vote, values by a
stability histogram, bounds by two noisy histograms, bins by a descent along a noisy
tree.

A declared column costs nothing. What was learned is written into the column
(`learned`), so that a guarantee can list it. The counts measured on the way are
measurements like any other and are handed on, so that they are not paid for again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from understudy.accounting.expected_error import noise_deviation
from understudy.curator.context import MechanismContext
from understudy.curator.discovery.bounded_column import (
    EMPTY_COLUMN_BOUNDS,
    with_learned_bounds,
    with_rows_beyond,
)
from understudy.curator.discovery.bounds import learn_bounds
from understudy.curator.discovery.far_codes import (
    list_code_indices,
    with_numeric_codes,
)
from understudy.curator.discovery.learned_bins import ClosedSchema, learn_bins
from understudy.curator.discovery.shares import (
    BINS_SHARE,
    MAX_BINS_FACTOR,
    discovery_shares,
    needs_bins,
    needs_labels,
    open_columns,
)
from understudy.curator.discovery.types import ElectedColumn, learn_types
from understudy.curator.mechanisms.sparse_histogram import MAX_LABEL_BYTES, learn_labels
from understudy.errors import Refused
from understudy.measurements import Measurements, SparseMeasurement
from understudy.schema import (
    Categorical,
    Column,
    Integer,
    Lattice,
    Real,
    Schema,
    UndeclaredColumn,
    name_rest,
)
from understudy.schema.columns.base import LOST_FACT
from understudy.schema.disclosed import LOST_COLUMN_NOTE

VOTE_SHARE = Fraction(1, 4)
"""Part of discovery that the vote on types gets, where one is needed."""

VALUES_WEIGHT, BOUNDS_WEIGHT = 3, 2
"""A list of values needs somewhat sharper counts than a pair of bounds."""


def close_schema(
    context: MechanismContext,
    schema: Schema,
    *,
    amount: Fraction,
    delta: Fraction,
    progress: Callable[[str, float], None],
) -> ClosedSchema:
    """Learn all that is open in the schema, for at most `amount` and `delta`."""
    open_share, bins_share = discovery_shares(schema)
    if not open_share + bins_share:
        return ClosedSchema(schema, Measurements(), context.table)
    # Before anything is charged: bad input costs nothing.
    _refuse_zero_delta(schema, delta)
    run_amount = amount / (open_share + bins_share)
    bins_amount = bins_share * run_amount
    closing = _Closing(context, schema, amount - bins_amount, delta)
    closing.learn_column_types()
    closing.learn_domains(progress)
    closed = closing.describe_rows()
    # Of the columns that had no type before the vote, few may need bins.
    binned = sum(needs_bins(closed.schema[name]) for name in closed.schema)
    if binned:
        most = MAX_BINS_FACTOR * BINS_SHARE * run_amount / len(closed.schema)
        with_bins = learn_bins(
            replace(context, table=closed.table),
            closed.schema,
            # Capped: where few columns need bins, they are not given what many would
            # share.
            column_amount=min(bins_amount / binned, most),
            progress=progress,
        )
        measured = closed.measurements + with_bins.measurements
        # The table comes along: its rows are encoded, and need not be read again.
        closed = with_bins._replace(measurements=measured)
    progress("schema", 1.0)
    return closed


def _refuse_zero_delta(schema: Schema, delta: Fraction) -> None:
    if delta > 0:
        return
    for column in open_columns(schema):
        if needs_labels(column):
            raise Refused(
                f"{column.name}: its values have to be learned, which cannot be done"
                " with δ = 0. Declare them in the schema, or allow a small δ such as"
                " 1e-9. Nothing was spent"
            )


class LabelList(NamedTuple):
    """A column of labels, those that were found, and their counts."""

    column: Categorical
    labels: tuple[str, ...]
    measured: SparseMeasurement


@dataclass
class _Closing:
    """A schema while its columns are learned one by one; `amount` is what is left for
    them, `context.table` has the rows under the types known so far.
    """

    context: MechanismContext
    schema: Schema
    amount: Fraction
    delta: Fraction
    measurements: Measurements = field(default_factory=Measurements)
    elected: dict[str, ElectedColumn] = field(default_factory=dict)
    lists: dict[str, LabelList] = field(default_factory=dict)
    """Labels of columns that were taken for values with missing codes."""

    def learn_column_types(self) -> None:
        """Let the cells of every column without a type vote on it."""
        undeclared = [
            column
            for column in open_columns(self.schema)
            if isinstance(column, UndeclaredColumn)
        ]
        if not undeclared:
            return
        for elected in learn_types(
            self.context,
            undeclared,
            amount=self.amount * VOTE_SHARE,
        ):
            self.schema = self.schema.with_column(elected.column)
            self.elected[elected.column.name] = elected
        # The vote is charged whether or not it settles a type.
        self.amount *= 1 - VOTE_SHARE
        self._describe_context()

    def learn_domains(self, progress: Callable[[str, float], None]) -> None:
        """Learn the labels or bounds of every open column, by weight."""
        columns = open_columns(self.schema)
        weights = [self._column_weight(column) for column in columns]
        lists = sum(isinstance(column, Categorical) for column in columns)
        for done, (column, weight) in enumerate(zip(columns, weights, strict=True)):
            progress("schema", done / len(columns))
            part = self.amount * weight / sum(weights)
            if isinstance(column, Categorical):
                listing = self.amount * VALUES_WEIGHT / sum(weights)
                values = self._learn_values(column, listing, lists)
                if values is None:
                    continue
                column = values
                part = part - listing
            assert isinstance(column, Lattice)
            self._learn_column_bounds(column, part)

    def describe_rows(self) -> ClosedSchema:
        """What was learned so far, with the rows under it."""
        self._describe_context()
        return ClosedSchema(self.schema, self.measurements, self.context.table)

    def _column_weight(self, column: Column) -> int:
        """How much of discovery a column needs; one in which words stand beside values
        may need a list and bounds.
        """
        if not isinstance(column, Categorical):
            return BOUNDS_WEIGHT
        elected = self.elected.get(column.name)
        if elected is None or elected.beside is None:
            return VALUES_WEIGHT
        return VALUES_WEIGHT + BOUNDS_WEIGHT

    def _learn_values(
        self,
        column: Categorical,
        amount: Fraction,
        lists: int,
    ) -> Lattice | None:
        """Learn a column's labels. Where they turn out to be missing codes beside
        values: the column of these values, if its bounds are still open.
        """
        labels, measured = learn_labels(
            self.context,
            column.name,
            amount=amount,
            delta=self.delta / lists,
            most_bytes=MAX_LABEL_BYTES // lists,
        )
        elected = self.elected.get(column.name, ElectedColumn(column))
        noise = noise_deviation(measured.law, measured.scale)
        coded = elected.with_missing_codes(labels, measured.values.tolist(), noise)
        if coded is None:
            self._list_labels(LabelList(column, labels, measured))
            return None
        self.lists[column.name] = LabelList(column, labels, measured)
        self.schema = self.schema.with_column(coded)
        self._describe_context()
        return None if coded.is_closed else coded

    def _list_labels(self, found: LabelList) -> None:
        self.measurements += Measurements((), (found.measured,))
        listed = _with_values(found.column, found.labels)
        self.schema = self.schema.with_column(listed)

    def _learn_column_bounds(self, column: Lattice, amount: Fraction) -> None:
        codes = list_code_indices(column)
        bounds = learn_bounds(self.context, column.name, amount=amount, codes=codes)
        if bounds is None and column.name in self.lists:
            # Words beside values that are nowhere to be found: the votes for these were
            # noise, as in one list of 240.
            self._list_labels(self.lists[column.name])
            self._describe_context()
            return
        if bounds is None:
            closed = _as_lost(with_learned_bounds(column, *EMPTY_COLUMN_BOUNDS))
        else:
            high = bounds.high
            if isinstance(column, Integer) and bounds.low == high == 0:
                # Ones beside zeros hardly stand out as a magnitude: a flag stays one.
                high = 1
            closed = with_learned_bounds(column, bounds.low, high)
            if isinstance(column, Integer | Real):
                # Indices are those of the step that the column had before its bounds.
                step = Fraction(column.step)
                closed = with_numeric_codes(closed, bounds.codes, step)
                closed = with_rows_beyond(column, closed, bounds.beyond)
        self.schema = self.schema.with_column(closed)

    def _describe_context(self) -> None:
        table = self.context.table.with_schema(self.schema)
        self.context = replace(self.context, table=table)


def _with_values(column: Categorical, labels: tuple[str, ...]) -> Column:
    """The column with learned labels, and a place for the rest under a name that none
    of them has.
    """
    # Learned labels are public by now, so that avoiding them tells nothing new.
    other = name_rest({*labels, *column.missing, *column.unfold}, column.other)
    listed = replace(
        column,
        values=labels,
        other=other,
        learned=(*column.learned, "values"),
    )
    return listed if labels else _as_lost(listed)


def _as_lost(column: Column) -> Column:
    """The column as one that comes back empty. Values that nothing supports would look
    like knowledge in a file that says nothing of noise.
    """
    return replace(column, learned=(*column.learned, LOST_FACT), note=LOST_COLUMN_NOTE)
