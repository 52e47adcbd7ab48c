"""Amplification by shuffling: the formula, its limits and its inverse."""

from __future__ import annotations

import pytest

from understudy.errors import Refused
from understudy.local.shuffling import local_epsilon, shuffled_epsilon


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("n", [10, 1_000, 1_000_000])
def test_shuffling_never_promises_less(epsilon: float, n: int) -> None:
    assert shuffled_epsilon(epsilon, n, 1e-9) <= epsilon


def test_few_respondents_hide_nobody() -> None:
    assert shuffled_epsilon(2.0, 100, 1e-9) == 2.0


def test_it_shrinks_with_the_root_of_respondents() -> None:
    small, large = (shuffled_epsilon(0.5, n, 1e-9) for n in (10**6, 10**8))
    assert small / large == pytest.approx(10, rel=0.02)


@pytest.mark.parametrize("n", [1_000, 100_000, 10_000_000])
def test_the_inverse_keeps_the_promise(n: int) -> None:
    found = local_epsilon(1.0, n, 1e-9)
    assert shuffled_epsilon(found, n, 1e-9) <= 1 + 1e-9
    assert found >= 1
    assert shuffled_epsilon(found * 1.001, n, 1e-9) > 1


def test_nonsense_is_refused() -> None:
    with pytest.raises(Refused):
        local_epsilon(0.0, 10, 1e-9)
