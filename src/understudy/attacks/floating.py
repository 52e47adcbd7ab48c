"""The floating-point attack: textbook Laplace noise in double precision has holes, and
the holes distinguish tables.

Mironov, "On significance of the least significant bits for differential privacy", 2012.
A textbook sampler takes a uniform double u, computes -b·ln u with a random sign, and
adds it to the count. Only 2⁵³ doubles u exist, so only some doubles can be the sum, and
which ones depends on the count: an output that no u can produce with count 0 proves
that the count was 1, whatever ε says.

`textbook_laplace` is THE VICTIM: broken on purpose, here to be attacked and used
nowhere else. The curator's noise is an integer and every integer can come from every
count, so the same attack proves nothing against it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.law import Law
from understudy.attacks.finding import AttackFinding, Bar, Bars
from understudy.noise import draw_noise

UNIFORM_GRID_POINTS = 2.0**53
NEIGHBOUR_OFFSETS = np.arange(-4, 5)
"""How many neighbouring u are tried: rounding moves an output by less than that."""

Floats = NDArray[np.float64]


def textbook_laplace(
    count: float, scale: float, size: int, rng: np.random.Generator
) -> Floats:
    """THE VICTIM. Laplace noise as a textbook writes it, in doubles; not private, never
    use it.
    """
    # The flaw: u lies on a grid, so its logarithm misses most doubles.
    u = rng.integers(1, 2**53, size) / UNIFORM_GRID_POINTS
    sign = np.where(rng.integers(0, 2, size) == 1, 1.0, -1.0)
    return np.asarray(count + scale * sign * np.log(u), np.float64)


def is_possible_output(
    outputs: Floats, count: float, scale: float
) -> NDArray[np.bool_]:
    """Which outputs the victim can produce at all with this count: some u on its grid
    gives exactly this double.

    >>> rng = np.random.default_rng(1)
    >>> bool(is_possible_output(textbook_laplace(1.0, 1.0, 100, rng), 1.0, 1.0).all())
    True
    """
    noise = outputs - count
    sign = np.where(noise > 0, -1.0, 1.0)
    # Invert the sampler: the u that gives this noise, and its neighbours on the grid.
    nearest = np.rint(np.exp(-np.abs(noise) / scale) * UNIFORM_GRID_POINTS)
    grid = nearest[:, None] + NEIGHBOUR_OFFSETS
    u = np.clip(grid, 1, UNIFORM_GRID_POINTS - 1) / UNIFORM_GRID_POINTS
    # Exact comparison of doubles is the point: the last bits give the count away.
    reproduced = count + scale * sign[:, None] * np.log(u)
    return np.asarray((reproduced == outputs[:, None]).any(axis=1))


def is_reachable_output(outputs: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    """Which outputs the curator's noise can produce with this count: those whose
    distance to it is an integer, so all of them.

    >>> is_reachable_output(np.array([-7, 0, 3]), 1).tolist()
    [True, True, True]
    """
    return np.array(
        [Fraction(int(output) - count).denominator == 1 for output in outputs]
    )


def run_floating_point_attack(
    *, trials: int = 20_000, epsilon: Fraction = Fraction(1), seed: int = 0
) -> AttackFinding:
    """How many single answers prove the count, for the textbook's noise and for the
    curator's.

    >>> run_floating_point_attack(trials=500).facts["curator"]
    0.0
    """
    rng = np.random.default_rng(seed)
    scale = 1 / epsilon
    proven, wrong = {}, 0
    for truth in (0.0, 1.0):
        outputs = textbook_laplace(truth, float(scale), trials, rng)
        here = is_possible_output(outputs, truth, float(scale))
        there = is_possible_output(outputs, 1.0 - truth, float(scale))
        proven[truth] = float((here & ~there).mean())
        wrong += int((~here).sum())
    answers = [
        truth + draw_noise(Law.DISCRETE_LAPLACE, scale, (10 * trials,))
        for truth in (0, 1)
    ]
    unreachable = [
        ~is_reachable_output(values, 1 - truth) for truth, values in enumerate(answers)
    ]
    curator = float(np.mean(unreachable))
    odds = float((answers[0] <= 0).sum() / (answers[1] <= 0).sum())
    # Both counts are as likely, as for an attacker who knows nothing else.
    share = (proven[0.0] + proven[1.0]) / 2
    return AttackFinding(
        name="floating-point",
        title=f"One answer at ε = {float(epsilon):g} that proves the count",
        text=(
            (
                f"Textbook Laplace noise: {share:.0%} of {2 * trials:,} single answers"
                f" are impossible with the other count, so they prove theirs ({wrong}"
                " of them wrongly)."
            ),
            (
                f"The curator's discrete Laplace noise: {curator:.0%}. Every integer is"
                " possible with either count; an answer of 0 or less, as telling as"
                f" any, came {odds:.2f} times as often with 0 as with 1, where e^ε is"
                f" {float(np.exp(float(epsilon))):.2f}."
            ),
        ),
        figure=Bars(
            title="Answers that prove whether somebody is in the table",
            axis="share of single answers",
            bars=(
                Bar("textbook, count is 0", proven[0.0], f"{proven[0.0]:.0%}"),
                Bar("textbook, count is 1", proven[1.0], f"{proven[1.0]:.0%}"),
                Bar(
                    "the curator's noise",
                    curator,
                    f"{curator:.0%}",
                    safe=True,
                ),
            ),
            top=1.0,
        ),
        facts={
            "epsilon": float(epsilon),
            "trials": trials,
            "textbook": {"0": proven[0.0], "1": proven[1.0]},
            "wrong": wrong,
            "curator": curator,
            "odds": odds,
        },
    )
