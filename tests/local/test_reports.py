"""Hostile reports are refused and counted, and stop nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from kit.local.plans import inputs_of, small_plan
from understudy.errors import Refused
from understudy.local import plan_collection
from understudy.local import reports as module
from understudy.local.collector import Collector, simulate_reports
from understudy.local.rappor import bit_probabilities
from understudy.local.reports import count_most_ones
from understudy_client import MECHANISMS, write_report

HOSTILE = [
    "",  # an empty line is no report and no attack
    "nonsense",
    "[1]",
    '{"plan":"0000000000000000","report":[1]}',
    '{"plan":"PLAN","report":[4]}',
    '{"plan":"PLAN","report":[-1]}',
    '{"plan":"PLAN","report":[01]}',
    '{"plan":"PLAN","report":[1.0]}',
    '{"plan":"PLAN","report":[1e1]}',
    '{"plan":"PLAN","report":[1,2]}',
    '{"plan":"PLAN","report":[]}',
    '{"plan":"PLAN","report":[99999999999999999999]}',
    '{"plan":"PLAN","report":["1"]}',
    '{"plan":"PLAN","report":[1]}{"plan":"PLAN","report":[1]}',
    '{"plan":"PLAN","report":[1]}\n{"plan":"PLAN","report":[1]}',
    '{"plan":"PLAN","report":[true]}',
    '{"plan":"PLAN","report":[٣]}',
    "\ud800",
    "\0" * 50,
]


def test_each_hostile_line_is_refused_and_counted() -> None:
    plan = small_plan("krr")
    collector = Collector(plan)
    lines = [line.replace("PLAN", plan.digest) for line in HOSTILE]
    assert collector.add(lines) == 0
    assert collector.refused == len(HOSTILE) - 1
    assert collector.count_support().sum() == 0


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
def test_every_client_is_understood(mechanism: str) -> None:
    plan = small_plan(mechanism)
    collector = Collector(plan)
    assert collector.add(simulate_reports(plan, inputs_of(plan))) == len(
        inputs_of(plan)
    )
    assert collector.refused == 0


@pytest.mark.parametrize(
    ("mechanism", "report"),
    [
        ("oue", ["1f"]),  # padding
        ("oue", ["0F"]),
        ("oue", ["0f0f"]),
        ("subset", ["07"]),  # three values instead of two
        ("subset", ["00"]),
        ("cms", [2, "01"]),
        ("hadamard", [4, 0]),
        ("hadamard", [0, 2]),
        ("olh", [2**31 - 1, 0, 0]),
        ("olh", [0, 0, 3]),
        ("piecewise", [8]),
        ("square_wave", [7]),
        ("prefix", [2, 0, 0, 0]),
    ],
)
def test_a_report_outside_its_limits_is_refused(
    mechanism: str, report: list[int | str]
) -> None:
    plan = small_plan(mechanism)
    collector = Collector(plan)
    line = write_report(plan, report) if mechanism != "rappor" else ""
    assert collector.add([line]) == 0
    assert collector.refused == 1


@pytest.mark.parametrize("mechanism", ["oue", "sue", "cms", "rappor"])
def test_a_row_that_supports_everything_is_refused(mechanism: str) -> None:
    """One report must not count for every value at once."""
    values = [str(i) for i in range(64)]
    plan = plan_collection("t", values=values, epsilon=1, mechanism=mechanism)
    width = plan.sizes.get("width", 64)
    head: list[int | str] = [0] if mechanism in ("cms", "rappor") else []
    collector = Collector(plan)
    # Not by `write_report`, which draws a fresh response for rappor.
    report = {"plan": plan.digest, "report": [*head, "ff" * (width // 8)]}
    assert collector.add([json.dumps(report, separators=(",", ":"))]) == 0
    assert collector.refused == 1
    most = count_most_ones(plan, width)
    zero = 1 - float(plan.root_ratio(2) / (plan.root_ratio(2) + 1))
    if mechanism == "oue":
        zero = float(1 / (plan.ratio + 1))
    true = plan.sizes.get("hashes", 1)
    if mechanism == "rappor":
        zero = bit_probabilities(plan)[0]
    # An honest client is refused less often than once in 10^12, and barely so.
    assert stats.binom.sf(most - true, width - true, zero) <= 1e-12
    assert stats.binom.sf(most - true - 1, width - true, zero) > 1e-12


def test_a_file_is_read_in_pieces_and_a_line_without_end_is_one_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = small_plan("olh")
    lines = simulate_reports(plan, ["a"] * 60)
    path = tmp_path / "reports.jsonl"
    path.write_text("\n".join([*lines[:30], "x" * 5_000 + lines[0], *lines[30:]]))
    whole = Collector(plan)
    assert whole.add(lines) == 60
    monkeypatch.setattr(module, "REPORT_CHUNK_BYTES", 256)
    pieces = Collector(plan)
    assert pieces.add_file(path) == 60
    assert pieces.refused == 1
    assert np.array_equal(pieces.count_support(), whole.count_support())


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"nothing\.jsonl"):
        Collector(small_plan("krr")).add_file(tmp_path / "nothing.jsonl")
