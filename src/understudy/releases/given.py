"""What columns are given to hold when rows are sampled: a value, several, or a range.

A given column has a weight for each code: 1 if all of the code's values are given, the
part of its rows that is if a range cuts its bin, 0 if none are. Rows that match are
those of the joint distribution of the given columns, times these weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.models import Codes
from understudy.models.sampling.rounding import round_groups
from understudy.releases.output.frames.decoding import BinDensities, PointSpans
from understudy.schema import Lattice, Schema
from understudy.schema.columns.cell import to_plain_cell
from understudy.schema.columns.code_layout import BinEdges
from understudy.schema.columns.codec import Codec

RANGE_MARK = ".."
"""Between the ends of a range of numbers, dates or times; an end may be left out."""


@dataclass(frozen=True, eq=False)
class GivenColumn:
    """The weight of each code, and the lattice points that are given, as closed spans."""

    weights: NDArray[np.float64]
    spans: PointSpans = ()

    @property
    def only_code(self) -> int | None:
        """The code that all rows have; None if there are several."""
        codes = np.flatnonzero(self.weights)
        return int(codes[0]) if len(codes) == 1 else None


def encode_given(
    schema: Schema, given: Mapping[str, object], densities: BinDensities
) -> dict[str, GivenColumn]:
    """Each given column with its codes and points; what is no value is refused."""
    encoded = {}
    for name, value in given.items():
        if name not in schema:
            raise Refused(
                f'column "{name}" takes no part in this release, so it cannot be given.'
                " Nothing was sampled."
            )
        encoded[name] = _encode_column(schema.codecs[name], value, densities)
    return encoded


def draw_given_codes(
    given: Mapping[str, GivenColumn],
    expected: NDArray[np.float64],
    codecs: Mapping[str, Codec],
    rows: int,
    rng: Generator,
) -> Codes:
    """Codes of the given columns in that many rows, shared out as `expected`, the
    weighted counts over the given columns, says.
    """
    only = {name: column.only_code for name, column in given.items()}
    if None not in only.values():
        return {
            name: np.full(rows, code, codecs[name].dtype) for name, code in only.items()
        }
    cells = np.flatnonzero(expected)
    # Rounded, not drawn one by one: shares are kept as closely as whole rows can.
    counts = round_groups(
        expected.reshape(-1)[cells], np.array([len(cells)]), np.array([rows]), rng
    )
    # In random order, so that a row's place says nothing about its cell.
    drawn = rng.permutation(np.repeat(cells, counts))
    places = np.unravel_index(drawn, expected.shape)
    return {
        name: place.astype(codecs[name].dtype)
        for name, place in zip(given, places, strict=True)
    }


def weigh_cells(
    given: Mapping[str, GivenColumn], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Counts over the given columns, of the rows that match alone.

    >>> half = GivenColumn(np.array([1.0, 0.5, 0.0]))
    >>> weigh_cells({"age": half}, np.array([4.0, 4.0, 4.0])).tolist()
    [4.0, 2.0, 0.0]
    """
    weighted = counts
    for axis, column in enumerate(given.values()):
        shape = [1] * counts.ndim
        shape[axis] = -1
        weighted = weighted * column.weights.reshape(shape)
    return weighted


def _encode_column(codec: Codec, value: object, densities: BinDensities) -> GivenColumn:
    weights, spans = np.zeros(codec.size), []
    for each in _list_values(value):
        span = _parse_range(codec, each)
        if span is None:
            weights[_code_of(codec, each)] = 1.0
            span = _span_of_value(codec, each)
        if span is not None:
            spans.append(span)
    merged = _merge_spans(spans)
    if merged:
        _weigh_bins(codec, merged, weights, densities)
    if not weights.any():
        raise Refused(
            f'column "{codec.column.name}": no value is given that a row could hold.'
            " Nothing was sampled."
        )
    return GivenColumn(weights, merged)


def _list_values(value: object) -> Iterable[object]:
    """The values of a list, tuple, set, range or array; any other value is the one."""
    if isinstance(value, np.ndarray):
        return list(value)
    is_list = isinstance(value, Sequence | Set) and not isinstance(value, str | bytes)
    return value if is_list else [value]  # type: ignore[return-value]


def _code_of(codec: Codec, value: object) -> int:
    if not codec.has_own_code(value):
        raise Refused(
            f'column "{codec.column.name}": the given value is not in its domain.'
            " Nothing was sampled."
        )
    return codec.code(value)


def _span_of_value(codec: Codec, value: object) -> tuple[int, int] | None:
    """The lattice point of a value as a span; None if it has none, as missing has none."""
    column = codec.column
    if not isinstance(column, Lattice) or codec.code(value) >= len(codec.bins):
        return None
    cell = to_plain_cell(value)
    point = column.index_of(column.parse(cell) if isinstance(cell, str) else cell)
    return point, point


def _parse_range(codec: Codec, value: object) -> tuple[int, int] | None:
    """The points of a range such as `18..30`, within the column's bounds; None if the
    value is no range. A label may hold two points: only lattices have ranges.
    """
    column = codec.column
    if not isinstance(value, str) or not isinstance(column, Lattice):
        return None
    low_text, mark, high_text = value.partition(RANGE_MARK)
    # A missing code may be spelled like a range.
    if not mark or codec.has_own_code(value):
        return None
    assert isinstance(codec.bins, BinEdges)
    first, last = codec.bins.edges[0], codec.bins.edges[-1] - 1
    low, high = _point_of(column, low_text), _point_of(column, high_text)
    low = first if low is None else max(low, first)
    high = last if high is None else min(high, last)
    if low > high:
        raise Refused(
            f'column "{column.name}": no value lies in the given range. Nothing was'
            " sampled."
        )
    return low, high


def _point_of(column: Lattice, text: str) -> int | None:
    """The lattice point of an end of a range; None if the end is left out."""
    if not text.strip():
        return None
    parsed = column.parse(text.strip())
    if parsed is None:
        raise Refused(
            f'column "{column.name}": a range is written as LOW..HIGH, and an end may'
            " be left out. Nothing was sampled."
        )
    return column.index_of(parsed)


def _merge_spans(spans: Iterable[tuple[int, int]]) -> PointSpans:
    """The same points as spans that neither overlap nor touch, in their order.

    >>> _merge_spans([(5, 9), (1, 3), (4, 6), (12, 12)])
    ((1, 9), (12, 12))
    """
    merged: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        # Whole numbers: spans that touch are one, and no point is weighed twice.
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return tuple(merged)


def _weigh_bins(
    codec: Codec,
    spans: PointSpans,
    weights: NDArray[np.float64],
    densities: BinDensities,
) -> None:
    """Set the weight of each bin to the part of its rows that lies in the spans."""
    assert isinstance(codec.bins, BinEdges)
    edges = np.array(codec.bins.edges, np.int64)
    density = densities.get(codec.column.name)
    # From here on spans alone weigh bins: single values are spans of one point.
    weights[: len(codec.bins)] = 0.0
    for low, high in spans:
        first = int(np.searchsorted(edges, low, side="right")) - 1
        last = int(np.searchsorted(edges, high, side="right")) - 1
        for code in range(first, last + 1):
            start, end = max(low, edges[code]), min(high + 1, edges[code + 1])
            # A bin that is given whole needs no density.
            if density is None or (start, end) == (edges[code], edges[code + 1]):
                weights[code] += 1.0
            else:
                part = density.below(code, end) - density.below(code, start)
                weights[code] += part
