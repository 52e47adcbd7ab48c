"""Which codes a column has, and what each stands for.

The codes of a column are 0 to size - 1 in a fixed order: its values (or bins), then
`other`, then the empty cell, then each missing code. Release files store counts in this
order, so it never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.schema.columns.base import Column
from understudy.schema.columns.discrete import Categorical
from understudy.schema.columns.lattice import Lattice

# Up to this many values a code for each costs little noise and keeps every value exact.
MAX_UNIT_BINS = 64

# Longer columns get this many bins of equal width: a public choice that needs no data.
EQUAL_WIDTH_BINS = 32

VALUE_STATE, OTHER_STATE, EMPTY_STATE, FIRST_MISSING_STATE = 0, 1, 2, 3
"""States of a decoded cell; FIRST_MISSING_STATE + j is the j-th missing code."""


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
    """Decoded cells: a lattice index (or label position) and a state for each.

    If `other` is unfolded, its cells have positions too: those of the unfolded values,
    behind all values and `other` itself.
    """

    index: NDArray[np.int64]
    state: NDArray[np.uint8]


@dataclass(frozen=True)
class CodeLayout:
    """The codes of one closed column, in their order.

    >>> column = Categorical(name="sex", values=("F", "M"), other="else", missing=("-7",))
    >>> layout = CodeLayout(column, LabelLookup(("F", "M")))
    >>> layout.size, layout.other, layout.empty, layout.missing_code(0)
    (5, 2, 3, 4)
    """

    column: Column
    bins: LabelLookup | BinEdges

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.missing_code(len(self.column.missing))

    @property
    def has_other(self) -> bool:
        """Whether unlisted values have a code of their own."""
        return isinstance(self.column, Categorical) and self.column.other is not None

    @property
    def other(self) -> int | None:
        """Code of unlisted values, if they have one."""
        return len(self.bins) if self.has_other else None

    @property
    def empty(self) -> int | None:
        """Code of an empty cell, if empty cells are allowed."""
        return len(self.bins) + self.has_other if self.column.nullable else None

    @property
    def default(self) -> int:
        """Code of a cell that is no value at all: missing if that is allowed, else the
        first code.
        """
        return self.empty if self.empty is not None else 0

    @property
    def unlisted_code(self) -> int:
        """Code of a label that is not listed."""
        return self.other if self.other is not None else self.default

    def missing_code(self, j: int) -> int:
        """Code of the j-th missing spelling."""
        return len(self.bins) + self.has_other + self.column.nullable + j

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger]:
        """Smallest unsigned type that holds every code."""
        return np.dtype(np.min_scalar_type(max(self.size - 1, 0)))

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """The edges of the bins as an array; labels have none."""
        # Made once: rules are evaluated on rows again and again.
        edges = self.bins.edges if isinstance(self.bins, BinEdges) else ()
        return np.array(edges, np.int64)

    # The arrays below are made once: with 100,000 codes, making them anew for every rule
    # and every batch of rows would take longer than all the rest.
    @cached_property
    def is_value(self) -> NDArray[np.bool_]:
        """Which codes are values; `other` is one, missing codes are not."""
        return np.arange(self.size) < len(self.bins) + self.has_other

    @cached_property
    def is_ranked(self) -> NDArray[np.bool_]:
        """Which codes are bins or listed labels."""
        return np.arange(self.size) < len(self.bins)

    @cached_property
    def first_indices(self) -> NDArray[np.int64]:
        """The first lattice index of each bin, or the rank of each label; 0 for codes
        behind them.
        """
        ranks = np.arange(self.size, dtype=np.int64)
        ends = self.edges[:-1] if isinstance(self.bins, BinEdges) else ranks
        return self._pad_behind_values(ends)

    @cached_property
    def last_indices(self) -> NDArray[np.int64]:
        """The last lattice index of each bin, or the rank of each label; 0 for codes
        behind them.
        """
        if isinstance(self.bins, BinEdges):
            return self._pad_behind_values(self.edges[1:] - 1)
        return self.first_indices

    def _pad_behind_values(self, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        padded = np.zeros(self.size, np.int64)
        padded[: len(self.bins)] = ends[: len(self.bins)]
        return padded

    @property
    def is_binned(self) -> bool:
        """Whether some code stands for several values of a lattice."""
        if not isinstance(self.bins, BinEdges):
            return False
        return self.bins.edges[-1] - self.bins.edges[0] > len(self.bins)

    @property
    def non_value_states(self) -> tuple[int, ...]:
        """The state of each code behind the values: `other` if there is one, the empty
        cell if it is allowed, the missing codes.
        """
        states = [OTHER_STATE] * self.has_other + [EMPTY_STATE] * self.column.nullable
        states += [FIRST_MISSING_STATE + j for j in range(len(self.column.missing))]
        return tuple(states)

    def labels(self) -> tuple[str, ...]:
        """One short label per code, for tables and plots."""
        if isinstance(self.bins, LabelLookup):
            names = list(self.bins.labels)
        else:
            names = [self._bin_label(code) for code in range(len(self.bins))]
        if isinstance(self.column, Categorical) and self.column.other is not None:
            names.append(self.column.other)
        if self.column.nullable:
            names.append("(missing)")
        names.extend(f"(missing: {spelling})" for spelling in self.column.missing)
        return tuple(names)

    def _bin_label(self, code: int) -> str:
        assert isinstance(self.bins, BinEdges)
        assert isinstance(self.column, Lattice)
        low = self.bins.edges[code]
        high = self.bins.edges[code + 1] - 1
        first = str(self.column.value_at(low))
        return first if low == high else f"{first} to {self.column.value_at(high)}"


def equal_edges(low: int, high: int) -> tuple[int, ...]:
    """Edges from public bounds alone: one bin per value if they are few, else bins of
    equal width.

    >>> equal_edges(0, 3)
    (0, 1, 2, 3, 4)
    >>> len(equal_edges(0, 9_999)) - 1
    32
    """
    count = high - low + 1
    pieces = count if count <= MAX_UNIT_BINS else EQUAL_WIDTH_BINS
    return equal_bins(low, high, pieces)


def equal_bins(low: int, high: int, pieces: int) -> tuple[int, ...]:
    """The edges of a given number of bins of equal width.

    >>> equal_bins(0, 9, 3)
    (0, 3, 6, 10)
    """
    count = high - low + 1
    return tuple(low + count * i // pieces for i in range(pieces + 1))
