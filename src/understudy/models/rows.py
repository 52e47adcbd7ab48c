"""A table of synthetic rows as a model: what a generator of rows leaves where no
formula for the distribution exists.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import ReleaseError
from understudy.measurements import Clique
from understudy.models.model import Arrays, Codes, Facts
from understudy.models.rules.structural_zeros import impossible_masks, impossible_rows
from understudy.models.sampling.unmeasured import fill_columns, uniform_shares
from understudy.models.serialization import check_part_names, read_total
from understudy.schema import Schema


@dataclass(frozen=True, eq=False)
class RowsModel:
    """`table` holds codes by column; every row of it is equally likely. Without any row
    the model is uniform.

    It has no `complete`, so it is no `Conditional` model: the rows that share given
    codes are too few to stand for a distribution.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(
    ...     columns=(
    ...         Boolean(name="smoker", nullable=False),
    ...         Boolean(name="cough", nullable=False),
    ...     )
    ... )
    >>> table = {
    ...     "smoker": np.array([0, 0, 1], np.uint8),
    ...     "cough": np.array([0, 0, 1], np.uint8),
    ... }
    >>> RowsModel(schema, 6.0, table).marginal(("cough",)).tolist()
    [4.0, 2.0]
    """

    kind: ClassVar[str] = "rows"
    schema: Schema
    total: float
    table: Mapping[str, NDArray[np.integer]]

    def __post_init__(self) -> None:
        assert math.isfinite(self.total), "a total is a number"
        assert self.total >= 0, "a total is never negative"
        assert list(self.table) == list(self.schema), (
            "one column of codes for each column"
        )
        assert len({codes.shape for codes in self.table.values()}) == 1, (
            "columns are equally long"
        )
        for name, codes in self.table.items():
            assert codes.ndim == 1, "a column has one axis"
            assert codes.dtype == self.schema.codecs[name].dtype, (
                "codes have their column's type"
            )
            assert not codes.size or codes.max() < self.schema.codecs[name].size, (
                "codes lie inside their domains"
            )
        never = impossible_rows(impossible_masks(self.schema), self.table, self.rows)
        assert not never.any(), "no row is impossible"

    @property
    def rows(self) -> int:
        """Rows in the table."""
        return next(iter(self.table.values())).size

    def marginal(self, clique: Clique) -> NDArray[np.float64]:
        """Rows in each cell, scaled to the total."""
        assert len(set(clique)) == len(clique), "a clique names each column once"
        sizes = self.schema.sizes(clique)
        if not self.rows:
            result = np.array(self.total)
            for name in clique:
                result = np.multiply.outer(result, uniform_shares(self.schema, (name,)))
            return result
        # Mixed radix: one integer names a cell, so that one pass counts all of them.
        cells = np.zeros(self.rows, np.int64)
        for name, size in zip(clique, sizes, strict=True):
            cells = cells * size + self.table[name]
        counts = np.bincount(cells, minlength=math.prod(sizes)).reshape(sizes)
        return np.asarray(counts * (self.total / self.rows), np.float64)

    def sample(self, rows: int, rng: Generator) -> Codes:
        """Every row of the table as often as every other, or once more: exactly the
        table where as many rows are asked for.
        """
        if not self.rows:
            return fill_columns(self.schema, {}, rows, rng)
        # Drawing with replacement would add variance to counts that are known here.
        copies, rest = divmod(rows, self.rows)
        picked = np.concatenate(
            [np.tile(np.arange(self.rows), copies), rng.permutation(self.rows)[:rest]]
        )
        # Otherwise copies of the table would follow each other in the same order.
        rng.shuffle(picked)
        return {name: codes[picked] for name, codes in self.table.items()}

    def to_parts(self) -> tuple[Facts, Arrays]:
        """Arrays are named by position: a column's name may be no file name."""
        arrays: Arrays = {
            f"column{i}": codes for i, codes in enumerate(self.table.values())
        }
        return {"kind": self.kind, "total": self.total}, arrays

    @classmethod
    def from_parts(
        cls,
        schema: Schema,
        facts: Mapping[str, object],
        arrays: Mapping[str, NDArray[np.generic]],
    ) -> RowsModel:
        """The model again; parts that do not fit the schema raise ReleaseError."""
        check_part_names(facts, {"kind", "total"}, "facts")
        check_part_names(arrays, {f"column{i}" for i in range(len(schema))}, "arrays")
        table = {
            name: _read_column_codes(schema, name, f"column{i}", arrays)
            for i, name in enumerate(schema)
        }
        lengths = {codes.size for codes in table.values()}
        if len(lengths) > 1:
            raise ReleaseError(
                "model: its columns differ in length. The file is damaged"
            )
        if impossible_rows(impossible_masks(schema), table, lengths.pop()).any():
            raise ReleaseError(
                "model: it holds rows the schema declares impossible. The file is"
                " damaged"
            )
        return cls(schema, read_total(facts), table)


def _read_column_codes(
    schema: Schema, name: str, part: str, arrays: Mapping[str, NDArray[np.generic]]
) -> NDArray[np.integer]:
    codec = schema.codecs[name]
    # The file may be damaged or hostile: a wrong code would fail later, far from its
    # cause.
    found = arrays[part]
    if (
        not isinstance(found, np.ndarray)
        or found.dtype != codec.dtype
        or found.ndim != 1
    ):
        raise ReleaseError(
            f'model: array "{part}" has another type or shape than the schema says. The'
            " file is damaged"
        )
    codes: NDArray[np.integer] = found.astype(codec.dtype, copy=False)
    if codes.size and codes.max() >= codec.size:
        raise ReleaseError(
            f'model: array "{part}" holds a code outside its column\'s domain. The file'
            " is damaged"
        )
    return codes
