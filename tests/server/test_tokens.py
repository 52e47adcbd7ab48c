"""Tokens: what is stored of them, who may read it, and when they end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from understudy.errors import LedgerError, Refused
from understudy.server.tokens import TokenFile


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "people.ledger")


def test_only_a_digest_is_stored_for_its_owner_alone(
    tokens: TokenFile, permissive: None
) -> None:
    token = tokens.add("ada")
    assert len(token) >= 43, "256 bits in base64"
    assert token.encode() not in tokens.path.read_bytes()
    assert tokens.path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_others_may_write_lets_nobody_in(tokens: TokenFile) -> None:
    token = tokens.add("ada")
    tokens.path.chmod(0o660)
    with pytest.raises(LedgerError, match="chmod 600"):
        tokens.find_analyst(token)


def test_expired_and_revoked_tokens_are_nobodys(tokens: TokenFile) -> None:
    expired, first, second = (tokens.add("ada", days=days) for days in (-1, 1, 1))
    other = tokens.add("grace")
    assert tokens.find_analyst(expired) is None
    assert tokens.find_analyst(first) == tokens.find_analyst(second) == "ada"
    assert tokens.revoke("ada") == 3
    assert tokens.find_analyst(first) is tokens.find_analyst(second) is None
    assert tokens.find_analyst(other) == "grace"
    assert tokens.revoke("ada") == 0


def test_changes_at_the_same_moment_are_all_kept(tokens: TokenFile) -> None:
    tokens.add("gone")
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(tokens.add, [f"a{i}" for i in range(8)]))
        ended = pool.submit(tokens.revoke, "gone").result()
    assert ended == 1
    assert [tokens.find_analyst(token) for token in made] == [f"a{i}" for i in range(8)]


@pytest.mark.parametrize("name", ["", " ada", "a\nb", "\x1b[2J", "x" * 101])
def test_a_name_is_a_line_of_text(tokens: TokenFile, name: str) -> None:
    with pytest.raises(Refused, match="printable"):
        tokens.add(name)
