"""`understudy attack`: every attack is one command that says, draws and writes what it
found.
"""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kit.cli import Shell
from understudy.cli.commands.attack import attack

NAMES = [name for name in attack.commands if name != "reconstruct"]


def test_without_a_name_it_lists_them(shell: Shell) -> None:
    done = shell("attack")
    assert done.code == 0
    lines = done.out.splitlines()
    for name in attack.commands:
        (line,) = [text for text in lines if text.startswith(f"{name} ")]
        assert len(line.split()) > 4


@pytest.mark.parametrize("name", NAMES)
def test_every_attack_speaks_json_and_writes_a_figure(shell: Shell, name: str) -> None:
    done = shell("attack", name, "-o", "figure.svg", "--json")
    assert done.code == 0, done.err
    assert done.json["attack"] == name
    assert done.json["text"]
    ElementTree.fromstring(Path("figure.svg").read_text())


def test_a_terminal_gets_words_and_a_plot(shell: Shell) -> None:
    done = shell("attack", "exhaustive", "--people", 8)
    assert "never in more than 8" in done.out
    assert "●" in done.out
    assert "█" in shell("attack", "ages", "-o", "ages.html").out
    assert "<svg" in Path("ages.html").read_text()


def test_ones_own_tables(shell: Shell) -> None:
    Path("block.yaml").write_text(shell("attack", "reconstruct", "--example").out)
    done = shell("attack", "reconstruct", "block.yaml", "-o", "found.json")
    assert "Exactly 1 table fits" in done.out
    assert json.loads(Path("found.json").read_text())["without"]["4A"] == "2"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["census", "-o", "figure.png"], 1, ".svg, .html, .json"),
        (["census", "--epsilon", "0"], 1, "above 0"),
        (["reconstruct"], 2, "--example"),
        (["reconstruct", "none.yaml"], 1, "no such file"),
        (["reconstruct", "bad.yaml"], 1, "bad.yaml"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_refusals_are_one_line(
    shell: Shell, words: list[str], code: int, said: str
) -> None:
    Path("bad.yaml").write_text("columns: {a: boolean}\nstatistics: 3\n")
    done = shell("attack", *words)
    assert done.code == code
    assert said in done.err
    assert not Path("figure.png").exists()


def test_the_same_seed_gives_the_same_made_data(shell: Shell) -> None:
    first, again, other = (
        shell("attack", "linkage", "--seed", s, "--json").json for s in (1, 1, 2)
    )
    assert first == again != other
