"""Plans of residuals: a workload of marginals measured by its independent parts.

Xiao, He, Zhang, Kifer, "Optimal and scalable matrix mechanism for noisy marginals under
convex privacy constraints", 2023. The formulas, in the notation used here, open
`published/residual.py`; `adaptive` uses the same plans for binary tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.sensitivity import marginal_sensitivity
from understudy.measurements import AxisMap, Centring, Clique, Identity
from understudy.schema import Schema
from understudy.synthesizers.budget_split import cell_count

REWEIGHTING_SWEEPS = 8
"""Times the weights are divided by the deviations; the error settles to three digits by
then.
"""


@dataclass(frozen=True)
class ResidualQuery:
    """One question of a plan: a marginal as it is or a residual, and how far a row
    moves it, in rows.
    """

    clique: Clique
    maps: tuple[AxisMap, ...]
    moved: float

    @property
    def is_residual(self) -> bool:
        """Whether it is a residual; the total is one."""
        return all(isinstance(m, Centring) for m in self.maps)


@dataclass(frozen=True, eq=False)
class ResidualPlan:
    """Questions, and the part of a budget of 1 that each gets, best for weights of the
    cliques' variances.

    >>> from understudy.schema import Boolean
    >>> columns = tuple(Boolean(name=name, nullable=False) for name in "abc")
    >>> schema, run = Schema(columns=columns), (Neighbours.ADD_REMOVE, Accounting.GDP)
    >>> pairs = {pair: 1.0 for pair in combinations(schema, 2)}
    >>> plain, centred = (
    ...     ResidualPlan.of(schema, pairs, residual, *run)
    ...     for residual in (set(), set(pairs))
    ... )
    >>> len(centred.questions), round(plain.error() / centred.error(), 3)
    (7, 1.021)
    """

    schema: Schema
    wanted: Mapping[Clique, float]
    weights: Mapping[Clique, float]
    questions: tuple[ResidualQuery, ...]
    parts: NDArray[np.float64]
    accounting: Accounting

    @classmethod
    def of(
        cls,
        schema: Schema,
        wanted: Mapping[Clique, float],
        centred: Iterable[Clique],
        neighbours: Neighbours,
        accounting: Accounting,
    ) -> ResidualPlan:
        """The plan of least total variance: these cliques by residuals, the others as
        they are.
        """
        residual = set(centred)
        taus = dict.fromkeys(
            chain.from_iterable(
                _all_subsets(clique) for clique in wanted if clique in residual
            )
        )
        asks = [
            _make_query(schema, tau, Centring, neighbours, accounting) for tau in taus
        ]
        asks += [
            _make_query(schema, clique, Identity, neighbours, accounting)
            for clique in wanted
            if clique not in residual
        ]
        plan = cls(schema, wanted, wanted, tuple(asks), np.ones(len(asks)), accounting)
        return plan.with_weights(wanted)

    def with_weights(self, weights: Mapping[Clique, float]) -> ResidualPlan:
        """The same questions with the best parts for other weights."""
        asked = {q.clique for q in self.questions if not q.is_residual}
        value: dict[tuple[Clique, bool], float] = {}
        for clique, weight in weights.items():
            if clique in asked:
                value[clique, False] = weight * cell_count(self.schema, clique)
                continue
            for tau in _all_subsets(clique):
                value[tau, True] = value.get(
                    (tau, True), 0.0
                ) + weight * _cell_variance_factor(self.schema, clique, tau)
        # Cauchy-Schwarz: Σ v·σ² at a price Σ s²/σ² is smallest with parts ∝ √v·s, and
        # with parts ∝ (v·s²)^⅓ where the price is Σ s/σ.
        v = np.array([value[q.clique, q.is_residual] for q in self.questions])
        s = np.array([q.moved for q in self.questions])
        parts = (
            np.cbrt(v * s**2) if self.accounting is Accounting.PURE else np.sqrt(v) * s
        )
        return ResidualPlan(
            self.schema,
            self.wanted,
            weights,
            self.questions,
            parts / parts.sum(),
            self.accounting,
        )

    def minimise_l1_error(self, sweeps: int) -> ResidualPlan:
        """The plan of least mean L1 error: weights divided by deviations, again and
        again.
        """
        plan = self
        # Iteratively reweighted least squares: at the fixed point the sum of squares
        # has the gradient of the sum of deviations.
        for _ in range(sweeps):
            deviations = np.sqrt(list(plan.variances().values()))
            plan = plan.with_weights(
                {
                    c: w / d
                    for (c, w), d in zip(self.wanted.items(), deviations, strict=True)
                }
            )
        return plan

    def variances(self) -> dict[Clique, float]:
        """The variance of a cell of each clique once all answers are pooled, for a
        budget of 1; up to a constant.
        """
        precision: dict[Clique, float] = {}
        for ask, part in zip(self.questions, self.parts, strict=True):
            # A question that no neighbour changes costs nothing and has no noise.
            if ask.moved == 0:
                continue
            exact = (
                (part / ask.moved) ** 2
                if self.accounting is Accounting.PURE
                else part / ask.moved**2
            )
            for tau in [ask.clique] if ask.is_residual else _all_subsets(ask.clique):
                precision[tau] = precision.get(tau, 0.0) + exact / _cells_outside(
                    self.schema, ask.clique, tau
                )
        variances: dict[Clique, float] = {}
        for clique in self.wanted:
            # Residuals are independent, so the variances of a marginal's parts add up.
            total = 0.0
            for tau in _all_subsets(clique):
                if tau in precision:
                    factor = _cell_variance_factor(self.schema, clique, tau)
                    total += factor / precision[tau]
            variances[clique] = total / cell_count(self.schema, clique)
        return variances

    def error(self, *, absolute: bool = True) -> float:
        """The mean L1 error of the workload, or the sum of its variances; up to a
        constant.
        """
        found = self.variances()
        return sum(
            w
            * cell_count(self.schema, c)
            * (math.sqrt(found[c]) if absolute else found[c])
            for c, w in self.wanted.items()
        )


def _make_query(
    schema: Schema,
    clique: Clique,
    kind: type[Centring] | type[Identity],
    neighbours: Neighbours,
    accounting: Accounting,
) -> ResidualQuery:
    sizes = schema.sizes(clique)
    maps = tuple(kind(size) for size in sizes)
    moved = marginal_sensitivity(maps, neighbours)
    # A centred map is n·I − J on each axis, an integer matrix: its answers are the
    # residual times the product of the sizes.
    scaled = math.prod(sizes) if kind is Centring else 1
    far = (
        float(moved.l1)
        if accounting is Accounting.PURE
        else math.sqrt(moved.l2_squared)
    )
    return ResidualQuery(clique, maps, far / scaled)


def _cell_variance_factor(schema: Schema, clique: Clique, tau: Clique) -> float:
    """The variance of all cells of a clique for each unit of the variance of a
    residual: n_A·p_τ·Π n_j⁻².
    """
    free = math.prod((n - 1) / n for n in schema.sizes(tau))
    return cell_count(schema, clique) * free / _cells_outside(schema, clique, tau) ** 2


def _cells_outside(schema: Schema, clique: Clique, tau: Sequence[str]) -> int:
    return math.prod(
        n
        for name, n in zip(clique, schema.sizes(clique), strict=True)
        if name not in tau
    )


def _all_subsets(clique: Clique) -> Iterable[Clique]:
    return chain.from_iterable(combinations(clique, k) for k in range(len(clique) + 1))
