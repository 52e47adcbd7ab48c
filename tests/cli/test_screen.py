"""What a terminal shows: a real terminal, and none."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from understudy.cli.root import run
from understudy.cli.screen import Screen

from .conftest import CANARY


def recorded() -> tuple[Screen, Console]:
    console = Console(record=True, width=100, force_terminal=True, file=io.StringIO(), highlight=False)
    return Screen(console), console


def test_a_run_is_told_in_stages_and_words(people: Path, schema: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    screen, console = recorded()
    words = f"synthesize {people} --schema {schema} --epsilon 2 -o out.csv --release out.understudy"
    assert run(words.split(), screen=screen) == 0
    text = " ".join(console.export_text().split())
    assert "schema 3 columns, all declared 0 %" in text
    assert "measuring 3 marginals" in text
    assert "→ out.csv" in text
    assert "Private with ε = 2, δ = 1e-9 for adding or removing one row. Spent: 2.00, no cap" in text
    assert "Public by your declaration: " in text
    assert "ε = 2.00 is above 1" in text
    assert CANARY not in text


def test_what_was_learned_is_told(people: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    screen, console = recorded()
    assert run(f"synthesize {people} --epsilon 2 -o out.csv".split(), screen=screen) == 0
    text = " ".join(console.export_text().split())
    assert "learned 20 %" in text
    assert "Learned from the rows and paid for: " in text
    assert CANARY not in text


def test_on_a_real_terminal_bars_come_and_go(people: Path, schema: Path, tmp_path: Path) -> None:
    """stderr is a terminal, stdout a pipe: progress on the one, nothing on the other."""
    ours, theirs = pty.openpty()
    words = f"synthesize {people} --schema {schema} --epsilon 1 -o out.csv"
    process = subprocess.Popen(
        [sys.executable, "-c", "from understudy.cli import main; main()", *words.split()],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0
    assert out == b""
    text = shown.decode()
    assert "measuring" in text
    assert "Private with ε = 1" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1, "the cursor is given back"


def test_without_a_terminal_nothing_is_shown() -> None:
    screen = Screen(None)
    with screen.progress():
        screen.step("measuring", 0.5)
    screen.stage("writing", "1 row")
    screen.line("words")
    assert not screen.watched
