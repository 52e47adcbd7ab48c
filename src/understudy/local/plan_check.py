"""Whether anything can be estimated from the reports of a plan.

A client answers every plan that is private. One that was written or changed by hand may
have sizes from whose reports no estimate follows: they would give infinite shares, or
take all memory.
"""

from __future__ import annotations

from fractions import Fraction

from understudy.errors import Refused
from understudy.local.support import PURE_PROTOCOLS, support_probabilities
from understudy_client import CollectionPlan

MIN_LOCAL_EPSILON = Fraction(1, 1000)
"""Below this, rounding e^ε down to a fraction would cost a noticeable part of ε."""

MAX_DECODED_LEVELS = 1 << 12
"""Levels of a square wave: its matrix of cells by levels has 128 MB."""

MAX_PREFIX_STEP_BITS = 12
"""Bits that one group adds to a prefix: 4,096 continuations of each are tried."""


def check_decodable(plan: CollectionPlan) -> None:
    """Refuse a plan from whose reports nothing can be estimated."""
    fault = find_fault(plan)
    if fault:
        raise Refused(
            f"{plan.topic}: nothing can be estimated from reports of this plan: {fault}."
            " Make one with `understudy local plan`. Nothing was counted"
        )


def find_fault(plan: CollectionPlan) -> str:
    """What is wrong with a plan's sizes; empty if nothing is.

    >>> find_fault(CollectionPlan("x", "krr", Fraction(1), values=("a", "b")))
    ''
    """
    size = plan.sizes.get
    if plan.epsilon < MIN_LOCAL_EPSILON:
        return f"epsilon is below {float(MIN_LOCAL_EPSILON)}"
    if plan.mechanism in PURE_PROTOCOLS:
        return _find_fault_of_values(plan)
    if plan.mechanism in ("cms", "hcms"):
        width = size("width", 0)
        if size("rows", 0) < 2 or width < 2:
            return "a sketch needs two rows, and a width of two"
        if plan.mechanism == "hcms" and width & (width - 1):
            return "the width is no power of two"
    levels = size("levels", 2)
    if not 2 <= levels <= MAX_DECODED_LEVELS:
        return f"levels lie between 2 and {MAX_DECODED_LEVELS}"
    if plan.mechanism == "prefix":
        if size("buckets", 0) < 2:
            return "hashing needs two buckets"
        if 8 * size("max_bytes", 1) > MAX_PREFIX_STEP_BITS * size("groups", 1):
            return f"a group adds more than {MAX_PREFIX_STEP_BITS} bits to a prefix"
    return ""


def _find_fault_of_values(plan: CollectionPlan) -> str:
    order = plan.sizes.get("order", 0)
    if not plan.values:
        return "it lists no values"
    if plan.mechanism == "hadamard" and (order & (order - 1) or order < 2):
        return "the order is no power of two"
    if plan.mechanism == "hadamard" and order < len(plan.values):
        return "the order is below the number of values"
    if len(plan.values) == 1 and plan.mechanism == "subset":
        return "a subset needs two values"
    if support_probabilities(plan).gap <= 0:
        return "its reports support all values alike"
    return ""
