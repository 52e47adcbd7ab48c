"""Choosing privately and exactly: the exponential mechanism and permute-and-flip.

McSherry, Talwar, "Mechanism design via differential privacy", 2007; McKenna, Sheldon,
"Permute-and-flip: a new mechanism for differentially private selection", 2020.

Scores are integers, in steps of a public `grid`. With a = ε·grid/(2Δ), or ε·grid/Δ when
a neighbour moves every score the same way (`monotone`), and g = best score - score,
candidate i has weight base_i · exp(-a·g_i).

Why it is private. A neighbour changes every score by at most Δ, so every weight by a
factor within e^(±ε/2), and so their sum. Monotone scores move weights and sum the same
way, so the ratio changes by at most e^ε. Permute-and-flip: docs/proofs/noise.md, §6.
`base` must be public, or stand for a public measure (quantile.py merges points of equal
score).

How it is exact. An integer m_i with 2^-m_i ≥ exp(-a·g_i) comes from one float product
that errs on the safe side. A candidate is proposed with probability ∝ base_i · 2^-m_i,
which is integer arithmetic, and kept with probability exp(-a·g_i)·2^m_i, by a
comparison that reads as many bits as it needs. What is kept first has exactly the
weights above (docs/proofs/noise.md, theorem 2). About half of all proposals or more are
kept, however many candidates there are.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.noise.enclosure import enclose_exp_neg
from understudy.noise.source import (
    OS_SOURCE,
    BitSource,
    IntegerBounds,
    UniformReal,
    draw_below,
)

MAX_PROPOSAL_LEVEL = 192
"""Largest m: candidates this unlikely are still proposed, and kept, exactly as often as
they should be.
"""

LOG2_E_ROUNDED_DOWN = 1.442695
"""A little less than 1/ln 2, which keeps m on the safe side whatever the rounding of
one float product.
"""

HALF_WORD_SHIFT = np.uint64(32)


def exponential_mechanism(
    scores: NDArray[np.int64],
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    grid: Fraction = Fraction(1),
    monotone: bool = False,
    base: NDArray[np.int64] | None = None,
    source: BitSource = OS_SOURCE,
) -> int:
    """Index of one candidate, P(i) ∝ base_i · exp(ε · grid · score_i / (2 ·
    sensitivity)).

    `sensitivity` is in the units of `grid · score`. ε-private when every score moves by
    at most `sensitivity` between neighbours.

    >>> one = Fraction(1)
    >>> exponential_mechanism(np.array([0, 100_000]), epsilon=one, sensitivity=one)
    1
    """
    a = exponent_per_step(epsilon, sensitivity, grid, monotone)
    usable, weights = _usable_candidates(scores, base)
    gaps = _score_gaps(scores[usable])
    levels = _proposal_levels(gaps, a)
    # Candidates of one level lie side by side: a level is drawn first, then one in it.
    order = np.argsort(levels, kind="stable")
    usable = usable[order]
    weights = weights[order]
    gaps = gaps[order]
    levels = levels[order]
    depths, starts = np.unique(levels, return_index=True)
    ends = np.append(starts[1:], levels.size)
    masses = [
        exact_sum(weights[s:e]) << (MAX_PROPOSAL_LEVEL - int(m))
        for m, s, e in zip(depths, starts, ends, strict=True)
    ]
    total = sum(masses)
    while True:
        at = draw_below(total, source)
        level = 0
        while at >= masses[level]:
            at -= masses[level]
            level += 1
        m = int(depths[level])
        start = int(starts[level])
        position = at >> (MAX_PROPOSAL_LEVEL - m)
        proposed = start + _locate_candidate(weights[start : ends[level]], position)
        if _accept_proposal(a * int(gaps[proposed]), m, source):
            return int(usable[proposed])


def noisy_max(
    scores: NDArray[np.int64],
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    grid: Fraction = Fraction(1),
    monotone: bool = False,
    source: BitSource = OS_SOURCE,
) -> int:
    """Index of a nearly best candidate by permute-and-flip: never worse in expectation
    than `exponential_mechanism`, at the same ε.

    In random order, each candidate is taken with probability exp(-a·g); the best one
    always is.

    >>> noisy_max(np.array([7, 0, 0]), epsilon=Fraction(100), sensitivity=Fraction(1))
    0
    """
    a = exponent_per_step(epsilon, sensitivity, grid, monotone)
    gaps = _score_gaps(scores[_usable_candidates(scores, None)[0]])
    levels = np.minimum(_proposal_levels(gaps, a), 63)
    keys = source.words(gaps.size)
    # A sort puts equal keys in the order they stand in: they would favour it.
    while np.unique(keys).size < keys.size:
        keys = source.words(gaps.size)
    order = np.argsort(keys)
    # The coin of probability exp(-a·g) in two throws: 2^-m first, for all at once, then
    # exp(-a·g)·2^m.
    spare = np.uint64(63) - levels.astype(np.uint64)
    passed = source.words(gaps.size) >> spare <= np.uint64(1)
    for index in order[passed[order]]:
        if _accept_proposal(a * int(gaps[index]), int(levels[index]), source):
            return int(index)
    raise AssertionError("the best candidate is always taken")


def _accept_proposal(x: Fraction, m: int, source: BitSource) -> bool:
    """True with probability exp(-x) · 2^m, which must not exceed one."""
    if x == 0:
        return True

    def enclose_acceptance(bits: int) -> IntegerBounds:
        return enclose_exp_neg(x, bits + m)

    return UniformReal(source).below(enclose_acceptance)


def _proposal_levels(gaps: NDArray[np.int64], a: Fraction) -> NDArray[np.int64]:
    """m with 2^-m ≥ exp(-a·gap), as large as is safe and at most MAX_PROPOSAL_LEVEL."""
    # Too small an m is safe: it only costs proposals. So is a smaller rate.
    rate = float(min(a, Fraction(2**20))) * LOG2_E_ROUNDED_DOWN
    levels = np.minimum(gaps.astype(np.float64) * rate, float(MAX_PROPOSAL_LEVEL))
    return levels.astype(np.int64)


def _usable_candidates(
    scores: NDArray[np.int64], base: NDArray[np.int64] | None
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Indices of those that may be chosen at all, and their base measure."""
    if scores.ndim != 1 or scores.dtype.kind != "i":
        raise Refused(
            "scores must be a list of integers on a stated grid. Nothing was chosen."
        )
    weights = np.ones(scores.size, dtype=np.int64) if base is None else base
    if (
        weights.shape != scores.shape
        or weights.dtype.kind != "i"
        or weights.min(initial=0) < 0
    ):
        raise Refused(
            "a base measure is one non-negative integer for each candidate. Nothing was"
            " chosen."
        )
    usable = np.flatnonzero(weights)
    if usable.size == 0:
        raise Refused("there is no candidate to choose from. Nothing was chosen.")
    return usable, weights[usable]


def _score_gaps(scores: NDArray[np.int64]) -> NDArray[np.int64]:
    """How far each score is below the best."""
    best = int(scores.max())
    if best - int(scores.min()) >= 2**62:
        raise Refused(
            "scores span more than 2^62 steps of their grid; use a coarser grid."
            " Nothing was chosen."
        )
    return best - scores.astype(np.int64)


def exponent_per_step(
    epsilon: Fraction,
    sensitivity: Fraction,
    grid: Fraction,
    monotone: bool,
) -> Fraction:
    """What one step of the grid below the best score costs in the exponent: a = ε·grid
    / (2Δ), or ε·grid/Δ for monotone scores.
    """
    for name, number in (
        ("epsilon", epsilon),
        ("sensitivity", sensitivity),
        ("grid", grid),
    ):
        if type(number) not in (Fraction, int) or number <= 0:
            raise Refused(
                f"{name} must be a positive exact Fraction. Nothing was chosen."
            )
    return Fraction(epsilon) * grid / (sensitivity * (1 if monotone else 2))


def exact_sum(weights: NDArray[np.int64]) -> int:
    """Sum of non-negative 64-bit integers that cannot wrap around, as two sums of
    32-bit halves.

    >>> exact_sum(np.array([2**62] * 4))
    18446744073709551616
    """
    words = weights.astype(np.uint64)
    high = int((words >> HALF_WORD_SHIFT).sum())
    low = int((words & np.uint64(2**32 - 1)).sum())
    return (high << 32) + low


def _locate_candidate(weights: NDArray[np.int64], at: int) -> int:
    """Index of the candidate that owns position `at` when candidates lie end to end,
    each as long as its weight.
    """
    low = 0
    high = weights.size
    while high - low > 1:
        middle = (low + high) // 2
        left = exact_sum(weights[low:middle])
        if at < left:
            high = middle
        else:
            low = middle
            at = at - left
    return low
