"""The exact law of what a client draws, by trying every outcome of every coin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

from understudy_client import Answer, Coins

LARGEST_ENUMERATED = 64
"""A pick from more is a public hash function: it gets one fixed outcome."""


class Undecided(Exception):
    """A coin whose outcome is not scripted yet; says how many outcomes it has."""

    def __init__(self, outcomes: int) -> None:
        self.outcomes = outcomes


class ScriptedCoins(Coins):
    """Coins with given outcomes, and the probability of them."""

    def __init__(self, outcomes: tuple[int, ...], public: tuple[int, ...]) -> None:
        self.outcomes = list(outcomes)
        self.public = list(public)
        self.weight = Fraction(1)

    def flip(self, probability: Fraction) -> bool:
        assert 0 <= probability <= 1
        if probability in (0, 1):
            return probability == 1
        outcome = bool(self._next(2))
        self.weight *= probability if outcome else 1 - probability
        return outcome

    def pick(self, n: int) -> int:
        if n > LARGEST_ENUMERATED:
            return self.public.pop(0)
        outcome = self._next(n)
        self.weight /= n
        return outcome

    def _next(self, outcomes: int) -> int:
        if not self.outcomes:
            raise Undecided(outcomes)
        return self.outcomes.pop(0)


Law = dict[tuple[int | str, ...], Fraction]


def enumerate_law(
    draw: Callable[[Coins], Answer], public: tuple[int, ...] = (1000003, 678)
) -> Law:
    """The probability of every answer, exactly."""
    law: Law = defaultdict(Fraction)
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        script = waiting.pop()
        coins = ScriptedCoins(script, public)
        try:
            answer = draw(coins)
        except Undecided as coin:
            waiting += [(*script, outcome) for outcome in range(coin.outcomes)]
        else:
            law[tuple(answer)] += coins.weight
    assert sum(law.values()) == 1
    return law


def largest_ratio(laws: list[Law]) -> Fraction:
    """How much likelier an answer can be under one law than under another."""
    worst = Fraction(1)
    answers = {answer for law in laws for answer in law}
    for answer in answers:
        likely = [law.get(answer, Fraction(0)) for law in laws]
        if min(likely) == 0:
            return Fraction(10**9)
        worst = max(worst, max(likely) / min(likely))
    return worst
