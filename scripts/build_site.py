"""Builds the documentation site into site/; any warning is an error.

    python scripts/build_site.py [FOLDER]

Pages are copied to a folder of their own first: those of the project's root
(contributing, changelog, security) become pages beside the others, links to them are
turned, navigation and the reference of the public names are added. So the pages in the
repository stay plain Markdown that a code host shows as well.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FunctionType, ModuleType

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "docs" / "_site"

ROOT_PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
}

NAVIGATION = {
    "Start": ["quickstart", "acs", "studio", "cli", "coming-from", "gallery/index"],
    "Describe a table": [
        "schema",
        "rules",
        "numbers",
        "databases",
        "spark",
        "interoperate",
    ],
    "Spend a budget": ["plan", "accounting", "ledger", "workload"],
    "Synthesizers": ["synthesizers", "comparison", "synthesizers/*"],
    "What comes out": [
        "releases",
        "card",
        "questions",
        "toolbox",
        "serve",
        "inference",
        "masking",
        "masking-survey",
        "census",
        "report",
        "reading",
        "utility",
        "risk",
    ],
    "Local privacy": ["local", "trust"],
    "Trust": ["threat-model", "audit", "attacks", "testing", "proofs/noise"],
    "Reference": [
        "api",
        "release-format",
        "glossary",
        "coverage",
        "benchmarks",
        "strangers",
    ],
    "Project": [
        "architecture",
        "contributing",
        "contributing-tour",
        "security",
        "conduct",
        "changelog",
    ],
}

API_GROUPS = {
    "Verbs": [
        "describe",
        "plan",
        "synthesize",
        "load_release",
        "compare",
        "evaluate",
        "audit",
    ],
    "What they take": ["TableLike", "DatabaseTable", "RunOptions", "Intruder"],
    "What they return": ["Plan", "Release", "Guarantee", "Report", "Notice"],
    "Schema": [
        "Schema",
        "Unit",
        "Role",
        "Categorical",
        "Boolean",
        "Integer",
        "Real",
        "Date",
        "Datetime",
        "Time",
        "Identifier",
        "Text",
    ],
    "Questions": [
        "price",
        "try_question",
        "ask",
        "ask_online",
        "session",
        "connect",
        "reconcile",
        "count",
        "count_distinct",
        "total",
        "mean",
        "share",
        "variance",
        "stddev",
        "covariance",
        "correlation",
        "median",
        "quantile",
        "histogram",
        "bins",
        "select",
        "Query",
        "PublicTable",
        "AnswerTable",
    ],
    "Censuses": ["census", "plan_census", "CensusRelease"],
    "Masked copies": [
        "mask",
        "MaskStrength",
        "tune_mask",
        "MaskGrid",
        "load_copies",
        "SyntheticCopies",
        "analyse",
        "combine",
    ],
    "Toolbox": [
        "regress",
        "cluster",
        "find_itemsets",
        "smooth_median",
        "propose_median",
        "measure_graph",
    ],
    "Local privacy": ["local"],
    "Sign-off": ["sign_off", "SignOff"],
    "Budget": ["Budget", "Accounting", "Neighbours", "Ledger"],
    "Synthesizers": ["synthesizers", "select_public_cliques"],
}


def stage_pages(target: Path) -> None:
    """Copy pages, add those of the root, the reference and the navigation."""
    shutil.copytree(SETTINGS.parent, target, ignore=shutil.ignore_patterns("_site"))
    for source, name in ROOT_PAGES.items():
        text = (ROOT / source).read_text()
        (target / name).write_text(re.sub(r"\]\(docs/", "](", text))
    (target / "api.md").write_text(write_reference())
    for page in sorted(target.rglob("*.md")):
        page.write_text(turn_links(page.read_text(), page.relative_to(target)))
    index = target / "index.md"
    index.write_text(index.read_text() + write_navigation(target))
    gallery = target / "gallery" / "index.md"
    notebooks = re.findall(r"\((\S+)\.ipynb\)", gallery.read_text())
    gallery.write_text(gallery.read_text() + write_contents(notebooks))


def turn_links(text: str, page: Path) -> str:
    """Links to pages of the root, as links to their copies."""
    up = "../" * (len(page.parts) - 1)
    for source, name in ROOT_PAGES.items():
        # A page of the root links to its neighbours without any `../`.
        pattern = rf"\]\((?:\.\./)*{re.escape(source)}(#[\w-]+)?\)"
        text = re.sub(pattern, rf"]({up}{name}\1)", text)
    # The licence is a file of the repository, not a page.
    return re.sub(r"\[([^\]]+)\]\((?:\.\./)*LICENSE\)", r"\1", text)


def write_navigation(target: Path) -> str:
    """The table of contents, in the words of the generator; every page is in it."""
    parts = []
    for caption, patterns in NAVIGATION.items():
        pages = [name for pattern in patterns for name in expand(target, pattern)]
        parts.append(write_contents(pages, caption))
    return "".join(parts)


def write_contents(pages: list[str], caption: str = "") -> str:
    """One list of pages below a page."""
    head = f":caption: {caption}\n" if caption else ""
    listed = "\n".join(pages)
    return f"\n```{{toctree}}\n:hidden:\n{head}\n{listed}\n```\n"


def expand(target: Path, pattern: str) -> list[str]:
    """Names of the pages that a pattern of the navigation stands for."""
    if "*" not in pattern:
        return [pattern]
    found = sorted(target.glob(f"{pattern}.md"))
    return [str(page.relative_to(target).with_suffix("")) for page in found]


def write_reference() -> str:
    """A page with every public name, documented from its docstring."""
    import understudy

    grouped = {name for names in API_GROUPS.values() for name in names}
    others = sorted(set(understudy.__all__) - grouped - {"errors", "UnderstudyError"})
    groups = API_GROUPS | ({"Further names": others} if others else {})
    parts = [
        "# Reference\n\nEvery public name, with the examples that run in the tests."
        "\n`import understudy as us` offers them all and loads each when it is first"
        " used.\n"
    ]
    for title, names in groups.items():
        parts.append(f"\n## {title}\n")
        for name in names:
            if name in understudy.__all__:
                parts.append(write_directive(name, getattr(understudy, name)))
    parts.append(
        "\n## Errors\n\n```{eval-rst}\n.. automodule:: understudy.errors\n"
        "   :members:\n   :show-inheritance:\n```\n"
    )
    return "".join(parts)


def write_directive(name: str, thing: object) -> str:
    """How the generator is asked for one name."""
    if isinstance(thing, ModuleType):
        functions = [
            member
            for member in getattr(thing, "__all__", ())
            if isinstance(getattr(thing, member), FunctionType)
        ]
        lines = [
            f".. automodule:: understudy.{name}",
            f"   :members: {', '.join(functions)}",
            "   :imported-members:",
        ]
    elif isinstance(thing, type):
        lines = [f".. autoclass:: understudy.{name}", "   :members:"]
    elif callable(thing):
        lines = [f".. autofunction:: understudy.{name}"]
    else:
        lines = [f".. autodata:: understudy.{name}", "   :no-value:"]
    body = "\n".join(lines)
    return f"\n### {name}\n\n```{{eval-rst}}\n{body}\n```\n"


def build_site(output: Path) -> int:
    """Stage and build; the generator's exit code, 1 if there was any warning."""
    with tempfile.TemporaryDirectory(prefix="site-") as scratch:
        source = Path(scratch) / "source"
        stage_pages(source)
        options = ["-q", "-W", "--keep-going", "-c", str(SETTINGS)]
        # The generator leaves notebooks beside the folder it builds into, which must
        # not be the repository: the linter would find them there.
        built = Path(scratch) / "site"
        places = ["-d", f"{scratch}/cache", str(source), str(built)]
        command = [sys.executable, "-m", "sphinx", *options, *places]
        code = subprocess.run(command, check=False).returncode
        if built.exists():
            shutil.copytree(built, output, dirs_exist_ok=True)
        return code


def main(arguments: list[str]) -> int:
    """Build into site/, or the folder named."""
    output = Path(arguments[0]) if arguments else ROOT / "site"
    code = build_site(output)
    if code == 0:
        print(f"The documentation is in {output / 'index.html'}.")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
