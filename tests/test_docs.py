"""Every page is true: its Python runs, its commands run and show what the page shows,
its links lead somewhere.

In a page, ```python blocks share one namespace. In ```console blocks every line that
begins with `$ understudy` is run; the lines below it, up to the next command, must be
what it prints (in a pipe), with `...` for what varies; a block marked ```console exit=1
shows a command that is refused. Other commands belong in ```sh blocks, whose `make`
verbs must exist. A page runs in a directory of its own that holds `people.csv` and
`people.yaml`, which stand for the reader's table and schema.
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from _pytest.mark.expression import Expression

from understudy.cli.root import run

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
KNOWN = {"python", "console", "sh", "text", "yaml", "json", "mermaid"}
CHECKER = doctest.OutputChecker()
SCHEMA = """\
columns:
  patient_id: identifier
  age: {type: integer, min: 18, max: 90}
  sex: {type: categorical, values: [F, M]}
  smoker: boolean
  visits: {type: integer, min: 0, max: 20}
"""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, what else its fence says, its text and line."""

    language: str
    marks: str
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    lines = page.splitlines()
    at = 0
    while at < len(lines):
        fence = re.match(r"^(\s*)```(\S*)\s*(.*)$", lines[at])
        if fence is None:
            at += 1
            continue
        end = next(
            i for i in range(at + 1, len(lines) + 1) if lines[i].strip() == "```"
        )
        body = (
            "\n".join(line.removeprefix(fence[1]) for line in lines[at + 1 : end])
            + "\n"
        )
        yield Block(fence[2], fence[3].strip(), body, at + 2)
        at = end + 1


def people(folder: Path) -> None:
    """A table for pages to work on: two thousand rows nobody is in."""
    rng = np.random.default_rng(7)
    n = 2_000
    age, sex = rng.integers(18, 91, n), rng.choice(["F", "M"], n)
    smoker = np.where(rng.random(n) < 0.2 + 0.1 * (sex == "M"), "yes", "no")
    visits = rng.poisson(1 + age / 30)
    rows = [
        f"{i},{a},{s},{k},{v}"
        for i, (a, s, k, v) in enumerate(zip(age, sex, smoker, visits, strict=True))
    ]
    (folder / "people.csv").write_text(
        "patient_id,age,sex,smoker,visits\n" + "\n".join(rows) + "\n"
    )
    (folder / "people.yaml").write_text(SCHEMA)


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output shown below it."""
    command, shown = "", []
    for line in text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, "\n".join(shown)
            command, shown = line[2:], []
        else:
            shown.append(line)
    if command:
        yield command, "\n".join(shown)


def run_python(block: Block, page: Path, namespace: dict[str, object]) -> None:
    source = "\n" * (block.line - 1) + block.text
    code = compile(source, str(page), "exec", dont_inherit=True)
    exec(code, namespace)


def run_console(block: Block, capfd: pytest.CaptureFixture[str]) -> None:
    expected = int(block.marks.removeprefix("exit=")) if block.marks else 0
    for command, shown in commands(block.text):
        words = shlex.split(command)
        assert words[0] == "understudy", (
            f"line {block.line}: only understudy runs in a console block, use sh"
        )
        capfd.readouterr()
        code = run(words[1:])
        out, err = capfd.readouterr()
        assert code == expected, f"{command}\n{out}{err}"
        if shown.strip():
            told = (out + err).strip() + "\n"
            same = CHECKER.check_output(
                shown.strip() + "\n",
                told,
                doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
            )
            assert same, f"{command} printed\n{told}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_page_runs(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    people(tmp_path)
    if "$ understudy describe people.csv -o people.yaml" in page.read_text():
        (tmp_path / "people.yaml").unlink()  # the page drafts its own
    # A real module: dataclasses look theirs up by name.
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    namespace = vars(module)
    for block in blocks(page.read_text()):
        assert block.language in KNOWN, (
            f"{page.name}:{block.line}: say what kind of block this is"
        )
        if block.language == "python":
            assert not block.marks, f"{page.name}:{block.line}: every Python block runs"
            run_python(block, page, namespace)
        elif block.language == "console":
            run_console(block, capfd)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        aim = (page.parent / path).resolve() if path else page
        assert aim.exists(), f"{page.name}: {target} leads nowhere"
        if anchor:
            assert anchor in anchors(aim.read_text()), (
                f"{page.name}: {target} has no such heading"
            )


def anchors(text: str) -> set[str]:
    heads = re.findall(
        r"^#+ (.+)$",
        re.sub(r"```.*?```", "", text, flags=re.DOTALL),
        flags=re.MULTILINE,
    )
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_make_verbs_exist(page: Path) -> None:
    verbs = set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    )
    named = set(
        re.findall(r"(?:^|`|\$ )make ([a-z-]+)", page.read_text(), flags=re.MULTILINE)
    )
    assert named <= verbs


def test_the_demo_says_how_to_get_at_the_command() -> None:
    recipe = (
        (ROOT / "Makefile").read_text().partition("\ndemo:")[2].partition("\n\n")[0]
    )
    assert "/activate`" in recipe
    assert "`. .venv/bin/activate`" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", ["valid_count", "chain"])
def test_a_module_of_the_tour_passes_the_linter(name: str) -> None:
    """Whoever pastes it into the package can go on to `make check`."""
    tour = (ROOT / "docs" / "contributing-tour.md").read_text()
    before, after = re.split(rf"`(src/understudy/\S+/{name}\.py)`", tour)[::2]
    place = tour[len(before) + 1 : len(tour) - len(after) - 1]
    module = after.partition("```python\n")[2].partition("```")[0]
    for command in (["check", "--quiet"], ["format", "--check", "--quiet"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", place, "-"],
            input=module,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "import understudy as us" not in module
    assert module.startswith('"""'), "a module begins by saying what it is for"


def test_every_selection_of_the_tour_is_one_that_pytest_takes() -> None:
    tour = (ROOT / "docs" / "contributing-tour.md").read_text()
    chosen = re.findall(r'pytest [^`]*?-k (\w+|"[^"]+")', tour)
    assert len(chosen) > 1
    for words in chosen:
        Expression.compile(words.strip('"'))


def test_a_wrong_page_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A check of pages that passes a false one checks nothing."""
    monkeypatch.chdir(tmp_path)
    people(tmp_path)
    false_output = next(
        blocks("```console\n$ understudy --version\nunderstudy 99\n```\n")
    )
    with pytest.raises(AssertionError):
        run_console(false_output, capfd)
    false_code = next(
        blocks(
            "```console\n$ understudy synthesize people.csv --epsilon 0 -o out.csv\n```\n"
        )
    )
    with pytest.raises(AssertionError):
        run_console(false_code, capfd)
    with pytest.raises(NameError):
        run_python(
            next(blocks("```python\nnothing_of_this_name\n```\n")), Path("page.md"), {}
        )
