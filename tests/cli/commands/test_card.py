"""What a release is good for, and questions answered from it: free."""

from __future__ import annotations

from pathlib import Path

from kit.cli import Shell, spent


def test_the_card_costs_nothing(shell: Shell, release: Path, tmp_path: Path) -> None:
    done = shell("card", release)
    assert done.code == 0, done.err
    assert "columns are good or usable" in done.out
    assert spent(tmp_path / "people.csv.ledger") == 1.0


def test_the_card_of_some_columns(shell: Shell, release: Path) -> None:
    done = shell("card", release, "--of", "sex", "--of", "age,sex", "--json")
    assert [entry["clique"] for entry in done.json] == [["sex"], ["age", "sex"]]
    assert done.json[0]["supported"] is True
    assert "sex: " in shell("card", release, "--of", "sex").out


def test_a_question(shell: Shell, release: Path) -> None:
    done = shell("answer", release, "count", "share where sex = F", "--json")
    assert done.code == 0, done.err
    count, share = done.json
    assert count["low"] < count["estimate"] < count["high"]
    assert 0 < share["low"] < share["high"] < 1
    assert "between" in shell("answer", release, "count").out


def test_nonsense_is_refused_in_one_line(shell: Shell, release: Path) -> None:
    for arguments in (
        ("answer", release, "how many"),
        ("card", release, "--of", "shoes"),
    ):
        done = shell(*arguments)
        assert done.code == 1
        assert len(done.err.strip().splitlines()) == 1
