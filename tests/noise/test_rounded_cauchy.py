"""Rounded Cauchy noise: its law is that of arctan, also where bits are refined."""

from __future__ import annotations

from math import atan, pi

import numpy as np
import pytest

from understudy.noise.rounded_cauchy import draw_rounded_cauchy
from understudy.noise.source import OS_SOURCE, IntegerBounds


def enclose_fraction(numerator: int, denominator: int, bits: int) -> IntegerBounds:
    whole = (numerator << bits) // denominator
    return whole, whole + 1


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 3), (7, 2)])
def test_the_law_is_that_of_arctan(numerator: int, denominator: int) -> None:
    trials, scale = 4_000, numerator / denominator
    drawn = np.array(
        [
            draw_rounded_cauchy(
                5, lambda bits: enclose_fraction(numerator, denominator, bits)
            )
            for _ in range(trials)
        ]
    )
    for value in range(1, 10):
        ends = [(value - 5 + side) / scale for side in (-0.5, 0.5)]
        chance = (atan(ends[1]) - atan(ends[0])) / pi
        spread = 5.5 * (trials * chance * (1 - chance)) ** 0.5
        assert abs((drawn == value).sum() - trials * chance) < spread
    assert (drawn > 5 + 20 * scale).any()


class ScriptedSource:
    """Given bits first, then those of the operating system."""

    def __init__(self, *numbers: int) -> None:
        self._numbers = list(numbers)
        self.asked = 0

    def words(self, n: int) -> np.ndarray:
        return OS_SOURCE.words(n)

    def bits(self, n: int) -> int:
        self.asked += 1
        return self._numbers.pop(0) if self._numbers else OS_SOURCE.bits(n)


def test_points_outside_of_the_disc_are_drawn_again() -> None:
    corner = 2**64 - 1
    source = ScriptedSource(corner, corner, 2**62, 2**62, 0)
    # X/Y is just about 1, so that with scale 3 the answer is 3.
    assert draw_rounded_cauchy(0, lambda b: (3 << b, 3 << b), source=source) == 3


def test_a_rounding_that_is_not_certain_reads_more_bits_of_the_same_point() -> None:
    # X/Y = 1 to 64 bits and a scale of 1/2: the next bits decide between 0 and 1.
    source = ScriptedSource(2**62, 2**62, 0, 0, 2**63)
    half = draw_rounded_cauchy(0, lambda b: (1 << b - 1, 1 << b - 1), source=source)
    assert half == 0
    assert source.asked == 5


def test_a_point_on_the_edge_of_the_disc_is_decided_by_more_bits() -> None:
    edge = 2**64 - 1
    inside = ScriptedSource(0, edge, 1, 0, 0)
    assert draw_rounded_cauchy(9, lambda b: (1 << b, 1 << b), source=inside) == 9
    assert inside.asked == 5
