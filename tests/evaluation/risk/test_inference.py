"""Attribute disclosure: certain for a copy, nothing for independent rows."""

from __future__ import annotations

import numpy as np
import pytest

from kit.people import made, table
from understudy.evaluation.risk.inference import (
    assess_attribute_inference,
    assess_disco,
    is_disclosed_for_certain,
)
from understudy.findings import Unavailable

KNOWN = ["age", "sex", "income"]


def test_a_copy_tells_and_independent_rows_do_not() -> None:
    members, control = table(made(600, 1)).records(), table(made(600, 2)).records()
    told = assess_attribute_inference(
        members, control, members, ["married", "school"], KNOWN
    )
    assert told.value > 0.9
    assert told.interval[0] > 0.8
    quiet = assess_attribute_inference(
        members, control, table(made(600, 3)).records(), ["married", "school"], KNOWN
    )
    assert quiet.interval[0] < 0 < quiet.interval[1] + 0.05
    assert {part.name for part in quiet.parts} == {"married", "school"}


def test_what_statistics_tell_is_not_held_against_a_release() -> None:
    """Income goes with age: it is guessed well of everybody, so nothing is left for
    members.
    """
    members, control = table(made(800, 1)).records(), table(made(800, 2)).records()
    found = assess_attribute_inference(
        members, control, table(made(800, 3)).records(), ["school"], ["age", "income"]
    )
    part = found.parts[0]
    assert part.facts["members"] > part.facts["most_frequent"] + 0.1
    assert found.interval[0] < 0.05


def test_certainty_by_hand() -> None:
    people = table(
        [
            (20, "F", "low", 1.0, True),
            (30, "M", "low", 1.0, True),
            (99, "M", "low", 1.0, True),
        ]
    ).records()
    rows = table(
        [
            (20, "F", "low", 1.0, True),
            (20, "F", "high", 1.0, True),
            (30, "M", "low", 1.0, True),
            (30, "M", "low", 1.0, False),
        ]
    ).records()
    # The first's class has two schools, the second's one and it is hers; the third has
    # no class.
    told = dict(
        zip(
            people.numbers("age").tolist(),
            is_disclosed_for_certain(people, rows, ["age", "sex"], "school").tolist(),
            strict=True,
        )
    )
    assert told == {20: False, 30: True, 99: False}


def test_disclosure_of_a_copy_and_of_independent_rows() -> None:
    members, control = table(made(600, 1)).records(), table(made(600, 2)).records()
    copy = assess_disco(
        members, control, members, ["age", "sex", "income"], ["married"]
    )
    assert copy.parts[0].facts["members"] == copy.parts[0].facts["in_the_original"]
    assert copy.interval[0] > 0.3
    other = assess_disco(
        members,
        control,
        table(made(600, 3)).records(),
        ["age", "sex", "income"],
        ["married"],
    )
    assert other.interval[0] < 0 < other.interval[1]


def test_a_control_is_needed_and_a_secret() -> None:
    rows = table(made(20, 1)).records()
    with pytest.raises(Unavailable, match="holdout"):
        assess_attribute_inference(rows, None, rows, ["sex"])
    with pytest.raises(Unavailable, match="sensitive"):
        assess_attribute_inference(rows, rows, rows, [])
    with pytest.raises(Unavailable, match="quasi-identifier"):
        assess_disco(rows, rows, rows, ["sex"], ["sex"])
    with pytest.raises(Unavailable, match="nothing else"):
        assess_attribute_inference(rows, rows, rows, ["sex"], ["sex"])
    assert np.isfinite(assess_attribute_inference(rows, rows, rows, ["sex"]).value)
