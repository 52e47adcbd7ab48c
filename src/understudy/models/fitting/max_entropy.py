"""The maximum-entropy model of noisy marginals, by convex duality.

Wanted is the distribution p that explains the answers y with least weighted squares,
and that is shrunk towards a simple one where the answers leave room. With μ(p) the
expected answers for N rows and v their variances:

    minimise over p   ½ Σ (μ(p) − y)² / v  +  λ N KL(p ‖ base)

Its solution is p ∝ base · exp(Σ δ_c): a tree model with one weight δ per released
number. The weights solve the dual problem, which is smooth, strictly convex and without
constraints, and one calibration pass gives its value and its gradient:

    minimise over δ   N log Z(δ) − δ·y + (λ/2) Σ v δ²         gradient  g = μ − y + λ v δ

The difference of the two values at a point, ½ Σ g²/v in units of the loss, is the
duality gap: how far at most the model is from the best one. Fitting stops when the gap
is a small share of the loss that noise alone leaves, half a unit for each number.
Answers may be negative: nothing is clipped, and p is positive by form.

Shrinkage is relative to noise: λ = shrinkage / σ moves an answer by shrinkage · σ · δ,
so by a fraction of its own noise whatever ε is. Towards a base that is simple and nearly
right it lowers the error where cells are small against the noise. `shrinkage=0` is least
squares alone: the solution becomes the next base until the loss stops falling (the
proximal point method), and the limit has maximum entropy among all that fit as well.

The dual is minimised in dual_descent.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.estimates.loss_terms import Question, Term
from understudy.models.fitting.constants import (
    DEFAULT_GAP_TOLERANCE,
    DEFAULT_SHRINKAGE,
    FIRST_PROXIMAL_SHRINKAGE,
    MIN_PROXIMAL_SHRINKAGE,
)
from understudy.models.fitting.dual_descent import (
    CurvatureMemory,
    DualProblem,
    MarginalOracle,
    minimise_dual,
)


@dataclass(frozen=True, eq=False)
class MaxEntropyFit:
    """Where a fit ended: the potentials, the weights a later fit can start from, and
    how good it is.
    """

    potentials: dict[Clique, Array]
    weights: dict[Question, Array]
    loss: float
    gap: float
    passes: int


def fit_max_entropy(
    oracle: MarginalOracle,
    terms: Sequence[Term],
    total: float,
    *,
    base: Mapping[Clique, Array],
    warm: Mapping[Question, Array] | None = None,
    shrinkage: float = DEFAULT_SHRINKAGE,
    tolerance: float = DEFAULT_GAP_TOLERANCE,
    progress: Callable[[int, float], None] | None = None,
) -> MaxEntropyFit:
    """Fit the terms; `base` holds fixed potentials (−∞ for what is impossible), `warm`
    the weights of an earlier fit.

    `progress` gets the passes so far and the gap relative to the one to reach.

    >>> from understudy.measurements import Identity
    >>> from understudy.models.inference.calibration import Calibration
    >>> from understudy.models.inference.junction_tree import JunctionTree
    >>> oracle = Calibration(JunctionTree.of([("a",)], {"a": 3}), [("a",)], {"a": 3})
    >>> term = Term(("a",), (Identity(3),), np.array([7.0, 5.0, -3.0]), 4.0)
    >>> found = fit_max_entropy(oracle, [term], 10.0, base={}, shrinkage=0, tolerance=1e-9)
    >>> (oracle.run(found.potentials)[0]["a",] * 10).round(3).tolist()
    [6.0, 4.0, 0.0]
    """
    if not terms or total <= 0:
        return MaxEntropyFit(dict(base), {}, 0.0, 0.0, 0)
    problem = DualProblem(oracle, terms, total, dict(base))
    goal = tolerance * problem.answers.size / 2
    noise = typical_noise(terms)
    strength = shrinkage if shrinkage > 0 else FIRST_PROXIMAL_SHRINKAGE
    point = problem.evaluate_at(problem.pack_weights(warm or {}))
    memory = CurvatureMemory.for_variances(problem.variances)
    loss = math.inf
    # With shrinkage one pass of this loop suffices; without, each solution becomes the base
    # of the next, which is pulled less (the proximal point method).
    while True:
        point, gap = minimise_dual(
            problem, point, strength / noise, memory, goal, progress
        )
        if shrinkage > 0 or loss - point.loss <= goal:
            break
        loss = point.loss
        problem.absorb_weights(point.weights)
        point = point.move_weights_to_base()
        strength = max(strength / 2, MIN_PROXIMAL_SHRINKAGE)
    return MaxEntropyFit(
        potentials=problem.potentials(point.weights),
        weights=problem.split(point.weights),
        loss=point.loss,
        gap=gap,
        passes=problem.passes,
    )


def typical_noise(terms: Sequence[Term]) -> float:
    """The median standard deviation of the released numbers, in rows."""
    variances = np.repeat(
        [t.row_variance for t in terms], [t.values.size for t in terms]
    )
    return math.sqrt(float(np.median(variances)))
