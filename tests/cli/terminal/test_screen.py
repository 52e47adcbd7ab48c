"""What a terminal shows: a real terminal, and none."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from kit.cli import CANARY
from understudy.cli.root import run
from understudy.cli.terminal.console import TextConsole
from understudy.cli.terminal.screen import Screen
from understudy.notices import Notice, NoticeKind
from understudy.schema import Schema
from understudy.synthesizers import Independent
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize


def recorded() -> tuple[Screen, TextConsole]:
    console = TextConsole(
        record=True, width=100, force_terminal=True, file=io.StringIO(), highlight=False
    )
    return Screen(console), console


def test_a_run_is_told_in_stages_and_words(
    people: Path, schema: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    screen, console = recorded()
    words = f"synthesize {people} --schema {schema} --epsilon 2 -o out.csv --release out.understudy"
    assert run(words.split(), screen=screen) == 0
    text = " ".join(console.export_text().split())
    assert re.search(
        r"schema 3 columns; 1 set of bins learned \d+ %.* measuring \d+ marginals", text
    )
    assert "→ out.csv" in text
    assert (
        "Private with ε = 2, δ = 1e-9 for adding or removing one row. Spent: 2.00, no cap"
        in text
    )
    assert "Public by your declaration or the table's header: " in text
    assert re.search(
        r"\d of 3 columns are good or usable; of 3 pairs .*[.] See `understudy card`[.]",
        text,
    )
    assert "ε = 2.00 is above 1" in text
    assert CANARY not in text


def test_quiet_shows_nothing_on_a_terminal(
    people: Path, schema: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    screen, console = recorded()
    words = f"synthesize {people} --schema {schema} --epsilon 1 -o out.csv --quiet"
    assert run([*words.split(), "--synthesizer", "independent"], screen=screen) == 0
    assert console.export_text() == ""
    assert (tmp_path / "out.csv").exists()


def test_verbose_times_stages_in_a_pipe_too(
    people: Path, schema: Path, tmp_path: Path, monkeypatch, capfd
) -> None:
    monkeypatch.chdir(tmp_path)
    words = f"synthesize {people} --schema {schema} --epsilon 1 -o out.csv -v"
    screen = Screen(None)
    assert run([*words.split(), "--synthesizer", "independent"], screen=screen) == 0
    out, err = capfd.readouterr()
    assert out == ""
    stages = re.findall(r"^ +\d+\.\d s  (\w+)$", err, re.MULTILINE)
    assert stages[-3:] == ["measuring", "fitting", "writing"]
    assert "Private with ε = 1" in err
    assert CANARY not in err


def test_what_was_learned_is_told(people: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    screen, console = recorded()
    assert (
        run(f"synthesize {people} --epsilon 2 -o out.csv".split(), screen=screen) == 0
    )
    text = " ".join(console.export_text().split())
    assert re.search(r"learned \d+ %", text)
    assert "Learned from the rows and paid for: " in text
    assert CANARY not in text


def test_on_a_real_terminal_bars_come_and_go(
    people: Path, schema: Path, tmp_path: Path
) -> None:
    """stderr is a terminal, stdout a pipe: progress on the one, nothing on the other."""
    ours, theirs = pty.openpty()
    words = f"synthesize {people} --schema {schema} --epsilon 1 -o out.csv"
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from understudy.cli import main; main()",
            *words.split(),
        ],
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
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1, (
        "the cursor is given back"
    )


def test_a_bar_says_the_round_and_what_the_account_charged() -> None:
    console = TextConsole(
        width=100,
        force_terminal=True,
        force_interactive=True,
        file=io.StringIO(),
        highlight=False,
    )
    screen = Screen(console)
    with screen.progress():
        screen.note_spending(0.1)
        screen.step("measuring round 1", 0.1)
        screen.note_spending(0.43)
        screen.step("measuring round 7", 0.5)
        screen.keep_notice(Notice(NoticeKind.TOO_LARGE, "Not together: age × sex."))
        screen.keep_notice(Notice(NoticeKind.NEW_ACCOUNT, "A new account."))
        screen.step("fitting", 0.25)
    lines = (
        re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())
        .replace("\r", "\n")
        .splitlines()
    )
    last = [line.split() for line in lines if line.strip()][-2:]
    assert " ".join(last[0]).startswith("measuring round 7 ━")
    assert " ".join(last[0]).endswith("43 % of the budget spent")
    assert last[1][-2:] == ["25", "%"]
    assert screen.notes == ["Not together: age × sex."]
    assert screen.early_warnings == ["A new account."]


def test_what_is_said_to_be_spent_is_what_the_account_has_charged(
    people: Path, schema: Path, tmp_path: Path
) -> None:
    """Not what the synthesizer says of itself: one that reports nonsense is not
    believed.
    """
    seen: list[tuple[float, float]] = []

    class Boastful(Independent):
        def measure(self, curator, workload, progress):
            progress("measuring", 0.99)
            found = curator.measure(
                [(name,) for name in curator.schema], share=Fraction(1, 2)
            )
            progress("measuring", 0.01)
            return found

    share = [0.0]
    synthesize(
        people,
        Schema.load(schema),
        epsilon=1,
        synthesizer=Boastful(),
        ledger=tmp_path / "people.ledger",
        progress=lambda _, done: seen.append((share[0], done)),
        run=RunOptions(spending=lambda part: share.__setitem__(0, part)),
    )
    told = {done: spent for spent, done in seen}
    before, after = told[0.99], told[0.01]
    assert before < 0.2  # what the schema leaves open
    assert after == pytest.approx(before + (1 - before) / 2, rel=0.01)


def test_without_a_terminal_nothing_is_shown() -> None:
    screen = Screen(None)
    with screen.progress():
        screen.step("measuring", 0.5)
    screen.stage("writing", "1 row")
    screen.line("words")
    assert not screen.is_watched


def test_it_is_told_what_went_to_other_and_long_lists_are_cut(
    tmp_path: Path, monkeypatch
) -> None:
    """Twelve columns of words, of which each has a tenth of rare ones."""
    monkeypatch.chdir(tmp_path)
    names = [f"c{i}" for i in range(12)]
    cells = ["common" if i % 10 else f"rare{i}" for i in range(6000)]
    Path("words.csv").write_text(
        "\n".join([",".join(names), *(",".join([cell] * 12) for cell in cells)]) + "\n"
    )
    screen, console = recorded()
    assert (
        run(
            [
                "synthesize",
                "words.csv",
                "--epsilon",
                "2",
                "-o",
                "out.csv",
                "--synthesizer",
                "independent",
            ],
            screen=screen,
        )
        == 0
    )
    text = " ".join(console.export_text().split())
    told = re.search(
        r'Too rare to be shown, so "other" or what the schema makes of it: c0 \(about (\d+) rows\)',
        text,
    )
    assert abs(int(told[1]) - 600) < 300
    assert "the type of c0, c1, c2, c3, c4, c5, c6, c7 and 4 more" in text
    assert "rare1" not in text
