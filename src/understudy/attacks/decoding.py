"""Dinur and Nissim's reconstruction: overly accurate answers to too many questions give
the whole column away.

Dinur, Nissim, "Revealing information while preserving privacy", 2003. n people have one
secret bit each. An answer is the number of ones in a subset, with an error of at most
E.

  exhaustive   All 2ⁿ subsets are asked. Any candidate that agrees with every answer to
               within E is wrong in at most 4E places: 2E among its wrong ones, counted
               by the subset of those places, and 2E among its wrong zeros.
  decoding     Only 4n random subsets are asked. The candidate that minimises Σ|Ax - y|
               over 0 ≤ x ≤ 1 is a linear program; rounded, it is right nearly
               everywhere while E is well below √n (Dwork, McSherry, Talwar, "The price
               of privacy and the limits of LP decoding", 2007).

The people and the bounded errors are simulated from a seed. The last bar of the second
figure is the curator's own noise, which cannot be seeded.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from understudy.accounting.law import Law
from understudy.attacks.finding import AttackFinding, Bar, Bars, Curve, Curves
from understudy.noise import draw_noise

ANSWER_ERROR_LEVELS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Errors of answers, as multiples of √n."""


def run_exhaustive_attack(
    *, people: int = 12, errors: tuple[int, ...] = (0, 1, 2, 3), seed: int = 0
) -> AttackFinding:
    """The furthest candidate that agrees with all answers, beside the bound 4E.

    >>> run_exhaustive_attack(people=8, errors=(0, 1)).facts["furthest"]["0"]
    0
    """
    rng = np.random.default_rng(seed)
    # Every subset as a row of zeros and ones; single precision is fast, and exact here.
    subsets = (np.arange(2**people)[:, None] >> np.arange(people) & 1).astype(
        np.float32
    )
    secret = rng.permutation(np.arange(people) % 2).astype(np.float32)
    truth = subsets @ secret
    counts = subsets @ subsets.T  # what each candidate would answer to each question
    wrong_places = (subsets != secret).sum(axis=1)
    by_chance: dict[int, int] = {}
    misled: dict[int, int] = {}
    for error in errors:
        random = truth + rng.integers(-error, error + 1, len(truth))
        misleading = _mislead(subsets, secret, truth, error)
        for furthest, answers in ((by_chance, random), (misled, misleading)):
            largest_error = np.abs(answers - truth).max()
            assert largest_error <= error, "an answer is off by at most E"
            agreeing = _find_agreeing_candidates(counts, answers, error)
            furthest[error] = int(wrong_places[agreeing].max())
    return _exhaustive_finding(people, errors, by_chance, misled)


def _mislead(
    subsets: NDArray[np.float32],
    secret: NDArray[np.float32],
    truth: NDArray[np.float32],
    error: int,
) -> NDArray[np.float32]:
    """The most misleading answers: halfway to a table with 2E ones and 2E zeros
    exchanged, rounded towards the truth.
    """
    decoy = secret.copy()
    for bit in (0, 1):
        decoy[np.flatnonzero(secret == bit)[: 2 * error]] = 1 - bit
    return np.asarray(truth + np.trunc((subsets @ decoy - truth) / 2))


def _exhaustive_finding(
    people: int,
    errors: tuple[int, ...],
    by_chance: dict[int, int],
    misled: dict[int, int],
) -> AttackFinding:
    """The furthest candidates by error, random and misleading, in words and curves."""
    bound = {error: min(4 * error, people) for error in errors}

    def curve(label: str, furthest: dict[int, int], *, dashed: bool = False) -> Curve:
        points = tuple((float(error), float(furthest[error])) for error in errors)
        return Curve(label, points, dashed=dashed)

    return AttackFinding(
        name="exhaustive",
        title=f"All {2**people:,} questions about {people} people",
        text=tuple(
            f"Error at most {e}: of all tables that agree with every answer, the"
            f" furthest is wrong in {by_chance[e]} of {people} places if errors are"
            f" random, in {misled[e]} if they mislead; never in more than {bound[e]}."
            for e in errors
        ),
        figure=Curves(
            title="Wrong places of the furthest table that agrees",
            x="largest error E of an answer",
            y=f"places out of {people}",
            curves=(
                curve("misleading errors", misled),
                curve("random errors", by_chance),
                curve("proven: never above 4E", bound, dashed=True),
            ),
            top=float(people),
        ),
        facts={
            "people": people,
            "furthest": {str(e): misled[e] for e in errors},
            "furthest_random": {str(e): by_chance[e] for e in errors},
            "bound": {str(e): 4 * e for e in errors},
        },
    )


def _find_agreeing_candidates(
    counts: NDArray[np.float32],
    answers: NDArray[np.float32],
    error: int,
    at_once: int = 256,
) -> NDArray[np.int64]:
    """The candidates whose answers are all within the error."""
    agreeing = np.arange(len(counts))
    # Block by block: few candidates outlive the first questions.
    for start in range(0, len(answers), at_once):
        block = slice(start, start + at_once)
        distances = np.abs(counts[agreeing, block] - answers[block])
        agreeing = agreeing[(distances <= error).all(axis=1)]
    return agreeing


def run_decoding_attack(
    *,
    people: int = 128,
    levels: tuple[float, ...] = ANSWER_ERROR_LEVELS,
    epsilon: Fraction = Fraction(1),
    seed: int = 0,
) -> AttackFinding:
    """Share of wrong bits after linear decoding of 4n noisy answers, by size of the
    error.

    >>> run_decoding_attack(people=32, levels=(0.0,)).facts["wrong"]["0"]
    0.0
    """
    rng = np.random.default_rng(seed)
    # 4n questions: more than unknowns, so that small errors average out.
    questions = rng.integers(0, 2, (4 * people, people)).astype(np.float64)
    secret = rng.integers(0, 2, people)
    truth = questions @ secret
    right = {}
    for level in levels:
        answers = truth + rng.uniform(-level, level, len(truth)) * sqrt(people)
        right[level] = float((decode_bits(questions, answers) == secret).mean())
    # One person moves each of 4n counts by at most 1, so they share ε.
    scale = Fraction(4 * people) / epsilon
    noisy = truth + draw_noise(Law.DISCRETE_LAPLACE, scale, truth.shape)
    private = float((decode_bits(questions, noisy) == secret).mean())
    bars = [
        Bar(f"errors up to {level:g}·√n", share, f"{share:.0%} right")
        for level, share in right.items()
    ]
    curator_label = f"the curator's noise, ε = {float(epsilon):g}"
    bars.append(
        Bar(
            curator_label,
            private,
            f"{private:.0%}, a coin has 50%",
            safe=True,
        )
    )
    return AttackFinding(
        name="decode",
        title=f"{4 * people} counts about {people} people, decoded by a linear program",
        text=(
            *(
                f"Errors up to {level:g}·√n: {share:.1%} of all bits are reconstructed."
                for level, share in right.items()
            ),
            (
                f"Discrete Laplace noise, ε = {float(epsilon):g} over all {4 * people}"
                f" counts: {private:.1%}; guessing gives half."
            ),
        ),
        figure=Bars(
            title="Secret bits reconstructed",
            axis="share of bits that are right",
            bars=tuple(bars),
            top=1.0,
        ),
        facts={
            "people": people,
            "questions": 4 * people,
            "wrong": {f"{level:g}": 1 - share for level, share in right.items()},
            "epsilon": float(epsilon),
            "private_wrong": 1 - private,
        },
    )


def decode_bits(
    questions: NDArray[np.float64], answers: NDArray[np.float64]
) -> NDArray[np.int64]:
    """The bits x that minimise Σ|questions·x - answers|, as a linear program over 0 ≤ x
    ≤ 1, rounded.

    >>> decode_bits(np.eye(3), np.array([0.9, 0.2, 1.1])).tolist()
    [1, 0, 1]
    """
    m, n = questions.shape
    # |Ax − y| is not linear, but the least s + t with Ax + s − t = y and s, t ≥ 0 is.
    slack = np.eye(m)
    solved = linprog(
        np.r_[np.zeros(n), np.ones(2 * m)],
        A_eq=np.hstack([questions, slack, -slack]),
        b_eq=answers,
        bounds=[(0, 1)] * n + [(0, None)] * (2 * m),
        method="highs",
    )
    assert solved.x is not None, (
        "the program always has a solution: any x with its own slack"
    )
    # The first n unknowns are the bits; the others are slack.
    return np.asarray(solved.x[:n] > 0.5, np.int64)
