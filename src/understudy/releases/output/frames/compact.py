"""Columns of a long table on their way to a frame, in as few bytes as hold them.

A cell takes ten bytes while it is worked on: an exact integer, whether it is missing,
and how that is spelled. Most columns have few values and hardly a missing cell, so a
long table would take many times the memory of its codes and of its frame. Here the
chunks of a column are kept in narrow types, and laid out in full one column at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.releases.output.frames.cells import ColumnCells
from understudy.releases.output.frames.decoding import (
    BinDensities,
    CodeBatches,
    PinnedPoints,
    decode_chunks,
)
from understudy.schema import Schema

ScalarT = TypeVar("ScalarT", bound=np.generic)


def decode_all(
    schema: Schema,
    codes: CodeBatches,
    rng: Generator,
    pins: PinnedPoints | None = None,
    densities: BinDensities | None = None,
) -> MutableMapping[str, ColumnCells]:
    """The rows at once, the same as those of `decode_chunks` under the same seed."""
    chunks = decode_chunks(schema, codes, rng, pins, densities)
    first = next(chunks)
    second = next(chunks, None)
    return first if second is None else PackedColumns(chain((first, second), chunks))


class PackedColumns(MutableMapping[str, ColumnCells]):
    """Cells of columns by name; each is put together anew whenever it is asked for.

    >>> from understudy.schema import Integer
    >>> present, unspelled = np.zeros(2, np.bool_), np.zeros(2, np.uint8)
    >>> part = ColumnCells(Integer(name="age"), np.array([3, 4]), present, unspelled)
    >>> packed = PackedColumns([{"age": part}, {"age": part}])
    >>> packed["age"].index.tolist(), packed["age"].index.dtype
    ([3, 4, 3, 4], dtype('int64'))
    """

    def __init__(self, chunks: Iterable[Mapping[str, ColumnCells]]) -> None:
        self._parts: dict[str, list[ColumnCells]] = {}
        for chunk in chunks:
            for name, cells in chunk.items():
                self._parts.setdefault(name, []).append(narrow_cells(cells))

    def __getitem__(self, name: str) -> ColumnCells:
        parts = self._parts[name]
        return ColumnCells(
            parts[0].column,
            np.concatenate([part.index for part in parts], dtype=np.int64),
            np.concatenate([part.null for part in parts]),
            np.concatenate([part.spelled for part in parts]),
            parts[0].labels,
        )

    def __setitem__(self, name: str, cells: ColumnCells) -> None:
        self._parts[name] = [narrow_cells(cells)]

    def __delitem__(self, name: str) -> None:
        del self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def narrow_cells(cells: ColumnCells) -> ColumnCells:
    """The same cells with the smallest integers that hold them, and no memory for masks
    that are empty. Not for arithmetic, which would overflow.
    """
    index = cells.index
    ends = (int(index.min()), int(index.max())) if len(index) else (0, 0)
    kind = np.result_type(*map(np.min_scalar_type, ends))
    # A negative and a very large integer have no common integer type in numpy.
    is_integer = kind.kind in "iu"
    return replace(
        cells,
        index=index.astype(kind) if is_integer else index,
        null=_share_if_zero(cells.null),
        spelled=_share_if_zero(cells.spelled),
    )


def _share_if_zero(values: NDArray[ScalarT]) -> NDArray[ScalarT]:
    if values.any():
        return values
    return np.broadcast_to(np.zeros(1, values.dtype), values.shape)
