"""The house rules hold, and each of them bites."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kit.scripts import ROOT, load_script

rules = load_script("house_rules")

BAD = [
    ("models/x.py", "nothing_that_runs_files", "import pickle"),
    ("models/x.py", "nothing_that_runs_files", "from joblib import load"),
    ("models/x.py", "nothing_that_runs_files", "eval('1')"),
    ("schema/x.py", "nothing_that_runs_files", "import yaml\nyaml.load(text)"),
    ("models/x.py", "no_global_randomness", "import numpy as np\nnp.random.seed(0)"),
    (
        "models/x.py",
        "no_global_randomness",
        "import numpy as np\nnp.random.normal(0, 1)",
    ),
    ("models/x.py", "no_global_randomness", "from random import choice"),
    (
        "noise/x.py",
        "noise_is_unseedable",
        "import numpy as np\nnp.random.default_rng(1)",
    ),
    ("noise/x.py", "noise_is_unseedable", "def draw(seed):\n    pass"),
    ("curator/x.py", "noise_is_unseedable", "def draw(*, rng=None):\n    pass"),
    ("curator/mechanisms/x.py", "noise_is_unseedable", "def draw(seed):\n    pass"),
    ("models/x.py", "quiet_on_import", "print('hello')"),
    ("models/x.py", "one_noun_each", "x = 1"),
    ("models/utils.py", "one_noun_each", '"""Things."""'),
    ("models/x.py", "one_noun_each", '"""Long."""\n' + "x = 1\n" * 500),
    ("synthesizers/x.py", "exact_rows_stay_home", "table.sparse_counts(clique)"),
    ("workflow/x.py", "exact_rows_stay_home", "room.table.votes(columns)"),
    ("cli/x.py", "one_printer", "print(name)"),
    ("cli/x.py", "one_printer", "import click\nclick.echo(f'{name}')"),
    ("cli/x.py", "one_printer", "from click import secho"),
    ("cli/x.py", "one_printer", "from rich import print"),
    (
        "cli/x.py",
        "one_printer",
        "from rich.console import Console\nConsole(stderr=True).print(name)",
    ),
    ("cli/x.py", "one_printer", "import sys\nsys.stderr.write(name)"),
    ("cli/x.py", "one_printer", "import traceback\ntraceback.print_exc()"),
    ("cli/x.py", "files_say_who_may_read_them", "output.write_text('42')"),
    ("cli/x.py", "files_say_who_may_read_them", "path.open('wb').write(rows)"),
    ("reports/x.py", "files_say_who_may_read_them", "open(path, mode='a')"),
    ("reports/x.py", "files_say_who_may_read_them", "open(path, 'w')"),
    ("studio/x.py", "files_say_who_may_read_them", "tempfile.mkstemp()"),
    (
        "tests/models/test_x.py",
        "helpers_come_from_the_kit",
        "from .build import schema_of",
    ),
    ("tests/models/test_x.py", "helpers_come_from_the_kit", "from . import build"),
    (
        "tests/models/conftest.py",
        "helpers_come_from_the_kit",
        "from ..curator import listed",
    ),
    (
        "tests/models/test_x.py",
        "helpers_come_from_the_kit",
        "from tests.models.build import schema_of",
    ),
    (
        "tests/models/test_x.py",
        "helpers_come_from_the_kit",
        "from tests.kit.models import build",
    ),
    ("tests/models/test_x.py", "helpers_come_from_the_kit", "import models.build"),
    (
        "tests/models/test_x.py",
        "helpers_come_from_the_kit",
        "def f():\n    from models.build import schema_of",
    ),
    (
        "tests/models/test_x.py",
        "helpers_come_from_the_kit",
        "from models.test_tree import brute",
    ),
    (
        "tests/models/test_x.py",
        "helpers_come_from_the_kit",
        "from models import test_tree as tree",
    ),
    ("tests/test_x.py", "helpers_come_from_the_kit", "import test_docs"),
    ("tests/test_x.py", "helpers_come_from_the_kit", "from conftest import modes"),
    (
        "tests/kit/models/x.py",
        "helpers_come_from_the_kit",
        "from .build import schema_of",
    ),
    (
        "tests/kit/models/x.py",
        "helpers_come_from_the_kit",
        "from cli.conftest import Shell",
    ),
    ("tests/models/build.py", "helpers_come_from_the_kit", "import math"),
    ("models/x.py", "functions_say_what_they_do", "def settled(): ..."),
    ("models/x.py", "functions_say_what_they_do", "def _told(): ..."),
    ("cli/x.py", "functions_say_what_they_do", "class A:\n    def running(self): ..."),
    ("cli/x.py", "functions_say_what_they_do", "async def heard(): ..."),
    ("models/x.py", "constants_say_of_what", "MOST = 3"),
    ("cli/x.py", "constants_say_of_what", "_LEAST: float = 0.1"),
    ("models/x.py", "one_idea_an_expression", "[[b for b in a] for a in rows]"),
    (
        "synthesizers/x.py",
        "one_idea_an_expression",
        "sum(len({*a}) for a in [b for b in c])",
    ),
    ("models/x.py", "one_idea_an_expression", "a if b else c if d else e"),
    ("models/x.py", "one_idea_an_expression", "f(a if b else c, d if e else f)"),
]

GOOD = [
    (
        "models/x.py",
        "nothing_that_runs_files",
        "import yaml\nyaml.safe_load(text)  # not pickle, not eval",
    ),
    (
        "models/x.py",
        "no_global_randomness",
        "import numpy as np\ndef f(rng: np.random.Generator): rng.normal()",
    ),
    ("noise/x.py", "noise_is_unseedable", "import os\nos.urandom(8)"),
    ("cli/x.py", "quiet_on_import", "print('hello')"),
    ("models/x.py", "one_noun_each", '"""One thing."""'),
    ("curator/x.py", "exact_rows_stay_home", "room.table.votes(columns)"),
    ("evaluation/utility/x.py", "exact_rows_stay_home", "table.sparse_counts(clique)"),
    ("cli/x.py", "one_printer", "import sys\nsys.stderr.write('interrupted')"),
    ("cli/x.py", "one_printer", "console.print_line(text)"),
    ("cli/terminal/printer.py", "one_printer", "import click\nclick.echo(text)"),
    ("reports/x.py", "one_printer", "file.write(text)"),
    (
        "cli/x.py",
        "files_say_who_may_read_them",
        "with whole(path, private=True) as draft:\n    draft.write_text('42')",
    ),
    (
        "reports/x.py",
        "files_say_who_may_read_them",
        "path.open('rb'), open(path), path.open(), Ledger.open('w.ledger')",
    ),
    (
        "tests/models/test_x.py",
        "helpers_come_from_the_kit",
        "from kit.models.build import schema_of\nimport kit.people",
    ),
    (
        "tests/models/test_x.py",
        "helpers_come_from_the_kit",
        "from understudy import models\nimport schema_salad",
    ),
    (
        "tests/models/conftest.py",
        "helpers_come_from_the_kit",
        "from kit.people import table",
    ),
    ("tests/models/__init__.py", "helpers_come_from_the_kit", ""),
    (
        "tests/kit/models/build.py",
        "helpers_come_from_the_kit",
        "from kit.people import table",
    ),
    ("tests/kit/people.py", "helpers_come_from_the_kit", "import math"),
    ("models/x.py", "functions_say_what_they_do", "def shrink_distances(): ..."),
    ("models/x.py", "functions_say_what_they_do", "def settled_rows(): ..."),
    ("models/x.py", "functions_say_what_they_do", "def logsumexp(): ..."),
    ("models/x.py", "functions_say_what_they_do", "def encoding(): ...\nsettled = 1"),
    ("models/x.py", "constants_say_of_what", "MAX_ROUNDS = 3"),
    ("models/x.py", "constants_say_of_what", "N = 3\nmost = 2\nclass A:\n    MOST = 1"),
    (
        "models/x.py",
        "one_idea_an_expression",
        "c = [b for b in a]\n[len(x) for x in c]",
    ),
    ("models/x.py", "one_idea_an_expression", "x = a if b else c\nd if e else f"),
    ("cli/x.py", "one_idea_an_expression", "[[b for b in a] for a in rows]"),
]


def broken_by(tmp_path: Path, where: str, code: str) -> set[str]:
    path = tmp_path / where
    path.parent.mkdir(parents=True)
    path.write_text(code)
    tree = ast.parse(code)
    binding = rules.TEST_RULES if where.startswith("tests/") else rules.RULES
    return {rule.__name__ for rule in binding if list(rule(path, tree))}


def test_the_package_and_its_tests_keep_the_rules() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/house_rules.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("where", "rule", "code"), BAD)
def test_a_breach_is_found(tmp_path: Path, where: str, rule: str, code: str) -> None:
    assert rule in broken_by(tmp_path, where, code)


@pytest.mark.parametrize(("where", "rule", "code"), GOOD)
def test_good_code_passes(tmp_path: Path, where: str, rule: str, code: str) -> None:
    assert rule not in broken_by(tmp_path, where, code)


def test_every_rule_is_shown_to_bite() -> None:
    assert {rule for _, rule, _ in BAD} == {
        rule.__name__ for rule in (*rules.RULES, *rules.TEST_RULES)
    }


def parse_modules(**texts: str) -> dict[Path, ast.Module]:
    """Modules of the package by name, as the rule across modules takes them."""
    folder = ROOT / "src" / "understudy"
    return {folder / f"{name}.py": ast.parse(text) for name, text in texts.items()}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("class Table: ...", "class Table: ..."),
        ("MAX_ROWS = 3", "MAX_ROWS = 4"),
        ("MAX_ROWS = 3", "MAX_ROWS: int = 3"),
        ("class Table: ...", "class _Table: ..."),
    ],
)
def test_a_name_with_two_meanings_is_found(first: str, second: str) -> None:
    modules = parse_modules(first=first, second=second)
    (breach,) = rules.one_name_means_one_thing(modules)
    assert breach.startswith("src/understudy/first.py:1:")
    assert "src/understudy/second.py:1" in breach


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("class Table: ...", "class Rows: ..."),
        ("MAX_ROWS = 3", "from understudy.first import MAX_ROWS"),
        ("T = 1", "T = 2"),
        ("def f():\n    class Table: ...", "class Table: ..."),
    ],
)
def test_names_with_one_meaning_pass(first: str, second: str) -> None:
    modules = parse_modules(first=first, second=second)
    assert list(rules.one_name_means_one_thing(modules)) == []


@pytest.mark.parametrize("modules", [25, 26])
def test_a_folder_of_too_many_modules_is_found(modules: int) -> None:
    paths = [ROOT / "src" / "understudy" / f"m{i}.py" for i in range(modules)]
    breaches = list(rules.folders_are_rooms(paths))
    assert len(breaches) == (modules > 25)
    assert all(line.startswith("src/understudy: 26 modules") for line in breaches)


# The text of the project speaks of the project alone: it names no machine it was made
# on and no host it was installed from.

HOSTS = {
    "arrow.apache.org",
    "parquet.apache.org",
    "arxiv.org",
    "doi.org",
    "understudy.readthedocs.io",
    "www.apache.org",
    "json-schema.org",
    "keepachangelog.com",
}
PLACEHOLDERS = {"example.org", "example.com", "www.w3.org", "127.0.0.1"}
"""Names in examples, name spaces, and whatever machine this is."""
MACHINE = re.compile(
    r"(?<![\w.:/<>)\]-])/(?:"
    + "|".join(("work", "home", "root", "Users", "mnt", "opt"))
    + r")/\w"
)
REGISTRY = re.compile(
    "|".join(("index" + "-url", "trusted" + "-host", "PIP" + "_INDEX"))
)
TEXT = {
    ".py",
    ".md",
    ".toml",
    ".yaml",
    ".yml",
    ".json",
    ".svg",
    ".txt",
    ".cfg",
    ".cff",
    ".ipynb",
    ".html",
    ".js",
    ".css",
    "",
    ".sh",
}


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert listed.returncode == 0, (
        "this looks at the files of a checkout: run it in one"
    )
    return [
        ROOT / name
        for name in listed.stdout.split("\0")
        if name and (ROOT / name).is_file()
    ]


FOREIGN_DOCUMENT = re.compile(r"\[" + r"00\d-\d")
"""A reference by number to a page of a document that is not in the repository."""


def strangers(text: str) -> list[str]:
    """Machine paths, registry settings, documents that are elsewhere, and hosts nobody
    agreed on.
    """
    patterns = (MACHINE, REGISTRY, FOREIGN_DOCUMENT)
    found = [match.group() for seen in patterns for match in seen.finditer(text)]
    for url in re.findall(r"https?://[^\s\"'`<>)\]}]+", text):
        host = urlsplit(url).hostname or ""
        if host not in HOSTS | PLACEHOLDERS and not host.endswith(".example"):
            found.append(url)
    return found


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = {
        str(path.relative_to(ROOT)): strangers(
            path.read_text(encoding="utf-8", errors="replace")
        )
        for path in tracked()
        if path.suffix in TEXT
    }
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "text",
    [
        "see " + "/wo" + "rk/main/x",
        "open(" + '"/ho' + 'me/ann/x.csv")',
        "pip install --" + "index" + "-url x",
        "at htt" + "p://10.0.0.1:3141/simple",
        "as measured in [00" + "4-32, 47]",
    ],
)
def test_a_stranger_is_found(text: str) -> None:
    assert strangers(text)
