"""Codes on their way to values: one column's cells as exact integers, a mask of what is
missing, and labels where it has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Context, Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import ReleaseError
from understudy.models.rules.repair_values import repair_broken_values
from understudy.models.rules.satisfiability import find_row
from understudy.releases.output.frames.generated_keys import KeyGenerator, key_column
from understudy.schema import (
    BinEdges,
    Boolean,
    Categorical,
    Codec,
    Column,
    Datetime,
    DecodedCells,
    Integer,
    Lattice,
    Real,
    Schema,
    Time,
)
from understudy.schema.columns.bin_density import BinDensity
from understudy.schema.columns.calendar import move_to_weekdays
from understudy.schema.columns.code_layout import (
    EMPTY_STATE,
    FIRST_MISSING_STATE,
    OTHER_STATE,
)
from understudy.schema.columns.lattice import MAX_LATTICE_INDEX

DECODE_CHUNK_ROWS = 1 << 17
"""Rows decoded at a time. Fixed, so that a seed means the same rows in a frame and in a
file.
"""

Codes = Mapping[str, NDArray[np.integer]]
CodeBatches = Codes | Iterable[Codes]
"""Rows of codes, at once or in batches."""

PinnedPoints = Mapping[str, int]
"""Lattice points at which given columns stay, though their codes are bins of several.
"""

Spreads = Mapping[str, BinDensity]
"""How values lie inside the bins of columns that have any."""

ONE_MICROSECOND = timedelta(microseconds=1)
_MAX_EXACT_DOUBLE = 1 << 53


@dataclass(frozen=True)
class ColumnCells:
    """Some cells of one column.

    `index` is a lattice index, 0/1 for a boolean, or a position in `labels`, which then
    holds every text that can occur. `null` marks cells without a value; `spelled` is 0,
    or j + 1 where the j-th missing spelling stands. A spelling that is itself a value
    of the column's type (-7 in a column of whole numbers) keeps that value in a frame;
    others are null there and come back in files.
    """

    column: Column
    index: NDArray[np.int64]
    null: NDArray[np.bool_]
    spelled: NDArray[np.uint8]
    labels: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.index)

    @property
    def whole(self) -> bool:
        """Whether no cell is missing."""
        return not bool(self.null.any())

    def positions(self) -> NDArray[np.int64]:
        """Positions in `labels`, -1 where missing."""
        return np.where(self.null, -1, self.index)


def decode_chunks(
    schema: Schema,
    codes: CodeBatches,
    rng: Generator,
    pins: PinnedPoints | None = None,
    spreads: Spreads | None = None,
) -> Iterator[dict[str, ColumnCells]]:
    """The rows in chunks, columns in schema order; batches of codes are taken one at a
    time. Generated keys stand where the id was.
    """
    inside, keys = spreads or {}, KeyGenerator(schema, rng)
    for batch in (codes,) if isinstance(codes, Mapping) else codes:
        rows = len(next(iter(batch.values()))) if batch else 0
        for start in range(0, max(rows, 1), DECODE_CHUNK_ROWS):
            part: Codes = {
                name: batch[name][start : start + DECODE_CHUNK_ROWS] for name in schema
            }
            count = min(DECODE_CHUNK_ROWS, rows - start)
            person = None
            if keys.people:
                part, person = keys.gather(part, count)
            chunk = _decode_keeping_rules(schema, part, rng, pins, inside, keys, person)
            made = {
                name: _cells_from_decoded(schema.codecs[name], decoded)
                for name, decoded in chunk.items()
            }
            if schema.keys:
                person = None if person is None else keys.split(chunk, person)
                made |= {
                    name: _key_cells(schema[name], key)
                    for name, key in keys.number(person, count).items()
                }
                made = {
                    column.name: made[column.name]
                    for column in schema.columns
                    if column.name in made
                }
            yield made


def _key_cells(column: Column, key: NDArray[np.int64]) -> ColumnCells:
    return ColumnCells(
        key_column(column),
        key,
        np.zeros(len(key), np.bool_),
        np.zeros(len(key), np.uint8),
    )


def _decode_keeping_rules(
    schema: Schema,
    codes: Codes,
    rng: Generator,
    pins: PinnedPoints | None,
    spreads: Spreads,
    keys: KeyGenerator,
    person: NDArray[np.int64] | None,
) -> dict[str, DecodedCells]:
    """Values for codes, such that every rule of the schema is kept, and a person's rows
    agree on what is constant.
    """
    codecs = schema.codecs

    def decode_column(name: str, found: NDArray[np.integer]) -> DecodedCells:
        decoded = codecs[name].decode(found, rng, spreads.get(name))
        weights, bins = getattr(codecs[name].column, "weekdays", ()), codecs[name].bins
        if not weights or not isinstance(bins, BinEdges):
            return decoded
        edges, place = (
            np.array(bins.edges, np.int64),
            np.minimum(found.astype(np.int64), len(bins) - 1),
        )
        column = codecs[name].column
        assert isinstance(column, Lattice)
        moved = move_to_weekdays(
            column, decoded.index, edges[place], edges[place + 1] - 1, weights, rng
        )
        return DecodedCells(moved, decoded.state)

    chunk = {name: decode_column(name, codes[name]) for name in schema}
    for name, index in (pins or {}).items():
        chunk[name] = replace(
            chunk[name], index=np.full(len(chunk[name].index), index, np.int64)
        )

    def redraw(name: str, here: NDArray[np.int64]) -> NDArray[np.int64]:
        return decode_column(name, codes[name][here]).index

    if schema.forbidden_predicates:
        witness = (lambda: find_row(schema)) if pins is None else (lambda: None)
        chunk = repair_broken_values(
            schema,
            codes,
            chunk,
            rng,
            redraw=redraw,
            pinned=set(pins or ()),
            witness=witness,
        )
    return (
        chunk
        if person is None
        else keys.make_constants_agree(codes, chunk, person, redraw)
    )


def cells_of(
    schema: Schema,
    name: str,
    codes: NDArray[np.integer],
    rng: Generator,
    spread: BinDensity | None = None,
) -> ColumnCells:
    """The cells of one column; inside a bin they lie as `spread` says."""
    codec = schema.codecs[name]
    return _cells_from_decoded(codec, codec.decode(codes, rng, spread))


def _cells_from_decoded(codec: Codec, decoded: DecodedCells) -> ColumnCells:
    index, state, column = decoded.index, decoded.state, codec.column
    spelled = np.where(
        state >= FIRST_MISSING_STATE, state - FIRST_MISSING_STATE + 1, 0
    ).astype(np.uint8)
    null = state == EMPTY_STATE
    if isinstance(column, Categorical):
        other = () if column.other is None else (column.other,)
        labels = (
            *(column.values or ()),
            *other,
            *column.unfold_weights,
            *column.missing,
        )
        index = np.where(
            state == OTHER_STATE, np.maximum(index, len(column.values or ())), index
        )
        index = np.where(
            spelled > 0,
            len(labels) - len(column.missing) + spelled.astype(np.int64) - 1,
            index,
        )
        return ColumnCells(column, index, null, spelled, labels)
    for j, spelling in enumerate(column.missing):
        here, there = spelled == j + 1, spelling_point(column, spelling)
        if there is None:
            null = null | here
        else:
            index = np.where(here, there, index)
    return ColumnCells(column, index, null, spelled)


def spelling_point(column: Column, spelling: str) -> int | None:
    """The lattice point a missing spelling names; None where it is no value of the
    column's type.
    """
    if not isinstance(column, Lattice):
        return None
    try:
        place = column.position_of(column.parse(spelling))
        column.value_at(int(place))
    except (ValueError, OverflowError):
        return None
    return (
        int(place)
        if place.denominator == 1 and abs(place) < MAX_LATTICE_INDEX
        else None
    )


def cells_as_text(cells: ColumnCells) -> ColumnCells:
    """The same cells as labels: every value as it is written, missing ones as they are
    spelled.
    """
    if cells.labels is not None:
        return cells
    column = cells.column
    distinct, inverse = np.unique(cells.index, return_inverse=True)
    words = [_write_value(column, int(i)) for i in distinct] + list(column.missing)
    labels = tuple(dict.fromkeys(words))
    where = {word: i for i, word in enumerate(labels)}
    place = np.array([where[word] for word in words] or [0], np.int64)
    raw = np.where(
        cells.spelled > 0, len(distinct) + cells.spelled.astype(np.int64) - 1, inverse
    )
    return ColumnCells(
        column, place[raw], cells.null & (cells.spelled == 0), cells.spelled, labels
    )


def _write_value(column: Column, index: int) -> str:
    if isinstance(column, Boolean):
        return (column.true if index else column.false)[0]
    assert isinstance(column, Lattice)
    exact = decimal_at(column, index)
    return str(column.value_at(index)) if exact is None else str(exact)


def decimal_at(column: Column, index: int) -> Decimal | None:
    """A value of a column of decimals, with as many as it has; None where no number of
    decimals holds its step.

    >>> str(decimal_at(Real(name="price", step=Fraction(1, 20)), 3))
    '0.15'
    """
    if not isinstance(column, Real) or column.decimals is None:
        return None
    return Decimal(int(index * column.step * 10**column.decimals)).scaleb(
        -column.decimals, Context(prec=60)
    )


def integer_values(cells: ColumnCells) -> NDArray[np.int64]:
    """Whole numbers of an integer column."""
    assert isinstance(cells.column, Integer)
    return _scale_index(cells, cells.column.step)


def float_values(cells: ColumnCells) -> NDArray[np.float64]:
    """The nearest double of every value, missing ones not yet marked."""
    step = cells.column.step if isinstance(cells.column, Real | Integer) else 1
    top, bottom = Fraction(step).numerator, Fraction(step).denominator
    if (
        _largest_index(cells) * top < _MAX_EXACT_DOUBLE and bottom < _MAX_EXACT_DOUBLE
    ):  # both exact as doubles, so one division rounds once
        return (cells.index * top).astype(np.float64) / float(bottom)
    distinct, inverse = np.unique(cells.index, return_inverse=True)
    return np.array([float(int(i) * Fraction(step)) for i in distinct], np.float64)[
        inverse
    ]


def unscaled_integers(cells: ColumnCells, scale: int) -> NDArray[np.int64] | None:
    """Integers u with value = u / 10^scale, or None where that is not exact in 64 bits."""
    if not isinstance(cells.column, Real | Integer):
        return None
    step = Fraction(cells.column.step) * 10**scale
    if step.denominator != 1 or _largest_index(cells) * step.numerator >= 1 << 63:
        return None
    return np.asarray(cells.index * step.numerator, np.int64)


def microsecond_values(cells: ColumnCells) -> NDArray[np.int64]:
    """Microseconds since 1970 (or midnight) of a datetime (or time) column."""
    assert isinstance(cells.column, Datetime | Time)
    return _scale_index(cells, cells.column.resolution // ONE_MICROSECOND)


def _scale_index(cells: ColumnCells, step: int) -> NDArray[np.int64]:
    if _largest_index(cells) * step >= 1 << 63:
        raise ReleaseError(
            f'column "{cells.column.name}": its values do not fit in 64 bits. Narrow'
            " its bounds"
        )
    return cells.index * step


def _largest_index(cells: ColumnCells) -> int:
    return (
        max(abs(int(cells.index.max())), abs(int(cells.index.min())))
        if len(cells)
        else 0
    )


def zone_of(column: Column, named: str | None) -> str | None:
    """The zone in which a column's instants are shown: the one its type names where
    that is a zone, else its own; None for wall clocks.

    A name out of a file is looked up among the known zones and nowhere else.
    """
    if not isinstance(column, Datetime) or column.zone is None:
        return None
    try:
        return column.zone if named is None else ZoneInfo(named).key
    except (ValueError, OSError, LookupError):
        return column.zone
