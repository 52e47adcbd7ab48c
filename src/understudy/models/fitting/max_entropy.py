"""The maximum-entropy model of noisy marginals, by convex duality.

Wanted is the distribution p that explains the answers y with least weighted squares,
and that leans towards a simple one where the answers leave room. With μ(p) the expected
answers for N rows and v their variances:

    minimise over p   ½ Σ (μ(p) - y)² / v  +  λ N KL(p ‖ base)

Its solution is p ∝ base · exp(Σ δ_c): a tree model with one weight δ per released
number. The weights solve the dual problem, which is smooth, strictly convex and without
constraints, and one calibration pass gives its value and its gradient:

    minimise over δ   N log Z(δ) - δ·y + (λ/2) Σ v δ²         gradient  g = μ - y + λ v δ

The difference of the two values at a point, ½ Σ g²/v in units of the loss, is the
duality gap: how far at most the model is from the best one. Fitting stops when the gap
is a small share of the loss that noise alone leaves, half a unit for each number.
Answers may be negative: nothing is clipped, and p is positive by form.

Leaning is measured against noise: λ = shrinkage / σ moves an answer by shrinkage · σ ·
δ, so by a fraction of its own noise whatever ε is. Towards a base that is simple and
nearly right it lowers the error where cells are small against the noise. `shrinkage=0`
is least squares alone: the solution becomes the next base until the loss stops falling
(the proximal point method), and the limit is of maximum entropy among all that fit as
well.

The dual is minimised by L-BFGS (Nocedal 1980) on top of its exact diagonal curvature, N
Var(T) + λ v, which every pass gives anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from understudy.measurements import Clique
from understudy.models.estimates.loss_terms import Array, Question, Term

DEFAULT_SHRINKAGE = 0.8
"""How far, in parts of its noise and per unit of log-odds, an answer gives way to the
base.
"""

DEFAULT_GAP_TOLERANCE = 1e-2
"""The gap at which fitting stops, as a share of the loss that noise alone leaves."""

MAX_LBFGS_PAIRS = 60
"""Pairs of steps and gradients that the curvature is learned from, at most."""

MAX_LBFGS_NUMBERS = 1 << 24
"""Numbers of either kind that the pairs may take; a very long list of answers gets
fewer pairs, but never less than eight.
"""

MIN_DECREASE_SHARE = 1e-4
"""The share of the promised decrease that a step must bring."""

MAX_IDLE_STEPS = 40
"""Steps without a lower value after which rounding errors are all that is left to
descend.
"""

FIRST_PROXIMAL_SHRINKAGE = 0.5
"""The shrinkage the proximal method begins with."""

MIN_PROXIMAL_SHRINKAGE = 1.0 / 32
"""Where the proximal method's steps stop growing: the shrinkage of the largest one."""


class MarginalOracle(Protocol):
    """From log-potentials to marginals that sum to one, and log Z."""

    def run(
        self, potentials: Mapping[Clique, Array]
    ) -> tuple[dict[Clique, Array], float]: ...


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
    """Fit the terms; `base` holds fixed potentials (-inf for what cannot be), `warm`
    the weights of an earlier fit.

    `progress` is told the passes so far and the gap in parts of the one to reach.

    >>> from understudy.measurements import Identity
    >>> from understudy.models.inference.calibration import Calibration
    >>> from understudy.models.inference.junction_tree import JunctionTree
    >>> oracle = Calibration(JunctionTree.of([("a",)], {"a": 3}), [("a",)], {"a": 3})
    >>> found = fit_max_entropy(oracle, [Term(("a",), (Identity(3),), np.array([7.0, 5.0, -3.0]), 4.0)],
    ...     10.0, base={}, shrinkage=0, tolerance=1e-9)
    >>> (oracle.run(found.potentials)[0]["a",] * 10).round(3).tolist()
    [6.0, 4.0, 0.0]
    """
    problem = _DualProblem(oracle, terms, total, dict(base))
    if not terms or total <= 0:
        return MaxEntropyFit(dict(base), {}, 0.0, 0.0, 0)
    goal = tolerance * problem.answers.size / 2
    noise = typical_noise(terms)
    strength = shrinkage if shrinkage > 0 else FIRST_PROXIMAL_SHRINKAGE
    point = problem.at(problem.pack_weights(warm or {}))
    loss, memory = (
        math.inf,
        _CurvatureMemory(
            max(min(MAX_LBFGS_PAIRS, MAX_LBFGS_NUMBERS // problem.answers.size), 8),
            problem.variances,
        ),
    )
    while True:
        point, gap = _minimise_dual(
            problem, point, strength / noise, memory, goal, progress
        )
        if shrinkage > 0 or loss - point.loss <= goal:
            break
        loss = point.loss
        problem.absorb_weights(point.weights)
        point = point.move_weights_to_base()
        strength = max(strength / 2, MIN_PROXIMAL_SHRINKAGE)
    weights = problem.split(point.weights)
    return MaxEntropyFit(
        problem.potentials(point.weights), weights, point.loss, gap, problem.passes
    )


def typical_noise(terms: Sequence[Term]) -> float:
    """The median deviation of the released numbers, in rows."""
    return math.sqrt(
        float(
            np.median(
                np.repeat(
                    [t.row_variance for t in terms], [t.values.size for t in terms]
                )
            )
        )
    )


@dataclass(frozen=True, eq=False)
class _DualPoint:
    """Weights, and what one pass says of them."""

    weights: Array
    expected: Array
    spread: Array
    log_z: float
    loss: float

    def move_weights_to_base(self) -> _DualPoint:
        """The same distribution, its weights now part of the base."""
        return _DualPoint(
            np.zeros_like(self.weights),
            self.expected,
            self.spread,
            self.log_z,
            self.loss,
        )


class _DualProblem:
    """The terms laid end to end, and passes over them."""

    def __init__(
        self,
        oracle: MarginalOracle,
        terms: Sequence[Term],
        total: float,
        base: dict[Clique, Array],
    ) -> None:
        self.oracle, self.terms, self.total, self.base = oracle, terms, total, base
        self.answers = np.concatenate([np.zeros(0), *(t.values.ravel() for t in terms)])
        self.variances = np.repeat(
            [t.variance for t in terms], [t.values.size for t in terms]
        )
        self.ends = np.cumsum([t.values.size for t in terms], dtype=np.int64)
        self.passes = 0

    def at(self, weights: Array) -> _DualPoint:
        marginals, log_z = self.oracle.run(self.potentials(weights))
        self.passes += 1
        expected = np.concatenate(
            [t.answer(marginals[t.clique]).ravel() for t in self.terms]
        )
        square = np.concatenate(
            [t.square(marginals[t.clique]).ravel() for t in self.terms]
        )
        spread = self.total * np.maximum(square - expected**2, 0.0)
        expected *= self.total
        return _DualPoint(
            weights,
            expected,
            spread,
            log_z,
            0.5 * float(np.sum((expected - self.answers) ** 2 / self.variances)),
        )

    def value(self, point: _DualPoint, pull: float) -> float:
        ridge = 0.5 * pull * _dot(self.variances, point.weights**2)
        return self.total * point.log_z - _dot(self.answers, point.weights) + ridge

    def gradient(self, point: _DualPoint, pull: float) -> Array:
        return np.asarray(
            point.expected - self.answers + pull * self.variances * point.weights
        )

    def split(self, weights: Array) -> dict[Question, Array]:
        parts = np.split(weights, self.ends[:-1])
        return {
            t.question: part.reshape(t.values.shape)
            for t, part in zip(self.terms, parts, strict=True)
        }

    def pack_weights(self, weights: Mapping[Question, Array]) -> Array:
        parts = [
            np.ravel(weights.get(t.question, np.zeros(t.values.shape)))
            for t in self.terms
        ]
        return np.concatenate([np.zeros(0), *parts])

    def potentials(self, weights: Array) -> dict[Clique, Array]:
        result = dict(self.base)
        for term, part in zip(self.terms, self.split(weights).values(), strict=True):
            theta = term.to_potential(part)
            result[term.clique] = (
                result[term.clique] + theta if term.clique in result else theta
            )
        return result

    def absorb_weights(self, weights: Array) -> None:
        self.base = self.potentials(weights)


# Products of vectors without BLAS: at this length its threads cost more than they
# bring, and on a busy machine they wait for each other.


def _dot(one: Array, two: Array) -> float:
    return float(np.einsum("i,i->", one, two))


def _dot_rows(rows: Array, vector: Array) -> Array:
    return np.asarray(np.einsum("ij,j->i", rows, vector))


def _combine_rows(weights: Array, rows: Array) -> Array:
    return np.asarray(np.einsum("i,ij->j", weights, rows))


class _CurvatureMemory:
    """The last steps and what they did to the expected answers: the ridge is added when
    asked, so they stay true when it changes.
    """

    def __init__(self, size: int, variances: Array) -> None:
        self.variances = variances
        self.steps, self.changes = np.zeros((2, size, variances.size))
        self.cross, self.ridges = np.zeros((2, size, size))
        self.order: list[int] = []

    def add(self, step: Array, change: Array) -> None:
        if not _dot(step, change) > 0:
            return
        size = len(self.steps)
        at = self.order.pop(0) if len(self.order) == size else len(self.order)
        self.order.append(at)
        self.steps[at], self.changes[at] = step, change
        self.cross[at], self.cross[:, at] = (
            _dot_rows(self.changes, step),
            _dot_rows(self.steps, change),
        )
        self.ridges[at] = self.ridges[:, at] = _dot_rows(
            self.steps, self.variances * step
        )

    def descent_direction(
        self, gradient: Array, curvature: Array, pull: float
    ) -> Array:
        """Downhill: the two-loop recursion on the diagonal curvature, its loops written
        as two triangular systems.
        """
        if not self.order:
            return -gradient / curvature
        n = len(self.order)
        steps, changes = self.steps[:n], self.changes[:n]
        place = np.ix_(self.order, self.order)
        upper = np.triu(self.cross[place] + pull * self.ridges[place])
        own = np.diag(upper)
        shares = solve_triangular(upper, _dot_rows(steps, gradient)[self.order])
        back = np.zeros(n)
        back[self.order] = shares
        turned = (
            gradient
            - _combine_rows(back, changes)
            - pull * self.variances * _combine_rows(back, steps)
        )
        turned /= curvature
        last = self.order[-1]
        change = changes[last] + pull * self.variances * steps[last]
        turned *= own[-1] / _dot(change, change / curvature)
        met = _dot_rows(changes, turned) + pull * _dot_rows(
            steps, self.variances * turned
        )
        back[self.order] = solve_triangular(
            upper, own * shares - met[self.order], trans="T"
        )
        return -(turned + _combine_rows(back, steps))


def _minimise_dual(
    problem: _DualProblem,
    point: _DualPoint,
    pull: float,
    memory: _CurvatureMemory,
    goal: float,
    progress: Callable[[int, float], None] | None,
) -> tuple[_DualPoint, float]:
    """Minimise the dual until its gap is at most `goal`, or floats can tell no better
    point from a worse one.
    """
    ridge = pull * problem.variances
    lowest, idle = math.inf, 0
    while True:
        gradient = problem.gradient(point, pull)
        gap = 0.5 * float(np.sum(gradient**2 / problem.variances))
        if progress is not None:
            progress(problem.passes, gap / goal)
        value = problem.value(point, pull)
        lowest, idle = (value, 0) if value < lowest else (lowest, idle + 1)
        if gap <= goal or idle > MAX_IDLE_STEPS:
            return point, gap
        better = _search_line(
            problem,
            point,
            pull,
            gradient,
            memory.descent_direction(gradient, point.spread + ridge, pull),
        )
        if better is None:
            if not memory.order:
                return point, gap
            memory.order.clear()
            continue
        memory.add(better.weights - point.weights, better.expected - point.expected)
        point = better


def _search_line(
    problem: _DualProblem,
    point: _DualPoint,
    pull: float,
    gradient: Array,
    direction: Array,
) -> _DualPoint | None:
    """A point downhill, by backtracking to the minimum of the parabola; None where
    there is none to be told apart.
    """
    slope = _dot(gradient, direction)
    value = problem.value(point, pull)
    # The value is a small difference of large sums: what rounding alone may change must
    # not stop the way.
    blur = 1e-14 * (
        abs(value)
        + _dot(np.abs(problem.answers), np.abs(point.weights))
        + problem.total
    )
    length = 1.0
    while slope < 0 and length > 1e-9:
        trial = problem.at(point.weights + length * direction)
        if (
            problem.value(trial, pull)
            <= value + MIN_DECREASE_SHARE * length * slope + blur
        ):
            # Where values are blurred, only a smaller gradient along the way counts as
            # progress.
            along = _dot(problem.gradient(trial, pull), direction)
            return (
                trial
                if -slope * length > blur or abs(along) < 0.9 * abs(slope)
                else None
            )
        along = _dot(problem.gradient(trial, pull), direction)
        length *= min(0.5, max(0.1, slope / (slope - along))) if along > slope else 0.1
    return None
