"""Columns that line up, and JSON that parses."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from understudy.cli.terminal.layout import draw_bar, report_json
from understudy.text import align_columns


def test_nothing_to_align() -> None:
    assert align_columns([]) == []


def test_bars_stay_within_their_width() -> None:
    assert [len(draw_bar(share, 10)) for share in (-1.0, 0.0, 0.04, 0.5, 1.0, 7.0)] == [
        0,
        0,
        1,
        5,
        10,
        10,
    ]


def test_json_holds_exact_numbers_and_paths(capfd: pytest.CaptureFixture[str]) -> None:
    report_json({"a": Fraction(1, 2), "b": Path("x"), "c": "ε"})
    assert json.loads(capfd.readouterr().out) == {"a": 0.5, "b": "x", "c": "ε"}


def test_json_refuses_what_it_does_not_know() -> None:
    with pytest.raises(TypeError):
        report_json({"a": object()})
