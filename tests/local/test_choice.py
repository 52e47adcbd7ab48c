"""The best mechanism is chosen, by the formulas, and the reason is given."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from understudy.errors import InvalidBudget, Refused
from understudy.local.choice import (
    compare_mechanisms,
    explain_choice,
    plan_collection,
    read_plan,
)
from understudy_client import MECHANISMS, NUMERIC_MECHANISMS


@pytest.mark.parametrize(
    ("values", "epsilon", "chosen"),
    [(2, "1", "krr"), (4, "3", "krr"), (64, "1", "subset"), (20_000, "1", "olh")],
)
def test_the_mechanism_with_the_least_error_is_chosen(
    values: int, epsilon: str, chosen: str
) -> None:
    plan = plan_collection("t", values=range(values), epsilon=epsilon)
    assert plan.mechanism == chosen
    errors = compare_mechanisms(plan)
    own = next(e for e in errors if e.mechanism == chosen)
    assert own.standard_error <= 1.02 * errors[0].standard_error or values > 1 << 14


def test_hashing_that_would_take_hours_is_not_chosen() -> None:
    plan = plan_collection("t", values=range(20_000), epsilon=1, respondents=10**7)
    assert plan.mechanism == "hadamard"


@pytest.mark.parametrize(("epsilon", "chosen"), [("0.5", "duchi"), ("4", "piecewise")])
def test_means(epsilon: str, chosen: str) -> None:
    assert plan_collection("t", bounds=(0, 1), epsilon=epsilon).mechanism == chosen


def test_open_vocabularies_and_distributions() -> None:
    assert plan_collection("t", epsilon=1).mechanism == "cms"
    assert plan_collection("t", epsilon=1, max_bytes=4).mechanism == "prefix"
    assert (
        plan_collection(
            "t", epsilon=1, bounds=(0, 1), statistic="distribution"
        ).mechanism
        == "square_wave"
    )


@pytest.mark.parametrize("mechanism", sorted(set(MECHANISMS) - {"two_coin"}))
def test_every_mechanism_that_is_named_has_its_reason(mechanism: str) -> None:
    question: dict[str, Any] = {"values": "abc"}
    if mechanism in NUMERIC_MECHANISMS:
        question = {"bounds": (0, 1)}
    if mechanism == "prefix":
        question = {"max_bytes": 4}
    plan = plan_collection("t", epsilon=1, mechanism=mechanism, **question)
    assert explain_choice(plan, 10_000).startswith(f"{mechanism}: ")


def test_the_reason_names_the_others() -> None:
    # Of a mean in the units of the answer, not of the distance of its bounds.
    age = plan_collection("age", bounds=(0, 100), epsilon="0.5")
    assert "error 2 with 10,000" in explain_choice(age, 10_000)
    assert "1 bit a report" in explain_choice(age, 10_000)
    reason = explain_choice(plan_collection("t", values="abcdefgh", epsilon=1), 10_000)
    assert reason.startswith("subset: standard error 0.01")
    assert "krr" in reason


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 0, "values": "ab"}, "epsilon"),
        ({"epsilon": "many", "values": "ab"}, "epsilon"),
        ({"epsilon": 1, "values": "a"}, "two values"),
        ({"epsilon": 1, "values": "abc", "mechanism": "two_coin"}, "two values"),
        ({"epsilon": 1, "values": "ab", "mechanism": "duchi"}, "bounds"),
        ({"epsilon": 1, "bounds": (3, 1)}, "lower bound"),
        ({"epsilon": 1, "bounds": ("a", 1)}, "two numbers"),
        ({"epsilon": 1, "bounds": (0, 1), "statistic": "mode"}, "statistic"),
        ({"epsilon": 1, "values": "ab", "mechanism": "plain"}, "no mechanism"),
        ({"epsilon": 1, "max_bytes": 100}, "max_bytes"),
        ({"epsilon": 1, "values": "aa"}, "not distinct"),
        ({"epsilon": 1, "values": "ab", "max_bytes": 4}, "one of"),
        ({"epsilon": 1, "values": "ab", "bounds": (0, 1)}, "one of"),
        ({"epsilon": 1, "values": "ab", "statistic": "distribution"}, "needs bounds"),
        ({"epsilon": "1e100000000", "values": "ab"}, "epsilon"),
        ({"epsilon": 1, "bounds": (0, "1e100000000")}, "two numbers"),
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises((Refused, InvalidBudget), match=words):
        plan_collection("t", **options)  # type: ignore[arg-type]


def test_a_tenth_is_a_tenth() -> None:
    assert plan_collection("t", values="ab", epsilon=0.1).epsilon == Fraction(1, 10)


def test_what_is_no_plan_is_named(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("{}")
    with pytest.raises(Refused, match=r"plan\.json"):
        read_plan(path)


@pytest.mark.parametrize("respondents", [0, -5, 2.5])
def test_a_plan_needs_respondents(respondents: int) -> None:
    with pytest.raises(Refused, match="respondents"):
        plan_collection("x", values="ab", epsilon=1, respondents=respondents)
