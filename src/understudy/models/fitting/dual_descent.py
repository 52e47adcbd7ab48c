"""The dual of a maximum-entropy fit (max_entropy.py), and its descent by L-BFGS.

L-BFGS (Nocedal 1980) works on top of the dual's exact diagonal curvature,
N·Var(T) + λv, which every pass gives anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.estimates.loss_terms import Question, Term
from understudy.models.fitting.constants import (
    MAX_IDLE_STEPS,
    MAX_LBFGS_NUMBERS,
    MAX_LBFGS_PAIRS,
    MIN_DECREASE_SHARE,
)


class MarginalOracle(Protocol):
    """From log-potentials to marginals that sum to one, and log Z."""

    def run(
        self, potentials: Mapping[Clique, Array]
    ) -> tuple[dict[Clique, Array], float]: ...


@dataclass(frozen=True, eq=False)
class DualPoint:
    """Weights, and what one pass says of them: expected answers, their variances, log Z
    and the loss.
    """

    weights: Array
    expected: Array
    spread: Array
    log_z: float
    loss: float

    def move_weights_to_base(self) -> DualPoint:
        """The same distribution, its weights now part of the base."""
        return replace(self, weights=np.zeros_like(self.weights))


class DualProblem:
    """The terms laid end to end, and passes over them."""

    def __init__(
        self,
        oracle: MarginalOracle,
        terms: Sequence[Term],
        total: float,
        base: dict[Clique, Array],
    ) -> None:
        self.oracle, self.terms, self.total, self.base = oracle, terms, total, base
        sizes = [t.values.size for t in terms]
        self.answers = np.concatenate([np.zeros(0), *(t.values.ravel() for t in terms)])
        self.variances = np.repeat([t.variance for t in terms], sizes)
        self.ends = np.cumsum(sizes, dtype=np.int64)
        self.passes = 0

    def evaluate_at(self, weights: Array) -> DualPoint:
        """One calibration pass."""
        marginals, log_z = self.oracle.run(self.potentials(weights))
        self.passes += 1
        tables = [marginals[t.clique] for t in self.terms]
        terms = zip(self.terms, tables, strict=True)
        mean = np.concatenate([t.answer(table).ravel() for t, table in terms])
        terms = zip(self.terms, tables, strict=True)
        square = np.concatenate([t.square(table).ravel() for t, table in terms])
        # The exact diagonal of the dual's curvature, for free with every pass.
        variance = np.maximum(square - mean**2, 0.0)
        spread = self.total * variance
        expected = self.total * mean
        loss = 0.5 * float(np.sum((expected - self.answers) ** 2 / self.variances))
        return DualPoint(weights, expected, spread, log_z, loss)

    def value(self, point: DualPoint, pull: float) -> float:
        """The dual's value with λ = `pull`."""
        ridge = 0.5 * pull * _dot(self.variances, point.weights**2)
        return self.total * point.log_z - _dot(self.answers, point.weights) + ridge

    def gradient(self, point: DualPoint, pull: float) -> Array:
        """The dual's gradient with λ = `pull`."""
        ridge = pull * self.variances * point.weights
        return np.asarray(point.expected - self.answers + ridge)

    def split(self, weights: Array) -> dict[Question, Array]:
        """The weights of each term."""
        parts = np.split(weights, self.ends[:-1])
        return {
            t.question: part.reshape(t.values.shape)
            for t, part in zip(self.terms, parts, strict=True)
        }

    def pack_weights(self, weights: Mapping[Question, Array]) -> Array:
        """The weights of all terms end to end, zero where none are given."""
        parts = [
            np.ravel(weights.get(t.question, np.zeros(t.values.shape)))
            for t in self.terms
        ]
        return np.concatenate([np.zeros(0), *parts])

    def potentials(self, weights: Array) -> dict[Clique, Array]:
        """The base and the weights as log-potentials."""
        potentials = dict(self.base)
        for term, part in zip(self.terms, self.split(weights).values(), strict=True):
            theta = term.to_potential(part)
            known = potentials.get(term.clique)
            potentials[term.clique] = theta if known is None else known + theta
        return potentials

    def absorb_weights(self, weights: Array) -> None:
        """Make the weights part of the base."""
        self.base = self.potentials(weights)


# Products of vectors without BLAS: at this length its threads cost more than they
# bring, and on a busy machine they wait for each other.


def _dot(one: Array, two: Array) -> float:
    return float(np.einsum("i,i->", one, two))


def _dot_rows(rows: Array, vector: Array) -> Array:
    return np.asarray(np.einsum("ij,j->i", rows, vector))


def _combine_rows(weights: Array, rows: Array) -> Array:
    return np.asarray(np.einsum("i,ij->j", weights, rows))


class CurvatureMemory:
    """The last steps and how they changed the expected answers.

    The ridge λv is added on use, so the memory stays valid when λ changes.
    """

    def __init__(self, size: int, variances: Array) -> None:
        self.variances = variances
        self.steps, self.changes = np.zeros((2, size, variances.size))
        self.cross, self.ridges = np.zeros((2, size, size))
        self.order: list[int] = []

    @classmethod
    def for_variances(cls, variances: Array) -> CurvatureMemory:
        """As many pairs as memory allows for answers of this length."""
        affordable = MAX_LBFGS_NUMBERS // variances.size
        return cls(max(min(MAX_LBFGS_PAIRS, affordable), 8), variances)

    def add(self, step: Array, change: Array) -> None:
        """Remember a step, in the place of the oldest if there is no room."""
        # A pair without positive curvature is rounding error and would spoil the memory.
        if not _dot(step, change) > 0:
            return
        is_full = len(self.order) == len(self.steps)
        at = self.order.pop(0) if is_full else len(self.order)
        self.order.append(at)
        self.steps[at], self.changes[at] = step, change
        self.cross[at] = _dot_rows(self.changes, step)
        self.cross[:, at] = _dot_rows(self.steps, change)
        ridge = _dot_rows(self.steps, self.variances * step)
        self.ridges[at] = self.ridges[:, at] = ridge

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
        ridge = pull * self.variances
        turned = (
            gradient - _combine_rows(back, changes) - ridge * _combine_rows(back, steps)
        ) / curvature
        # Scaled so that the last step is met exactly.
        last = self.order[-1]
        change = changes[last] + ridge * steps[last]
        turned *= own[-1] / _dot(change, change / curvature)
        met = _dot_rows(changes, turned) + _dot_rows(steps, ridge * turned)
        back[self.order] = solve_triangular(
            upper, own * shares - met[self.order], trans="T"
        )
        return -(turned + _combine_rows(back, steps))


def minimise_dual(
    problem: DualProblem,
    point: DualPoint,
    pull: float,
    memory: CurvatureMemory,
    goal: float,
    progress: Callable[[int, float], None] | None,
) -> tuple[DualPoint, float]:
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
        curvature = point.spread + ridge
        direction = memory.descent_direction(gradient, curvature, pull)
        better = _search_line(problem, point, pull, gradient, direction)
        if better is not None:
            memory.add(better.weights - point.weights, better.expected - point.expected)
            point = better
        elif memory.order:
            # A stale memory points uphill: start again from the diagonal.
            memory.order.clear()
        else:
            return point, gap


def _search_line(
    problem: DualProblem,
    point: DualPoint,
    pull: float,
    gradient: Array,
    direction: Array,
) -> DualPoint | None:
    """A point downhill, by backtracking to the minimum of the parabola; None if floats
    tell none apart.
    """
    slope = _dot(gradient, direction)
    value = problem.value(point, pull)
    # The value is a small difference of large sums: what rounding alone may change must
    # not stop the search.
    size = _dot(np.abs(problem.answers), np.abs(point.weights)) + problem.total
    blur = 1e-14 * (abs(value) + size)
    length = 1.0
    while slope < 0 and length > 1e-9:
        trial = problem.evaluate_at(point.weights + length * direction)
        along = _dot(problem.gradient(trial, pull), direction)
        allowed = value + MIN_DECREASE_SHARE * length * slope + blur
        if problem.value(trial, pull) <= allowed:
            # Where values are blurred, only a smaller gradient along the way counts as
            # progress.
            is_clear = -slope * length > blur or abs(along) < 0.9 * abs(slope)
            return trial if is_clear else None
        shorter = slope / (slope - along) if along > slope else 0.1
        length *= min(0.5, max(0.1, shorter))
    return None
