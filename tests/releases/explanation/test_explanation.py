"""The explanation: bounded, ranked, and the same in text, rows and picture."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from kit.releases.decisions import FAR_PAIR, NEAR_PAIR, UNASKED_COLUMN
from understudy.decisions import Decision
from understudy.releases.explanation.explanation import (
    MAX_REJECTED_PER_STAGE,
    Explanation,
)
from understudy.releases.explanation.rendering import (
    NO_DECISIONS,
    SHOWN_MEASURED_PER_STAGE,
    SHOWN_REJECTED_PER_STAGE,
)

DECISIONS = (FAR_PAIR, NEAR_PAIR, UNASKED_COLUMN)


def many_rejected(count: int) -> list[Decision]:
    return [replace(NEAR_PAIR, distance=float(i)) for i in range(count)]


def test_stages_keep_their_order_and_the_strongest_come_first() -> None:
    explanation = Explanation.of([NEAR_PAIR, FAR_PAIR, UNASKED_COLUMN])
    assert explanation.decisions == DECISIONS
    assert explanation.stages == ("forest", "tree")
    assert explanation.left_out == {}
    assert explanation.sentence() == "2 of 3 candidates were measured."


def test_all_that_was_measured_is_kept_and_the_strongest_others() -> None:
    measured = [replace(FAR_PAIR, gain=float(i)) for i in range(1000)]
    rejected = many_rejected(MAX_REJECTED_PER_STAGE + 50)
    explanation = Explanation.of([*rejected, *measured])
    assert sum(d.is_measured for d in explanation) == 1000
    assert len(explanation) == 1000 + MAX_REJECTED_PER_STAGE
    assert explanation.left_out == {"forest": 50}
    assert min(d.distance for d in explanation if not d.is_measured) == 50
    assert explanation.sentence() == "1,000 of 1,350 candidates were measured."


@pytest.mark.parametrize("number", [math.nan, math.inf])
@pytest.mark.parametrize("field", ["noisy_distance", "gain", "prior_variance"])
def test_numbers_that_no_file_can_hold_are_counted_and_left_out(
    number: float, field: str
) -> None:
    explanation = Explanation.of([FAR_PAIR, replace(NEAR_PAIR, **{field: number})])
    assert explanation.decisions == (FAR_PAIR,)
    assert explanation.left_out == {"forest": 1}


def test_the_table_says_every_number() -> None:
    lines = Explanation.of(DECISIONS).lines()
    assert len(lines) == 2 + len(DECISIONS)
    assert lines[2].split("  ")[-1] == "measured"
    for shown in ("sex × age", "410.0", "0.300", "350.0", "60 %"):
        assert shown in lines[2]
    assert "its noise would exceed its gain" in lines[3]
    assert "not asked" in lines[4]


def test_the_table_says_how_many_it_leaves_out() -> None:
    count = MAX_REJECTED_PER_STAGE + 50
    lines = Explanation.of([FAR_PAIR, *many_rejected(count)]).lines()
    rest = count - SHOWN_REJECTED_PER_STAGE
    assert (
        lines[-1] == f"forest: {rest} weaker candidates not listed, 0 of them measured."
    )
    measured = [FAR_PAIR] * (SHOWN_MEASURED_PER_STAGE + 7)
    lines = Explanation.of([*measured, NEAR_PAIR]).lines()
    assert lines[-1] == "forest: 7 weaker candidates not listed, 7 of them measured."
    assert len(lines) == SHOWN_MEASURED_PER_STAGE + 4


def test_rows_and_json_say_the_same() -> None:
    explanation = Explanation.of(DECISIONS)
    rows = explanation.rows()
    assert [row["clique"] for row in rows] == [
        ["sex", "age"],
        ["age", "smoker"],
        ["age"],
    ]
    assert json.loads(json.dumps(explanation.to_dict())) == {
        "decisions": rows,
        "left_out": {},
    }


def test_nothing_to_explain_is_one_line() -> None:
    explanation = Explanation.of([])
    assert str(explanation) == NO_DECISIONS
    assert explanation._repr_html_() == f"<p>{NO_DECISIONS}</p>"
    assert explanation.to_dict() == {"decisions": [], "left_out": {}}


def test_names_are_escaped_in_html_and_pictures() -> None:
    hostile = replace(FAR_PAIR, clique=("<script>", "a&b"), stage="<b>")
    explanation = Explanation.of([hostile])
    assert "<script>" not in explanation._repr_html_()
    assert "<b>" not in explanation._repr_html_()
    assert ElementTree.fromstring(explanation.to_svg()).tag.endswith("svg")
