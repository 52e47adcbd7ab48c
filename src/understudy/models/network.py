"""Bayesian networks: each column follows a distribution of its own for every
combination of its parents' codes.

P(row) = Π P(column | its parents), columns in an order in which parents stand before
their children. The order is one of computing, not of cause and effect.

Rows are sampled column by column (ancestral sampling): rows that share their parents'
codes share out the column's distribution by rounding. Marginals come from summing
columns out one by one; only ancestors of the columns asked for matter. The same sums,
kept, complete partial rows exactly: a column that was summed out is drawn, last one
first, from the table it was summed out of (Koller, Friedman, "Probabilistic graphical
models", 2009, §9.3 and §12.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.measurements import Clique, Measurements
from understudy.models.arrays import Array
from understudy.models.estimates.pooling import pool_total
from understudy.models.inference.factor import (
    Factor,
    eliminate_columns,
    elimination_order,
    multiply_factors,
)
from understudy.models.model import Arrays, Codes, Facts
from understudy.models.network_nodes import (
    NetworkNode,
    estimate_nodes,
    read_nodes,
    uniform_nodes,
)
from understudy.models.sampling.conditions import check_given
from understudy.models.sampling.rounding import round_groups
from understudy.models.sampling.unmeasured import fill_columns
from understudy.models.serialization import (
    SHARE_SUM_TOLERANCE,
    check_part_names,
    read_total,
)
from understudy.schema import Schema

# Cells of the largest table that is made to sum a column out.
MAX_ELIMINATION_CELLS = 2**22

# Random bits that order rows inside a group. Fewer would let two rows tie often
# enough to matter.
MIN_SHUFFLE_BITS = 24

# Rows that stand for the distribution where such a table would be larger.
SIMULATED_MARGINAL_ROWS = 2**18


@dataclass(frozen=True, eq=False)
class NetworkModel:
    """A Bayesian network over all columns, parents before children, for `total` rows.

    Structural zeros inside one node's columns have no share; those between columns of
    different nodes are beyond it, so its rows are repaired
    (models/rules/structural_zeros.py).

    >>> from understudy.schema import Boolean
    >>> schema = Schema(
    ...     columns=(
    ...         Boolean(name="smoker", nullable=False),
    ...         Boolean(name="cough", nullable=False),
    ...     )
    ... )
    >>> smoker = NetworkNode("smoker", (), np.array([0.75, 0.25]))
    >>> cough = NetworkNode("cough", ("smoker",), np.array([[0.8, 0.2], [0.4, 0.6]]))
    >>> model = NetworkModel(schema, 100.0, (smoker, cough))
    >>> model.marginal(("cough",)).round(9).tolist()
    [70.0, 30.0]
    """

    kind: ClassVar[str] = "network"
    schema: Schema
    total: float
    nodes: tuple[NetworkNode, ...]

    def __post_init__(self) -> None:
        assert math.isfinite(self.total), "a total is a number"
        assert self.total >= 0, "a total is never negative"
        assert sorted(n.column for n in self.nodes) == sorted(self.schema), (
            "one node for each column"
        )
        placed: set[str] = set()
        for node in self.nodes:
            assert len(set(node.parents)) == len(node.parents), "a parent is named once"
            assert placed.issuperset(node.parents), (
                "parents stand before their children"
            )
            assert node.shares.shape == self.schema.sizes(
                (*node.parents, node.column)
            ), "one share for each cell"
            assert np.all(node.shares >= 0), "shares are never negative"
            assert np.all(np.abs(node.shares.sum(axis=-1) - 1) < SHARE_SUM_TOLERANCE), (
                "shares sum to one"
            )
            placed.add(node.column)

    @classmethod
    def from_measurements(
        cls, schema: Schema, measurements: Measurements, *, clip: bool = False
    ) -> NetworkModel:
        """The network that plain noisy marginals spell out: in each, the first column
        is the child and the others are its parents.

        Marginals are taken in their order. Columns of one that no earlier one placed
        are placed from it, last one first, with the columns placed before as parents.
        So a table that holds several nodes is measured once. A column in no such
        marginal has no parents.

        All measurements are pooled by least squares; each table is then projected on
        the non-negative counts that sum to the total, or with `clip` cut at zero, and
        divided by what its parents' cells hold. Cells of parents without mass take the
        column's overall shares.
        """
        total, _ = pool_total(schema, measurements)
        if total <= 0:
            return cls(schema, 0.0, uniform_nodes(schema))
        nodes = estimate_nodes(schema, measurements, total, clip=clip)
        return cls(schema, total, nodes)

    def marginal(self, clique: Clique) -> Array:
        """Expected counts, exact where no table on the way has more than
        MAX_ELIMINATION_CELLS cells, else those of SIMULATED_MARGINAL_ROWS sampled rows.
        """
        return self.shares(clique) * self.total

    def shares(self, clique: Clique) -> Array:
        """The distribution over a clique."""
        assert len(set(clique)) == len(clique), "a clique names each column once"
        factors = self._ancestor_factors(clique)
        order, largest = elimination_order(
            [f.scope for f in factors], set(clique), self.schema.column_sizes
        )
        if max(largest, math.prod(self.schema.sizes(clique))) > MAX_ELIMINATION_CELLS:
            return self._count_marginals(clique)
        _, left = eliminate_columns(factors, order, self.schema.column_sizes)
        return multiply_factors(left, clique, self.schema.column_sizes)

    def draw_column(
        self, column: str, codes: Codes, rows: int, rng: Generator
    ) -> NDArray[np.integer]:
        """One column for rows whose codes of its parents are there already."""
        node = next(n for n in self.nodes if n.column == column)
        return self._draw(column, node.parents, node.shares, codes, rows, rng)

    def sample(self, rows: int, rng: Generator) -> Codes:
        """Column by column; impossible rows are repaired."""
        return fill_columns(
            self.schema, self._draw_missing_columns({}, rows, rng), rows, rng
        )

    def complete(
        self, given: Mapping[str, NDArray[np.integer]], rng: Generator
    ) -> Codes:
        """Exactly from the conditional distribution: what leads to the given columns
        first, what follows from them after.

        Where the given codes have no mass, a column takes its overall distribution.
        Refused where the given columns tie so many others together that a table of more
        than MAX_ELIMINATION_CELLS cells would be needed.
        """
        rows = check_given(self.schema, given)
        factors = self._ancestor_factors(tuple(given))
        order, largest = elimination_order(
            [f.scope for f in factors], set(given), self.schema.column_sizes
        )
        if largest > MAX_ELIMINATION_CELLS:
            raise Refused(
                f"Completing rows from {', '.join(given)} would take a table of"
                f" {largest:,} cells. Give fewer or other columns"
            )
        kept, _ = eliminate_columns(factors, order, self.schema.column_sizes)
        codes: Codes = {
            name: np.asarray(column).astype(np.int64) for name, column in given.items()
        }
        # Backwards: what was summed out last depends only on what is known by then.
        for factor in reversed(kept):
            *others, column = factor.scope
            codes[column] = self._draw(
                column, tuple(others), factor.table, codes, rows, rng
            )
        return fill_columns(
            self.schema,
            self._draw_missing_columns(codes, rows, rng),
            rows,
            rng,
            fixed=set(given),
        )

    def to_parts(self) -> tuple[Facts, Arrays]:
        """Arrays are named by position in the network."""
        shape = [[node.column, list(node.parents)] for node in self.nodes]
        arrays: Arrays = {f"node{i}": node.shares for i, node in enumerate(self.nodes)}
        return {"kind": self.kind, "total": self.total, "nodes": shape}, arrays

    @classmethod
    def from_parts(
        cls,
        schema: Schema,
        facts: Mapping[str, object],
        arrays: Mapping[str, NDArray[np.generic]],
    ) -> NetworkModel:
        """The model again; parts that do not fit the schema raise ReleaseError."""
        check_part_names(facts, {"kind", "total", "nodes"}, "facts")
        nodes = read_nodes(schema, facts["nodes"], arrays)
        return cls(schema, read_total(facts), nodes)

    @cached_property
    def _simulated_rows(self) -> Codes:
        """Rows for marginals that are out of reach: always the same ones, so that a
        model gives the same answers.
        """
        return self._draw_missing_columns(
            {}, SIMULATED_MARGINAL_ROWS, np.random.default_rng(0)
        )

    def _count_marginals(self, clique: Clique) -> Array:
        sizes = self.schema.sizes(clique)
        cells = np.ravel_multi_index(
            tuple(self._simulated_rows[name] for name in clique), sizes
        )
        return (
            np.bincount(cells, minlength=math.prod(sizes)).reshape(sizes)
            / SIMULATED_MARGINAL_ROWS
        )

    def _ancestor_factors(self, clique: Clique) -> list[Factor]:
        """The tables of these columns and all their ancestors: no other column has a
        say in them.
        """
        wanted = set(clique)
        factors = []
        for node in reversed(self.nodes):
            if node.column in wanted:
                wanted.update(node.parents)
                factors.append(Factor((*node.parents, node.column), node.shares))
        return factors

    def _draw_missing_columns(self, codes: Codes, rows: int, rng: Generator) -> Codes:
        """The columns that are not there yet, each from its parents."""
        whole = dict(codes)
        for node in self.nodes:
            if node.column not in whole:
                whole[node.column] = self._draw(
                    node.column, node.parents, node.shares, whole, rows, rng
                )
        return whole

    def _draw(
        self,
        column: str,
        others: Clique,
        table: Array,
        codes: Codes,
        rows: int,
        rng: Generator,
    ) -> NDArray[np.integer]:
        """One column by rounding, given the codes of others; `table` has their axes,
        then the column's.
        """
        size = table.shape[-1]
        dtype = self.schema.codecs[column].dtype
        if rows == 0:
            return np.zeros(0, dtype)
        weights = table.reshape(-1, size)
        member = np.zeros(rows, np.int64)
        for name in others:
            member *= self.schema.column_sizes[name]
            member += codes[name]
        if len(weights) > rows:
            used, member = np.unique(member, return_inverse=True)
            weights = weights[used]
        bare = weights.sum(axis=1) <= 0
        if np.any(bare):
            # Noise can leave parents' cells without mass; rows may still have them.
            weights = np.where(bare[:, None], self.shares((column,)), weights)
        in_group = np.bincount(member, minlength=len(weights))
        counts = round_groups(
            weights.ravel(), np.full(len(weights), size), in_group, rng
        )
        drawn = np.empty(rows, dtype)
        drawn[shuffle_by_group(member, rng)] = np.repeat(
            np.tile(np.arange(size, dtype=dtype), len(weights)), counts
        )
        return drawn


def shuffle_by_group(member: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
    """Indices of rows, group by group, in random order inside each.

    Group, random bits and index are packed into one number, because numbers are sorted
    many times faster than they are looked up.

    >>> shuffle_by_group(np.array([1, 0, 1]), np.random.default_rng(0)).tolist()[0]
    1
    """
    rows = member.size
    low = max(1, (rows - 1).bit_length())
    high = max(1, int(member.max(initial=0)).bit_length())
    spare = 63 - low - high
    # With few random bits, ties would be broken by the index and so favour early rows.
    if spare < MIN_SHUFFLE_BITS:
        order = rng.permutation(rows)
        return np.asarray(order[np.argsort(member[order], kind="stable")], np.int64)
    keys = rng.integers(0, 1 << spare, rows)
    keys <<= low
    keys |= np.arange(rows)
    keys |= member << (low + spare)
    keys.sort()
    keys &= (1 << low) - 1
    return keys
