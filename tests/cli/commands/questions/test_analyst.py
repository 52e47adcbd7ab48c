"""Analysts from the command line: a limit and a token, more of it, and the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.cli import Shell
from understudy.accounting.budget import Budget
from understudy.accounting.ledger import Ledger
from understudy.server.tokens import TokenFile


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "people.ledger"
    Ledger.create(path, dataset="people").close()
    return path


def test_an_analyst_gets_a_limit_and_a_token_that_is_shown_once(
    shell: Shell, book: Path
) -> None:
    done = shell("analyst", "add", book, "ada", "--epsilon", 1)
    token = done.out.splitlines()[-1]
    assert TokenFile(book).find_analyst(token) == "ada"
    assert token not in shell("analyst", "list", book).out
    more = shell("analyst", "limit", book, "ada", "--epsilon", "0.5")
    assert "ε = 1.50" in more.out
    with Ledger.open(book) as account:
        assert account.limits() == {"ada": Budget.of("1.5", "2e-9")}
    assert shell("analyst", "revoke", book, "ada").code == 0
    assert TokenFile(book).find_analyst(token) is None
    (listed,) = shell("analyst", "list", book, "--json").json
    assert (listed["analyst"], listed["token_until"]) == ("ada", None)


def test_a_second_token_needs_no_second_limit_and_a_first_one_does(
    shell: Shell, book: Path
) -> None:
    refused = shell("analyst", "add", book, "ada")
    assert refused.code == 1
    assert "no limit" in refused.err
    assert not TokenFile(book).path.exists()
    shell("analyst", "add", book, "ada", "--epsilon", 1)
    second = shell("analyst", "add", book, "ada", "--days", 7, "--json").json
    assert TokenFile(book).find_analyst(second["token"]) == "ada"
    with Ledger.open(book) as account:
        assert account.limits()["ada"].epsilon == 1


def test_what_is_not_there_is_refused(shell: Shell, book: Path, tmp_path: Path) -> None:
    assert shell("analyst", "revoke", book, "ada").code == 1
    assert shell("analyst", "add", book, "", "--epsilon", 1).code == 1
    assert shell("analyst", "list", tmp_path / "other.ledger").code == 1
    assert "No analyst" in shell("analyst", "list", book).out
