"""Dinur and Nissim's reconstruction: overly accurate answers to too many questions give
the whole column away.

Dinur, Nissim, "Revealing information while preserving privacy", 2003. n people have one
secret bit each. An answer is the number of ones in a subset, with an error of at most
E.

  exhaustive   All 2ⁿ subsets are asked. Any candidate that agrees with every answer to within E is wrong in at most 4E places: 2E
               among its wrong ones, seen by the subset of those places, and 2E among
               its wrong zeros.
  decoding     Only 4n random subsets are asked. The candidate that minimises Σ|Ax - y| over 0 ≤ x ≤ 1 is a linear program; rounded, it is
               right nearly everywhere while E is well below √n (Dwork, McSherry,
               Talwar, "The price of privacy and the limits of LP decoding", 2007).

The people and the bounded errors are made up from a seed. The last point of each figure
is the curator's own noise, which has none.
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
    every = (np.arange(2**people)[:, None] >> np.arange(people) & 1).astype(
        np.float32
    )  # so that products are fast; exact
    secret = rng.permutation(np.arange(people) % 2).astype(np.float32)
    truth = every @ secret
    counts = every @ every.T  # what each candidate would answer to each question
    wrong = (every != secret).sum(axis=1)
    chance: dict[int, int] = {}
    misled: dict[int, int] = {}
    for error in errors:
        random = truth + rng.integers(-error, error + 1, len(truth))
        # As misleading as can be: halfway to a table with 2E ones and 2E zeros
        # exchanged, rounded towards the truth.
        decoy = secret.copy()
        for bit in (0, 1):
            decoy[np.flatnonzero(secret == bit)[: 2 * error]] = 1 - bit
        halfway = truth + np.trunc((every @ decoy - truth) / 2)
        for found, answers in ((chance, random), (misled, halfway)):
            assert np.abs(answers - truth).max() <= error, (
                "an answer is off by at most E"
            )
            found[error] = int(
                wrong[_find_agreeing_candidates(counts, answers, error)].max()
            )
    curves = (
        Curve("misleading errors", tuple((float(e), float(misled[e])) for e in errors)),
        Curve("random errors", tuple((float(e), float(chance[e])) for e in errors)),
        Curve(
            "proven: never above 4E",
            tuple((float(e), min(4.0 * e, people)) for e in errors),
            dashed=True,
        ),
    )
    return AttackFinding(
        name="exhaustive",
        title=f"All {2**people:,} questions about {people} people",
        text=tuple(
            f"Error at most {e}: of all tables that agree with every answer, the"
            f" furthest is wrong in {chance[e]} of {people} places where errors are"
            f" random, in {misled[e]} where they mislead; never in more than"
            f" {min(4 * e, people)}."
            for e in errors
        ),
        figure=Curves(
            title="Wrong places of the furthest table that agrees",
            x="largest error E of an answer",
            y=f"places out of {people}",
            curves=curves,
            top=float(people),
        ),
        facts={
            "people": people,
            "furthest": {str(e): misled[e] for e in errors},
            "furthest_random": {str(e): chance[e] for e in errors},
            "bound": {str(e): 4 * e for e in errors},
        },
    )


def _find_agreeing_candidates(
    counts: NDArray[np.float32],
    answers: NDArray[np.float32],
    error: int,
    at_once: int = 256,
) -> NDArray[np.int64]:
    """The candidates whose answers are all within the error; few outlive the first
    questions.
    """
    left = np.arange(len(counts))
    for start in range(0, len(answers), at_once):
        some = slice(start, start + at_once)
        left = left[(np.abs(counts[left, some] - answers[some]) <= error).all(axis=1)]
    return left


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
    questions = rng.integers(0, 2, (4 * people, people)).astype(np.float64)
    secret = rng.integers(0, 2, people)
    truth = questions @ secret
    wrong = {}
    for level in levels:
        answers = truth + rng.uniform(-level, level, len(truth)) * sqrt(people)
        wrong[level] = float((decode_bits(questions, answers) != secret).mean())
    # One person moves each of 4n counts by at most 1, so they share ε.
    scale = Fraction(4 * people) / epsilon
    private = float(
        (
            decode_bits(
                questions, truth + draw_noise(Law.DISCRETE_LAPLACE, scale, truth.shape)
            )
            != secret
        ).mean()
    )
    rows = [
        Bar(
            f"errors up to {level:g}·√n",
            1 - wrong[level],
            f"{1 - wrong[level]:.0%} right",
        )
        for level in levels
    ]
    rows.append(
        Bar(
            f"the curator's noise, ε = {float(epsilon):g}",
            1 - private,
            f"{1 - private:.0%}, a coin has 50%",
            safe=True,
        )
    )
    return AttackFinding(
        name="decode",
        title=f"{4 * people} counts about {people} people, decoded by a linear program",
        text=(
            *(
                f"Errors up to {level:g}·√n: {1 - wrong[level]:.1%} of all bits are"
                " reconstructed."
                for level in levels
            ),
            (
                f"Discrete Laplace noise, ε = {float(epsilon):g} over all {4 * people}"
                f" counts: {1 - private:.1%}; guessing gives half."
            ),
        ),
        figure=Bars(
            title="Secret bits reconstructed",
            axis="share of bits that are right",
            bars=tuple(rows),
            top=1.0,
        ),
        facts={
            "people": people,
            "questions": 4 * people,
            "wrong": {f"{level:g}": wrong[level] for level in levels},
            "epsilon": float(epsilon),
            "private_wrong": private,
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
    return np.asarray(solved.x[:n] > 0.5, np.int64)
