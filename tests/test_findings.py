"""A finding has a number or the reason why there is none, and JSON can hold it."""

from __future__ import annotations

import json
import math

import pytest

from understudy.errors import TableError
from understudy.findings import (
    INTERNAL_MARKING,
    Assessment,
    BetterDirection,
    Finding,
    FindingPart,
    Measure,
    compute_findings,
    make_missing_finding,
    mean_of_parts,
)


def sample() -> Assessment:
    parts = (
        FindingPart(name="a", value=0.5),
        FindingPart(name="b", reason="b does not vary", columns=("b",)),
    )
    return Assessment(
        subject="utility",
        findings=(
            Finding(
                name="x",
                title="X",
                value=0.5,
                parts=parts,
                interval=(0.4, 0.6),
                better=BetterDirection.LOWER,
                family="one",
            ),
            make_missing_finding("y", "Y", "no rows", family="two"),
        ),
    )


def test_what_has_no_number_is_listed_with_the_reason() -> None:
    assert sample().not_computed == (("X: b", "b does not vary"), ("Y", "no rows"))
    assert [part.name for part in sample()["x"].left_out] == ["b"]
    assert [part.name for part in sample()["x"].worst_parts()] == ["a"]


def test_a_mean_is_over_the_parts_that_have_a_number() -> None:
    assert mean_of_parts(sample()["x"].parts) == 0.5
    assert mean_of_parts((FindingPart(name="b", reason="none"),)) is None


def test_it_goes_through_json_and_says_that_it_is_internal() -> None:
    found = json.loads(json.dumps(sample().to_dict(), allow_nan=False))
    assert found["marking"] == INTERNAL_MARKING
    assert found["findings"][0]["interval"] == [0.4, 0.6]
    assert found["findings"][1] == {
        **found["findings"][1],
        "value": None,
        "reason": "no rows",
    }
    assert found["not_computed"][0] == {"title": "X: b", "reason": "b does not vary"}


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_is_finite(value: float) -> None:
    with pytest.raises(AssertionError):
        Finding(name="x", title="X", value=value)


def test_neither_a_number_nor_a_reason_is_no_finding_and_both_are_none_either() -> None:
    with pytest.raises(AssertionError):
        Finding(name="x", title="X")
    with pytest.raises(AssertionError):
        FindingPart(name="x", value=1.0, reason="and yet")


def test_names_are_unique_and_found() -> None:
    found = sample()
    assert "x" in found
    assert "z" not in found
    assert len(found) == 2
    assert found.families == ("one", "two")
    with pytest.raises(KeyError):
        found["z"]
    with pytest.raises(AssertionError):
        Assessment(subject="utility", findings=(found["x"], found["x"]))


def test_it_reads_as_text() -> None:
    assert str(sample()).splitlines() == [
        f"utility ({INTERNAL_MARKING})",
        "  X: 0.5 (0.4 to 0.6)",
        "  Y: not computed (no rows)",
    ]


@pytest.mark.parametrize(
    "error",
    [TableError("the table has no such column"), ValueError("Ann, 34"), MemoryError()],
)
def test_a_measure_that_fails_is_listed_and_the_rest_goes_on(error: Exception) -> None:
    def fails() -> Finding:
        raise error

    measures = [
        Measure("a", "A", "one", fails),
        Measure("b", "B", "one", lambda: Finding(name="b", title="B", value=1.0)),
    ]
    found = compute_findings(measures)
    assert [finding.is_computed for finding in found] == [False, True]
    assert "Ann" not in found[0].reason
    assert found[0].family == "one"


def test_a_mistake_of_ours_is_not_taken_for_a_finding() -> None:
    def wrong() -> Finding:
        raise TypeError("a bug")

    with pytest.raises(TypeError):
        compute_findings([Measure("a", "A", "one", wrong)])
