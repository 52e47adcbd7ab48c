"""A distribution over every cell of a domain small enough to hold in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused, ReleaseError
from understudy.measurements import Clique
from understudy.models.model import Arrays, Codes, Facts
from understudy.models.sampling.conditions import check_given, deal_cells, group_rows
from understudy.models.sampling.rounding import round_counts
from understudy.models.sampling.unmeasured import fill_columns, uniform_shares
from understudy.models.serialization import (
    check_part_names,
    read_clique,
    read_shares,
    read_total,
)
from understudy.schema import Schema


@dataclass(frozen=True, eq=False)
class DenseModel:
    """One share for every cell of `clique`; columns of the schema outside it are
    uniform and independent.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(
    ...     columns=(
    ...         Boolean(name="smoker", nullable=False),
    ...         Boolean(name="cough", nullable=False),
    ...     )
    ... )
    >>> model = DenseModel(
    ...     schema, 10.0, ("smoker", "cough"), np.array([[0.6, 0.1], [0.1, 0.2]])
    ... )
    >>> model.marginal(("cough",)).round(9).tolist()
    [7.0, 3.0]
    """

    kind: ClassVar[str] = "dense"
    schema: Schema
    total: float
    clique: Clique
    shares: NDArray[np.float64]

    def __post_init__(self) -> None:
        assert math.isfinite(self.total), "a total is a number"
        assert self.total >= 0, "a total is never negative"
        assert len(set(self.clique)) == len(self.clique), (
            "a clique names each column once"
        )
        assert self.shares.shape == self.schema.sizes(self.clique), (
            "one share for each cell"
        )
        assert np.all(self.shares >= 0), "shares are never negative"
        assert abs(self.shares.sum() - 1) < 1e-6, "shares sum to one"
        zeros = self.schema.zeros(self.clique)
        assert zeros is None or not np.any(self.shares[zeros]), (
            "structural zeros hold nothing"
        )

    @classmethod
    def from_counts(
        cls, schema: Schema, clique: Clique, counts: NDArray[np.float64], total: float
    ) -> DenseModel:
        """Shares in proportion to non-negative counts; uniform where no possible cell
        holds anything.
        """
        zeros = schema.zeros(clique)
        possible = (
            np.asarray(counts, np.float64)
            if zeros is None
            else np.where(zeros, 0.0, counts)
        )
        mass = possible.sum()
        return cls(
            schema,
            total,
            clique,
            possible / mass if mass > 0 else uniform_shares(schema, clique),
        )

    def marginal(self, clique: Clique) -> NDArray[np.float64]:
        """Expected counts: summed over the other axes; columns outside the model are
        spread evenly.
        """
        assert len(set(clique)) == len(clique), "a clique names each column once"
        inside = [name for name in self.clique if name in clique]
        rest = tuple(i for i, name in enumerate(self.clique) if name not in clique)
        result = self.shares.sum(axis=rest) * self.total
        outside = [name for name in clique if name not in self.clique]
        for name in outside:
            result = np.multiply.outer(
                result, uniform_shares(self.schema, (self.schema[name].name,))
            )
        order = [*inside, *outside]
        return np.asarray(result).transpose([order.index(name) for name in clique])

    def sample(self, rows: int, rng: Generator) -> Codes:
        """Every cell's count by rounding, the rows in random order."""
        counts = round_counts(self.shares, rows, rng).ravel()
        cells = np.repeat(np.arange(counts.size), counts)
        rng.shuffle(cells)
        return fill_columns(self.schema, self._codes(self.clique, cells), rows, rng)

    def complete(
        self, given: Mapping[str, NDArray[np.integer]], rng: Generator
    ) -> Codes:
        """Rows that share their given codes share out the conditional distribution by
        rounding.

        Where the given codes have no mass, the other columns follow their overall
        distribution over the cells that are possible.
        """
        rows = check_given(self.schema, given)
        asked = tuple(name for name in self.clique if name not in given)
        if not asked or rows == 0:
            nothing: Codes = {name: np.zeros(0, np.int64) for name in asked}
            return fill_columns(
                self.schema, nothing | dict(given), rows, rng, fixed=set(given)
            )
        known = tuple(name for name in self.clique if name in given)
        groups = group_rows(given, known, rows)
        table = self._conditional_weights(known, asked, groups.keys)
        # Several axes lie flat in one group, so its cells are walked in random order:
        # see round_counts.
        order = rng.permutation(table.shape[1])
        sizes = np.full(len(groups.keys), order.size)
        cells = order[
            deal_cells(table[:, order].ravel(), sizes, groups, rng) % order.size
        ]
        return fill_columns(
            self.schema,
            self._codes(asked, cells) | dict(given),
            rows,
            rng,
            fixed=set(given),
        )

    def to_parts(self) -> tuple[Facts, Arrays]:
        """The shares as one array."""
        return {"kind": self.kind, "total": self.total, "clique": list(self.clique)}, {
            "shares": self.shares
        }

    @classmethod
    def from_parts(
        cls,
        schema: Schema,
        facts: Mapping[str, object],
        arrays: Mapping[str, NDArray[np.generic]],
    ) -> DenseModel:
        """The model again; parts that do not fit the schema raise ReleaseError."""
        check_part_names(facts, {"kind", "total", "clique"}, "facts")
        check_part_names(arrays, {"shares"}, "arrays")
        clique = read_clique(facts, schema)
        shares = read_shares(arrays, "shares", schema.sizes(clique))
        zeros = schema.zeros(clique)
        if zeros is not None and np.any(shares[zeros]):
            raise ReleaseError(
                'model: array "shares" holds rows the schema declares impossible. The'
                " file is damaged"
            )
        return cls(schema, read_total(facts), clique, shares)

    def _codes(
        self, clique: Clique, cells: NDArray[np.int64]
    ) -> dict[str, NDArray[np.integer]]:
        return dict(
            zip(clique, np.unravel_index(cells, self.schema.sizes(clique)), strict=True)
        )

    def _conditional_weights(
        self, known: Clique, asked: Clique, keys: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """One row of weights over the asked cells for each combination of known codes."""
        sizes = self.schema.sizes(known)
        picked = (
            np.ravel_multi_index(tuple(keys.T), sizes)
            if known
            else np.zeros(1, np.int64)
        )
        axes = [self.clique.index(name) for name in (*known, *asked)]
        joint = self.shares.transpose(axes).reshape(math.prod(sizes), -1)
        table = np.asarray(joint[picked], np.float64)
        bare = table.sum(axis=1) <= 0
        if not np.any(bare):
            return table
        zeros = self.schema.zeros((*known, *asked))
        possible = (
            np.ones_like(table)
            if zeros is None
            else (~zeros).reshape(joint.shape)[picked].astype(np.float64)
        )
        # First the overall distribution where possible, then every possible cell alike.
        for fallback in (joint.sum(axis=0) * possible, possible):
            table[bare] = fallback[bare]
            bare = table.sum(axis=1) <= 0
        if np.any(bare):
            raise Refused(
                f"{', '.join(known)}: the schema declares that no row has these values"
                " together. Nothing was sampled"
            )
        return table
