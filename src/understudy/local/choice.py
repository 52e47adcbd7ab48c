"""Which mechanism to collect with: the one with the least error for this many values,
this ε and this many respondents, by exact formulas and without any data.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, log2, sqrt
from pathlib import Path

import numpy as np

from understudy.errors import InvalidBudget, Refused
from understudy.local.numeric import mean_variance, square_wave_reach
from understudy.local.plan_check import MIN_LOCAL_EPSILON
from understudy.local.reports import report_shape
from understudy.local.sketches import sketch_variance
from understudy.local.support import PURE_PROTOCOLS, support_probabilities
from understudy_client import (
    MAX_SIZE,
    TWO_COIN_EPSILON,
    CollectionPlan,
    DonationRefused,
    read_number,
)

DEFAULT_RESPONDENTS = 10_000
"""Number of respondents for which errors are shown if none is stated."""

SAME_ERROR_FACTOR = 1.02
"""Standard errors nearer than this count as equal, and the smaller report decides."""

MAX_HASH_EVALUATIONS = 10**10
"""Reports × values beyond which optimal local hashing takes longer than a minute."""

MAX_ROW_BITS = 1 << 14
"""Bits of a report beyond which it is too long to send: two kilobytes."""

SQUARE_WAVE_LEVELS = 64
PIECEWISE_WINDOW_CELLS = 64
MAX_PIECEWISE_CELLS = 1 << 16

CANDIDATES_OF_VALUES = ("krr", "hadamard", "olh", "subset", "oue", "sue")
CANDIDATES_OF_OPEN_VOCABULARY = ("hcms", "cms")
CANDIDATES_OF_MEANS = ("duchi", "piecewise")


@dataclass(frozen=True)
class MechanismError:
    """What a mechanism would achieve: the standard error of an estimated share (or of
    the mean, in the units of the answer), and the size of a report.
    """

    mechanism: str
    standard_error: float
    report_bits: float


def plan_collection(
    topic: str,
    *,
    epsilon: float | str | Fraction,
    values: Sequence[object] = (),
    bounds: tuple[object, object] | None = None,
    max_bytes: int | None = None,
    statistic: str = "mean",
    respondents: int = DEFAULT_RESPONDENTS,
    mechanism: str = "auto",
    max_donations: int = 1,
    window_days: int = 1,
    question: str = "",
) -> CollectionPlan:
    """The public plan of a collection, with the best mechanism for it.

    With `values`, shares of these are estimated; with `bounds`, the mean of a number
    (or its distribution: statistic="distribution"); with `max_bytes`, the frequent ones
    among all texts of this length; with none of them, shares of candidates that are
    named after the collection.

    >>> plan_collection("browser", values=list("abcdefgh"), epsilon=1).mechanism
    'subset'
    >>> plan_collection("age", bounds=(0, 100), epsilon="0.5").mechanism
    'duchi'
    """
    _check_question(values, bounds, max_bytes, statistic)
    if type(respondents) is not int or respondents < 1:
        raise Refused("respondents are a whole number from 1 up. Nothing was planned")
    try:
        draft = CollectionPlan(
            topic=topic,
            mechanism="krr",
            epsilon=_read_epsilon(epsilon, mechanism),
            values=tuple(map(str, values)),
            bounds=None if bounds is None else _read_bounds(bounds),
            # Public, but chosen after the values: nobody can prepare collisions.
            seed=secrets.token_hex(8),
            max_donations=max_donations,
            window_days=window_days,
            question=question,
        )
    except DonationRefused as error:
        raise Refused(f"{topic}: {error}. Nothing was planned") from None
    if mechanism == "auto":
        mechanism = _choose_kind(max_bytes, statistic)
    if mechanism == "best":
        mechanism = choose_mechanism(draft, respondents).mechanism
    return complete_plan(draft, mechanism, max_bytes or 0)


def _check_question(
    values: Sequence[object],
    bounds: tuple[object, object] | None,
    max_bytes: int | None,
    statistic: str,
) -> None:
    if statistic not in ("mean", "distribution"):
        raise Refused("statistic is mean or distribution")
    if statistic == "distribution" and bounds is None:
        raise Refused("a distribution needs bounds. Nothing was planned")
    stated = [len(values) > 0, bounds is not None, max_bytes is not None]
    if sum(stated) > 1:
        raise Refused("state one of values, bounds and max_bytes. Nothing was planned")


def _choose_kind(max_bytes: int | None, statistic: str) -> str:
    if max_bytes is not None:
        return "prefix"
    if statistic == "distribution":
        return "square_wave"
    return "best"


def compare_mechanisms(
    plan: CollectionPlan, respondents: int = DEFAULT_RESPONDENTS
) -> list[MechanismError]:
    """What every mechanism for the question of a plan would achieve, best first.

    >>> plan = plan_collection("x", values=list("abcdefgh"), epsilon=1)
    >>> [error.mechanism for error in compare_mechanisms(plan)][:3]
    ['subset', 'krr', 'oue']
    """
    names: tuple[str, ...] = CANDIDATES_OF_VALUES
    if plan.bounds is not None:
        names = CANDIDATES_OF_MEANS
    elif not plan.values or plan.mechanism in CANDIDATES_OF_OPEN_VOCABULARY:
        names = CANDIDATES_OF_OPEN_VOCABULARY
    errors = []
    for name in names:
        complete = complete_plan(plan, name, 0)
        error = sqrt(_variance(complete, respondents))
        errors.append(MechanismError(name, error, _report_bits(complete)))
    return sorted(errors, key=lambda error: error.standard_error)


def choose_mechanism(plan: CollectionPlan, respondents: int) -> MechanismError:
    """The mechanism with the smallest report among those with about the least error
    that are fast enough to count and short enough to send.
    """
    errors = [
        error
        for error in compare_mechanisms(plan, respondents)
        if error.report_bits <= MAX_ROW_BITS
        and not (
            error.mechanism == "olh"
            and respondents * len(plan.values) > MAX_HASH_EVALUATIONS
        )
    ]
    most = errors[0].standard_error * SAME_ERROR_FACTOR
    near = [error for error in errors if error.standard_error <= most]
    return min(near, key=lambda error: error.report_bits)


def explain_choice(plan: CollectionPlan, respondents: int) -> str:
    """Why a plan has its mechanism, in a sentence."""
    if plan.mechanism in ("prefix", "square_wave", "rappor", "two_coin"):
        return f"{plan.mechanism}: the mechanism for what the plan asks."
    errors = compare_mechanisms(plan, respondents)
    own = next(error for error in errors if error.mechanism == plan.mechanism)
    others = [error for error in errors if error.mechanism != plan.mechanism]
    beside = ", ".join(f"{e.mechanism} {e.standard_error:.2g}" for e in others)
    noun = "bit" if round(own.report_bits) == 1 else "bits"
    return (
        f"{own.mechanism}: standard error {own.standard_error:.2g} with {respondents:,}"
        f" respondents (others: {beside}), {own.report_bits:.0f} {noun} a report."
    )


def _variance(plan: CollectionPlan, respondents: int) -> float:
    """Of the estimate of a share of one in k, or of a mean at its worst place."""
    if plan.mechanism in PURE_PROTOCOLS:
        share = 1 / len(plan.values)
        return support_probabilities(plan).variance(share, respondents)
    if plan.bounds is not None:
        low, high = plan.bounds
        worst = max(mean_variance(plan, place) for place in (0.0, 0.5, 1.0))
        return worst * float(high - low) ** 2 / respondents
    return float(sketch_variance(plan, np.full(100, 0.01), respondents)[0])


def _report_bits(plan: CollectionPlan) -> float:
    shape = report_shape(plan)
    return shape.width + sum(log2(max(limit, 2)) for limit in shape.limits)


def _size_nothing(_: CollectionPlan, __: int) -> dict[str, int]:
    return {}


def _size_subset(plan: CollectionPlan, _: int) -> dict[str, int]:
    # The size with the least variance: Ye and Barg 2018.
    size = round(len(plan.values) / (exp(plan.epsilon) + 1))
    return {"size": min(max(size, 1), len(plan.values) - 1)}


def _size_olh(plan: CollectionPlan, _: int) -> dict[str, int]:
    return {"buckets": min(round(exp(plan.epsilon)) + 1, MAX_SIZE)}


def _size_hadamard(plan: CollectionPlan, _: int) -> dict[str, int]:
    return {"order": 1 << max(len(plan.values) - 1, 1).bit_length()}


def _size_sketch(_: CollectionPlan, __: int) -> dict[str, int]:
    # Collisions add 1/width of the sampling variance; rows make the interval sure.
    return {"rows": 128, "width": 1024}


def _size_rappor(_: CollectionPlan, __: int) -> dict[str, int]:
    # As in the paper: 128 bits, two hash functions, and 8 cohorts or more.
    return {"rows": 16, "width": 128, "hashes": 2}


def _size_piecewise(plan: CollectionPlan, _: int) -> dict[str, int]:
    # The paper's window is the part 1/(e^(ε/2) + 1) of all cells.
    root = float(plan.root_ratio(2))
    window = max(1, min(PIECEWISE_WINDOW_CELLS, int(MAX_PIECEWISE_CELLS / root)))
    return {"window": window, "outside": max(1, round(root * window))}


def _size_square_wave(plan: CollectionPlan, _: int) -> dict[str, int]:
    reach = square_wave_reach(float(plan.epsilon), SQUARE_WAVE_LEVELS)
    return {"levels": SQUARE_WAVE_LEVELS, "reach": reach}


def _size_prefix(plan: CollectionPlan, max_bytes: int) -> dict[str, int]:
    # Four bits a group: sixteen continuations of every prefix.
    if not 1 <= max_bytes <= 64:
        raise Refused("max_bytes, the length of a text, lies between 1 and 64")
    groups = 2 * max_bytes
    return {"groups": groups, "max_bytes": max_bytes, **_size_olh(plan, 0)}


SIZES_BY_MECHANISM: dict[str, Callable[[CollectionPlan, int], dict[str, int]]] = {
    "subset": _size_subset,
    "olh": _size_olh,
    "hadamard": _size_hadamard,
    "cms": _size_sketch,
    "hcms": _size_sketch,
    "rappor": _size_rappor,
    "piecewise": _size_piecewise,
    "square_wave": _size_square_wave,
    "prefix": _size_prefix,
}


def complete_plan(
    plan: CollectionPlan, mechanism: str, max_bytes: int
) -> CollectionPlan:
    """The plan with this mechanism and the sizes that suit it."""
    _check_domain(plan, mechanism)
    sizes = SIZES_BY_MECHANISM.get(mechanism, _size_nothing)(plan, max_bytes)
    try:
        return replace(plan, mechanism=mechanism, sizes=sizes)
    except DonationRefused as error:
        raise Refused(f"{error}. Nothing was planned") from None


def _check_domain(plan: CollectionPlan, mechanism: str) -> None:
    if mechanism in PURE_PROTOCOLS and len(plan.values) < 2:
        raise Refused(f"{mechanism} needs two values at least. Nothing was planned")
    if mechanism == "two_coin" and len(plan.values) != 2:
        raise Refused("two_coin is for two values: use krr. Nothing was planned")
    needs_bounds = mechanism in ("duchi", "piecewise", "square_wave")
    if needs_bounds != (plan.bounds is not None):
        raise Refused(f"{mechanism} and bounds do not fit. Nothing was planned")


def _read_epsilon(epsilon: object, mechanism: str) -> Fraction:
    if mechanism == "two_coin":
        return TWO_COIN_EPSILON
    try:
        # Through text, so that 0.1 means one tenth.
        number = read_number(epsilon)
    except ValueError:
        raise InvalidBudget("epsilon must be a number. Nothing was planned") from None
    if not MIN_LOCAL_EPSILON <= number <= 20:
        raise InvalidBudget("epsilon lies between 0.001 and 20. Nothing was planned")
    return number


def _read_bounds(bounds: tuple[object, object]) -> tuple[Fraction, Fraction]:
    try:
        low, high = map(read_number, bounds)
    except ValueError:
        raise Refused("bounds are two numbers. Nothing was planned") from None
    if not low < high:
        raise Refused("the lower bound must be below the upper. Nothing was planned")
    return low, high


def read_plan(path: str | Path) -> CollectionPlan:
    """Read the plan of a collection from its file."""
    try:
        return CollectionPlan.from_json(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, DonationRefused):
        raise Refused(f"{path}: is no plan of a local collection") from None
