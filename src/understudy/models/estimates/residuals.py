"""Least squares over any set of noisy marginals, in closed form.

A marginal splits into parts that no other part knows of: for every subset τ of its
columns the centred table u[τ], what τ says that no smaller set of columns does. A plain
noisy marginal of a clique gives an independent estimate of u[τ] for every τ inside it,
so repeated, nested and overlapping measurements are pooled part by part, by precision,
and every marginal is put together from the pooled parts: consistent with all others,
unbiased, of least variance, its variances exact (Mullins and others, "Efficient and
private marginal reconstruction with local non-negativity", 2024; Xiao, He, Zhang,
Kifer, "Optimal and scalable matrix mechanism", 2023).

    u[c, τ]    y_c summed over c∖τ, centred along each axis of τ; noise variance per
               cell before centring s²_c · Π n_j, j in c∖τ
    u[τ]       mean of u[c, τ] over c, weighted by precision w;  s²[τ] = 1 / Σ w
    μ_A        Σ u[τ] ⊗ 1 / Π n_j, j in A∖τ, over τ in A
    Var μ_A    Σ s²[τ] · Π (n_i - 1)/n_i, i in τ · Π n_j⁻², j in A∖τ

A centred axis speaks only of the sets that hold its column. Coarser bins of a single
column fit no such part: they tie the column's own part to the total, and that one small
system is solved as it stands. From coarser bins measured jointly with other columns
only the sums over the bins are used here; the iterative fit
(models/fitting/max_entropy.py) uses them whole.

Cells declared impossible carry no noise in a plain measurement. Its variance is then
spread over all its cells: exact for the total, a close weight for the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.measurements import (
    Clique,
    Identity,
    Measurement,
    Measurements,
    Partition,
)
from understudy.models.estimates.coarse_columns import CoarseColumnPart, CoarseSystem
from understudy.models.estimates.residual_parts import (
    ResidualPart,
    in_schema_order,
    nonempty_subsets,
    pool_pieces,
    split_into_pieces,
    spread_variance,
)
from understudy.schema import Schema


@dataclass(frozen=True, eq=False)
class PooledResiduals:
    """The pooled parts of all measurements; gives any marginal and the variance of each
    of its cells.
    """

    schema: Schema
    total: float
    total_variance: float
    parts: Mapping[Clique, ResidualPart]
    columns: Mapping[str, CoarseColumnPart]

    @classmethod
    def of(cls, schema: Schema, measurements: Measurements) -> PooledResiduals:
        """Pool the parts of every measurement. A number of rows that is public is
        exact.

        >>> from understudy.accounting import Cost, Accounting, Law
        >>> from fractions import Fraction
        >>> from understudy.measurements import Identity
        >>> from understudy.schema import Boolean
        >>> schema = Schema(
        ...     columns=(
        ...         Boolean(name="smoker", nullable=False),
        ...         Boolean(name="cough", nullable=False),
        ...     )
        ... )
        >>> cost, two = Cost(Accounting.GDP, Fraction(1)), Identity(2)
        >>> both = Measurement(
        ...     ("smoker", "cough"),
        ...     (two, two),
        ...     np.array([[60, 10], [12, 18]]),
        ...     Law.DISCRETE_GAUSSIAN,
        ...     Fraction(2),
        ...     cost,
        ... )
        >>> one = Measurement(
        ...     ("cough",), (two,), np.array([74, 24]), Law.DISCRETE_GAUSSIAN, Fraction(2), cost
        ... )
        >>> pooled = PooledResiduals.of(schema, Measurements((both, one)))
        >>> (
        ...     pooled.marginal(("cough",)).round(2).tolist(),
        ...     pooled.marginal(("smoker", "cough")).sum(axis=0).round(2).tolist(),
        ... )
        ([73.33, 25.33], [73.33, 25.33])
        >>> pooled.variance(("cough",)).round(2).tolist()
        [2.67, 2.67]
        """
        # A fit, its error estimates and the release's card ask for the same pooling;
        # measurements never change, so it is kept for as long as they are.
        known = _POOLED_BY_MEASUREMENTS.get(measurements)
        if known is not None and known.schema is schema:
            return known
        pooled = cls._pool(schema, measurements)
        _POOLED_BY_MEASUREMENTS[measurements] = pooled
        return pooled

    @classmethod
    def _pool(cls, schema: Schema, measurements: Measurements) -> PooledResiduals:
        parts = pool_pieces(
            schema,
            (
                piece
                for m in measurements
                if not _is_coarse_column(m)
                for piece in split_into_pieces(
                    m.clique,
                    m.maps,
                    m.values.astype(np.float64),
                    spread_variance(schema, m),
                )
            ),
        )
        coarse: dict[str, list[Measurement]] = {}
        for m in filter(_is_coarse_column, measurements):
            coarse.setdefault(m.clique[0], []).append(m)
        # Coarse bins and the total are solved together: both say how many rows there
        # are.
        whole = parts.pop((), ResidualPart(np.zeros(()), 0.0))
        systems = {
            name: CoarseSystem.of(schema, name, observations, parts.pop((name,), None))
            for name, observations in coarse.items()
        }
        if schema.rows is not None:
            total, variance = float(schema.rows), 0.0
        else:
            precision = whole.precision + sum(s.precision for s in systems.values())
            pull = whole.precision * float(whole.values) + sum(
                s.pull for s in systems.values()
            )
            total, variance = (
                (pull / precision, 1 / precision) if precision > 0 else (0.0, math.inf)
            )
        return cls(
            schema,
            total,
            variance,
            parts,
            {name: s.solve(total) for name, s in systems.items()},
        )

    @classmethod
    def of_tables(
        cls,
        schema: Schema,
        total: float,
        tables: Iterable[tuple[Clique, NDArray[np.float64], float]],
    ) -> PooledResiduals:
        """The same for plain tables that need not be whole, each with the variance of
        its cells, and a total that is known.

        >>> from understudy.schema import Boolean
        >>> schema = Schema(columns=(Boolean(name="smoker", nullable=False),))
        >>> observations = [
        ...     (("smoker",), np.array([7.5, 2.5]), 1.0),
        ...     (("smoker",), np.array([5.5, 4.5]), 1.0),
        ... ]
        >>> PooledResiduals.of_tables(schema, 20.0, observations).marginal(("smoker",)).tolist()
        [11.5, 8.5]
        """
        parts = pool_pieces(
            schema,
            (
                piece
                for c, y, v in tables
                for piece in split_into_pieces(c, tuple(map(Identity, y.shape)), y, v)
            ),
        )
        parts.pop((), None)
        return cls(schema, total, 0.0, parts, {})

    def marginal(self, clique: Clique) -> NDArray[np.float64]:
        """The least-squares counts of a clique; may be negative. What nothing was
        measured of is spread evenly.
        """
        sizes = self.schema.sizes(clique)
        result = np.full(sizes, self.total / math.prod(sizes))
        for tau in nonempty_subsets(clique):
            values = self.part_values(tau)
            if values is None:
                continue
            axes = in_schema_order(self.schema, tau)
            # A part says nothing of the other columns, so it is spread evenly over
            # them.
            rest = math.prod(
                n for name, n in zip(clique, sizes, strict=True) if name not in tau
            )
            shape = [
                n if name in tau else 1 for name, n in zip(clique, sizes, strict=True)
            ]
            order = [axes.index(name) for name in clique if name in tau]
            result += values.transpose(order).reshape(shape) / rest
        return result

    def variance(self, clique: Clique) -> NDArray[np.float64]:
        """The variance of each cell of `marginal(clique)`; infinite where something was
        never measured.
        """
        sizes = self.schema.sizes(clique)
        cells = math.prod(sizes)
        spread, tilt = np.zeros(sizes), np.ones(sizes)
        for tau in nonempty_subsets(clique):
            inside = self.schema.sizes(tau)
            # Centring along an axis of n takes one of its n degrees of freedom.
            free = math.prod((n - 1) / n for n in inside)
            if free == 0:
                continue  # a column of one value has no part of its own
            if len(tau) == 1 and tau[0] in self.columns:
                column, (n,) = self.columns[tau[0]], inside
                shape = [n if name in tau else 1 for name in clique]
                spread = spread + column.variance.reshape(shape) * n**2 / cells**2
                tilt = tilt + column.slope.reshape(shape) * n
            else:
                part = self.parts.get(in_schema_order(self.schema, tau))
                spread = spread + (
                    math.inf
                    if part is None
                    else free / part.precision * (math.prod(inside) / cells) ** 2
                )
        if self.total_variance == 0:
            return spread
        return np.asarray(spread + self.total_variance * tilt**2 / cells**2, np.float64)

    def is_measured(self, clique: Clique) -> bool:
        """Whether every part of a clique's marginal was measured."""
        if any(self._is_unmeasured(tau) for tau in nonempty_subsets(clique)):
            return False  # told without a table: a card asks this of hundreds of large pairs
        return bool(np.all(np.isfinite(self.variance(clique))))

    def _is_unmeasured(self, tau: Clique) -> bool:
        """Whether a part that these columns have was never measured; one with a column
        of one value is no part.
        """
        if min(self.schema.sizes(tau)) < 2 or (
            len(tau) == 1 and tau[0] in self.columns
        ):
            return False
        return in_schema_order(self.schema, tau) not in self.parts

    def precision(self, tau: Clique) -> float | None:
        """The precision of a part before centring; None where it was not measured, or
        comes from coarser bins.
        """
        part = self.parts.get(in_schema_order(self.schema, tau))
        return None if part is None else part.precision

    def noise(
        self, tau: Clique, totals: NDArray[np.float64], rng: Generator
    ) -> NDArray[np.float64] | None:
        """Draws of the noise on a part, one for each draw of the total's noise, axes as
        in `tau`; None where nothing was measured of it.
        """
        if len(tau) == 1 and tau[0] in self.columns:
            column = self.columns[tau[0]]
            plain = rng.standard_normal((len(totals), len(column.root))) @ column.root.T
            return np.asarray(plain + totals[:, None] * column.slope)
        precision = self.precision(tau)
        if precision is None:
            return None
        found = rng.standard_normal((len(totals), *self.schema.sizes(tau))) / math.sqrt(
            precision
        )
        for axis in range(1, found.ndim):
            # A part sums to zero along each of its axes, and so does its noise.
            found -= found.mean(axis=axis, keepdims=True)
        return found

    def part_covariance(self, tau: Clique) -> NDArray[np.float64]:
        """Covariance of the noise on a measured part, up to what centring takes away;
        cells in the order of `tau`.
        """
        if len(tau) == 1 and tau[0] in self.columns:
            return self.columns[tau[0]].covariance
        precision = self.precision(tau)
        assert precision is not None
        return np.eye(math.prod(self.schema.sizes(tau))) / precision

    def part_values(self, tau: Clique) -> NDArray[np.float64] | None:
        """The centred table of a part, axes in the schema's order; None where it was not
        measured.
        """
        if len(tau) == 1 and tau[0] in self.columns:
            return self.columns[tau[0]].values
        part = self.parts.get(in_schema_order(self.schema, tau))
        return None if part is None else part.values


# What `PooledResiduals.of` made of measurements that are still in use.
_POOLED_BY_MEASUREMENTS: WeakKeyDictionary[Measurements, PooledResiduals] = (
    WeakKeyDictionary()
)


def _is_coarse_column(m: Measurement) -> bool:
    return len(m.clique) == 1 and isinstance(m.maps[0], Partition)
