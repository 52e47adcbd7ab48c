"""Independent columns: each has its own distribution and nothing ties them together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.measurements import Clique, Measurements
from understudy.models.estimates.consistency import project_simplex
from understudy.models.estimates.pooling import pool_column, pool_total
from understudy.models.model import Arrays, Codes, Facts, is_rounded_in_one_piece
from understudy.models.sampling.conditions import check_given
from understudy.models.sampling.rounding import draw_shuffled_codes, fraction_variance
from understudy.models.sampling.unmeasured import fill_columns, uniform_shares
from understudy.models.serialization import check_part_names, read_shares, read_total
from understudy.schema import Schema


@dataclass(frozen=True, eq=False)
class ProductModel:
    """P(row) = Π P(column), for `total` rows. `shares` holds each column's
    distribution; each sums to one.

    Structural zeros between columns are beyond it: its marginals do not know them, its
    rows are repaired (models/rules/structural_zeros.py).

    >>> from understudy.schema import Boolean
    >>> schema = Schema(
    ...     columns=(
    ...         Boolean(name="smoker", nullable=False),
    ...         Boolean(name="parent", nullable=False),
    ...     )
    ... )
    >>> model = ProductModel(
    ...     schema, 100.0, {"smoker": np.array([0.8, 0.2]), "parent": np.array([0.5, 0.5])}
    ... )
    >>> model.marginal(("smoker", "parent")).tolist()
    [[40.0, 40.0], [10.0, 10.0]]
    """

    kind: ClassVar[str] = "product"
    schema: Schema
    total: float
    shares: Mapping[str, NDArray[np.float64]]

    def __post_init__(self) -> None:
        assert math.isfinite(self.total), "a total is a number"
        assert self.total >= 0, "a total is never negative"
        assert set(self.shares) == set(self.schema), "one distribution for each column"
        for name, shares in self.shares.items():
            assert shares.shape == self.schema.sizes((name,)), "one share for each code"
            assert np.all(shares >= 0), "shares are never negative"
            assert abs(shares.sum() - 1) < 1e-6, "shares sum to one"

    @classmethod
    def uniform(cls, schema: Schema, total: float) -> ProductModel:
        """Every code of a column equally likely; structural zeros of single columns
        excepted.
        """
        return cls(
            schema, total, {name: uniform_shares(schema, (name,)) for name in schema}
        )

    @classmethod
    def from_measurements(
        cls, schema: Schema, measurements: Measurements
    ) -> ProductModel:
        """Pool what was measured of each column, then project it on the non-negative
        counts that sum to the pooled total.

        A column nothing was measured of is uniform. Where the pooled total is not
        positive there is no mass to share: the model has total 0 and every column is
        uniform.
        """
        total, _ = pool_total(schema, measurements)
        if total <= 0:
            return cls.uniform(schema, 0.0)
        shares = {}
        for name in schema:
            pooled = pool_column(schema, name, measurements)
            zeros = schema.zeros((name,))
            allowed = None if zeros is None else ~zeros
            # Projecting keeps the total; setting negative counts to 0 would only add
            # rows.
            shares[name] = (
                uniform_shares(schema, (name,))
                if pooled is None
                else project_simplex(pooled, total, allowed=allowed) / total
            )
        return cls(schema, total, shares)

    def marginal(self, clique: Clique) -> NDArray[np.float64]:
        """Expected counts: the outer product of the columns' shares, times the total."""
        assert len(set(clique)) == len(clique), "a clique names each column once"
        result = np.array(self.total)
        for name in clique:
            result = np.multiply.outer(result, self.shares[self.schema[name].name])
        return result

    def sample(self, rows: int, rng: Generator) -> Codes:
        """Each column's counts by rounding, each in a random order of its own;
        impossible rows are repaired.
        """
        return fill_columns(
            self.schema, self._sample_columns(list(self.schema), rows, rng), rows, rng
        )

    def rounding_variance(self, clique: Clique) -> NDArray[np.float64] | None:
        """The variance that rounding adds to each count of a single column; None for
        several, which are combined at random, and where impossible rows are repaired.
        """
        return (
            fraction_variance(self.marginal(clique))
            if len(clique) == 1 and is_rounded_in_one_piece(self)
            else None
        )

    def complete(
        self, given: Mapping[str, NDArray[np.integer]], rng: Generator
    ) -> Codes:
        """The given codes as they are, the other columns as if nothing were given: they
        are independent.
        """
        rows = check_given(self.schema, given)
        asked = [name for name in self.schema if name not in given]
        return fill_columns(
            self.schema,
            self._sample_columns(asked, rows, rng) | dict(given),
            rows,
            rng,
            # Repairs of impossible rows must not change what was given.
            fixed=set(given),
        )

    def _sample_columns(self, names: list[str], rows: int, rng: Generator) -> Codes:
        return {
            name: draw_shuffled_codes(
                self.shares[name], rows, rng, self.schema.codecs[name].dtype
            )
            for name in names
        }

    def to_parts(self) -> tuple[Facts, Arrays]:
        """Arrays are named by position: a column's name may be no file name."""
        arrays: Arrays = {
            f"column{i}": self.shares[name] for i, name in enumerate(self.schema)
        }
        return {"kind": self.kind, "total": self.total}, arrays

    @classmethod
    def from_parts(
        cls,
        schema: Schema,
        facts: Mapping[str, object],
        arrays: Mapping[str, NDArray[np.generic]],
    ) -> ProductModel:
        """The model again; parts that do not fit the schema raise ReleaseError."""
        check_part_names(facts, {"kind", "total"}, "facts")
        check_part_names(arrays, {f"column{i}" for i in range(len(schema))}, "arrays")
        shares = {
            name: read_shares(arrays, f"column{i}", schema.sizes((name,)))
            for i, name in enumerate(schema)
        }
        return cls(schema, read_total(facts), shares)
