"""Contrasts of some columns: what each measured set of them says that no smaller one does.

Large ordered columns would have thousands of contrasts with each other. Then only
polynomials of their values take part in sets of several columns: sums of products, which
a regression depends on, are among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, helmert

from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.models.estimates.residuals import PooledResiduals
from understudy.schema import Lattice, Schema

MAX_FORMULA_CONTRASTS = 1_000
"""Contrasts of a model: its information matrix is inverted in every step."""

MAX_CONTRAST_ENTRIES = 20_000_000
"""Cells times contrasts of a model: 160 MB."""

MAX_POLYNOMIAL_DEGREE = 3
"""Degree to which a large ordered column goes together with others: straight, bent and
bent twice.
"""

UNOBSERVED_VARIANCE_FACTOR = 1e12
"""Noise variance of a contrast that was not measured, over the square of the number of
rows: as good as none.
"""

PRIOR_DEVIATIONS = {1: 10.0, 2: 5.0, 3: 2.5}
"""Prior standard deviation of a contrast of one, two and three columns, in logarithms of
a share: so wide that data of a hundred rows decide, and cells without rows stay finite.
"""


@dataclass(frozen=True, eq=False)
class ObservedContrasts:
    """The contrasts of a model: of the cells, as observed, and their noise; `sets` are
    the columns they are of, and `orders` how many those are for each contrast.
    """

    matrix: NDArray[np.float64]
    observed: NDArray[np.float64]
    noise: NDArray[np.float64]
    prior_mean: NDArray[np.float64]
    prior_precision: NDArray[np.float64]
    is_assumed: NDArray[np.bool_]
    orders: NDArray[np.int64]
    sets: tuple[Clique, ...]
    smoothed: Clique


def collect_contrasts(
    pooled: PooledResiduals,
    columns: Clique,
    assumed: Sequence[Clique],
    assumed_deviation: float,
    rows: float,
) -> ObservedContrasts:
    """The contrasts of all sets of up to three columns that were measured or assumed."""
    schema = pooled.schema
    sets = _list_small_sets(schema, columns)
    measured = [tau for tau in sets if pooled.part_values(tau) is not None]
    unseen = [tau for tau in sets if tau in assumed and tau not in measured]
    bases = _ContrastBases.of(schema, columns, [*measured, *unseen])
    matrices, observed, noises, priors = [], [], [], []
    for tau in [*measured, *unseen]:
        matrices.append(bases.over_cells(tau).T)
        own = bases.over_set(tau)
        values, noise = _observe_set(pooled, tau, own, rows)
        observed.append(values)
        noises.append(noise)
        is_measured = tau in measured
        deviation = PRIOR_DEVIATIONS[len(tau)] if is_measured else assumed_deviation
        priors.append(np.full(len(own), deviation**-2))
    seen = sum(len(part) for part in observed[: len(measured)])
    count = sum(len(part) for part in observed)
    return ObservedContrasts(
        matrix=np.column_stack(matrices),
        observed=np.concatenate(observed),
        noise=np.asarray(block_diag(*noises), np.float64),
        prior_mean=np.zeros(count),
        prior_precision=np.concatenate(priors),
        is_assumed=np.arange(count) >= seen,
        orders=np.repeat(
            [len(tau) for tau in [*measured, *unseen]], [len(part) for part in observed]
        ),
        sets=(*measured, *unseen),
        smoothed=bases.smoothed,
    )


def _list_small_sets(schema: Schema, columns: Clique) -> list[Clique]:
    """Sets of up to three columns that have contrasts."""
    # A column with one code has no contrast, so no set with it has one either.
    varied = [name for name in columns if min(schema.sizes((name,))) > 1]
    return [tau for order in range(1, 4) for tau in combinations(varied, order)]


def _observe_set(
    pooled: PooledResiduals, tau: Clique, own: NDArray[np.float64], rows: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The contrasts of a set as observed, and the covariance of their noise."""
    values = pooled.part_values(tau)
    if values is None:
        # Nothing was observed: the variance is so large that only the prior counts.
        variance = UNOBSERVED_VARIANCE_FACTOR * rows**2
        return np.zeros(len(own)), np.eye(len(own)) * variance
    return own @ values.ravel(), own @ pooled.part_covariance(tau) @ own.T


@dataclass(frozen=True, eq=False)
class _ContrastBases:
    """The contrasts of each column: all of them alone, and those with others. Scaled so
    that a contrast has mean square 1 over the cells, whatever their number.
    """

    columns: Clique
    alone: Mapping[str, NDArray[np.float64]]
    joint: Mapping[str, NDArray[np.float64]]
    smoothed: Clique

    @classmethod
    def of(
        cls, schema: Schema, columns: Clique, sets: Sequence[Clique]
    ) -> _ContrastBases:
        """All contrasts where there is room, polynomials of large ordered columns where
        there is not.
        """
        sizes = schema.column_sizes
        cells = math.prod(sizes[name] for name in columns)
        # Helmert rows are orthonormal and sum to 0; the factor makes the mean square 1.
        alone = {
            name: helmert(sizes[name]) * math.sqrt(sizes[name]) for name in columns
        }
        most = min(MAX_FORMULA_CONTRASTS, MAX_CONTRAST_ENTRIES // cells)
        joint, smoothed = dict(alone), []
        if _count_contrasts(sets, alone, joint) > most:
            reduced = {name: _polynomial_basis(schema, name) for name in columns}
            smoothed = [
                name for name in columns if len(reduced[name]) < len(alone[name])
            ]
            joint = reduced
        count = _count_contrasts(sets, alone, joint)
        if count > most:
            raise Refused(
                f"the columns of the formula have {count:,} contrasts together; at most"
                f" {most:,} can be modelled. Name fewer columns, or declare wider bins"
                " in the schema"
            )
        return cls(columns, alone, joint, tuple(smoothed))

    def over_set(self, tau: Clique) -> NDArray[np.float64]:
        """The contrasts of a set on its own cells."""
        bases = self.alone if len(tau) == 1 else self.joint
        # A product of contrasts sums to 0 along every axis, so it is orthogonal to all
        # that smaller sets say.
        return _join_bases(bases[name] for name in tau)

    def over_cells(self, tau: Clique) -> NDArray[np.float64]:
        """The same on the cells of all columns."""
        bases = self.alone if len(tau) == 1 else self.joint
        return _join_bases(
            bases[name] if name in tau else np.ones((1, self.alone[name].shape[1]))
            for name in self.columns
        )


def _count_contrasts(
    sets: Sequence[Clique],
    alone: Mapping[str, NDArray[np.float64]],
    joint: Mapping[str, NDArray[np.float64]],
) -> int:
    count = 0
    for tau in sets:
        bases = alone if len(tau) == 1 else joint
        count += math.prod(len(bases[name]) for name in tau)
    return count


def _polynomial_basis(schema: Schema, name: str) -> NDArray[np.float64]:
    """Polynomials of an ordered column's values, and a contrast for each code that is
    no value; of a column without numbers, all contrasts.
    """
    codec = schema.codecs[name]
    full = helmert(codec.size) * math.sqrt(codec.size)
    # Labels have no distances, so there is no polynomial of them.
    if not isinstance(schema[name], Lattice):
        return np.asarray(full)
    is_value = np.asarray(codec.is_value, np.bool_)
    middle = np.zeros(codec.size)
    middle[is_value] = (codec.first_indices + codec.last_indices)[is_value] / 2.0
    # Powers of raw values differ by orders of magnitude and would lose digits in QR.
    scaled = middle / max(float(np.abs(middle).max()), 1.0)
    powers = [
        np.where(is_value, scaled**k, 0.0) for k in range(MAX_POLYNOMIAL_DEGREE + 1)
    ]
    others = [np.eye(codec.size)[code] for code in np.flatnonzero(~is_value)]
    # The constant first: what is orthogonal to it is a contrast.
    raw = np.column_stack([np.ones(codec.size), *powers[1:], *others])
    orthogonal, _ = np.linalg.qr(raw)
    return np.asarray(orthogonal[:, 1:].T * math.sqrt(codec.size))


def _join_bases(bases: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The basis of all columns together: every product of one contrast of each."""
    joint = np.ones((1, 1))
    for basis in bases:
        joint = np.kron(joint, basis).astype(np.float64)
    return joint
