"""Opening, showing and checking an account."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from kit.cli import Shell
from understudy.accounting.ledger import Ledger


def test_init_then_show(shell: Shell, tmp_path: Path) -> None:
    assert (
        shell("ledger", "init", "p.ledger", "--epsilon", 3, "--dataset", "people").code
        == 0
    )
    with Ledger.open(tmp_path / "p.ledger") as account:
        account.note("compare", "a look at real rows")
    shown = shell("ledger", "show", "p.ledger")
    assert shown.code == 0
    assert "people, for adding or removing one row" in shown.out
    assert "spent: ε = 0 of 3.00; δ = 0 of 1e-6" in shown.out
    assert "compare: a look at real rows" in shown.out


def test_show_as_json(shell: Shell, people: Path, schema: Path) -> None:
    made = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        1,
        "-o",
        "out.csv",
        "--json",
    ).json
    told = shell("ledger", "show", "people.csv.ledger", "--json").json
    assert [run["run"] for run in told["runs"]] == [made["run"]]
    assert told["runs"][0]["finished"]
    assert told["spent"] == {"epsilon": 1.0, "delta": 1e-9}
    assert told["head"] == made["ledger"]["head"]
    text = shell("ledger", "show", "people.csv.ledger").out
    assert made["run"] in text
    assert "not finished" not in text


def test_a_run_cut_off_is_shown_as_such(shell: Shell, tmp_path: Path) -> None:
    from understudy.accounting.budget import Budget

    with Ledger.create(tmp_path / "p.ledger", dataset="people") as account:
        account.reserve(Budget.of(1), event="synthesize independent", run_id="abc")
    assert "not finished: --resume" in shell("ledger", "show", "p.ledger").out


def test_init_twice_is_refused(shell: Shell, tmp_path: Path) -> None:
    assert shell("ledger", "init", "p.ledger", "--epsilon", 3).code == 0
    before = (tmp_path / "p.ledger").read_bytes()
    assert shell("ledger", "init", "p.ledger", "--epsilon", 30).code == 1
    assert (tmp_path / "p.ledger").read_bytes() == before


@pytest.mark.parametrize("bad", ["0", "-1", "nan", "x"])
def test_a_cap_that_is_none_makes_no_ledger(
    shell: Shell, tmp_path: Path, bad: str
) -> None:
    assert shell("ledger", "init", "p.ledger", "--epsilon", bad).code == 1
    assert not (tmp_path / "p.ledger").exists()


def test_verify_with_and_without_anchor(shell: Shell) -> None:
    shell("ledger", "init", "p.ledger", "--epsilon", 3)
    head = shell("ledger", "verify", "p.ledger", "--json").json["head"]
    assert head in shell("ledger", "verify", "p.ledger").out
    assert shell("ledger", "verify", "p.ledger", "--anchor", head).code == 0
    assert shell("ledger", "verify", "p.ledger", "--anchor", "0" * 63 + "1").code == 1


def test_verify_finds_a_change(shell: Shell, tmp_path: Path) -> None:
    shell("ledger", "init", "p.ledger", "--epsilon", 3)
    with sqlite3.connect(tmp_path / "p.ledger") as connection:
        connection.execute("UPDATE account SET cap_epsilon = cap_epsilon * 2")
    connection.close()
    done = shell("ledger", "verify", "p.ledger")
    assert done.code == 1
    assert done.err.startswith("understudy: p.ledger: ")


@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_ledger_that_is_not_there(shell: Shell, tmp_path: Path, command: str) -> None:
    assert shell("ledger", command, "missing.ledger").code == 1
    assert not (tmp_path / "missing.ledger").exists()


def test_back_up_then_restore(shell: Shell, tmp_path: Path) -> None:
    assert shell("ledger", "init", "p.ledger", "--epsilon", 3).code == 0
    made = shell("ledger", "backup", "p.ledger", "p.backup", "--json").json
    assert (made["entries"], made["head"]) == (
        1,
        shell("ledger", "show", "p.ledger", "--json").json["head"],
    )
    assert (
        "a backup: nothing can be spent from it"
        in shell("ledger", "show", "p.backup").out
    )
    assert "exists already" in shell("ledger", "restore", "p.backup", "p.ledger").err
    (tmp_path / "p.ledger").unlink()
    told = shell("ledger", "restore", "p.backup", "p.ledger")
    assert "p.ledger: the account again" in told.out
    assert "What was spent since is not in it" in told.out
    assert (
        "restored from a backup: taken at entry 1"
        in shell("ledger", "show", "p.ledger").out
    )
    assert not shell("ledger", "show", "p.ledger", "--json").json["backup"]


def test_a_run_is_not_charged_to_a_backup(
    shell: Shell, people: Path, schema: Path
) -> None:
    assert shell("ledger", "init", "p.ledger", "--epsilon", 3).code == 0
    assert shell("ledger", "backup", "p.ledger", "p.backup").code == 0
    words = (
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        1,
        "--synthesizer",
        "independent",
        "-o",
        "out.csv",
    )
    done = shell(*words, "--ledger", "p.backup")
    assert done.code != 0
    assert "p.backup is a backup, taken at entry 1" in done.err
    assert done.err.rstrip().endswith("Nothing was spent.")


def test_a_grant_raises_a_limit_and_is_shown_by_analyst(shell: Shell) -> None:
    shell("ledger", "init", "p.ledger", "--epsilon", 3, "--dataset", "people")
    granted = shell(
        "ledger", "grant", "p.ledger", "--epsilon", 1, "--analyst", "team-a"
    )
    assert (
        granted.out == "p.ledger: team-a may be answered ε = 1.00, δ = 1e-9 in all.\n"
    )
    more = ["ledger", "grant", "p.ledger", "--epsilon", "0.5", "--reason", "wave two"]
    assert "the account may spend ε = 3.50" in shell(*more).out
    shown = shell("ledger", "show", "p.ledger", "--by", "analyst").out
    assert "team-a" in shown
    assert "(owner)" in shown
    text = shell("ledger", "show", "p.ledger").out
    assert "grant: the limit of team-a is now ε = 1.00, δ = 1e-9" in text
    assert "grant: the cap is now ε = 3.50, δ = 1.001e-6 (wave two)" in text
    told = shell("ledger", "show", "p.ledger", "--json").json
    assert told["cap"]["epsilon"] == 3.5
    assert [one["analyst"] for one in told["analysts"]] == ["", "team-a"]


def test_a_run_of_questions_is_shown_as_open(shell: Shell, tmp_path: Path) -> None:
    from understudy.accounting.budget import Budget
    from understudy.accounting.questions.question_run import open_questions

    with Ledger.create(tmp_path / "p.ledger", dataset="people") as account:
        open_questions(account, Budget.of(1))
    assert "open for questions" in shell("ledger", "show", "p.ledger").out
