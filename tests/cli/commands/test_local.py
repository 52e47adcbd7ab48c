"""`understudy local`: from a plan to estimates."""

from __future__ import annotations

from pathlib import Path

from kit.cli import Shell
from understudy.local import read_plan, simulate_reports
from understudy_client import UNPLACED_TEXT


def test_from_plan_to_estimate(tmp_path: Path, shell: Shell) -> None:
    done = shell(
        "local",
        "plan",
        "smokes",
        "--values",
        "no,yes",
        "--mechanism",
        "two_coin",
        "-o",
        "plan.json",
    )
    assert done.code == 0
    plan = read_plan(tmp_path / "plan.json")
    lines = simulate_reports(plan, ["yes"] * 300 + ["no"] * 700)
    (tmp_path / "reports.jsonl").write_text("\n".join([*lines, "nonsense"]) + "\n")
    counted = shell(
        "local", "collect", "plan.json", "reports.jsonl", "-o", "counts.json", "--json"
    ).json
    assert (counted["reports"], counted["refused"]) == (1000, 1)
    from_counts = shell("local", "estimate", "counts.json", "--json").json
    from_reports = shell(
        "local", "estimate", "plan.json", "reports.jsonl", "--json"
    ).json
    assert from_counts == from_reports
    # Standard deviation .031: six of them.
    assert abs(from_counts["values"][1]["share"] - 0.3) < 0.19


def test_a_client_donates_once(shell: Shell) -> None:
    shell("local", "plan", "t", "--values", "a,b", "--epsilon", "1", "-o", "plan.json")
    first = shell("local", "donate", "plan.json", "a", "--account", "own.db")
    second = shell("local", "donate", "plan.json", "b", "--account", "own.db")
    assert first.code == 0
    assert first.out == second.out
    odd = shell("local", "donate", "plan.json", "zebra", "--account", "other.db")
    assert (odd.code, odd.out[:8]) == (0, '{"plan":')
    assert odd.err.strip() == f"{UNPLACED_TEXT}."
    odd = shell(
        "local", "donate", "plan.json", "a", "--account", "other.db", "--per-day", "x"
    )
    assert odd.code == 1
    no_account = shell("local", "donate", "plan.json", "a", "--account", "plan.json")
    assert "cannot be used as an account" in no_account.err


def test_means_distributions_and_frequent_texts_are_described(
    tmp_path: Path, shell: Shell
) -> None:
    for words, values, shown in (
        (("--bounds", "0", "10"), [2, 3], "mean"),
        (("--bounds", "0", "10", "--distribution"), [2, 3], "quartiles"),
        (("--max-bytes", "1"), ["a"] * 40, "share"),
    ):
        shell("local", "plan", "t", *words, "--epsilon", "2", "-o", "plan.json")
        lines = simulate_reports(read_plan(tmp_path / "plan.json"), values)
        (tmp_path / "reports.jsonl").write_text("\n".join(lines))
        done = shell("local", "estimate", "plan.json", "reports.jsonl")
        assert done.code == 0
        assert shown in done.out
    # The last plan was about frequent texts.
    one = shell(
        "local", "estimate", "plan.json", "reports.jsonl", "--count", "1", "--json"
    )
    assert len(one.json["values"]) == 1


def test_epsilon_must_be_stated(shell: Shell) -> None:
    done = shell("local", "plan", "t", "--values", "a,b", "-o", "plan.json")
    assert done.code == 1
    assert "--epsilon" in done.err
