"""Rows of codes → cells, chunk by chunk: values inside bins, rules of the schema, and
generated keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.models.rules.repair_values import repair_broken_values
from understudy.releases.output.frames.cells import ColumnCells, cells_from_decoded
from understudy.releases.output.frames.generated_keys import KeyGenerator, key_column
from understudy.schema import BinEdges, Column, DecodedCells, Lattice, Schema
from understudy.schema.columns.bin_density import BinDensity
from understudy.schema.columns.weekdays import move_to_weekdays

DECODE_CHUNK_ROWS = 1 << 17
"""Rows decoded at a time. Fixed, so that a seed means the same rows in a frame and in a
file.
"""

Codes = Mapping[str, NDArray[np.integer]]
CodeBatches = Codes | Iterable[Codes]
"""Rows of codes, at once or in batches."""

PointSpans = tuple[tuple[int, int], ...]
"""Closed spans of lattice points, in order, that neither overlap nor touch."""

PinnedPoints = Mapping[str, PointSpans]
"""Lattice points at which given columns stay, although their codes are bins of several
points.
"""

MAX_SPAN_REDRAWS = 16
"""Draws of a value inside its bin until it lies in the given spans. What is still
outside has a span that is a small part of its bin, where every density is nearly flat.
"""

BinDensities = Mapping[str, BinDensity]
"""How values lie inside the bins of columns that have any."""


def decode_chunks(
    schema: Schema,
    codes: CodeBatches,
    rng: Generator,
    pins: PinnedPoints | None = None,
    densities: BinDensities | None = None,
) -> Iterator[dict[str, ColumnCells]]:
    """The rows in chunks, columns in schema order; batches of codes are taken one at a
    time. Generated keys take the place of the id.
    """
    decoder = _RowDecoder(schema, rng, pins, densities or {}, KeyGenerator(schema, rng))
    for batch in (codes,) if isinstance(codes, Mapping) else codes:
        rows = len(next(iter(batch.values()))) if batch else 0
        # An empty batch gives one empty chunk: a file needs its header, a frame its
        # columns.
        for start in range(0, max(rows, 1), DECODE_CHUNK_ROWS):
            end = min(start + DECODE_CHUNK_ROWS, rows)
            chunk = {name: batch[name][start:end] for name in schema}
            yield decoder.decode_chunk(chunk, end - start)


@dataclass(frozen=True)
class _RowDecoder:
    """Decodes the chunks of one sample, one after the other."""

    schema: Schema
    rng: Generator
    pins: PinnedPoints | None
    densities: BinDensities
    keys: KeyGenerator

    def decode_chunk(self, codes: Codes, rows: int) -> dict[str, ColumnCells]:
        """The cells of a chunk, columns in schema order."""
        person = None
        if self.keys.has_persons:
            codes, person = self.keys.gather_rows(codes, rows)
        decoded = self._decode_rows(codes)
        if person is not None:
            decoded = self.keys.make_constants_agree(
                codes, decoded, person, partial(self._redraw_column, codes)
            )
        cells = {
            name: cells_from_decoded(self.schema.codecs[name], column)
            for name, column in decoded.items()
        }
        if not self.schema.keys:
            return cells
        if person is not None:
            person = self.keys.split_persons(decoded, person)
        for name, key in self.keys.number_rows(person, rows).items():
            cells[name] = _key_cells(self.schema[name], key)
        order = [column.name for column in self.schema.columns]
        return {name: cells[name] for name in order if name in cells}

    def _decode_rows(self, codes: Codes) -> dict[str, DecodedCells]:
        """Values for codes, such that every rule of the schema is kept."""
        decoded = {name: self._decode_column(name, codes[name]) for name in self.schema}
        for name, spans in (self.pins or {}).items():
            pinned = self._draw_in_spans(name, codes, decoded[name].index, spans)
            decoded[name] = replace(decoded[name], index=pinned)
        if not self.schema.forbidden_predicates:
            return decoded
        return repair_broken_values(
            self.schema,
            codes,
            decoded,
            self.rng,
            redraw=partial(self._redraw_column, codes),
            pinned=set(self.pins or ()),
            # A row that is searched for has no given values.
            searches=self.pins is None,
        )

    def _draw_in_spans(
        self,
        name: str,
        codes: Codes,
        index: NDArray[np.int64],
        spans: PointSpans,
    ) -> NDArray[np.int64]:
        """These lattice points, those outside the spans drawn anew inside them."""
        if len(spans) == 1 and spans[0][0] == spans[0][1]:
            return np.full(len(index), spans[0][0], np.int64)
        index = index.copy()
        values = codes[name] < len(self.schema.codecs[name].bins)
        outside = np.flatnonzero(values & ~_lie_in_spans(index, spans))
        for _ in range(MAX_SPAN_REDRAWS):
            if not len(outside):
                return index
            index[outside] = self._redraw_column(codes, name, outside)
            outside = outside[~_lie_in_spans(index[outside], spans)]
        bins = self.schema.codecs[name].bins
        assert isinstance(bins, BinEdges)
        index[outside] = _draw_flat_in_spans(
            codes[name][outside].astype(np.int64), bins, spans, self.rng
        )
        return index

    def _decode_column(self, name: str, codes: NDArray[np.integer]) -> DecodedCells:
        codec = self.schema.codecs[name]
        decoded = codec.decode(codes, self.rng, self.densities.get(name))
        weights, bins = getattr(codec.column, "weekdays", ()), codec.bins
        if not weights or not isinstance(bins, BinEdges):
            return decoded
        assert isinstance(codec.column, Lattice)
        # Codes beyond the bins mean missing or other; any bin does for those, because
        # their place is not used.
        place = np.minimum(codes.astype(np.int64), len(bins) - 1)
        edges = np.array(bins.edges, np.int64)
        moved = move_to_weekdays(
            codec.column,
            decoded.index,
            edges[place],
            edges[place + 1] - 1,
            weights,
            self.rng,
        )
        return DecodedCells(moved, decoded.state)

    def _redraw_column(
        self, codes: Codes, name: str, rows: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """New values of some rows, inside the bins that they are in."""
        return self._decode_column(name, codes[name][rows]).index


def _lie_in_spans(index: NDArray[np.int64], spans: PointSpans) -> NDArray[np.bool_]:
    """Which lattice points lie in some span.

    >>> _lie_in_spans(np.array([1, 4, 9]), ((0, 3), (9, 9))).tolist()
    [True, False, True]
    """
    lows, highs = np.array(spans, np.int64).T
    place = np.searchsorted(lows, index, side="right") - 1
    inside = (place >= 0) & (index <= highs[np.maximum(place, 0)])
    return np.asarray(inside, np.bool_)


def _draw_flat_in_spans(
    codes: NDArray[np.int64],
    bins: BinEdges,
    spans: PointSpans,
    rng: Generator,
) -> NDArray[np.int64]:
    """A point for each code, drawn evenly from the part of its bin that the spans hold."""
    drawn = np.empty(len(codes), np.int64)
    for code in np.unique(codes):
        start, end = bins.edges[code], bins.edges[code + 1]
        parts = [(max(low, start), min(high + 1, end)) for low, high in spans]
        inside = [np.arange(low, high) for low, high in parts if low < high]
        rows = codes == code
        drawn[rows] = rng.choice(np.concatenate(inside), int(rows.sum()))
    return drawn


def _key_cells(column: Column, key: NDArray[np.int64]) -> ColumnCells:
    return ColumnCells(
        key_column(column),
        key,
        np.zeros(len(key), np.bool_),
        np.zeros(len(key), np.uint8),
    )
