"""What is asked of one partition, and how the answers of several add up. PRIVATE.

A partition is read as a table of its own, by the code that reads a file, so a cell has
one meaning everywhere. Every answer is a sum over rows, or over units whose rows lie in
one partition (units.py): that is why partial answers add up to the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.schema import Schema
from understudy.tables.bounded_rows import BoundedRows
from understudy.tables.carriers.packed_answer import (
    AnswerPart,
    pack_answer,
    unpack_answer,
)
from understudy.tables.counting import merge_counts
from understudy.tables.streams.row_blobs import open_blobs
from understudy.tables.table import Table

Answer = list[Any]


@dataclass(frozen=True)
class PartReading:
    """How the blobs of a partition are read: `empty` is a blob without rows, `bounded`
    the schema whose unit and rules say which rows there are, `schema` the one that
    describes them.
    """

    empty: bytes
    bounded: Schema
    schema: Schema
    salt: str

    @contextmanager
    def open_part(self, blobs: Iterable[bytes]) -> Iterator[Table]:
        """One partition as a table, until it was asked."""
        with open_blobs(blobs, self.empty) as source:
            rows = BoundedRows(source, self.bounded, salt=self.salt)
            yield Table(source, self.schema, rows=rows)


@dataclass(frozen=True)
class PartQuestion:
    """A primitive of `Table`, by its name, and what it is asked with."""

    reading: PartReading
    primitive: str
    given: tuple[Any, ...] = ()

    def answer_part(self, blobs: Iterable[bytes]) -> bytes:
        """The answer about the rows of one partition."""
        ask, _ = PART_PRIMITIVES[self.primitive]
        with self.reading.open_part(blobs) as part:
            return pack_answer(ask(part, *self.given))

    def merge_answers(self, answers: Sequence[bytes]) -> bytes:
        """The answer about the rows of several."""
        _, merge = PART_PRIMITIVES[self.primitive]
        return pack_answer(merge([unpack_answer(answer) for answer in answers]))


def add_arrays(answers: Sequence[Answer]) -> Answer:
    """Arrays of one shape, added up.

    >>> [total.tolist() for total in add_arrays([[np.array([1, 2])], [np.array([3, 4])]])]
    [[4, 6]]
    """
    totals = [np.array(part, np.int64) for part in answers[0]]
    for answer in answers[1:]:
        for total, part in zip(totals, answer, strict=True):
            total += part
    return totals


def add_keyed(answers: Sequence[Answer]) -> Answer:
    """Rows of keys and how often each occurs: equal keys together, in rising order.

    >>> one, two = [np.array([[1], [5]]), np.array([1, 1])], [np.array([[5]]), np.array([2])]
    >>> keys, times = add_keyed([one, two])
    >>> keys.tolist(), times.tolist()
    ([[1], [5]], [1, 3])
    """
    keys = np.concatenate([keys for keys, _ in answers])
    counts = np.concatenate([counts for _, counts in answers])
    return list(merge_counts(keys, counts))


def _add_wholes(answers: Sequence[Answer]) -> Answer:
    return [[sum(answer[0][0] for answer in answers)]]


def _add_labels(answers: Sequence[Answer]) -> Answer:
    totals: dict[str, int] = {}
    for labels, times in answers:
        for label, count in zip(labels, times.tolist(), strict=True):
            totals[label] = totals.get(label, 0) + count
    # Code points order texts as their bytes in UTF-8 do, which is how DuckDB sorts.
    labels = sorted(totals)
    return [labels, np.array([totals[label] for label in labels], np.int64)]


def _add_cell_sums(answers: Sequence[Answer]) -> Answer:
    """Sums of any size by cell."""
    totals: dict[int, list[int]] = {}
    for places, *sums in answers:
        for i, place in enumerate(places.tolist()):
            added = [column[i] for column in sums]
            held = totals.get(place, [0] * len(added))
            totals[place] = [
                one + other for one, other in zip(held, added, strict=True)
            ]
    places = sorted(totals)
    columns = [
        [totals[place][i] for place in places] for i in range(len(answers[0]) - 1)
    ]
    return [np.array(places, np.int64), *columns]


def _join_rows(answers: Sequence[Answer]) -> Answer:
    """Rows of different partitions, one after another."""
    return [np.concatenate(columns) for columns in zip(*answers, strict=True)]


def _ask_cell_sums(part: Table, *given: Any) -> Sequence[AnswerPart]:
    places, sums = part.cell_sums(*given)
    return [places, *sums]


def _ask_lattice(part: Table, column: str) -> Sequence[AnswerPart]:
    positions, times = part.lattice(column)
    return [positions[:, None], times]


def _ask_cell_values(part: Table, *given: Any) -> Sequence[AnswerPart]:
    places, values, times = part.cell_values(*given)
    return [np.stack([places, values], axis=1), times]


def _ask_labels(part: Table, column: str, by_unit: bool) -> Sequence[AnswerPart]:
    return part.labels(column, by_unit=by_unit)


def _one_count(count: int) -> Sequence[AnswerPart]:
    return [np.array([count], np.int64)]


PART_PRIMITIVES: dict[
    str,
    tuple[
        Callable[..., Sequence[AnswerPart]],
        Callable[[Sequence[Answer]], Answer],
    ],
] = {
    "broken": (lambda part: _one_count(part.broken()), add_arrays),
    "count_units": (lambda part: _one_count(part.count_units()), add_arrays),
    "count_valid": (lambda part, name: _one_count(part.count_valid(name)), add_arrays),
    "sizes": (lambda part: [part.sizes()], add_arrays),
    "votes": (lambda part, names: [part.votes(names)], add_arrays),
    "lattice_counts": (
        lambda part, name, edges: [part.lattice_counts(name, edges)],
        add_arrays,
    ),
    "counts": (lambda part, cliques: part.counts(cliques), add_arrays),
    "sparse_counts": (lambda part, clique: part.sparse_counts(clique), add_keyed),
    "lattice": (_ask_lattice, add_keyed),
    "cell_values": (_ask_cell_values, add_keyed),
    "sum": (lambda part, *given: [[part.sum(*given)]], _add_wholes),
    "labels": (_ask_labels, _add_labels),
    "cell_sums": (_ask_cell_sums, _add_cell_sums),
    "unit_cells": (lambda part, clique: part.unit_cells(clique), _join_rows),
}
"""How each primitive is asked of one partition, and how its answers are merged."""
