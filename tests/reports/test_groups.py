"""Risk groups on the page: counts that add up, how each is matched, and nothing where
nobody looked.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from understudy.evaluation.risk.intruder import Intruder
from understudy.reports.evaluate import evaluate
from understudy.reports.groups import groups_of
from understudy.reports.report import Report

NAME = "<b>town</b>"


@pytest.fixture(scope="module")
def report() -> Report:
    towns = ["x"] * 200 + ["y"] * 60 + ["far"] * 3
    rows = pl.DataFrame(
        {
            NAME: towns,
            "age": [30 + i % 3 for i in range(240)]
            + [70 + i for i in range(20)]
            + [30] * 3,
        }
    )
    return evaluate(
        rows,
        rows,
        intruder=Intruder(quasi=[NAME, "age"], sensitive=[NAME], radius={"age": 0.5}),
    )


def test_every_record_is_in_one_group(report: Report) -> None:
    found = groups_of(report.risk)
    assert found is not None
    counts = {group.name: group.size for group in found.groups}
    assert counts == {"low": 240, "medium": 20, "high": 3}
    assert found.sentence().endswith("age: 240 low, 20 medium, 3 high.")
    by_name = {group.name: group.match_risk for group in found.groups}
    assert by_name["medium"] == 1
    assert by_name["high"] == pytest.approx(1 / 3)
    assert by_name["low"] == pytest.approx(6 / 240)  # six classes


def test_they_stand_on_the_page_and_in_the_twin(report: Report) -> None:
    page = report.to_html()
    assert '<h3 id="groups">Risk groups</h3>' in page
    assert NAME not in page
    assert ">low 91.3%<" in page
    twin = report.to_dict()["risk"]
    assert isinstance(twin, dict)
    finding = next(f for f in twin["findings"] if f["name"] == "risk_groups")  # type: ignore[index, union-attr, call-overload]
    assert [p["facts"]["records"] for p in finding["parts"]] == [3, 20, 240]  # type: ignore[index, union-attr, call-overload]


def test_without_attacks_there_are_none(report: Report) -> None:
    assert groups_of(None) is None
    assert "Risk groups" not in replace(report, risk=None).to_html()
