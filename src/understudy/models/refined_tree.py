"""A junction tree, and marginals across its nodes that its rows are to meet as well.

A tree of bounded size leaves out most marginals of a table with many dependent columns.
What was measured of them is kept here as aims: counts that the rows of a sample are
brought to by exchanging some for others of the same tree
(models/sampling/row_exchange.py). That takes too long for a great many rows: of those,
some are left out and some taken twice, by weights that bring a sample to the aims by
proportional fitting; then some are exchanged until the columns are the tree's again.
A few rows are the tree's own.

Rows completed from given codes follow the tree alone, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import ReleaseError
from understudy.measurements import Clique
from understudy.models.arrays import Array, align_axes
from understudy.models.model import MAX_ROUNDED_ROWS, Arrays, Codes, Facts
from understudy.models.sampling.to_targets import (
    MAX_EXCHANGED_ROWS,
    MAX_REFINED_ROWS,
    MIN_REFINED_ROWS,
    draw_matching_rows,
    draw_tree_rows,
    match_columns,
    target_shares,
)
from understudy.models.serialization import check_part_names
from understudy.models.tree import TreeModel
from understudy.schema import Schema

# Cells of a table of weights that others are added up in.
MAX_GROUPED_WEIGHT_CELLS = 1 << 15

# Rows whose cells are looked up together.
WEIGHT_BLOCK_ROWS = 1 << 13

# Rows that weights are found with, how often every table is fitted, the rows that
# every cell is taken to have more on both sides, for few rows say little, and the
# largest weight.
WEIGHT_TRIAL_ROWS, WEIGHT_FIT_SWEEPS, WEIGHT_PSEUDO_ROWS, MAX_ROW_WEIGHT = (
    1 << 16,
    2,
    100.0,
    4.0,
)


@dataclass(frozen=True, eq=False)
class RefinedTreeModel:
    """A `tree`, and `aims` for cliques that no node of it holds: expected counts that
    sum to about its total.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(
    ...     columns=tuple(Boolean(name=name, nullable=False) for name in ("smoker", "cough"))
    ... )
    >>> tree = TreeModel.from_marginals(
    ...     schema,
    ...     1000.0,
    ...     {("smoker",): np.array([700.0, 300.0]), ("cough",): np.array([700.0, 300.0])},
    ... )
    >>> model = RefinedTreeModel(
    ...     tree, {("smoker", "cough"): np.array([[600.0, 100.0], [100.0, 200.0]])}
    ... )
    >>> rows = model.sample(1000, np.random.default_rng(0))
    >>> bool(abs(int(((rows["smoker"] == 1) & (rows["cough"] == 1)).sum()) - 200) < 10)
    True
    """

    kind: ClassVar[str] = "aimed"
    tree: TreeModel
    aims: Mapping[Clique, Array]

    def __post_init__(self) -> None:
        for clique, table in self.aims.items():
            assert len(set(clique)) == len(clique) > 1, (
                "an aim is about several columns, each named once"
            )
            assert table.shape == self.schema.sizes(clique), "one count for each cell"
            assert np.all(np.isfinite(table)), "aims are numbers"
            assert table.min(initial=0.0) >= 0, "aims are never negative"

    @property
    def schema(self) -> Schema:
        """The closed schema it is about."""
        return self.tree.schema

    @property
    def total(self) -> float:
        """The estimated number of rows."""
        return self.tree.total

    @property
    def cells(self) -> int:
        """Cells of the junction tree."""
        return self.tree.cells

    def marginal(self, clique: Clique) -> Array:
        """An aim where there is one for these columns, and else what the tree expects."""
        return (
            self._target_marginal(clique)
            if self._target_clique(clique)
            else self.tree.marginal(clique)
        )

    def marginals(self, cliques: Iterable[Clique]) -> dict[Clique, Array]:
        """The same for many cliques."""
        asked = list(cliques)
        rest = self.tree.marginals([c for c in asked if not self._target_clique(c)])
        return {c: rest[c] if c in rest else self._target_marginal(c) for c in asked}

    def sample(self, rows: int, rng: Generator) -> Codes:
        """Rows of the tree by rounding, refined, in random order."""
        # Rounding holds all rows of a node at once, so very many are drawn in chunks.
        if rows > MAX_ROUNDED_ROWS:
            chunks = list(self.sample_chunks(rows, rng, MAX_ROUNDED_ROWS))
            whole: Codes = {}
            for name in self.schema:
                whole[name] = np.concatenate([chunk[name] for chunk in chunks])
            return whole
        # Among a handful of rows an exchange has nothing to improve.
        if rows < MIN_REFINED_ROWS or not self.total > 0 or not self.aims:
            return self.tree.sample(rows, rng)
        if rows > MAX_REFINED_ROWS:
            return self._sample_weighted(rows, rng)
        return draw_matching_rows(
            self.schema, self.tree.beliefs, self._tables, rows, rng, rare=0.0
        )

    def sample_chunks(
        self, rows: int, rng: Generator, size: int = MAX_ROUNDED_ROWS
    ) -> Iterator[Codes]:
        """The same a chunk at a time, each for itself."""
        if size < 1:
            raise ValueError("a chunk holds at least one row")
        size = min(size, MAX_ROUNDED_ROWS)
        for start in range(0, rows, size):
            yield self.sample(min(size, rows - start), rng)

    def complete(
        self, given: Mapping[str, NDArray[np.integer]], rng: Generator
    ) -> Codes:
        """Every partial row completed from the tree's exact conditional distribution."""
        return self.tree.complete(given, rng)

    def to_parts(self) -> tuple[Facts, Arrays]:
        """The tree's parts and the aims, by position."""
        facts, arrays = self.tree.to_parts()
        aims: Arrays = {f"aim{i}": table for i, table in enumerate(self.aims.values())}
        return {
            **facts,
            "kind": self.kind,
            "aims": [list(clique) for clique in self.aims],
        }, {**arrays, **aims}

    @classmethod
    def from_parts(
        cls,
        schema: Schema,
        facts: Mapping[str, object],
        arrays: Mapping[str, NDArray[np.generic]],
    ) -> RefinedTreeModel:
        """The model again; parts that do not fit the schema raise ReleaseError."""
        check_part_names(facts, {"kind", "total", "cliques", "aims"}, "facts")
        listed = facts["aims"]
        # The tree's own reader refuses arrays that it does not know.
        own = {name: array for name, array in arrays.items() if name.startswith("aim")}
        tree = TreeModel.from_parts(
            schema,
            {**{k: v for k, v in facts.items() if k != "aims"}, "kind": TreeModel.kind},
            {name: array for name, array in arrays.items() if name not in own},
        )
        if not isinstance(listed, list | tuple):
            raise ReleaseError("model: its aims are no list. The file is damaged")
        check_part_names(own, {f"aim{i}" for i in range(len(listed))}, "arrays")
        aims: dict[Clique, Array] = {}
        for i, names in enumerate(listed):
            clique = _read_target_clique(names, schema)
            values = _read_target_table(own, f"aim{i}", schema.sizes(clique))
            are_counts = np.all(np.isfinite(values)) and values.min(initial=0.0) >= 0
            if not are_counts or clique in aims:
                raise ReleaseError(
                    f'model: array "aim{i}" holds no counts, or is there twice. The'
                    " file is damaged"
                )
            aims[clique] = values
        return cls(tree, aims)

    def _target_clique(self, clique: Clique) -> Clique | None:
        return self._aims_by_columns.get(frozenset(clique))

    @cached_property
    def _aims_by_columns(self) -> dict[frozenset[str], Clique]:
        """The first aim of each set of columns."""
        return {frozenset(aim): aim for aim in reversed(list(self.aims))}

    def _target_marginal(self, clique: Clique) -> Array:
        aim = self._target_clique(clique)
        assert aim is not None
        return np.asarray(
            self.aims[aim].transpose([aim.index(name) for name in clique]), np.float64
        )

    @cached_property
    def _tables(self) -> dict[Clique, Array]:
        """Everything a sample should meet, as shares."""
        return target_shares(
            self.schema,
            self.tree.beliefs,
            self.tree.potentials,
            self.aims,
            self.marginals,
        )

    def _draw_rows(self, rows: int, rng: Generator) -> Codes:
        return draw_tree_rows(self.schema, self.tree.beliefs, rows, rng)

    @cached_property
    def _weights(self) -> dict[Clique, Array]:
        """For every cell of every table the logarithm of its weight, found by
        proportional fitting of some rows.

        What those rows should have is what they have and the aims' distance from the
        tree: their own chance errors are none to mend.
        """
        codes = {
            name: column.astype(np.intp)
            for name, column in self._draw_rows(
                WEIGHT_TRIAL_ROWS, np.random.default_rng(0)
            ).items()
        }
        near = [
            c
            for c in self.aims
            if len(c) < 3 or self.tree.beliefs.tree.home(c) is not None
        ]
        expected = self.tree.marginals(near)
        wanted: dict[Clique, Array] = {}
        for c, table in self._tables.items():
            wanted[c] = np.bincount(
                self._cell_indices(c, codes), minlength=table.size
            ).astype(np.float64)
            if c in expected:
                # The tree has its own errors on these cells; only the difference is to
                # be added.
                moved = (
                    self.aims[c] / max(self.aims[c].sum(), 1e-300)
                    - expected[c] / self.total
                )
                wanted[c] = np.maximum(
                    wanted[c] + WEIGHT_TRIAL_ROWS * moved.ravel(), 0.0
                )
        found, weight = (
            {c: np.zeros(table.size) for c, table in self._tables.items()},
            np.ones(WEIGHT_TRIAL_ROWS),
        )
        for _ in range(WEIGHT_FIT_SWEEPS):
            for c, logs in found.items():
                place = self._cell_indices(c, codes)
                # Pseudo-rows keep cells that a trial hardly reached near a weight of
                # one.
                ratio = (wanted[c] + WEIGHT_PSEUDO_ROWS) / (
                    np.bincount(place, weight, minlength=logs.size) + WEIGHT_PSEUDO_ROWS
                )
                weight *= ratio[place]
                logs += np.log(ratio)
        return {c: logs.reshape(self._tables[c].shape) for c, logs in found.items()}

    def _cell_indices(
        self, clique: Clique, codes: Mapping[str, NDArray[np.intp]]
    ) -> NDArray[np.intp]:
        """The cell of each row in a table of these columns."""
        place = codes[clique[0]]
        for name in clique[1:]:
            place = place * self.schema.column_sizes[name] + codes[name]
        return place

    @cached_property
    def _grouped_log_weights(self) -> dict[Clique, Array]:
        """The same weights in fewer tables: those that share columns are added up where
        one table of them all stays small.
        """
        sizes = self.schema.column_sizes
        found: dict[Clique, Array] = {}
        for clique, table in sorted(
            self._weights.items(), key=lambda one: -one[1].size
        ):
            home = next((c for c in found if set(clique) <= set(c)), None) or next(
                (
                    c
                    for c in found
                    if set(c) & set(clique)
                    and math.prod(map(sizes.__getitem__, {*c, *clique}))
                    <= max(MAX_GROUPED_WEIGHT_CELLS, found[c].size)
                ),
                None,
            )
            union = (
                clique
                if home is None
                else (*home, *(n for n in clique if n not in home))
            )
            whole = np.zeros([sizes[n] for n in union])
            if home is not None:
                whole += align_axes(found.pop(home), home, union)
            found[union] = whole + align_axes(table, clique, union)
        return found

    def _row_log_weights(self, codes: Codes, rows: int) -> Array:
        """The logarithm of every row's weight, table by table while a block of rows is
        near the processor.
        """
        found = np.zeros(rows)
        for first in range(0, rows, WEIGHT_BLOCK_ROWS):
            block = {
                name: column[first : first + WEIGHT_BLOCK_ROWS].astype(np.intp)
                for name, column in codes.items()
            }
            for clique, table in self._grouped_log_weights.items():
                found[first : first + WEIGHT_BLOCK_ROWS] += table.ravel()[
                    self._cell_indices(clique, block)
                ]
        return found

    def _sample_weighted(self, rows: int, rng: Generator) -> Codes:
        """Many rows by weight, some exchanged so that every column is met: proportional
        fitting of a trial leaves columns farther off than the tree has them.
        """
        codes = self._pick_weighted(rows, rng)
        fresh = self._pick_weighted(MAX_EXCHANGED_ROWS, rng)
        return match_columns(self.schema, codes, fresh, self._column_shares, rng)

    @cached_property
    def _column_shares(self) -> dict[Clique, Array]:
        names = [(name,) for name, size in self.schema.column_sizes.items() if size > 1]
        return {
            clique: table / max(float(table.sum()), 1e-300)
            for clique, table in self.tree.marginals(names).items()
        }

    def _pick_weighted(self, rows: int, rng: Generator) -> Codes:
        codes = self._draw_rows(rows, rng)
        weight = np.clip(
            np.exp(self._row_log_weights(codes, rows)),
            1 / MAX_ROW_WEIGHT,
            MAX_ROW_WEIGHT,
        )
        # Systematic sampling: one random start, so each row comes ⌊w⌋ or ⌈w⌉ times.
        marks = np.floor(np.cumsum(weight) * (rows / weight.sum()) + rng.random())
        marks[-1] = rows
        times = np.diff(np.minimum(marks, rows), prepend=0).astype(np.int64)
        picked = rng.permutation(np.repeat(np.arange(rows), times))
        return {name: column[picked] for name, column in codes.items()}


def _read_target_clique(names: object, schema: Schema) -> Clique:
    if not isinstance(names, list | tuple) or not all(
        isinstance(n, str) and n in schema for n in names
    ):
        raise ReleaseError(
            "model: its aims are not about the schema's columns. The file is damaged"
        )
    if len(set(names)) != len(names) or len(names) < 2:
        raise ReleaseError(
            "model: an aim is about one column, or names one twice. The file is damaged"
        )
    return tuple(names)


def _read_target_table(
    arrays: Mapping[str, NDArray[np.generic]], part: str, shape: tuple[int, ...]
) -> Array:
    table = arrays[part]
    is_array = isinstance(table, np.ndarray) and table.dtype == np.float64
    if not is_array or table.shape != shape:
        raise ReleaseError(
            f'model: array "{part}" has another type or shape than the schema says. The'
            " file is damaged"
        )
    return np.asarray(table, np.float64)
