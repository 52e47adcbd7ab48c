"""The page that leads a browser on: its owner's alone, and soon gone."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from understudy.errors import Refused
from understudy.studio.redirect import RedirectPage

URL = "http://127.0.0.1:1/?token=secret&more"


def path_of(uri: str) -> Path:
    return Path(url2pathname(urlsplit(uri).path))


def test_nobody_but_its_owner_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with RedirectPage(tmp_path) as page:
            where = path_of(page.write(URL))
            modes = [
                stat.S_IMODE(path.stat().st_mode) for path in (where.parent, where)
            ]
    finally:
        os.umask(before)
    assert modes == [0o700, 0o600]


def test_browsers_in_a_sandbox_find_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They read what lies in the home directory and is not hidden."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with RedirectPage() as page:
        inside = path_of(page.write(URL)).relative_to(tmp_path)
        assert not any(part.startswith(".") for part in inside.parts)


def test_it_leads_to_the_address_and_is_gone_afterwards(tmp_path: Path) -> None:
    with RedirectPage(tmp_path) as page:
        text = path_of(page.write(URL)).read_text()
        assert 'content="0; url=http://127.0.0.1:1/?token=secret&amp;more"' in text
        page.remove()
        assert list(tmp_path.iterdir()) == []
        page.remove()
        page.write(URL)
        page.write(URL)
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_without_a_home_it_says_what_to_do(tmp_path: Path) -> None:
    with (
        RedirectPage(tmp_path / "nowhere") as page,
        pytest.raises(Refused, match="Open the address yourself"),
    ):
        page.write(URL)
