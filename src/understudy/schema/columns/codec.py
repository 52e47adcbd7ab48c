"""Codecs: a column's values ↔ its codes.

Tables compile a codec to one SQL expression (tables/reading/encode.py); `Codec.code` is
the same rule for one Python value, and the reference that the SQL is tested against.

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
from understudy.schema.columns.base import Column, OutOfBoundsPolicy
from understudy.schema.columns.bin_density import BinDensity
from understudy.schema.columns.cell import (
    Cell,
    find_first_spelling,
    spellings_of_cell,
    to_plain_cell,
)
from understudy.schema.columns.code_layout import (
    EMPTY_STATE,
    OTHER_STATE,
    VALUE_STATE,
    BinEdges,
    CodeLayout,
    DecodedCells,
    LabelLookup,
    equal_edges,
)
from understudy.schema.columns.discrete import Boolean, Categorical
from understudy.schema.columns.lattice import Lattice
from understudy.schema.columns.range_ends import DensityPieces, sharpen_ends

# Mass of a bin that holds no rows, as a share of all: a value may still be drawn there,
# and then the bin's pieces need their shares.
_MIN_BIN_MASS_SHARE = 1e-9


@dataclass(frozen=True)
class Codec(CodeLayout):
    """Value ↔ code for one closed column.

    >>> from understudy.schema import Integer
    >>> codec = codec_of(Integer(name="age", min=0, max=9, missing=("-7",)))
    >>> codec.size, codec.code(3), codec.code(None), codec.code("-7"), codec.code(99)
    (12, 3, 10, 11, 9)
    """

    def code(self, value: object) -> int:
        """The code of one Python value, or of the text of a cell.

        It never raises, whatever the value is: an error would tell something about a
        cell.
        """
        cell = to_plain_cell(value)
        code = self._own_code(cell)
        if code is not None:
            return code
        if isinstance(self.bins, LabelLookup):
            return self.default if cell is None else self.unlisted_code
        index = self._index(cell)
        if index is None or self._lattice.outside is OutOfBoundsPolicy.MISSING:
            return self.default
        return 0 if index < self.bins.edges[0] else len(self.bins) - 1

    def has_own_code(self, value: object) -> bool:
        """Whether a value has a code of its own: listed, within the bounds, or missing
        if that is allowed.

        >>> codec = codec_of(Categorical(name="sex", values=("F", "M"), nullable=False))
        >>> codec.has_own_code("F"), codec.has_own_code("f"), codec.has_own_code(None)
        (True, False, False)
        """
        return self._own_code(to_plain_cell(value)) is not None

    def locate_value(self, value: object) -> tuple[int, int]:
        """Lattice index (or label position) and state of one value, as `decode` gives
        them: the value after clipping and rounding, before binning.

        >>> from understudy.schema import Integer
        >>> codec_of(Integer(name="age", min=0, max=90, bins=(0, 18, 91))).locate_value(200)
        (90, 0)
        """
        code = self.code(value)
        beyond = code - len(self.bins)
        if beyond >= 0:
            return len(self.bins) - 1, self.non_value_states[beyond]
        if isinstance(self.bins, LabelLookup):
            return code, VALUE_STATE
        low = self.bins.edges[code]
        high = self.bins.edges[code + 1] - 1
        index = self._index(to_plain_cell(value))
        # In a column that is not nullable, a cell that is no value counts as the first
        # code, and so as its first value.
        return (low if index is None else min(max(index, low), high)), VALUE_STATE

    def _own_code(self, cell: Cell) -> int | None:
        """The code of a cell that has one of its own; None if it must go to a declared
        place.
        """
        if cell is None:
            return self.empty
        texts = spellings_of_cell(cell)
        if isinstance(self.bins, LabelLookup):
            return self._code_of_label(texts[0]) if texts else None
        for text in texts:
            if text in self._missing_by_spelling:
                return self.missing_code(self._missing_by_spelling[text])
        located = self._position_and_index(cell)
        if located is None:
            return None
        position, index = located
        if position in self._missing_by_position:
            return self.missing_code(self._missing_by_position[position])
        edges = self.bins.edges
        return bisect_right(edges, index) - 1 if edges[0] <= index < edges[-1] else None

    def _code_of_label(self, text: str) -> int | None:
        if text in self._missing_by_spelling:
            return self.missing_code(self._missing_by_spelling[text])
        label = text.lower() if isinstance(self.column, Boolean) else text
        code = self.places.get(label)
        return self.aliases.get(text) if code is None else code

    def _index(self, cell: Cell) -> int | None:
        located = self._position_and_index(cell)
        return None if located is None else located[1]

    def _position_and_index(self, cell: Cell) -> tuple[Fraction, int] | None:
        """Where a cell lies before and after rounding to the lattice; None if it is no
        value of the column's type.
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
    def literal_places(self) -> dict[tuple[type, object], tuple[int, int]]:
        """Cache of where the constants of rules stand among the codes
        (schema/predicates/column_truth.py): every round of a fit looks the same ones up.
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
            # A cell whose type is boolean is true or false whatever the spellings in
            # files are.
            truths = self.column.truth_by_spelling
            return {word: int(truth) for word, truth in truths.items()}
        assert isinstance(self.bins, LabelLookup)
        codes = {label: code for code, label in enumerate(self.bins.labels)}
        if isinstance(self.column, Categorical) and self.column.other is not None:
            codes[self.column.other] = len(self.bins)
        return codes

    @cached_property
    def aliases(self) -> dict[str, int]:
        """The code of each text that is not listed itself, but is the first spelling of
        a value whose other spelling is listed.

        If `True` is listed and `true` is not, `true` means it too, in a text as in a
        stored truth value: a single cell may decide which of the two a column is
        stored as.

        >>> codec_of(Categorical(name="dose", values=("0.5", "1.0"))).aliases
        {'1': 1}
        """
        listed = {
            spelling: self.missing_code(j)
            for spelling, j in self._missing_by_spelling.items()
        }
        listed |= self.places
        codes: dict[str, int] = {}
        for text, code in listed.items():
            first = find_first_spelling(text)
            if first is not None and first not in listed:
                codes.setdefault(first, code)
        return codes

    @cached_property
    def _missing_by_spelling(self) -> dict[str, int]:
        return {spelling: j for j, spelling in enumerate(self.column.missing)}

    @cached_property
    def _missing_by_position(self) -> dict[Fraction, int]:
        """Missing codes that are values of the column's type: -7 is missing as -7.0 or
        as text, not only as it is spelled.
        """
        codes: dict[Fraction, int] = {}
        for j, spelling in enumerate(self.column.missing):
            located = self._position_and_index(spelling)
            if located is not None:
                codes.setdefault(located[0], j)
        return codes

    def decode(
        self,
        codes: NDArray[np.integer],
        rng: np.random.Generator,
        density: BinDensity | None = None,
    ) -> DecodedCells:
        """Back to lattice indices or label positions; a lost column is empty.

        Inside a bin values are drawn from `density`, uniformly without it. Decoding is
        post-processing, so the generator may be seeded.
        """
        codes = codes.astype(np.int64, copy=False)
        values = len(self.bins)
        index = np.minimum(codes, max(values - 1, 0))
        if isinstance(self.bins, BinEdges):
            index = self._draw_indices(index, rng, density)
        state = np.zeros(len(codes), np.uint8)
        beyond = codes >= values
        states = np.array(self.non_value_states, np.uint8)
        state[beyond] = states[codes[beyond] - values]
        if self._unfold_shares is not None:
            is_other = state == OTHER_STATE
            uniform = rng.random(int(is_other.sum()))
            drawn = np.searchsorted(self._unfold_shares, uniform, side="right")
            # Position `values` is `other` itself; the unfolded values follow it.
            index[is_other] = values + 1 + drawn
        if self.column.is_lost:
            state[:] = EMPTY_STATE
        return DecodedCells(index, state)

    def _draw_indices(
        self,
        bins: NDArray[np.int64],
        rng: np.random.Generator,
        density: BinDensity | None,
    ) -> NDArray[np.int64]:
        """A lattice index in each of these bins."""
        widths = np.diff(self.edges)
        lower = self.edges[bins]
        if np.all(widths == 1):
            return lower
        if density is not None:
            return density.draw(bins, rng)
        return rng.integers(lower, lower + widths[bins], dtype=np.int64)

    @cached_property
    def _unfold_shares(self) -> NDArray[np.float64] | None:
        """Cumulative shares of the values that `other` stands for, without the last;
        None if no public list says which they are.
        """
        if not isinstance(self.column, Categorical) or not self.has_other:
            return None
        weights = list(self.column.unfold_weights.values())
        if not weights:
            return None
        return np.cumsum(np.array(weights, np.float64) / sum(weights))[:-1]

    def bin_density(self, masses: NDArray[np.float64]) -> BinDensity:
        """The density of values inside the bins of a lattice, given how many rows each
        code has.

        >>> from understudy.schema import Integer
        >>> ages = Integer(name="age", min=0, max=99, bins=(0, 50, 100), nullable=False)
        >>> codec = codec_of(ages)
        >>> density = codec.bin_density(np.array([9.0, 1.0]))
        >>> codec.decode(np.zeros(4, np.int64), np.random.default_rng(1), density).index.tolist()
        [7, 21, 20, 1]
        """
        assert isinstance(self.bins, BinEdges)
        least = _MIN_BIN_MASS_SHARE * max(1.0, float(masses.sum()))
        bin_masses = np.maximum(masses[: len(self.bins)], least)
        if not self._lattice.grain:
            return BinDensity.of(self.edges, bin_masses)
        # Bins that the owner declared end where the owner says.
        return BinDensity.of(*sharpen_ends(self._split_by_grain(bin_masses)))

    def _split_by_grain(self, bin_masses: NDArray[np.float64]) -> DensityPieces:
        """The pieces of the bins if a histogram inside them was learned."""
        edges, grain = self.edges, self._lattice.grain
        starts = np.array([start for start, _ in grain])
        weights = np.array([weight for _, weight in grain])
        first = np.append(np.searchsorted(starts, edges[:-1]), len(starts))
        pieces_per_bin = np.diff(first)
        pieces = np.append(starts, edges[-1]).astype(np.int64)
        bin_weights = np.add.reduceat(weights, first[:-1])
        has_weight = np.repeat(bin_weights > 0, pieces_per_bin)
        # A bin in which no piece has any weight is spread by width, that is uniformly.
        shares = np.where(has_weight, weights, np.diff(pieces)).astype(np.float64)
        shares /= np.repeat(np.add.reduceat(shares, first[:-1]), pieces_per_bin)
        masses = shares * np.repeat(bin_masses, pieces_per_bin)
        return DensityPieces(pieces, masses, first)


def codec_of(column: Column) -> Codec:
    """The codec of a closed column.

    >>> codec_of(Categorical(name="sex", values=("F", "M"), nullable=False)).labels()
    ('F', 'M')
    """
    if isinstance(column, Categorical) and column.values is not None:
        return Codec(column, LabelLookup(column.values))
    if isinstance(column, Boolean):
        return Codec(column, LabelLookup(("false", "true")))
    if isinstance(column, Lattice):
        low, high = column.low, column.high
        if low is not None and high is not None:
            return Codec(column, BinEdges(column.bins or equal_edges(low, high)))
    raise SchemaError(
        f'column "{column.name}": its domain is not known yet. Declare it, or let the'
        " curator learn it"
    )
