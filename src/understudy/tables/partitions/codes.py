"""Codes that stay in their partitions, and marginals counted from them. PRIVATE."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Schema
from understudy.tables.carriers.carrier import Carrier
from understudy.tables.carriers.packed_answer import pack_answer, unpack_answer
from understudy.tables.clique_cover import Clique
from understudy.tables.counting import (
    COUNT_BLOCK_ROWS,
    CodedColumns,
    Tally,
    count_sparse,
)
from understudy.tables.partitions.questions import (
    PartQuestion,
    PartReading,
    add_arrays,
    add_keyed,
)
from understudy.tables.partitions.units import BoundedParts
from understudy.tables.row_codes import Progress, RowCodes
from understudy.tables.streams.row_blobs import count_blob_rows


@dataclass(frozen=True)
class EncodedPart:
    """Blobs of codes made of the rows of one partition: the number of rows, then one
    array for each column of the schema.
    """

    reading: PartReading

    def change_part(self, blobs: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """The codes of one partition."""
        with self.reading.open_part(blobs) as part:
            for batch in part.read_codes():
                codes = list(batch.values())
                rows = len(codes[0])
                size = count_blob_rows(sum(each.nbytes for each in codes), rows)
                for start in range(0, rows, size):
                    cut = [each[start : start + size] for each in codes]
                    yield 0, pack_answer([np.array([len(cut[0])], np.int64), *cut])


@dataclass(frozen=True)
class CodeCount:
    """Dense counts of cliques, from the codes of one partition; first the number of
    rows.
    """

    names: tuple[str, ...]
    cliques: tuple[Clique, ...]
    sizes: Mapping[str, int]

    def answer_part(self, blobs: Iterable[bytes]) -> bytes:
        """The counts of one partition."""
        tally = Tally(self.cliques, self.sizes, threads=1)
        for rows, columns in _read_codes(self.names, blobs):
            tally.add({name: columns[name] for name in self.sizes}, rows=rows)
        return pack_answer(tally.counts())

    def merge_answers(self, answers: Sequence[bytes]) -> bytes:
        """Counts, added up."""
        return pack_answer(add_arrays([unpack_answer(answer) for answer in answers]))


@dataclass(frozen=True)
class SparseCodeCount:
    """Counts of the cells of a clique that occur, from the codes of one partition."""

    names: tuple[str, ...]
    clique: Clique
    sizes: Mapping[str, int]

    def answer_part(self, blobs: Iterable[bytes]) -> bytes:
        """The counts of one partition."""
        batches = (columns for _, columns in _read_codes(self.names, blobs))
        return pack_answer(count_sparse(self.clique, self.sizes, batches))

    def merge_answers(self, answers: Sequence[bytes]) -> bytes:
        """Counts, added up by cell."""
        return pack_answer(add_keyed([unpack_answer(answer) for answer in answers]))


def _read_codes(
    names: Sequence[str], blobs: Iterable[bytes]
) -> Iterator[tuple[int, CodedColumns]]:
    """The codes of blobs and how many rows these are, small blobs joined."""
    waiting: list[list[NDArray[np.unsignedinteger]]] = []
    rows = 0
    for blob in blobs:
        held, *codes = unpack_answer(blob)
        waiting.append(codes)
        rows += int(held[0])
        if rows >= COUNT_BLOCK_ROWS:
            yield rows, _join_codes(names, waiting)
            waiting, rows = [], 0
    if waiting:
        yield rows, _join_codes(names, waiting)


def _join_codes(
    names: Sequence[str], waiting: Sequence[Sequence[NDArray[np.unsignedinteger]]]
) -> CodedColumns:
    columns = zip(*waiting, strict=True)
    return {
        name: np.concatenate(codes) for name, codes in zip(names, columns, strict=True)
    }


class PartitionedCodes(RowCodes):
    """Codes of bounded rows under one schema, kept where the rows are."""

    def __init__(self, rows: BoundedParts, schema: Schema) -> None:
        super().__init__(rows, schema)
        self._parts = rows
        self._coded: Carrier | None = None

    def encode_rows(self, progress: Progress | None = None) -> bool:
        """Encode every column of a closed schema once, in the partitions."""
        if self._coded is None:
            reading = self._parts.describe_reading(self._schema)
            change = EncodedPart(reading)
            coded = self._parts.carrier.change_parts(change, regroup=False)
            coded.load_rows()
            self._coded = coded
        if progress is not None:
            progress("encoding", 1.0)
        return True

    def count_cells(
        self, clique: Clique
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cells of a clique that occur, in rising order, and their counts."""
        if not self._schema.is_closed:
            codes, counts = self._ask_rows("sparse_counts", clique)
            return codes, counts
        sizes = self.find_sizes(clique)
        self.encode_rows()
        assert self._coded is not None
        work = SparseCodeCount(tuple(self._schema), clique, sizes)
        codes, counts = unpack_answer(self._coded.add_up(work))
        return codes, counts

    def _tally_cliques(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        if not self._schema.is_closed or not list(self._schema):
            return self._ask_rows("counts", list(cliques))
        names = dict.fromkeys(name for clique in cliques for name in clique)
        work = CodeCount(
            tuple(self._schema), tuple(cliques), self.find_sizes(list(names))
        )
        self.encode_rows()
        assert self._coded is not None
        return unpack_answer(self._coded.add_up(work))

    def _ask_rows(self, primitive: str, given: object) -> list[Any]:
        reading = self._parts.describe_reading(self._schema)
        question = PartQuestion(reading, primitive, (given,))
        return unpack_answer(self._parts.carrier.add_up(question))
