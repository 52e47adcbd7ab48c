"""Codecs: a column's values ↔ codes 0..size-1, stated as data so that they compile to
SQL.

The codes of a column come in a fixed order: its values (or bins), then `other`, then
the empty cell, then each missing spelling. Tables compile a codec to one SQL expression
(tables/reading/encode.py); `Codec.code` is the same rule for one Python value, and
their test.

The rule, in order: an empty cell; a missing code (by its text; in a column of numbers,
dates or times also by its value, so that -7 is missing as -7.0 too); a listed label or
a value within the bounds; then the declared place of what is left: `other` for labels,
the nearest bound for values out of bounds unless `outside` says missing, and the
default for what is no value of the column's type.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema.columns.bin_density import BinDensity
from understudy.schema.columns.cell import (
    Cell,
    find_first_spelling,
    spellings_of_cell,
    to_plain_cell,
)
from understudy.schema.columns.discrete import (
    Boolean,
    Categorical,
    Column,
    Lattice,
    OutOfBoundsPolicy,
)

MAX_UNIT_BINS = 64
"""A lattice column with at most this many values gets a code for each."""

EQUAL_WIDTH_BINS = 32
"""A longer one is cut into this many bins of equal width, unless bins are declared."""

VALUE_STATE, OTHER_STATE, EMPTY_STATE, FIRST_SPELLED_STATE = 0, 1, 2, 3
"""States of a decoded cell; SPELLED + j is the j-th missing spelling."""


@dataclass(frozen=True)
class LabelLookup:
    """Codes by position in a list of labels."""

    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class BinEdges:
    """Codes by bins of the lattice: bin i holds the indices edges[i] ≤ x < edges[i +
    1].
    """

    edges: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.edges) - 1


@dataclass(frozen=True)
class DecodedCells:
    """Cells on their way back to values: a lattice index (or label position) and a
    state for each.

    Where `other` is unfolded, its cells have positions too: those of the unfolded
    values, behind all values and `other` itself.
    """

    index: NDArray[np.int64]
    state: NDArray[np.uint8]


@dataclass(frozen=True)
class Codec:
    """Value ↔ code for one closed column.

    >>> from understudy.schema.columns.discrete import Integer
    >>> codec = codec_of(Integer(name="age", min=0, max=9, missing=("-7",)))
    >>> codec.size, codec.code(3), codec.code(None), codec.code("-7"), codec.code(99)
    (12, 3, 10, 11, 9)
    """

    column: Column
    bins: LabelLookup | BinEdges

    @property
    def size(self) -> int:
        """Number of codes."""
        return (
            len(self.bins)
            + self.has_other
            + self.column.nullable
            + len(self.column.missing)
        )

    @property
    def has_other(self) -> bool:
        """Whether unlisted values have a code of their own."""
        return isinstance(self.column, Categorical) and self.column.other is not None

    @property
    def other(self) -> int | None:
        """Code of unlisted values, where they have one."""
        return len(self.bins) if self.has_other else None

    @property
    def empty(self) -> int | None:
        """Code of an empty cell, where empty cells are allowed."""
        return len(self.bins) + self.has_other if self.column.nullable else None

    @property
    def default(self) -> int:
        """Code of a cell that is no value at all: missing where that is allowed, else
        the first code.
        """
        return self.empty if self.empty is not None else 0

    @property
    def unlisted_code(self) -> int:
        """Code of a label that is not listed."""
        return self.other if self.other is not None else self.default

    def spelled(self, j: int) -> int:
        """Code of the j-th missing spelling."""
        return len(self.bins) + self.has_other + self.column.nullable + j

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger]:
        """Smallest unsigned type that holds every code."""
        return np.dtype(np.min_scalar_type(max(self.size - 1, 0)))

    def code(self, value: object) -> int:
        """The code of one Python value, or of the text of a cell; never raises,
        whatever the value.
        """
        cell = to_plain_cell(value)
        place = self._own_code(cell)
        if place is not None:
            return place
        if isinstance(self.bins, LabelLookup):
            return self.default if cell is None else self.unlisted_code
        index = self._index(cell)
        if index is None or self._lattice.outside is OutOfBoundsPolicy.MISSING:
            return self.default
        return 0 if index < self.bins.edges[0] else len(self.bins) - 1

    def has_own_code(self, value: object) -> bool:
        """Whether a value has a place of its own: listed, within the bounds, or missing
        where that is allowed.

        >>> codec = codec_of(Categorical(name="sex", values=("F", "M"), nullable=False))
        >>> codec.has_own_code("F"), codec.has_own_code("f"), codec.has_own_code(None)
        (True, False, False)
        """
        return self._own_code(to_plain_cell(value)) is not None

    def locate_value(self, value: object) -> tuple[int, int]:
        """Lattice index (or label position) and state of one value, as `decode` gives
        them: what the column knows of it before binning.

        >>> from understudy.schema.columns.discrete import Integer
        >>> codec_of(Integer(name="age", min=0, max=90, bins=(0, 18, 91))).locate_value(200)
        (90, 0)
        """
        code = self.code(value)
        beyond = code - len(self.bins)
        if beyond >= 0:
            return len(self.bins) - 1, self._non_value_states[beyond]
        if isinstance(self.bins, LabelLookup):
            return code, VALUE_STATE
        index = self._index(to_plain_cell(value))
        low, high = self.bins.edges[code], self.bins.edges[code + 1] - 1
        return (low if index is None else min(max(index, low), high)), VALUE_STATE

    def _own_code(self, cell: Cell) -> int | None:
        """The code a cell has of its own right, None where it must go to a declared
        place.
        """
        if cell is None:
            return self.empty
        texts = spellings_of_cell(cell)
        if isinstance(self.bins, LabelLookup):
            return self._code_of_label(texts[0]) if texts else None
        for text in texts:
            if text in self._missing_by_spelling:
                return self.spelled(self._missing_by_spelling[text])
        value = self._value(cell)
        if value is None:
            return None
        position, index = value
        if position in self._missing_by_position:
            return self.spelled(self._missing_by_position[position])
        edges = self.bins.edges
        return bisect_right(edges, index) - 1 if edges[0] <= index < edges[-1] else None

    def _code_of_label(self, text: str) -> int | None:
        if text in self._missing_by_spelling:
            return self.spelled(self._missing_by_spelling[text])
        place = self.places.get(
            text.lower() if isinstance(self.column, Boolean) else text
        )
        return self.aliases.get(text) if place is None else place

    def _index(self, cell: Cell) -> int | None:
        value = self._value(cell)
        return None if value is None else value[1]

    def _value(self, cell: Cell) -> tuple[Fraction, int] | None:
        """Where a cell lies and the lattice index it goes to, None where it is no value
        of the column's type.
        """
        value = self._lattice.parse(cell) if isinstance(cell, str) else cell
        try:
            return self._lattice.position_of(value), self._lattice.index_of(value)
        except (ValueError, OverflowError):
            return None

    @property
    def _lattice(self) -> Lattice:
        assert isinstance(self.column, Lattice)
        return self.column

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """The edges of the bins as an array, made once: rules are asked of rows again
        and again. Labels have none.
        """
        return np.array(
            self.bins.edges if isinstance(self.bins, BinEdges) else (), np.int64
        )

    @cached_property
    def literal_places(self) -> dict[tuple[type, object], tuple[int, int]]:
        """Where the constants of rules stand that were looked up so far
        (schema/predicates/on_cells.py): the same ones are asked for in every round.
        """
        return {}

    @cached_property
    def positions(self) -> dict[tuple[type, object], int | None]:
        """The same among values instead of codes (schema/predicates/on_values.py)."""
        return {}

    @cached_property
    def places(self) -> dict[str, int]:
        """The code of each text that is a label."""
        if isinstance(self.column, Boolean):
            # A cell that is true or false by type is so whatever the spellings in
            # files.
            return {
                word: int(truth)
                for word, truth in self.column.truth_by_spelling.items()
            }
        assert isinstance(self.bins, LabelLookup)
        codes = {label: code for code, label in enumerate(self.bins.labels)}
        if isinstance(self.column, Categorical) and self.column.other is not None:
            codes[self.column.other] = len(self.bins)
        return codes

    @cached_property
    def aliases(self) -> dict[str, int]:
        """The code of each text that is not listed itself, but is how a value is
        spelled first that another spelling of is listed.

        Where `True` is listed and `true` is not, `true` means it too, in a text as in a
        stored truth value: whether a column is stored as one or the other may hang by a
        single cell.

        >>> codec_of(Categorical(name="dose", values=("0.5", "1.0"))).aliases
        {'1': 1}
        """
        listed = {
            spelling: self.spelled(j)
            for spelling, j in self._missing_by_spelling.items()
        } | self.places
        found: dict[str, int] = {}
        for text, code in listed.items():
            first = find_first_spelling(text)
            if first is not None and first not in listed:
                found.setdefault(first, code)
        return found

    @cached_property
    def _missing_by_spelling(self) -> dict[str, int]:
        return {spelling: j for j, spelling in enumerate(self.column.missing)}

    @cached_property
    def _missing_by_position(self) -> dict[Fraction, int]:
        """Missing codes that are values of the column's type: -7 is missing as -7.0 or
        as text, not only as it is spelled.
        """
        found: dict[Fraction, int] = {}
        for j, spelling in enumerate(self.column.missing):
            value = self._value(spelling)
            if value is not None:
                found.setdefault(value[0], j)
        return found

    def decode(
        self,
        codes: NDArray[np.integer],
        rng: np.random.Generator,
        spread: BinDensity | None = None,
    ) -> DecodedCells:
        """Back to lattice indices or label positions; post-processing, so the generator
        may be seeded.

        Inside a bin values lie as `spread` says, evenly where nothing does.
        """
        codes = codes.astype(np.int64, copy=False)
        values = len(self.bins)
        index = np.minimum(codes, max(values - 1, 0))
        if isinstance(self.bins, BinEdges):
            edges = self.edges
            widths = np.diff(edges)
            lower = edges[index]
            if np.all(widths == 1):
                index = lower
            elif spread is not None:
                index = spread.draw(index, rng)
            else:
                index = rng.integers(lower, lower + widths[index], dtype=np.int64)
        state = np.zeros(len(codes), np.uint8)
        beyond = codes >= values
        state[beyond] = np.array(self._non_value_states, np.uint8)[
            codes[beyond] - values
        ]
        if self._unfold_shares is not None:
            rest = state == OTHER_STATE
            index[rest] = (
                values
                + 1
                + np.searchsorted(
                    self._unfold_shares, rng.random(int(rest.sum())), side="right"
                )
            )
        return DecodedCells(index, state)

    @cached_property
    def _unfold_shares(self) -> NDArray[np.float64] | None:
        """Running shares of the values that `other` stands for; None where nothing was
        said of them.
        """
        column = self.column
        weights = (
            list(column.unfold_weights.values())
            if isinstance(column, Categorical) and self.has_other
            else []
        )
        return (
            np.cumsum(np.array(weights, np.float64) / sum(weights))[:-1]
            if weights
            else None
        )

    @property
    def is_binned(self) -> bool:
        """Whether some code stands for several values of a lattice."""
        return isinstance(self.bins, BinEdges) and self.bins.edges[
            -1
        ] - self.bins.edges[0] > len(self.bins)

    def spread(self, masses: NDArray[np.float64]) -> BinDensity:
        """How values of a lattice lie inside its bins, given how many rows each code
        has.

        >>> from understudy.schema.columns.discrete import Integer
        >>> codec = codec_of(Integer(name="age", min=0, max=99, bins=(0, 50, 100), nullable=False))
        >>> codec.decode(np.zeros(4, np.int64), np.random.default_rng(1), codec.spread(np.array([9.0, 1.0]))).index.tolist()
        [7, 21, 20, 1]
        """
        assert isinstance(self.bins, BinEdges)
        # A bin that should hold nothing may be asked for all the same, and then its
        # pieces keep their shares.
        held = np.maximum(
            masses[: len(self.bins)], 1e-9 * max(1.0, float(masses.sum()))
        )
        edges = self.edges
        if not self._lattice.grain:
            return BinDensity.of(edges, held)
        starts, weights = (
            np.array(part) for part in zip(*self._lattice.grain, strict=True)
        )
        first = np.append(np.searchsorted(starts, edges[:-1]), len(starts))
        pieces = np.append(starts, edges[-1]).astype(np.int64)
        sums = np.add.reduceat(weights, first[:-1])
        known = np.repeat(sums > 0, np.diff(first))
        # A bin in which no piece has any weight is spread evenly.
        shares = np.where(known, weights, np.diff(pieces)).astype(np.float64)
        shares /= np.repeat(np.add.reduceat(shares, first[:-1]), np.diff(first))
        return BinDensity.of(pieces, shares * np.repeat(held, np.diff(first)), first)

    @property
    def _non_value_states(self) -> tuple[int, ...]:
        """Beyond the values: `other` if there is one, the empty cell if it is allowed,
        the spellings.
        """
        present = [OTHER_STATE] * self.has_other + [EMPTY_STATE] * self.column.nullable
        return (
            *present,
            *range(FIRST_SPELLED_STATE, FIRST_SPELLED_STATE + len(self.column.missing)),
        )

    def labels(self) -> tuple[str, ...]:
        """One short label per code, for tables and plots."""
        names = (
            list(self.bins.labels)
            if isinstance(self.bins, LabelLookup)
            else [self._bin_label(i) for i in range(len(self.bins))]
        )
        if isinstance(self.column, Categorical) and self.column.other is not None:
            names.append(self.column.other)
        if self.column.nullable:
            names.append("(missing)")
        names.extend(f"(missing: {spelling})" for spelling in self.column.missing)
        return tuple(names)

    def _bin_label(self, i: int) -> str:
        assert isinstance(self.bins, BinEdges)
        assert isinstance(self.column, Lattice)
        low, high = self.bins.edges[i], self.bins.edges[i + 1] - 1
        first = str(self.column.value_at(low))
        return first if low == high else f"{first} to {self.column.value_at(high)}"


def codec_of(column: Column) -> Codec:
    """The codec of a closed column.

    >>> codec_of(Categorical(name="sex", values=("F", "M"), nullable=False)).labels()
    ('F', 'M')
    """
    if isinstance(column, Categorical) and column.values is not None:
        return Codec(column, LabelLookup(column.values))
    if isinstance(column, Boolean):
        return Codec(column, LabelLookup(("false", "true")))
    if (
        isinstance(column, Lattice)
        and column.low is not None
        and column.high is not None
    ):
        return Codec(
            column, BinEdges(column.bins or equal_edges(column.low, column.high))
        )
    raise SchemaError(
        f'column "{column.name}": its domain is not known yet. Declare it, or let the'
        " curator learn it"
    )


def equal_edges(low: int, high: int) -> tuple[int, ...]:
    """Edges from public bounds alone: one bin per value where they are few, else bins
    of equal width.

    >>> equal_edges(0, 3)
    (0, 1, 2, 3, 4)
    >>> len(equal_edges(0, 9_999)) - 1
    32
    """
    count = high - low + 1
    pieces = count if count <= MAX_UNIT_BINS else EQUAL_WIDTH_BINS
    return tuple(low + count * i // pieces for i in range(pieces + 1))
