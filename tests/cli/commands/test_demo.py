"""The demo, whole: the survey, its draft, its release and a comparison."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kit.cli import Shell, rows_of
from kit.permissions import PRIVATE, PRIVATE_FOLDER, PUBLIC, modes
from understudy.accounting.ledger import Ledger
from understudy.cli.commands import demo as module
from understudy.releases import Release
from understudy.schema import Schema


def test_the_whole_way(shell: Shell, tmp_path: Path, permissive: None) -> None:
    done = shell("demo", "here", "--json")
    assert done.code == 0, done.err
    told, here = done.json, tmp_path / "here"
    assert modes(tmp_path) == {
        "here": PRIVATE_FOLDER,
        "here/survey.csv": PRIVATE,
        "here/survey.yaml": PRIVATE,
        "here/synthetic.csv": PUBLIC,
        "here/survey.understudy": PUBLIC,
        "here/survey.ledger": PRIVATE,
    }
    assert len(rows_of(here / "survey.csv")) == 6_366
    assert abs(len(rows_of(here / "synthetic.csv")) - 6_366) < 300
    assert set(told["comparison"]["columns"]) == {*module.SURVEY_ANSWERS, "affairs"}
    assert max(told["comparison"]["columns"].values()) < 0.2
    assert len(told["comparison"]["pairs"]) == 36
    learned = told["learned"]
    assert learned[:2] == ["the bounds of affairs", "the bins of affairs"]
    # Noise may put a bound below a few of the largest values, and then says so.
    clipped = "affairs: values beyond the bounds"
    assert all(line.startswith(clipped) for line in learned[2:])
    with Ledger.open(here / "survey.ledger") as account:
        assert account.totals().epsilon == 1
        assert [e.event for e in account.entries() if e.kind == "note"] == ["compare"]
    assert Release.load(here / "survey.understudy").rows == told["rows"]


def test_the_questionnaire_is_the_survey_s_own(tmp_path: Path) -> None:
    """Every answer in the survey is one the form offered, so declaring them loses
    nothing.
    """
    module.write_survey(tmp_path / "survey.csv")
    rows = rows_of(tmp_path / "survey.csv")
    for name, answers in module.SURVEY_ANSWERS.items():
        assert {row[name] for row in rows} == set(answers)


def test_it_is_told_in_a_pipe_too_as_plain_text_and_its_schema_is_a_file_a_person_can_read(
    shell: Shell, tmp_path: Path
) -> None:
    done = shell("demo", "here")
    assert done.code == 0
    assert done.err == ""
    assert "\x1b" not in done.out
    for said in (
        "understudy describe",
        "no data touched",
        "Private with ε = 1",
        "internal, not private",
        "here/synthetic.csv",
    ):
        assert said in done.out
    schema = Schema.load(tmp_path / "here" / "survey.yaml")
    assert [name for name in schema if not schema[name].is_closed] == ["affairs"]


def test_without_statsmodels_one_line_says_what_to_do(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    done = shell("demo", "here")
    assert done.code == 1
    assert 'pip install "understudy-dp[evaluate]"' in done.err
    assert not (tmp_path / "here").exists()
