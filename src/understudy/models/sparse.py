"""A few cells of a domain too large to list, with their weights: what a stability
histogram leaves.
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
from understudy.models.sampling.conditions import (
    RowGroups,
    check_given,
    deal_cells,
    group_rows,
)
from understudy.models.sampling.rounding import round_groups
from understudy.models.sampling.unmeasured import fill_columns, uniform_shares
from understudy.models.serialization import (
    check_part_names,
    read_clique,
    read_codes,
    read_shares,
    read_total,
)
from understudy.schema import Schema


@dataclass(frozen=True, eq=False)
class SparseModel:
    """`cells` has one row per cell and one column per column of `clique`; `shares` are
    the cells' weights and sum to one.

    Cells that are not listed have no mass. A model without any cell is uniform over the
    domain, as are columns outside the clique. `suppressed` is the share of the
    estimated rows whose cells were too rare to be shown; the listed cells stand in for
    them.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(
    ...     columns=(
    ...         Boolean(name="smoker", nullable=False),
    ...         Boolean(name="cough", nullable=False),
    ...     )
    ... )
    >>> model = SparseModel(
    ...     schema, 8.0, ("smoker", "cough"), np.array([[0, 0], [1, 1]]), np.array([0.75, 0.25])
    ... )
    >>> model.marginal(("cough",)).tolist()
    [6.0, 2.0]
    """

    kind: ClassVar[str] = "sparse"
    schema: Schema
    total: float
    clique: Clique
    cells: NDArray[np.int64]
    shares: NDArray[np.float64]
    suppressed: float = 0.0

    def __post_init__(self) -> None:
        assert math.isfinite(self.total), "a total is a number"
        assert self.total >= 0, "a total is never negative"
        assert len(set(self.clique)) == len(self.clique), (
            "a clique names each column once"
        )
        assert self.cells.shape == (
            self.shares.size,
            len(self.clique),
        ), "one share for each cell"
        assert np.all(self.cells >= 0), "codes are never negative"
        assert np.all(self.cells < np.array(self.schema.sizes(self.clique))), (
            "codes lie inside their domains"
        )
        assert np.all(self.shares >= 0), "shares are never negative"
        assert not self.shares.size or abs(self.shares.sum() - 1) < 1e-6, (
            "shares sum to one"
        )
        assert 0 <= self.suppressed <= 1, "a share lies between 0 and 1"

    def marginal(self, clique: Clique) -> NDArray[np.float64]:
        """Expected counts: the cells' weights, gathered by their codes in the clique."""
        assert len(set(clique)) == len(clique), "a clique names each column once"
        inside = tuple(
            name for name in clique if self.shares.size and name in self.clique
        )
        outside = tuple(name for name in clique if name not in inside)
        sizes = self.schema.sizes(inside)
        # A model without cells has all its mass in one cell of no columns.
        shares = self.shares if self.shares.size else np.ones(1)
        flat = (
            self._flatten_cells(inside) if inside else np.zeros(shares.size, np.int64)
        )
        mass = np.bincount(flat, weights=shares, minlength=math.prod(sizes))
        result = np.asarray(mass, np.float64).reshape(sizes) * self.total
        for name in outside:
            result = np.multiply.outer(
                result, uniform_shares(self.schema, (self.schema[name].name,))
            )
        order = (*inside, *outside)
        return result.transpose([order.index(name) for name in clique])

    def _flatten_cells(self, clique: Clique) -> NDArray[np.int64]:
        """The number of each listed cell in the table of a clique."""
        codes = [self.cells[:, self.clique.index(name)] for name in clique]
        return np.asarray(np.ravel_multi_index(tuple(codes), self.schema.sizes(clique)))

    def sample(self, rows: int, rng: Generator) -> Codes:
        """Every cell's count by rounding, the rows in random order."""
        return fill_columns(self.schema, self._sample_cells(rows, rng), rows, rng)

    def complete(
        self, given: Mapping[str, NDArray[np.integer]], rng: Generator
    ) -> Codes:
        """Rows that share their given codes share out the cells that match them, by
        rounding.

        Where no cell matches, the given codes stay and the other columns come from the
        cells overall: the model knows no better.
        """
        rows = check_given(self.schema, given)
        known = tuple(name for name in self.clique if name in given)
        codes = self._sample_cells(rows, rng)
        if known and self.shares.size and rows:
            # Cells and rows get the numbers of their given codes together, so that
            # equal codes get equal numbers.
            at = [self.clique.index(name) for name in known]
            both = {
                name: np.concatenate([np.asarray(given[name]), self.cells[:, i]])
                for name, i in zip(known, at, strict=True)
            }
            member = group_rows(both, known, rows).member
            mine, theirs = member[:rows], member[rows:]
            matched = np.flatnonzero(np.isin(mine, theirs[self.shares > 0]))
            picked = self._match_cells(mine[matched], theirs, rng)
            for i, name in enumerate(self.clique):
                codes[name][matched] = self.cells[picked, i]
        return fill_columns(
            self.schema, codes | dict(given), rows, rng, fixed=set(given)
        )

    def to_parts(self) -> tuple[Facts, Arrays]:
        """Cells and shares as two arrays."""
        facts: Facts = {
            "kind": self.kind,
            "total": self.total,
            "clique": list(self.clique),
            "suppressed": self.suppressed,
        }
        return facts, {"cells": self.cells, "shares": self.shares}

    @classmethod
    def from_parts(
        cls,
        schema: Schema,
        facts: Mapping[str, object],
        arrays: Mapping[str, NDArray[np.generic]],
    ) -> SparseModel:
        """The model again; parts that do not fit the schema raise ReleaseError."""
        check_part_names(facts, {"kind", "total", "clique", "suppressed"}, "facts")
        check_part_names(arrays, {"cells", "shares"}, "arrays")
        clique = read_clique(facts, schema)
        cells = read_codes(arrays, "cells", schema.sizes(clique))
        shares = (
            read_shares(arrays, "shares", (len(cells),)) if len(cells) else np.zeros(0)
        )
        suppressed = facts["suppressed"]
        if (
            isinstance(suppressed, bool)
            or not isinstance(suppressed, int | float)
            or not 0 <= suppressed <= 1
        ):
            raise ReleaseError(
                "model: its suppressed share is no share. The file is damaged"
            )
        return cls(schema, read_total(facts), clique, cells, shares, float(suppressed))

    def _sample_cells(
        self, rows: int, rng: Generator
    ) -> dict[str, NDArray[np.integer]]:
        """Rows of cells in random order; nothing where there are no cells."""
        if not self.shares.size:
            return {}
        # In random order, so that rounding favours no cell by its place in the list.
        order = rng.permutation(self.shares.size)
        counts = round_groups(
            self.shares[order], np.array([order.size]), np.array([rows]), rng
        )
        picked = np.repeat(order, counts)
        rng.shuffle(picked)
        return {name: self.cells[picked, i] for i, name in enumerate(self.clique)}

    def _match_cells(
        self, mine: NDArray[np.int64], theirs: NDArray[np.int64], rng: Generator
    ) -> NDArray[np.int64]:
        """For every row a cell with the row's number; every number among the rows has a
        cell.
        """
        wanted, member = np.unique(mine, return_inverse=True)
        useful = rng.permutation(
            np.flatnonzero(np.isin(theirs, wanted) & (self.shares > 0))
        )
        # A stable sort keeps the random order within each group.
        useful = useful[np.argsort(theirs[useful], kind="stable")]
        sizes = np.bincount(
            np.searchsorted(wanted, theirs[useful]), minlength=wanted.size
        )
        groups = RowGroups(wanted[:, None], member)
        return useful[deal_cells(self.shares[useful], sizes, groups, rng)]
