"""Partial rows on their way to being completed: checked, and gathered into groups that
share the same given codes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused, SchemaError
from understudy.measurements import Clique
from understudy.models.sampling.rounding import round_groups
from understudy.schema import Schema

GivenCodes = Mapping[str, NDArray[np.integer]]


def check_given(schema: Schema, given: GivenCodes) -> int:
    """The number of partial rows; refuses codes that are no codes.

    >>> from understudy.schema import Boolean
    >>> check_given(Schema(columns=(Boolean(name="smoker"),)), {"smoker": np.array([0, 1, 1])})
    3
    """
    if not given:
        raise Refused(
            "Completing rows needs at least one given column. To get whole rows, sample"
            " instead"
        )
    lengths = set()
    for name, codes in given.items():
        if name not in schema:
            raise SchemaError(
                f'column "{name}" takes no part in this model, so it cannot be given'
            )
        # Errors name the column and never the code, which is somebody's cell.
        codes = np.asarray(codes)
        if codes.ndim != 1 or not np.issubdtype(codes.dtype, np.integer):
            raise SchemaError(
                f'column "{name}": given codes must be one column of whole numbers'
            )
        if codes.size and (codes.min() < 0 or codes.max() >= schema.codecs[name].size):
            raise SchemaError(f'column "{name}": a given code lies outside its domain')
        lengths.add(codes.size)
    if len(lengths) > 1:
        raise SchemaError(
            "given columns differ in length. Give one code per row in each"
        )
    return lengths.pop()


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Rows that share the same given codes: the distinct `keys`, and which of them each
    row has.
    """

    keys: NDArray[np.int64]
    member: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows in each group."""
        return np.bincount(self.member, minlength=len(self.keys))


def group_rows(given: GivenCodes, clique: Clique, rows: int) -> RowGroups:
    """Gather rows by their codes in a clique's columns; the empty clique puts them all
    in one group.

    >>> groups = group_rows({"a": np.array([1, 0, 1])}, ("a",), 3)
    >>> groups.keys.tolist(), groups.member.tolist(), groups.counts.tolist()
    ([[0], [1]], [1, 0, 1], [1, 2])
    """
    if not clique:
        return RowGroups(np.zeros((1, 0), np.int64), np.zeros(rows, np.int64))
    columns = [np.asarray(given[name]).astype(np.int64) for name in clique]
    radix = tuple(int(column.max(initial=0)) + 1 for column in columns)
    if (
        math.prod(radix) < 2**62
    ):  # one number per row sorts many times faster than a row of numbers
        cells, member = np.unique(
            np.ravel_multi_index(tuple(columns), radix), return_inverse=True
        )
        keys = np.column_stack(np.unravel_index(cells, radix)).astype(np.int64)
    else:
        keys, member = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return RowGroups(keys, member.reshape(-1))


def deal_cells(
    expected: NDArray[np.float64],
    sizes: NDArray[np.int64],
    groups: RowGroups,
    rng: Generator,
) -> NDArray[np.int64]:
    """For every row the index of a cell of its group: counts by rounding, and inside a
    group every row equally likely to get each.

    `sizes[g]` consecutive entries of `expected` belong to group g. A row's own
    distribution is exactly its group's.

    >>> groups = RowGroups(np.array([[0], [1]]), np.array([1, 0, 1, 1]))
    >>> cells = deal_cells(
    ...     np.array([1.0, 1.0, 2.0]), np.array([1, 2]), groups, np.random.default_rng(0)
    ... )
    >>> int(cells[1]), sorted(set(cells[[0, 2, 3]].tolist()))
    (0, [1, 2])
    """
    counts = round_groups(expected, sizes, groups.counts, rng)
    # Rows in random order, then stably by group; short numbers are sorted by counting.
    order = rng.permutation(groups.member.size)
    member = groups.member.astype(np.min_scalar_type(len(groups.keys)))
    order = order[np.argsort(member[order], kind="stable")]
    cells = np.empty(groups.member.size, np.int64)
    # Counts are exact for the group; only who gets which cell is random.
    cells[order] = np.repeat(np.arange(expected.size), counts)
    return cells
