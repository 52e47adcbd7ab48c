"""Non-negative, consistent marginals of cliques that form a junction tree, without a
model being fitted.

Least squares (models/estimates/residuals.py) makes marginals agree but leaves negative
counts; projecting each table onto the non-negative ones with the right total makes them
disagree again. Dykstra's alternating projections (1986) do both in turn, each with a
correction for what the last projection took away, and converge to the nearest tables
that are both. Agreement is a projection too: residual least squares of the tables, each
with its own variance. A handful of sweeps suffices; then the tree's model is the product
of the marginals divided by the separators, in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.estimates.consistency import project_simplex
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.fitting.constants import DYKSTRA_TOLERANCE, MAX_DYKSTRA_SWEEPS
from understudy.schema import Schema


def select_tree_cliques(cliques: Iterable[Clique]) -> dict[Clique, list[Clique]]:
    """Those cliques, taken in order, that form a junction tree as they are, and the
    separators that tie each to those before it.

    A clique is taken if what it shares with each connected part of the tree so far lies
    inside one clique of that part.

    >>> select_tree_cliques([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    {('a', 'b'): [], ('b', 'c'): [('b',)], ('c', 'd'): [('c',)]}
    """
    taken: dict[Clique, list[Clique]] = {}
    components: list[list[set[str]]] = []
    for clique in cliques:
        names = set(clique)
        met = [part for part in components if _shares_column(names, part)]
        shared = [names & set().union(*part) for part in met]
        fits = all(
            _is_inside_one(common, part)
            for part, common in zip(met, shared, strict=True)
        )
        if not fits or any(names <= common for common in shared):
            continue
        taken[clique] = [_in_order_of(clique, common) for common in shared]
        joined = [names]
        for part in met:
            joined += part
            components.remove(part)
        components.append(joined)
    return taken


def _shares_column(names: set[str], part: Sequence[set[str]]) -> bool:
    return any(names & other for other in part)


def _is_inside_one(names: set[str], part: Sequence[set[str]]) -> bool:
    return any(names <= other for other in part)


def _in_order_of(clique: Clique, names: set[str]) -> Clique:
    return tuple(name for name in clique if name in names)


def direct_potentials(
    tables: Mapping[Clique, Array], tree: Mapping[Clique, list[Clique]]
) -> dict[Clique, Array]:
    """The log-potentials of Π tables / Π separators: where the tables agree, the model
    that has them as marginals.

    >>> tree = select_tree_cliques([("a", "b"), ("b", "c")])
    >>> alike = np.array([[4.0, 1.0], [1.0, 4.0]])
    >>> tables = {("a", "b"): alike, ("b", "c"): alike}
    >>> np.exp(direct_potentials(tables, tree)["b", "c"]).round(3).tolist()
    [[0.8, 0.2], [0.2, 0.8]]
    """
    potentials = {}
    for clique, separators in tree.items():
        table = tables[clique]
        mass = table.sum()
        with np.errstate(divide="ignore"):
            theta = np.log(table / mass)
        for separator in separators:
            rest = tuple(i for i, name in enumerate(clique) if name not in separator)
            share = table.sum(axis=rest, keepdims=True) / mass
            theta = theta - np.log(np.where(share > 0, share, 1.0))
        potentials[clique] = theta
    return potentials


def direct_marginals(
    schema: Schema,
    pooled: PooledResiduals,
    cliques: Sequence[Clique],
    total: float,
    *,
    settled: float = DYKSTRA_TOLERANCE,
) -> dict[Clique, Array]:
    """The nearest tables to the least-squares ones that are not negative, agree, sum to
    `total` and keep structural zeros empty.

    >>> from understudy.accounting import Cost, Accounting, Law
    >>> from fractions import Fraction
    >>> from understudy.measurements import Identity, Measurement, Measurements
    >>> from understudy.schema import Categorical
    >>> values = ("never", "once", "daily")
    >>> smoker = Categorical(name="smoker", values=values, nullable=False)
    >>> schema = Schema(columns=(smoker,))
    >>> cost = Cost(Accounting.GDP, Fraction(1))
    >>> noise = Law.DISCRETE_GAUSSIAN, Fraction(1), cost
    >>> noisy = Measurement(("smoker",), (Identity(3),), np.array([7, 5, -3]), *noise)
    >>> pooled = PooledResiduals.of(schema, Measurements((noisy,)))
    >>> direct_marginals(schema, pooled, [("smoker",)], 10.0)["smoker",].round(3).tolist()
    [6.0, 4.0, 0.0]
    """
    tables = {clique: pooled.marginal(clique) for clique in cliques}
    variances = {clique: _typical_variance(pooled, clique) for clique in cliques}
    zeros = {clique: schema.zeros(clique) for clique in cliques}
    _refuse_empty_cliques(zeros)
    # What the last projection of each table took away; Dykstra's method gives it back.
    corrections = {clique: np.zeros_like(table) for clique, table in tables.items()}
    projected = tables
    for _ in range(MAX_DYKSTRA_SWEEPS):
        projected = {}
        for clique, table in tables.items():
            mask = zeros[clique]
            allowed = None if mask is None else ~mask
            corrected = table + corrections[clique]
            projected[clique] = project_simplex(corrected, total, allowed=allowed)
            corrections[clique] = corrected - projected[clique]
        # Agreement is a projection as well: least squares of the projected tables.
        weighted = [(c, projected[c], variances[c]) for c in cliques]
        agreed = PooledResiduals.of_tables(schema, total, weighted)
        tables = {clique: agreed.marginal(clique) for clique in cliques}
        if _largest_move(tables, projected, variances) <= settled:
            break
    return projected


def _refuse_empty_cliques(zeros: Mapping[Clique, NDArray[np.bool_] | None]) -> None:
    for clique, mask in zeros.items():
        if mask is not None and mask.all():
            raise Refused(
                f"{', '.join(clique)}: everything is declared impossible. Loosen what"
                " the schema says of it"
            )


def _largest_move(
    tables: Mapping[Clique, Array],
    projected: Mapping[Clique, Array],
    variances: Mapping[Clique, float],
) -> float:
    """The largest distance between two sets of tables, in deviations of their noise."""
    moved = [
        float(np.abs(table - projected[c]).max()) / math.sqrt(variances[c])
        for c, table in tables.items()
    ]
    return max(moved, default=0.0)


def _typical_variance(pooled: PooledResiduals, clique: Clique) -> float:
    """The mean variance of a clique's cells, of those that were measured."""
    variance = pooled.variance(clique)
    known = variance[np.isfinite(variance)]
    return max(float(known.mean()), 1e-12) if known.size else 1.0
