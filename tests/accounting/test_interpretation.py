"""What a budget means for one person: the numbers are those of the best test, found by
brute force.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.interpretation import interpret_budget
from understudy.accounting.neighbours import Neighbours


def test_no_budget_means_a_coin() -> None:
    said = interpret_budget(Budget.of("1e-12"))
    assert said.right == pytest.approx(0.5)
    assert said.found == pytest.approx(0.01)
    assert said.odds == pytest.approx(1)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_best_test_against_randomised_response_reaches_it(epsilon: float) -> None:
    # Randomised response is the worst mechanism that is ε-private: its two outcomes
    # leave the best guess no better off than stated.
    truthful = np.exp(epsilon) / (1 + np.exp(epsilon))
    said = interpret_budget(Budget.of(str(epsilon)))
    assert said.right == pytest.approx(truthful)
    # The test at false alarm 0.01 accuses on "yes" with probability 0.01 / P(yes |
    # out).
    assert said.found == pytest.approx(0.01 / (1 - truthful) * truthful)


@pytest.mark.parametrize("mu", [0.1, 0.5, 2.0])
def test_a_gaussian_run_is_as_the_likelihood_ratio_test_says(mu: float) -> None:
    said = interpret_budget(
        Budget.of("30", "1e-9"), accounting=Accounting.GDP, amount=Fraction(mu) ** 2
    )
    cuts = np.linspace(-8, 8, 20_001)
    out, within = norm.sf(cuts), norm.sf(cuts - mu)
    assert said.right == pytest.approx(float(((1 - out) + within).max() / 2), abs=1e-6)
    assert said.found == pytest.approx(
        float(np.interp(0.01, out[::-1], within[::-1])), abs=1e-5
    )


def test_delta_counts() -> None:
    assert (
        interpret_budget(Budget.of(1, "0.1")).right
        > interpret_budget(Budget.of(1)).right
    )
    assert interpret_budget(Budget.of(1, "0.1")).found > 0.1


def test_replace_is_about_what_an_entry_says_and_not_about_being_there() -> None:
    said = interpret_budget(Budget.of("0.5"), neighbours=Neighbours.REPLACE).lines()
    assert not any("in the table" in line or "took part" in line for line in said)
    assert "which of two things your entry says" in said[0]


def test_a_delta_for_thresholds_is_added() -> None:
    plain = interpret_budget(
        Budget.of(1, "0.01"), accounting=Accounting.GDP, amount=Fraction(1, 100)
    )
    more = interpret_budget(
        Budget.of(1, "0.01"),
        accounting=Accounting.GDP,
        amount=Fraction(1, 100),
        thresholds=Fraction(1, 1000),
    )
    assert more.right == pytest.approx(plain.right + 0.001)
    assert more.found == pytest.approx(plain.found + 0.001)


def test_words_and_picture() -> None:
    said = interpret_budget(
        Budget.of("0.5", "1e-9"), accounting=Accounting.GDP, amount=Fraction(1, 100)
    )
    assert "52 times in 100" in said.lines()[0]
    assert "give or take 1e-9" in said.lines()[2]
    assert said.to_svg().count("<circle") == 100
    assert said.to_svg().count("#d55e00") == 2
    assert said.bar(10) == "coin │··········│ certain"
    huge = interpret_budget(Budget.of(1000))
    assert "a billion or more" in huge.lines()[2]
    assert huge.right == 1


def test_the_figure_shows_no_fewer_right_guesses_than_the_words_say() -> None:
    """Both are upper bounds: 51.1 in 100 is at most 52, in words and in dots."""
    said = interpret_budget(Budget.of("0.045"))
    assert "at most 52 times in 100" in said.lines()[0]
    assert "at most 2</text>" in said.to_svg()
