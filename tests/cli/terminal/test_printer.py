"""No command lets a name, label, note or path from a file command the terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np
import pytest

from understudy.cli import root
from understudy.cli.terminal.printer import show_controls, write_json
from understudy.schema import Boolean, Categorical, Integer, Schema, Text

TITLE = "\x1b]0;owned\x07"
"""Sets the title of a terminal."""

CLEAR = "\x1b[2J"
"""Clears it. Rich, which draws bars here, never sends this one."""

AGE, SEX, SMOKER, NOTE = (
    f"age{TITLE}",
    f"sex\x9b2J{CLEAR}",
    "smoker\u202e\u2066",
    f"note\x7f\u2028{TITLE}",
)
LABEL = f"F{CLEAR}\x85"
STORY = f"a note{TITLE}\u202d\r\nPrivate with ε = 0"
TABLE, SCHEMA, ODD = (
    f"people{CLEAR}.csv",
    f"people{TITLE}.yaml",
    os.fsdecode(b"odd\xff.csv"),
)
UNIT, DATASET = f"person{CLEAR}", f"survey{TITLE}\nspent: nothing"

PUZZLE = """\
columns:
  {age}: {{type: integer, min: 0, max: 3}}
  {sex}: {{type: categorical, values: [{label}, M]}}
statistics:
  - {{id: {label}, count: 2, mean: 1}}
"""

SYNTHESIZE = [
    "synthesize",
    TABLE,
    "--schema",
    SCHEMA,
    "--synthesizer",
    "independent",
    "--ledger",
    f"book{CLEAR}",
]
SYNTHESIZE += ["--epsilon", "1", "--seed", "1"]
RELEASE = f"r{CLEAR}.understudy"
QUESTION = f'SELECT "{SEX}", COUNT(*) FROM people GROUP BY "{SEX}"'
PAID = ["--schema", SCHEMA, "--epsilon", "1", "--ledger", f"tools{CLEAR}"]
PAID += ["--budget", "9"]

COMMANDS: dict[str, list[str]] = {
    "ledger init": [
        "ledger",
        "init",
        f"book{CLEAR}",
        "--epsilon",
        "9",
        "--dataset",
        DATASET,
        "--unit",
        "row",
    ],
    "ledger init, as JSON": [
        "ledger",
        "init",
        "other",
        "--epsilon",
        "9",
        "--dataset",
        DATASET,
        "--unit",
        UNIT,
        "--json",
    ],
    "describe": ["describe", TABLE, "-o", f"draft{CLEAR}.yaml"],
    "describe, as JSON": ["describe", TABLE, "-o", "draft.yaml", "--json"],
    "schema convert": [
        "schema",
        "convert",
        SCHEMA,
        "--to",
        "smartnoise",
        "-o",
        f"other{CLEAR}.yaml",
    ],
    "schema cliques": ["schema", "cliques", f"missing{CLEAR}.csv", "--schema", SCHEMA],
    "plan": [
        "plan",
        SCHEMA,
        "--epsilon",
        "1",
        "--rows",
        "300",
        "--synthesizer",
        "independent",
    ],
    "plan, as JSON": [
        "plan",
        SCHEMA,
        "--epsilon",
        "1",
        "--synthesizer",
        "independent",
        "--json",
    ],
    "synthesize": [*SYNTHESIZE, "-o", f"out{CLEAR}.csv", "--release", RELEASE],
    "synthesize, as JSON": [*SYNTHESIZE, "-o", "out.csv", "--json"],
    "sample": ["sample", RELEASE, "-o", f"more{CLEAR}.csv"],
    "card": ["card", RELEASE],
    "card of two": ["card", RELEASE, "--of", f"{AGE},{SEX}"],
    "card, as JSON": ["card", RELEASE, "--json"],
    "explain": ["explain", RELEASE, "-o", f"gains{CLEAR}.svg"],
    "signoff": ["signoff", RELEASE, "--purpose", CLEAR, "-o", f"sheet{CLEAR}.html"],
    "signoff, as JSON": ["signoff", RELEASE, "--analyst", CLEAR, "--json"],
    "price": ["price", SCHEMA, QUESTION, "--within", "200"],
    "ask": [
        *("ask", TABLE, QUESTION, "--schema", SCHEMA, "--within", "200"),
        *("--budget", "1", "--ledger", f"questions{CLEAR}", "--analyst", CLEAR),
    ],
    "serve": ["serve", TABLE, "--schema", SCHEMA, "--ledger", f"nowhere{CLEAR}"],
    "analyst add": ["analyst", "add", f"questions{CLEAR}", "ada", "--epsilon", "1"],
    "analyst limit": ["analyst", "limit", f"none{CLEAR}", "ada", "--epsilon", "1"],
    "analyst list": ["analyst", "list", f"questions{CLEAR}"],
    "analyst revoke": ["analyst", "revoke", f"questions{CLEAR}", CLEAR],
    "answer": ["answer", RELEASE, f"count where `{SEX}` = '{LABEL}'"],
    "answer, misspelt": ["answer", RELEASE, f"count where {CLEAR}"],
    "infer": ["infer", RELEASE, f"{CLEAR} ~ 1"],
    "local plan": [
        *("local", "plan", f"topic{CLEAR}", "--values", f"{LABEL},M"),
        *("--epsilon", "1", "-o", f"plan{CLEAR}.json"),
    ],
    "local donate": [
        *("local", "donate", f"plan{CLEAR}.json", LABEL, "--account", f"own{CLEAR}"),
    ],
    "local collect": [
        *("local", "collect", f"plan{CLEAR}.json", f"plan{CLEAR}.json"),
        *("-o", f"counts{CLEAR}.json"),
    ],
    "local estimate": ["local", "estimate", f"missing{CLEAR}.json"],
    "toolbox regress": ["toolbox", "regress", TABLE, f'"{CLEAR}" ~ "{AGE}"', *PAID],
    "toolbox cluster": ["toolbox", "cluster", TABLE, AGE, "--clusters", "2", *PAID],
    "toolbox cluster-release": [
        *("toolbox", "cluster-release", RELEASE, AGE, "--clusters", "2"),
    ],
    "toolbox itemsets": ["toolbox", "itemsets", TABLE, SEX, "--top", "1", *PAID],
    "toolbox online": [
        *("toolbox", "online", TABLE, f'SELECT COUNT(*) FROM t WHERE "{AGE}" > 3'),
        *PAID,
    ],
    "toolbox median": ["toolbox", "median", TABLE, AGE, *PAID],
    "toolbox graph": [
        *(
            "toolbox",
            "graph",
            TABLE,
            "edges",
            "--source",
            AGE,
            "--target",
            CLEAR,
            *PAID,
        ),
    ],
    "census": [
        "census",
        TABLE,
        "--schema",
        SCHEMA,
        "--rho",
        "1",
        "-o",
        f"census{CLEAR}",
    ],
    "mask": [
        "mask",
        TABLE,
        "--schema",
        SCHEMA,
        "--replace",
        AGE,
        "--copies",
        "1",
        "-o",
        f"masked{CLEAR}",
    ],
    "evaluate": [
        "evaluate",
        "--without-real",
        "--release",
        RELEASE,
        "-o",
        f"page{CLEAR}.html",
    ],
    "evaluate, as JSON": ["evaluate", "--without-real", "--release", RELEASE, "--json"],
    "ledger show": ["ledger", "show", f"book{CLEAR}"],
    "ledger show, as JSON": ["ledger", "show", f"book{CLEAR}", "--json"],
    "ledger grant": [
        *("ledger", "grant", f"book{CLEAR}", "--epsilon", "1"),
        *("--analyst", CLEAR, "--reason", TITLE),
    ],
    "ledger verify": ["ledger", "verify", f"book{CLEAR}"],
    "ledger backup": ["ledger", "backup", f"book{CLEAR}", f"copy{CLEAR}"],
    "ledger restore": ["ledger", "restore", f"copy{CLEAR}", f"back{TITLE}"],
    "synthesizers": ["synthesizers", f"no such{CLEAR}"],
    "attack": ["attack", "reconstruct", "puzzle.yaml", "-o", f"figure{CLEAR}.svg"],
    "audit": [
        "audit",
        TABLE,
        "--schema",
        SCHEMA,
        "--epsilon",
        "1",
        "--runs",
        "100",
        "--canaries",
        "20",
    ],
    "audit, without a file": ["audit", f"missing{CLEAR}.csv", "--epsilon", "1"],
    "studio": ["studio", f"nowhere{CLEAR}", "--no-browser"],
    "doctor": ["doctor"],
    "demo": ["demo", f"{TABLE}/below"],
    "a wrong command": [f"nonsense{CLEAR}"],
    "a wrong option": ["plan", f"--frob{CLEAR}"],
    "a wrong choice": ["plan", SCHEMA, "--epsilon", "1", "--accounting", CLEAR],
    "a wrong number": ["sample", RELEASE, "-o", "x.csv", "--rows", CLEAR],
    "a name that is no text": ["card", ODD],
}
SILENT = {"describe", "mask", "synthesize", "sample"}
"""What says nothing in a pipe."""

NAMELESS = {
    "analyst add",
    "audit",
    "census",
    "doctor",
    "infer",
    "local donate",
    "price",
}
"""What says something, and names nothing."""

ON_TERMINAL = [
    "ledger init",
    "describe",
    "schema convert",
    "synthesize",
    "sample",
    "ledger show",
    "attack",
]

DRIVER = """
import json, os, sys
from pathlib import Path
from understudy.cli.root import run

for name, words in json.loads(Path("commands.json").read_text()).items():
    os.write(1, f"@@@ {name}\\n".encode())
    code = run([os.fsdecode(word.encode("utf-8", "surrogateescape")) for word in words])
    os.write(1, f"=== {code}\\n".encode())
"""

RICH = re.compile(rb"\x1b\[(\d+(;\d+)*)?m|\x1b\[2K|\x1b\[1A|\x1b\[\?25[lh]")
"""What rich sends to a terminal of its own accord: colours, and a bar that is drawn
anew.
"""


def write_folder(folder: Path, names: Sequence[str]) -> None:
    """A table and what belongs to it, all of it hostile."""
    rng = np.random.default_rng(1)
    ages, sexes = rng.integers(18, 90, 300), rng.choice([LABEL, "M"], 300)
    rows = [f"{age},{sex},yes,fine" for age, sex in zip(ages, sexes, strict=True)]
    (folder / TABLE).write_text(
        "\n".join([",".join([AGE, SEX, SMOKER, NOTE]), *rows]) + "\n", newline=""
    )
    schema = Schema(
        columns=(
            Integer(name=AGE, min=18, max=90, note=STORY),
            Categorical(name=SEX, values=(LABEL, "M"), note=STORY),
            Boolean(name=SMOKER),
            Text(name=NOTE, note=STORY),
        )
    )
    schema.save(folder / SCHEMA)
    quoted = {
        "age": json.dumps(AGE),
        "sex": json.dumps(SEX),
        "label": json.dumps(LABEL),
    }
    (folder / "puzzle.yaml").write_text(PUZZLE.format(**quoted))
    (folder / "commands.json").write_text(
        json.dumps({name: COMMANDS[name] for name in names})
    )


def split_outputs(shown: bytes) -> dict[str, tuple[int, bytes]]:
    """Exit code and output by command."""
    outputs = {}
    for part in shown.split(b"@@@ ")[1:]:
        name, _, rest = part.partition(b"\n")
        body, _, code = rest.rpartition(b"=== ")
        outputs[name.strip().decode()] = int(code), body
    return outputs


@pytest.fixture(scope="module")
def piped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, bytes]]:
    """Every command in a pipe, one real process for all."""
    folder = tmp_path_factory.mktemp("piped")
    write_folder(folder, list(COMMANDS))
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
    )
    return split_outputs(done.stdout)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, bytes]]:
    """Those that show more on a terminal, on one."""
    folder = tmp_path_factory.mktemp("watched")
    write_folder(folder, ON_TERMINAL)
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER],
        cwd=folder,
        stdout=theirs,
        stderr=theirs,
        env=environment,
    )
    os.close(theirs)
    shown = bytearray()
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        shown += part
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return split_outputs(bytes(shown))


def find_commands(group: click.Group, prefix: str = "") -> set[str]:
    """Every command there is; the lessons of `attack` show nothing that came from a
    file, but for one.
    """
    found = set()
    for name, command in group.commands.items():
        if isinstance(command, click.Group) and name != "attack":
            found |= find_commands(command, f"{name} ")
        else:
            found.add(f"{prefix}{name}")
    return found


def test_every_command_is_tried() -> None:
    assert find_commands(root.understudy) <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_control_character_reaches_a_pipe(
    piped: dict[str, tuple[int, bytes]], name: str
) -> None:
    code, shown = piped[name]
    text = shown.decode()  # and it is text
    assert show_controls(text.replace("\n", "")) == text.replace("\n", "")
    assert bool(text) == (name not in SILENT)
    shown_instead = re.search(r"\\x1b|\\u001b|\\udcff", text) is not None
    assert shown_instead == (name not in SILENT | NAMELESS)
    if name.endswith("as JSON"):
        assert code == 0
        json.loads(text)


@pytest.mark.parametrize("name", ON_TERMINAL)
def test_nor_a_terminal_but_those_of_its_colours(
    watched: dict[str, tuple[int, bytes]], name: str
) -> None:
    code, shown = watched[name]
    text = RICH.sub(b"", shown).decode().replace("\r", "").replace("\n", "")
    assert code == 0
    assert show_controls(text) == text
    assert r"\x1b" in text, "it is shown instead"


@pytest.mark.parametrize(
    "character",
    [
        "\x00",
        "\x07",
        "\x1b",
        "\x7f",
        "\x85",
        "\x9f",
        "\u2028",
        "\u202e",
        "\u2069",
        "\udcff",
    ],
)
def test_a_control_character_is_shown_and_json_keeps_its_value(
    character: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert show_controls(f"a{character}b").isprintable()
    write_json(json.dumps({f"ε{character}": character}, ensure_ascii=False, indent=2))
    shown = capfd.readouterr().out
    assert shown.replace("\n", "").isprintable()
    assert json.loads(shown) == {f"ε{character}": character}


@pytest.mark.parametrize(
    "text",
    [
        "ε ≤ 1 × 2",
        "naïve Ærø",
        "日本語",
        "שלום",
        "مرحبا",
        "e\u0301",
        "👩\u200d🔬",
        "C:\\x1b",
    ],
)
def test_words_of_every_language_stay_as_they_are(text: str) -> None:
    assert show_controls(text) == text


def test_a_traceback_that_was_asked_for_is_text_too(tmp_path: Path) -> None:
    """With UNDERSTUDY_DEBUG an error shows where it came from, and what it says may
    quote a name.
    """
    code = "from understudy.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "card", f"missing{CLEAR}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "UNDERSTUDY_DEBUG": "1"},
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert r"missing\x1b[2J" in done.stderr
    assert "\x1b" not in done.stderr
