"""Differencing: two harmless counts whose difference is about one person.

State University had 3,005 freshmen, 202 of them from families that earn over $1M; a
month later 3,004 and 201. Whoever knows that John dropped out in between knows what his
family earns. The same with any two counts, one with and one without Freddie.

With noise the attacker still subtracts and guesses, and is right more often than a
coin; how often is bounded by ε alone: a guess with prior ½ about one person is right
with probability at most e^ε/(1 + e^ε).
"""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np

from understudy.accounting.law import Law
from understudy.attacks.finding import AttackFinding, Bar, Bars
from understudy.noise import draw_noise

MARCH_COUNTS, APRIL_COUNTS = (3005, 202), (3004, 201)
"""Freshmen, and how many of them come from families that earn over $1M."""

FREDDIE_COUNT = 3
"""People of one name, where the difference of two counts is about all of them."""

DEMO_EPSILONS = (Fraction(10), Fraction(1), Fraction(1, 10))


def run_differencing_attack(
    *, trials: int = 20_000, epsilons: tuple[Fraction, ...] = DEMO_EPSILONS
) -> AttackFinding:
    """How often the difference of two counts tells somebody's secret, exact and with
    noise.

    >>> run_differencing_attack(trials=100).facts["exact"]
    1.0
    """
    dropouts = MARCH_COUNTS[0] - APRIL_COUNTS[0]
    rich = MARCH_COUNTS[1] - APRIL_COUNTS[1]
    # If all who left are rich, or none, the difference says it of each of them.
    exact = 1.0 if rich in (0, dropouts) else 0.5
    rates = {epsilon: simulate_guess_rate(epsilon, trials) for epsilon in epsilons}
    bars = [Bar("exact counts", exact, "100%: certain")]
    for epsilon, rate in rates.items():
        note = f"{rate:.0%}, at most {max_guess_rate(epsilon):.0%}"
        bars.append(
            Bar(
                f"ε = {float(epsilon):g}",
                rate,
                note,
                safe=True,
            )
        )
    freddie_rates = {
        count: best_guess_rate(FREDDIE_COUNT, count)
        for count in range(FREDDIE_COUNT + 1)
    }
    return AttackFinding(
        name="differencing",
        title="Two counts, one of them without John",
        text=(
            *_explain_exact_counts(dropouts, rich, freddie_rates),
            *(
                f"With both counts noisy, ε = {float(e):g} together, the difference is"
                f" right {share:.1%} of the time in {trials:,} tries; no attacker can"
                f" exceed {max_guess_rate(e):.3%} on average."
                for e, share in rates.items()
            ),
        ),
        figure=Bars(
            title="How often John's secret is guessed",
            axis="share of right guesses",
            bars=tuple(bars),
            top=1.0,
        ),
        facts={
            "exact": exact,
            "freddies": {str(count): rate for count, rate in freddie_rates.items()},
            "trials": trials,
            "noisy": {f"{float(e):g}": share for e, share in rates.items()},
            "bound": {f"{float(e):g}": max_guess_rate(e) for e in epsilons},
        },
    )


def _explain_exact_counts(
    dropouts: int, rich: int, freddie_rates: dict[int, float]
) -> tuple[str, ...]:
    """What two exact counts give away, in sentences."""
    bets = ", ".join(
        f"{freddie_rates[count]:.0%} right at {count}"
        for count in range(1, FREDDIE_COUNT)
    )
    return (
        f"March: {MARCH_COUNTS[1]} of {MARCH_COUNTS[0]:,} freshmen come from families"
        f" that earn over $1M. April: {APRIL_COUNTS[1]} of {APRIL_COUNTS[0]:,}.",
        f"{dropouts} student left and {rich} family fewer earns that much: John's does.",
        "Asked as two questions: how many have HIV, and how many who are not called"
        " Freddie? One Freddie's secret is the difference.",
        f"Of {FREDDIE_COUNT} Freddies, a difference of 0 or {FREDDIE_COUNT} tells on"
        f" all; any other, on whom to bet: {bets}.",
    )


def best_guess_rate(people: int, difference: int) -> float:
    """How often the best guess about each of some people is right, of whom exact counts
    say how many have the secret.

    >>> [best_guess_rate(4, x) for x in range(5)]
    [1.0, 0.75, 0.5, 0.75, 1.0]
    """
    return max(difference, people - difference) / people


def max_guess_rate(epsilon: Fraction) -> float:
    """The largest share of right guesses about one bit with prior ½.

    >>> round(max_guess_rate(Fraction(1)), 3)
    0.731
    """
    return 1 / (1 + exp(-float(epsilon)))


def simulate_guess_rate(epsilon: Fraction, trials: int) -> float:
    """How often the sign of X - Y - ½ gives a secret bit away, X with and Y without its
    owner, each with half of ε.
    """
    # Two counts about one person share ε, so each has half.
    scale = 2 / epsilon
    x, y = draw_noise(Law.DISCRETE_LAPLACE, scale, (2, trials))
    secret = np.arange(trials) % 2
    difference = secret + x - y
    # The best guess at prior ½: the more likely of the two bits.
    return float(((difference >= 1) == (secret == 1)).mean())
