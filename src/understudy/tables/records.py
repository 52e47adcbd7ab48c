"""Records: rows as arrays, for the data owner's own comparisons. PRIVATE: these are the
rows themselves.

Each column is its code and, where it is a number, date or time, its place on the
lattice too, so that distances are those of values and not of bins. The order of rows
means nothing; two tables are aligned by a key or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Codec, Lattice, Schema
from understudy.schema.predicates.comparable import scale_step_of

ABSENT_PLACE = np.iinfo(np.int64).min
"""Stands for no value at all among places on a lattice."""

MAX_UNTHINNED_ROWS = 200_000
"""A larger table is thinned out by the database before any row is encoded."""


@dataclass(frozen=True, eq=False)
class Records:
    """Some rows: `codes` of every column read, `places` on the lattice of those that
    have one, `keys` where a key was named.

    >>> from understudy.schema import Integer
    >>> schema = Schema(columns=(Integer(name="age", min=0, max=99, step=5),))
    >>> some = Records(schema, {"age": np.array([0, 1], np.uint8)}, {"age": np.array([0, 1])})
    >>> some.rows, some.numbers("age").tolist()
    (2, [0.0, 5.0])
    """

    schema: Schema
    codes: Mapping[str, NDArray[np.unsignedinteger]]
    places: Mapping[str, NDArray[np.int64]]
    keys: NDArray[np.uint64] | None = None

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(next(iter(self.codes.values()))) if self.codes else 0

    def codec(self, column: str) -> Codec:
        """The codec of a column."""
        return self.schema.codecs[column]

    def absent(self, column: str) -> NDArray[np.bool_]:
        """Which cells are missing."""
        codec = self.codec(column)
        return np.asarray(self.codes[column] >= len(codec.bins) + codec.has_other)

    def numbers(self, column: str) -> NDArray[np.float64]:
        """A column as numbers: its value, days, seconds, or the rank of a label; NaN
        where it is missing.
        """
        described = self.schema[column]
        if isinstance(described, Lattice):
            places = self.places[column]
            scale = float(scale_step_of(described))
            # Lattices of time count microseconds; readers think in days and seconds.
            per = {"date": 86_400e6, "datetime": 1e6, "time": 1e6}.get(
                described.type, 1.0
            )
            found = places.astype(np.float64) * (scale / per)
            found[places == ABSENT_PLACE] = np.nan
            return found
        found = self.codes[column].astype(np.float64)
        found[self.absent(column)] = np.nan
        return found

    def width(self, column: str) -> float:
        """The declared range of a number, date or time, in the unit of `numbers`."""
        described = self.schema[column]
        if not isinstance(described, Lattice):
            raise TypeError(f"{column}: only numbers, dates and times have a range")
        ends = {column: np.array([described.low, described.high], np.int64)}
        low, high = Records(self.schema, {column: np.zeros(2, np.uint8)}, ends).numbers(
            column
        )
        return float(high - low)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Records:
        """Some of the rows."""
        return Records(
            self.schema,
            {name: codes[rows] for name, codes in self.codes.items()},
            {name: places[rows] for name, places in self.places.items()},
            None if self.keys is None else self.keys[rows],
        )

    def sample(self, most: int, rng: np.random.Generator) -> Records:
        """At most this many rows, chosen evenly."""
        if self.rows <= most:
            return self
        return self.take(np.sort(rng.choice(self.rows, most, replace=False)))


def thin_relation(relation: str, rows: int, most: int | None) -> str:
    """The relation, or for many rows an even sample of it that has at least `most` rows
    but for one time in a million.
    """
    if most is None or rows <= max(most, MAX_UNTHINNED_ROWS):
        return relation
    # Five standard deviations of a binomial count above `most`, and a few for small
    # ones: what is beyond `most` is dropped afterwards.
    share = (most + 5 * math.sqrt(most) + 25) / rows
    if share >= 1:
        return relation
    return f"(SELECT * FROM {relation} WHERE random() < {share!r})"


def join_batches(
    schema: Schema,
    names: Sequence[str],
    lattice: Sequence[str],
    batches: list[list[NDArray[np.unsignedinteger]]],
    keyed: bool,
) -> Records:
    """Records out of batches whose columns are the codes, then the places, then the
    key.
    """
    width = len(names) + len(lattice) + keyed
    columns: list[NDArray[np.unsignedinteger]]
    columns = [np.zeros(0, np.uint64) for _ in range(width)]
    if batches:
        columns = [np.concatenate(parts) for parts in zip(*batches, strict=True)]
    codes = {name: columns[i] for i, name in enumerate(names)}
    places = {}
    for i, name in enumerate(lattice, start=len(names)):
        described = schema[name]
        assert isinstance(described, Lattice)
        assert described.low is not None
        shifted = columns[i].astype(np.int64)
        codec = schema.codecs[name]
        # A cell that is no value stands, where nothing may be missing, for the lower
        # bound: as its code does.
        valued = codes[name] < len(codec.bins)
        places[name] = np.where(
            valued,
            np.maximum(shifted, 1) + (described.low - 1),
            ABSENT_PLACE,
        )
    return Records(schema, codes, places, columns[-1] if keyed else None)
