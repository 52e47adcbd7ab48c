"""Attempts to refute the clients' claim on what they really send, with coins of the
operating system, and proof that the attempt would notice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import log

import numpy as np
import pytest

from kit.local.enumeration import enumerate_law
from kit.local.plans import inputs_of, small_plan
from understudy.local.estimates import binomial_interval
from understudy_client import (
    HASH_PRIME,
    MECHANISMS,
    Answer,
    CollectionPlan,
    cut_prefix,
    draw_answer,
    hash_prefix,
    prefix_length,
)

RUNS = 1_500
FALSE_ALARM = 1e-8
"""Of one bound; there are two for each of fourteen clients."""


def distinguishing_event(
    plan: CollectionPlan,
) -> tuple[str, str, Callable[[Answer], bool]]:
    """Two values, and the answers that are likeliest under the first."""
    inputs = inputs_of(plan)
    first, second = inputs[0], inputs[-1]
    if plan.mechanism == "olh":
        return first, second, lambda answer: hashed(plan, answer[:2], 0) == answer[2]
    if plan.mechanism == "prefix":
        return first, second, lambda answer: hits_prefix(plan, answer, first)
    laws = [
        enumerate_law(partial(draw_answer, plan, value)) for value in (first, second)
    ]
    event = {a for a in laws[0] if laws[0][a] > laws[1].get(a, 0) * Fraction(3, 2)}
    return first, second, lambda answer: tuple(answer) in event


def hashed(plan: CollectionPlan, function: list[int | str], point: int) -> int:
    a, b = map(int, function)
    return (a * point + b) % HASH_PRIME % plan.sizes["buckets"]


def hits_prefix(plan: CollectionPlan, answer: Answer, text: str) -> bool:
    length = prefix_length(plan, int(answer[0]))
    point = hash_prefix(cut_prefix(text, length, 1), length)
    return hashed(plan, answer[1:3], point) == answer[3]


def bound_epsilon(plan: CollectionPlan, drawing: CollectionPlan) -> float:
    """A lower bound of ε that holds with probability 1 - 2 · FALSE_ALARM."""
    first, second, event = distinguishing_event(plan)
    hits = [
        sum(event(draw_answer(drawing, value)) for _ in range(RUNS))
        for value in (first, second)
    ]
    low, high = binomial_interval(np.array(hits), RUNS, 1 - 2 * FALSE_ALARM)
    return log(max(low[0], 1e-12) / high[1])


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
def test_no_client_reveals_more_than_it_claims(mechanism: str) -> None:
    plan = small_plan(mechanism)
    assert bound_epsilon(plan, plan) <= float(plan.epsilon)


@pytest.mark.parametrize(
    "mechanism", ["krr", "sue", "subset", "duchi", "piecewise", "hadamard"]
)
def test_a_client_with_far_too_little_noise_is_noticed(mechanism: str) -> None:
    plan = small_plan(mechanism)
    assert bound_epsilon(plan, replace(plan, epsilon=Fraction(8))) > 1
