"""The studio as a command: what it says when it opens, and how it ends."""

from __future__ import annotations

import json
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pytest

from kit.cli import Shell
from kit.studio.other_user import ROOT, SPY, run_as_other_user
from kit.studio.server import enter, opened, people
from understudy.accounting.ledger import Ledger


def test_it_ends_in_one_line_that_says_where_everything_is(tmp_path: Path) -> None:
    people(tmp_path / "people.csv")
    process, port, token = opened(tmp_path)
    enter(port, token)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert (
        err
        == f"understudy: the studio is closed. Tables, ledgers and runs are in {tmp_path}.\n"
    )
    # The address that opened it is used up, and the next was told to this terminal.
    assert token not in out
    assert "For another browser" in out


def test_a_run_that_is_cut_off_stays_spent_and_says_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 6, (3000, 40))
    lines = [
        ",".join(f"c{i}" for i in range(40)),
        *(",".join(map(str, row)) for row in rows),
    ]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    process, port, token = opened(tmp_path)
    session, change = enter(port, token)

    def ask(method: str, path: str, body: object = None) -> dict[str, object]:
        headers = {
            "Cookie": f"understudy_studio_{port}={session}",
            "Origin": f"http://127.0.0.1:{port}",
        }
        with closing(HTTPConnection("127.0.0.1", port, timeout=120)) as connection:
            data = None if body is None else json.dumps(body)
            connection.request(
                method, path, data, headers | {"x-understudy-change": change}
            )
            found: dict[str, object] = json.loads(connection.getresponse().read())
            return found

    runs = ask(
        "POST", "/api/run", {"table": "wide.csv", "epsilon": "1", "synthesizer": "aim"}
    )["runs"]
    assert isinstance(runs, list)
    while not ask("GET", f"/api/run/{runs[0]}")["spent"]:
        time.sleep(0.05)
    process.terminate()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 143
    assert "1 run was cut off; what the ledger had reserved stays spent." in err
    assert err.count("\n") == 1, err
    with Ledger.open(tmp_path / "wide.csv.ledger") as book:
        assert book.totals().epsilon == 1


BROWSER = """#!/bin/sh
printf '%s' "$1" > "{seen}.part" && mv "{seen}.part" "{seen}"
while [ -e "{seen}" ]; do sleep 0.05; done
"""
"""A browser that notes what it was told to open, and stays until the note is taken
away.
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """A home directory that others may look into, as they are on many machines."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


def write_browser(folder: Path) -> tuple[str, Path]:
    """A command line for a browser, and where it notes what it opens."""
    seen, script = folder / "seen", folder / "browser"
    script.write_text(BROWSER.format(seen=seen))
    script.chmod(0o755)
    return f"{script} %s &", seen


def wait_for(path: Path) -> str:
    until = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < until, f"there is no {path.name}"
        time.sleep(0.02)
    return path.read_text()


def test_the_token_stands_on_no_command_line_and_in_no_file_of_others(
    tmp_path: Path, home: Path
) -> None:
    browser, seen = write_browser(tmp_path)
    process, port, token = opened(tmp_path, browser=browser, home=home)
    try:
        uri = wait_for(seen)
        page = Path(uri.removeprefix("file://"))
        assert token not in uri
        assert token in page.read_text()
        # Another user looks through every command line while the browser starts, and
        # tries to read the page.
        command_lines, page_was_read = run_as_other_user(
            SPY, token=token, page=str(page)
        )
        assert command_lines == 0
        assert page_was_read is not ROOT  # who is not root has nobody else to be
        enter(port, token)
        assert list(home.iterdir()) == []
    finally:
        seen.unlink(missing_ok=True)
        process.terminate()
        process.communicate(timeout=120)


def test_the_page_for_the_browser_goes_with_the_studio(
    tmp_path: Path, home: Path
) -> None:
    browser, seen = write_browser(tmp_path)
    process, _, _ = opened(tmp_path, browser=browser, home=home)
    wait_for(seen)
    assert len(list(home.iterdir())) == 1
    process.send_signal(signal.SIGINT)
    process.wait(timeout=120)
    seen.unlink()  # the browser ends too, which holds the terminal
    process.communicate(timeout=120)
    assert list(home.iterdir()) == []


def test_a_folder_is_needed(shell: Shell) -> None:
    done = shell("studio", "nowhere", "--no-browser")
    assert done.code == 1
    assert "there is no such folder" in done.err
