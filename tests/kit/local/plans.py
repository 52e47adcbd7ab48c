"""A small plan for every mechanism, with the values that differ most."""

from __future__ import annotations

from fractions import Fraction

from understudy_client import TWO_COIN_EPSILON, CollectionPlan

LETTERS = ("a", "b", "c", "d")


def small_plan(mechanism: str, epsilon: Fraction = Fraction(1)) -> CollectionPlan:
    """A plan whose answers can be listed."""
    values: tuple[str, ...] = LETTERS
    bounds = None
    if mechanism == "two_coin":
        values, epsilon = ("no", "yes"), TWO_COIN_EPSILON
    if mechanism in ("duchi", "piecewise", "square_wave"):
        values, bounds = (), (Fraction(0), Fraction(10))
    sizes = {
        "subset": {"size": 2},
        "olh": {"buckets": 3},
        "hadamard": {"order": 4},
        "cms": {"rows": 2, "width": 4},
        "hcms": {"rows": 2, "width": 4},
        "rappor": {"rows": 2, "width": 6, "hashes": 2},
        "piecewise": {"window": 3, "outside": 5},
        "square_wave": {"levels": 5, "reach": 1},
        "prefix": {"groups": 2, "max_bytes": 1, "buckets": 3},
    }.get(mechanism, {})
    return CollectionPlan(
        "topic", mechanism, epsilon, values=values, bounds=bounds, sizes=sizes, seed="0"
    )


def inputs_of(plan: CollectionPlan) -> tuple[str, ...]:
    """Values a client could have: all listed ones, or numbers and their extremes."""
    if plan.bounds is not None:
        return ("-3", "0", "0.1", "10/3", "5", "9.99", "10", "1e3")
    return plan.values
