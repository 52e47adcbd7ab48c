"""Warnings in plain words, from public facts only."""

import pytest

from understudy.accounting.advice import advise_on_budget
from understudy.accounting.budget import Budget


def test_an_ordinary_budget_needs_no_words():
    assert advise_on_budget(Budget.of(1), rows=50_000) == ()
    assert advise_on_budget(Budget.of("0.01", 0)) == ()


def test_a_large_epsilon_is_named():
    (line,) = advise_on_budget(Budget.of(3), rows=50_000)
    assert line.startswith("ε = 3.00 is above 1")
    assert "20.1 times" in line


def test_an_absurd_epsilon_does_not_print_an_absurd_number():
    (line,) = advise_on_budget(Budget.of(500))
    assert "more than a hundred million times" in line


@pytest.mark.parametrize("noisy", [False, True])
def test_few_rows_are_named_with_where_their_number_comes_from(noisy):
    (line,) = advise_on_budget(Budget.of("0.1", 0), rows=200, noisy=noisy)
    assert line.startswith(
        f"200 rows (the {'noisy' if noisy else 'declared'} number) are few for ε = 0.10"
    )
    assert "7 % of all rows" in line


def test_the_edge_of_few():
    assert advise_on_budget(Budget.of("0.5", 0), rows=200) == ()
    assert len(advise_on_budget(Budget.of("0.5", 0), rows=199)) == 1


def test_a_large_delta_is_named():
    (line,) = advise_on_budget(Budget.of(1, "1e-3"), rows=10_000)
    assert "above 1 in 10,000" in line
    assert advise_on_budget(Budget.of(1, "1e-4"), rows=10_000) == ()


@pytest.mark.parametrize("rows", [10**9 + 1, 2 * 10**9, 10**10])
def test_the_delta_that_is_advised_is_below_one_in_all_rows(rows):
    (line,) = advise_on_budget(Budget.of(1), rows=rows)
    assert line.endswith(
        "Use 1e-10 or less." if rows < 10**10 else "Use 1e-11 or less."
    )
    assert advise_on_budget(Budget.of(1, "1e-11"), rows=rows) == ()


def test_nothing_is_said_about_rows_nobody_declared():
    assert (
        advise_on_budget(Budget.of("0.001", "0.5"))
        == advise_on_budget(Budget.of("0.001", "0.5"), rows=-3, noisy=True)
        == ()
    )


def test_few_rows_are_off_by_the_noise_that_the_run_would_have():
    (line,) = advise_on_budget(Budget.of("0.1"), rows=200)
    assert "25 % of all rows" in line  # Gaussian noise of 50 rows
