"""How much of a run discovery takes, and which columns need it.

A column that the owner described in full costs nothing. The shares depend on the
schema alone, so that they are public before any row is read.
"""

from __future__ import annotations

from fractions import Fraction

from understudy.schema import Categorical, Column, Lattice, Schema, UndeclaredColumn
from understudy.schema.columns.code_layout import MAX_UNIT_BINS

OPEN_SHARE, MIN_OPEN_SHARE = Fraction(2, 5), Fraction(1, 20)
"""Share of a run that learns types, values and bounds, if every column leaves them
open: a value that was clipped or not found is wrong in every marginal it belongs to. A
column's own share does not grow where fewer columns are open; the minimum is for a
single open column among many.
"""

BINS_SHARE, MAX_BINS_FACTOR = Fraction(1, 5), 2
"""Share of a run that learns the bins of its columns and counts them, if half of the
columns or more need bins. Where fewer do, a column's own share does not grow. How well
a number's bins fit bounds how well anything about it is known, so a column that needs
bins gets up to this factor times an even share.
"""


def open_columns(schema: Schema) -> list[Column]:
    """Columns of a release about which something is left to learn."""
    return [schema[name] for name in schema if not schema[name].is_closed]


def needs_bins(column: Column) -> bool:
    """Whether a column needs bins and has none declared. Up to 64 values have a code
    each, for nothing.
    """
    if not isinstance(column, Lattice) or column.bins is not None:
        return False
    if column.low is None or column.high is None:
        return True
    return column.high - column.low >= MAX_UNIT_BINS


def needs_labels(column: Column) -> bool:
    """Whether an open column may need its list of labels learned, by a threshold."""
    return isinstance(column, Categorical | UndeclaredColumn)


def needs_delta(schema: Schema) -> bool:
    """Whether closing this schema takes a threshold, and so some δ."""
    return any(needs_labels(column) for column in open_columns(schema))


def discovery_shares(schema: Schema) -> tuple[Fraction, Fraction]:
    """The shares of a run that discovery takes at most: for what is open, and for bins.

    >>> from understudy.schema import Integer
    >>> income = Integer(name="income", min=0, max=10**6)
    >>> discovery_shares(Schema(columns=(income, Integer(name="age", min=0, max=9))))
    (Fraction(0, 1), Fraction(1, 5))
    """
    width = len(schema)
    if not width:
        return Fraction(0), Fraction(0)
    # Whether a column without a type will need bins is not known before the vote.
    binned = sum(
        needs_bins(schema[name]) or isinstance(schema[name], UndeclaredColumn)
        for name in schema
    )
    unknown = len(open_columns(schema))
    for_open = Fraction(0)
    if unknown:
        for_open = max(OPEN_SHARE * unknown / width, MIN_OPEN_SHARE)
    for_bins = min(BINS_SHARE, MAX_BINS_FACTOR * BINS_SHARE * binned / width)
    return for_open, for_bins
