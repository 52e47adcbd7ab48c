"""Codecs: a column's values ↔ codes 0..size-1, stated as data so that they compile to SQL.

The codes of a column come in a fixed order: its values (or bins), then `other`, then the empty cell, then each missing spelling. Tables
compile a codec to one SQL expression (tables/expression.py); `Codec.code` is the same rule for one Python value, and their test.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema.column import Boolean, Categorical, Column, Lattice, Outside

UNIT_BINS = 64
"""A lattice column with at most this many values gets a code for each."""

EQUAL_BINS = 32
"""A longer one is cut into this many bins of equal width, unless bins are declared."""

VALUE, OTHER, EMPTY, SPELLED = 0, 1, 2, 3
"""States of a decoded cell; SPELLED + j is the j-th missing spelling."""


@dataclass(frozen=True)
class Lookup:
    """Codes by position in a list of labels."""

    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Edges:
    """Codes by bins of the lattice: bin i holds the indices edges[i] ≤ x < edges[i + 1]."""

    edges: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.edges) - 1


@dataclass(frozen=True)
class Decoded:
    """Cells on their way back to values: a lattice index (or label position) and a state for each."""

    index: NDArray[np.int64]
    state: NDArray[np.uint8]


@dataclass(frozen=True)
class Codec:
    """Value ↔ code for one closed column.

    >>> from understudy.schema.column import Integer
    >>> codec = codec_of(Integer(name="age", min=0, max=9, missing=("-7",)))
    >>> codec.size, codec.code(3), codec.code(None), codec.code("-7"), codec.code(99)
    (12, 3, 10, 11, 9)
    """

    column: Column
    bins: Lookup | Edges

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.bins) + self.has_other + self.column.nullable + len(self.column.missing)

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
        """Code of a cell that is no value at all: missing where that is allowed, else the first code."""
        return self.empty if self.empty is not None else 0

    @property
    def unlisted(self) -> int:
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
        """The code of one Python value; never raises, whatever the value."""
        if value is None or (isinstance(value, float) and value != value) or value == "":
            return self.default
        if isinstance(value, str) and value in self.column.missing:
            return self.spelled(self.column.missing.index(value))
        if isinstance(self.bins, Lookup):
            return self._code_of_label(value)
        return self._code_of_index(value)

    def _code_of_label(self, value: object) -> int:
        assert isinstance(self.bins, Lookup)
        if isinstance(self.column, Boolean):
            word = str(value).lower()
            hits = [word in {s.lower() for s in side} for side in (self.column.false, self.column.true)]
            return hits.index(True) if any(hits) else self.unlisted
        text = str(value)
        return self.bins.labels.index(text) if text in self.bins.labels else self.unlisted

    def _code_of_index(self, value: object) -> int:
        assert isinstance(self.bins, Edges)
        assert isinstance(self.column, Lattice)
        try:
            index = self.column.index_of(value)
        except (ValueError, OverflowError):
            return self.default
        edges = self.bins.edges
        if self.column.outside is Outside.MISSING and not edges[0] <= index < edges[-1]:
            return self.default
        return min(max(bisect_right(edges, index) - 1, 0), len(self.bins) - 1)

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> Decoded:
        """Back to lattice indices (uniform inside a bin) or label positions; post-processing, so the generator may be seeded."""
        codes = codes.astype(np.int64, copy=False)
        values = len(self.bins)
        index = np.minimum(codes, max(values - 1, 0))
        if isinstance(self.bins, Edges):
            edges = np.array(self.bins.edges, np.int64)
            widths = np.diff(edges)
            lower = edges[index]
            index = lower if np.all(widths == 1) else rng.integers(lower, lower + widths[index], dtype=np.int64)
        state = np.zeros(len(codes), np.uint8)
        beyond = codes >= values
        # Beyond the values: `other` if there is one, the empty cell if it is allowed, the spellings.
        present = [OTHER] * self.has_other + [EMPTY] * self.column.nullable
        states = np.array([*present, *range(SPELLED, SPELLED + len(self.column.missing))], np.uint8)
        state[beyond] = states[codes[beyond] - values]
        return Decoded(index, state)

    def labels(self) -> tuple[str, ...]:
        """One short label per code, for tables and plots."""
        names = (
            list(self.bins.labels)
            if isinstance(self.bins, Lookup)
            else [self._bin_label(i) for i in range(len(self.bins))]
        )
        if isinstance(self.column, Categorical) and self.column.other is not None:
            names.append(self.column.other)
        if self.column.nullable:
            names.append("(missing)")
        names.extend(f"(missing: {spelling})" for spelling in self.column.missing)
        return tuple(names)

    def _bin_label(self, i: int) -> str:
        assert isinstance(self.bins, Edges)
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
        return Codec(column, Lookup(column.values))
    if isinstance(column, Boolean):
        return Codec(column, Lookup(("false", "true")))
    if isinstance(column, Lattice) and column.low is not None and column.high is not None:
        return Codec(column, Edges(column.bins or equal_edges(column.low, column.high)))
    raise SchemaError(f'column "{column.name}": its domain is not known yet. Declare it, or let the curator learn it')


def equal_edges(low: int, high: int) -> tuple[int, ...]:
    """Edges from public bounds alone: one bin per value where they are few, else bins of equal width.

    >>> equal_edges(0, 3)
    (0, 1, 2, 3, 4)
    >>> len(equal_edges(0, 9_999)) - 1
    32
    """
    count = high - low + 1
    pieces = count if count <= UNIT_BINS else EQUAL_BINS
    return tuple(low + count * i // pieces for i in range(pieces + 1))
