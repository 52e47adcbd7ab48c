"""Counts can be kept, merged and read again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kit.local.plans import LETTERS, inputs_of, small_plan
from understudy.errors import Refused
from understudy.local.collector import Collector, simulate_reports
from understudy_client import HASH_PRIME


@pytest.mark.parametrize(
    "mechanism", ["krr", "oue", "olh", "hadamard", "cms", "hcms", "rappor"]
)
def test_parts_make_the_whole(mechanism: str, tmp_path: Path) -> None:
    plan = small_plan(mechanism)
    lines = simulate_reports(plan, LETTERS * 20)
    whole, first, second = (Collector(plan) for _ in range(3))
    whole.add([*lines, "nonsense"])
    first.add(lines[:30])
    second.add([*lines[30:], "nonsense"])
    second.save(tmp_path / "second.json")
    first.merge(Collector.load(tmp_path / "second.json"))
    assert (first.reports, first.refused) == (whole.reports, whole.refused) == (80, 1)
    assert np.array_equal(first.estimate().shares, whole.estimate().shares)


def test_hashed_reports_support_what_the_definition_says() -> None:
    plan = small_plan("olh")
    rng = np.random.default_rng(1)
    reports = rng.integers(0, HASH_PRIME, (300, 3))
    reports[:, 2] %= 3
    collector = Collector(plan)
    collector.add(
        f'{{"plan":"{plan.digest}","report":[{a},{b},{c}]}}' for a, b, c in reports
    )
    expected = [
        sum((int(a) * x + int(b)) % HASH_PRIME % 3 == c for a, b, c in reports)
        for x in range(4)
    ]
    assert collector.count_support().tolist() == expected


def test_other_plans_are_not_added() -> None:
    with pytest.raises(Refused, match="same plan"):
        Collector(small_plan("krr")).merge(Collector(small_plan("oue")))


def test_nothing_is_estimated_from_nothing() -> None:
    with pytest.raises(Refused, match="no valid report"):
        Collector(small_plan("krr")).estimate()
    with pytest.raises(Refused, match="between 0 and 1"):
        Collector(small_plan("krr")).estimate(level=95)


@pytest.mark.parametrize(
    "mechanism", ["krr", "oue", "olh", "hadamard", "cms", "hcms", "duchi"]
)
def test_counts_that_contradict_their_reports_are_refused(
    mechanism: str, tmp_path: Path
) -> None:
    plan = small_plan(mechanism)
    collector = Collector(plan)
    collector.add(simulate_reports(plan, inputs_of(plan)))
    path = tmp_path / "counts.json"
    collector.save(path)
    Collector.load(path)
    good = json.loads(path.read_text())
    for change in (
        {"reports": -1},
        {"reports": 0},
        {"counts": [-1 for _ in good["counts"]]},
        {"counts": [10**6 for _ in good["counts"]]},
        {"counts": [*good["counts"], 0]},
        {"counts": ["x" for _ in good["counts"]]},
    ):
        path.write_text(json.dumps({**good, **change}))
        with pytest.raises(Refused, match=r"counts\.json"):
            Collector.load(path)


def test_a_plan_whose_counts_fit_no_memory_is_refused() -> None:
    plan = replace(small_plan("cms"), sizes={"rows": 1 << 20, "width": 1 << 20})
    with pytest.raises(Refused, match="smaller width"):
        Collector(plan)


def test_a_damaged_file_of_counts_is_named(tmp_path: Path) -> None:
    for text in (
        "{}",
        "[",
        "[" * 200_000,
        '{"format": "understudy-local-counts/1"}',
        '{"counts": 1e999}',
    ):
        (tmp_path / "counts.json").write_text(text)
        with pytest.raises(Refused, match=r"counts\.json"):
            Collector.load(tmp_path / "counts.json")
