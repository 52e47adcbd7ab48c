"""Plans from whose reports nothing can be estimated are refused before one is counted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from kit.local.plans import small_plan
from understudy.errors import Refused
from understudy.local.collector import Collector
from understudy.local.plan_check import find_fault
from understudy_client import MECHANISMS


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
def test_good_plans_have_no_fault(mechanism: str) -> None:
    assert find_fault(small_plan(mechanism)) == ""


@pytest.mark.parametrize("mechanism", sorted(set(MECHANISMS) - {"two_coin"}))
def test_an_epsilon_that_says_nothing_is_refused(mechanism: str) -> None:
    """Its probabilities are those of fair coins, and shares would be infinite."""
    plan = replace(small_plan(mechanism), epsilon=Fraction(1, 10**9))
    with pytest.raises(Refused, match="epsilon is below"):
        Collector(plan)


@pytest.mark.parametrize(
    ("mechanism", "sizes", "message"),
    [
        ("subset", {"size": 4}, "all values alike"),
        ("olh", {"buckets": 1}, "all values alike"),
        ("hadamard", {"order": 2}, "below the number of values"),
        ("hadamard", {"order": 6}, "power of two"),
        ("cms", {"rows": 1, "width": 4}, "two rows"),
        ("cms", {"rows": 2, "width": 1}, "a width of two"),
        ("hcms", {"rows": 2, "width": 3}, "power of two"),
        ("square_wave", {"levels": 1, "reach": 1}, "levels lie between"),
        ("square_wave", {"levels": 1 << 20, "reach": 1}, "levels lie between"),
        ("prefix", {"groups": 2, "max_bytes": 1, "buckets": 1}, "two buckets"),
        ("prefix", {"groups": 1, "max_bytes": 8, "buckets": 3}, "12 bits"),
    ],
)
def test_sizes_that_cannot_be_decoded_are_refused(
    mechanism: str, sizes: dict[str, int], message: str
) -> None:
    with pytest.raises(Refused, match=message):
        Collector(replace(small_plan(mechanism), sizes=sizes))
