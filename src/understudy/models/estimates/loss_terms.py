"""Measurements as the terms of one loss: each distinct question once, however often it
was asked.

The loss of a distribution is ½ Σ (answer expected - answer released)² / variance over
every released number. Two measurements of the same clique by the same maps are one of
their precision-weighted mean: that changes the loss by a constant only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from understudy.measurements import (
    AxisMap,
    Centring,
    Clique,
    Identity,
    Measurements,
    Partition,
)
from understudy.models.arrays import Array
from understudy.models.estimates.noise_moments import cell_variance
from understudy.schema import Schema

Question = tuple[Clique, tuple[AxisMap, ...]]

# The least variance a fit works with, that of a hundredth of a row: larger weights
# take ever more passes and tell nothing more.
MIN_TERM_VARIANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Term:
    """One question, the pooled answer to it and the variance of each of its numbers."""

    clique: Clique
    maps: tuple[AxisMap, ...]
    values: Array
    variance: float

    @property
    def question(self) -> Question:
        """What was asked: the key under which a fit keeps its weights."""
        return self.clique, self.maps

    @property
    def plain(self) -> bool:
        """Whether every cell was asked for on its own."""
        return all(isinstance(m, Identity) for m in self.maps)

    @property
    def is_coarse(self) -> bool:
        """Whether a column was asked for by coarser bins."""
        return any(isinstance(m, Partition) for m in self.maps)

    @property
    def row_variance(self) -> float:
        """The variance in rows: centred answers are multiples of them."""
        return (
            self.variance
            / prod(m.size for m in self.maps if isinstance(m, Centring)) ** 2
        )

    def to_rows(self, answers: Array) -> Array:
        """Answers as rows: centred ones are multiples of them, and noise that no
        centred answer can have is taken off.
        """
        scale = 1
        for axis, m in enumerate(self.maps):
            if isinstance(m, Centring):
                answers, scale = (
                    answers - answers.mean(axis=axis, keepdims=True),
                    scale * m.size,
                )
        return answers / scale

    def answer(self, marginal: Array) -> Array:
        """What the marginal of the clique would answer."""
        result = marginal
        for axis, m in enumerate(self.maps):
            if isinstance(m, Centring):
                result = m.size * result - result.sum(axis=axis, keepdims=True)
            elif isinstance(m, Partition):
                result = _apply_along_axis(self._bin_matrices[axis], result, axis)
        return result

    def to_potential(self, weights: Array) -> Array:
        """Weights of the answers as a potential over the cells of the clique: the
        transposed map.
        """
        result = weights
        for axis, m in enumerate(self.maps):
            if isinstance(m, Centring):  # its own transpose
                result = m.size * result - result.sum(axis=axis, keepdims=True)
            elif isinstance(m, Partition):
                result = _apply_along_axis(self._bin_matrices[axis].T, result, axis)
        return result

    def square(self, marginal: Array) -> Array:
        """What the squares of the map's entries would answer: with it the variance of
        each answer of one random row.
        """
        result = marginal
        for axis, m in enumerate(self.maps):
            if isinstance(m, Centring):  # (n − 1)² for a cell itself, 1 for every other
                result = (m.size - 2) * m.size * result + result.sum(
                    axis=axis, keepdims=True
                )
            elif isinstance(m, Partition):
                result = _apply_along_axis(self._bin_matrices[axis], result, axis)
        return result

    @cached_property
    def _bin_matrices(self) -> dict[int, Array]:
        """The matrices of axes in coarser bins: a fit goes through them in every pass,
        and a column may have very many codes.
        """
        return {
            axis: m.matrix().astype(np.float64)
            for axis, m in enumerate(self.maps)
            if isinstance(m, Partition)
        }


def terms_of(schema: Schema, measurements: Measurements) -> tuple[Term, ...]:
    """Every distinct question of some measurements with its pooled answer; columns in
    the schema's order.

    >>> from fractions import Fraction
    >>> from understudy.accounting import Cost, Accounting, Law
    >>> from understudy.measurements import Measurement
    >>> from understudy.schema import Boolean
    >>> schema = Schema(columns=(Boolean(name="smoker", nullable=False),))
    >>> cost = Cost(Accounting.GDP, Fraction(1))
    >>> observations = [
    ...     Measurement(
    ...         ("smoker",),
    ...         (Identity(2),),
    ...         np.array([n, 4]),
    ...         Law.DISCRETE_GAUSSIAN,
    ...         Fraction(2),
    ...         cost,
    ...     )
    ...     for n in (8, 10)
    ... ]
    >>> (term,) = terms_of(schema, Measurements(tuple(observations)))
    >>> term.values.tolist(), round(term.variance, 6)
    ([9.0, 4.0], 2.0)
    """
    found = []
    for m in measurements:
        order = [m.clique.index(name) for name in schema if name in m.clique]
        clique, maps = (
            tuple(m.clique[i] for i in order),
            tuple(m.maps[i] for i in order),
        )
        found.append(
            Term(
                clique,
                maps,
                m.values.transpose(order).astype(np.float64),
                max(cell_variance(m), MIN_TERM_VARIANCE),
            )
        )
    return merge_terms(found)


def merge_terms(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Terms of the same question as one, their answers averaged by precision."""
    top: dict[Question, Array] = {}
    bottom: dict[Question, float] = {}
    for term in terms:
        # Weights by precision give the average of least variance.
        pull = term.values / term.variance
        top[term.question] = top[term.question] + pull if term.question in top else pull
        bottom[term.question] = bottom.get(term.question, 0.0) + 1 / term.variance
    return tuple(
        Term(*asked, np.asarray(top[asked] / bottom[asked]), 1 / bottom[asked])
        for asked in top
    )


def single_column_terms(term: Term) -> Iterator[Term]:
    """What a term says of each of its columns alone: its sums. A centred axis sums to
    nothing.
    """
    for i, (name, axis) in enumerate(zip(term.clique, term.maps, strict=True)):
        others = tuple(j for j in range(len(term.maps)) if j != i)
        # Along a centred axis everything sums to 0, so such a term knows no column
        # sums.
        if not any(isinstance(term.maps[j], Centring) for j in others):
            cells = prod(term.maps[j].out for j in others)
            yield Term(
                (name,),
                (axis,),
                np.asarray(term.values.sum(axis=others)),
                term.variance * cells,
            )


def _apply_along_axis(matrix: Array, values: Array, axis: int) -> Array:
    """A matrix along one axis."""
    return np.asarray(
        np.moveaxis(np.tensordot(matrix, values, axes=(1, axis)), 0, axis)
    )
