"""The answers to the questions of a batch, from the sums of atoms that were measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.queries.batches import AtomPlan, MemberTerm
from understudy.queries.estimates import NoisyStatistic
from understudy.queries.noise_intervals import NoiseScale, SumNoise
from understudy.queries.plan import AnyStatistic
from understudy.queries.results import AnswerTable, make_answer

FamilyValues = tuple[Sequence[float], NoiseScale]
"""What was measured of a family, and the noise on each of its sums."""


def answer_members(
    plan: AtomPlan, measured: Sequence[FamilyValues], *, basis: str
) -> list[AnswerTable]:
    """The answers to all questions of a batch, in their order."""
    answers = []
    for member, terms in zip(plan.members, plan.terms, strict=True):
        found = [
            _recover_groups(plan, measured, statistic, parts, member.cells.groups)
            for statistic, parts in zip(member.statistics, terms, strict=True)
        ]
        answers.append(make_answer(member, found, basis=basis, cost=None))
    return answers


def _recover_groups(
    plan: AtomPlan,
    measured: Sequence[FamilyValues],
    statistic: AnyStatistic,
    terms: Sequence[MemberTerm],
    size: int,
) -> list[NoisyStatistic]:
    """A statistic of a question for every group. One that no atom is in is empty, which
    is public.
    """
    values, variances, weights, squares = (np.zeros(size) for _ in range(4))
    law = measured[0][1].law
    for term in terms:
        place = plan.statistics.index(term.family)
        sums, noise = measured[place]
        own, absolute, squared = _weigh_sums(
            plan, place, term.group_of_atom, sums, size
        )
        values += term.factor * own
        variances += (term.factor * float(noise.scale)) ** 2 * squared
        if noise.scale:
            weights += abs(term.factor) * absolute
            squares += term.factor**2 * squared
    source = plan.statistics.index(terms[0].family) if len(terms) == 1 else None
    columns = zip(
        values.tolist(),
        np.sqrt(variances).tolist(),
        weights.tolist(),
        squares.tolist(),
        strict=True,
    )
    return [
        NoisyStatistic(statistic, value, SumNoise(law, *spread), source=source)
        for value, *spread in columns
    ]


def _weigh_sums(
    plan: AtomPlan,
    place: int,
    group_of_atom: NDArray[np.int64],
    sums: Sequence[float],
    size: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """For every group, what is recovered of the measured sums; the absolute weights that
    these have in it, together, and their squares.
    """
    strategy = plan.strategies[place]
    inside = group_of_atom >= 0
    chosen = group_of_atom[inside]
    if strategy is None:
        numbers = np.array(sums, np.float64)[inside]
        added = np.bincount(chosen, weights=numbers, minlength=size)
        atoms = np.bincount(chosen, minlength=size).astype(np.float64)
        return added.astype(np.float64), atoms, atoms
    groups = np.unique(chosen)
    members = np.equal(groups[:, None], group_of_atom).astype(np.float64)
    weights = strategy.find_weights(members)
    found = [np.zeros(size) for _ in range(3)]
    for column, numbers in zip(
        found,
        (weights @ np.array(sums, np.float64), np.abs(weights), weights**2),
        strict=True,
    ):
        column[groups] = numbers if numbers.ndim == 1 else numbers.sum(axis=1)
    return found[0], found[1], found[2]


def largest_squares(plan: AtomPlan) -> float:
    """The largest sum of squared weights that a count of a batch of counts has."""
    rows, _ = plan.workload(plan.statistics[0])
    strategy = plan.strategies[0]
    weights = rows if strategy is None else strategy.find_weights(rows)
    return float((weights**2).sum(axis=1).max()) if len(rows) else 1.0
