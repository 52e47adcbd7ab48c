"""House rules that a linter does not know, as a program. Prints every breach and exits
1 if there is one.

Each rule reads the syntax tree, not the text, so a word in a comment is no breach.
"""

from __future__ import annotations

import ast
import gc
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "understudy"
TESTS = ROOT / "tests"
MOST_LINES = 400
MOST_MODULES = 25
"""In one folder of the package."""

Rule = Callable[[Path, ast.Module], Iterator[tuple[int, str]]]


@cache
def nodes_of(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Every node of a module; several rules ask for them."""
    return tuple(ast.walk(tree))


@cache
def names_in(tree: ast.Module) -> tuple[tuple[int, str], ...]:
    """Every dotted name that is used or imported, with its line."""
    return tuple(_iterate_names(tree))


def _iterate_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (
                (node.lineno, f"{node.module}.{alias.name}") for alias in node.names
            )
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, ast.unparse(node)


def nothing_that_runs_files(_: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """No code is ever loaded from data."""
    unsafe = re.compile(
        r"^(pickle|cPickle|dill|joblib|marshal|shelve)\b|^(eval|exec|compile)$|^yaml\.(load|unsafe_load|full_load)$"
    )
    for line, name in names_in(tree):
        if unsafe.search(name):
            yield line, f"`{name}` can run code that came in a file"


def no_global_randomness(_: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Sampling takes a Generator; privacy noise comes from the operating system."""
    for line, name in names_in(tree):
        if re.search(
            r"^(np|numpy)\.random\.(?!Generator$|default_rng$|SeedSequence$)\w+$|^random\.\w+$",
            name,
        ):
            yield line, f"`{name}` uses global random state"


def noise_is_unseedable(path: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Nothing in the room of noise, or the curator's, takes a seed or a numpy
    generator.
    """
    if not {"noise", "curator"} & set(path.parts):
        return
    for line, name in names_in(tree):
        # check_score tries fixed estimates against a score: a self-test, not noise.
        if re.search(r"\brandom\b", name) and path.name != "scores.py":
            yield line, f"`{name}`: privacy noise comes from noise/source.py alone"
    for node in nodes_of(tree):
        if isinstance(node, ast.arg) and node.arg in {"seed", "rng", "random_state"}:
            yield node.lineno, f"parameter `{node.arg}`: privacy noise cannot be seeded"


def quiet_on_import(path: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Importing a module does no work that can be seen; only the command line prints."""
    if "cli" in path.parts:
        return
    for line, name in names_in(tree):
        if name == "print":
            yield line, "only cli/ writes to the terminal"


def one_noun_each(path: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Modules stay small and are named after what they hold."""
    lines = len(path.read_text().splitlines())
    if lines > MOST_LINES:
        yield 1, f"{lines} lines: more than one noun?"
    if path.stem in {"utils", "helpers", "common", "misc", "manager"}:
        yield 1, f"`{path.stem}` says nothing about what is inside"
    if not ast.get_docstring(tree):
        yield 1, "a module begins by saying what it is for"


def exact_rows_stay_home(path: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Exact counts are asked of a table by the curator alone (and by the custodian's
    own comparisons, utility and risk, and by masking, which promises no differential
    privacy).
    """
    if {"tables", "curator", "utility", "risk", "imputation"} & set(path.parts):
        return
    for node in nodes_of(tree):
        if isinstance(node, ast.Attribute) and node.attr in {
            "sparse_counts",
            "lattice_counts",
            "count_valid",
            "votes",
            "records",
        }:
            yield (
                node.lineno,
                f"`.{node.attr}` reads exact counts outside the curator's room",
            )


PRINTERS = {"printer.py", "console.py"}
"""The modules of cli/ that make control characters harmless before anything is printed.
"""

PRINTING = re.compile(
    r"^(builtins\.)?print$|^(click\.)?(echo|secho|echo_via_pager|prompt|confirm|pause|progressbar)$|(^|\.)Console$"
    r"|^rich\.(print|print_json|inspect|get_console)$|\b(stdout|stderr|__stdout__|__stderr__)\.(write|writelines|buffer\.write)$"
    r"|^os\.write$|^traceback\.print_\w+$"
)


def one_printer(path: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What a command prints goes through the printer, so that no name from a file
    commands the terminal.
    """
    if "cli" not in path.parts or path.name in PRINTERS:
        return
    for node in nodes_of(tree):
        if isinstance(node, ast.ImportFrom) and node.module in {"click", "rich"}:
            for alias in node.names:
                if PRINTING.search(f"{node.module}.{alias.name}"):
                    yield (
                        node.lineno,
                        f"`{node.module}.{alias.name}`: print through cli/terminal/printer.py or cli/terminal/console.py",
                    )
        if not isinstance(node, ast.Call) or not PRINTING.search(
            ast.unparse(node.func)
        ):
            continue
        if not (
            node.args
            and all(isinstance(argument, ast.Constant) for argument in node.args)
        ):
            yield (
                node.lineno,
                f"`{ast.unparse(node.func)}`: print through cli/terminal/printer.py or cli/terminal/console.py",
            )


WRITERS = {"write_text", "write_bytes", "mkstemp", "mkdtemp", "copyfile"}
WRITING_ROOMS = {
    "understudy/atomic.py": "the one way to write a file, which makes every writer say who may read it",
    "ledger_files/database.py": "a ledger, made private by its own hand",
    "studio/workspace.py": "uploads, which arrive in pieces and are private from the first",
}


def files_say_who_may_read_them(
    path: Path, tree: ast.Module
) -> Iterator[tuple[int, str]]:
    """Files are written through `atomic.whole`, as `draft` or beside it, or in the
    table's private directory.
    """
    if "tables" in path.parts or "/".join(path.parts[-2:]) in WRITING_ROOMS:
        return
    for node in nodes_of(tree):
        if not isinstance(node, ast.Call):
            continue
        owner, verb = _called(node.func)
        mode = _opening_mode(node, at=0 if owner else 1) if verb == "open" else ""
        if (verb in WRITERS or set(mode) & set("wxa+")) and owner not in {
            "draft",
            "part",
        }:
            yield (
                node.lineno,
                f"`{verb}` writes a file past atomic.whole: nobody says who may read it",
            )


def _called(function: ast.expr) -> tuple[str, str]:
    """Of what is something called, and what: of nothing where it is a plain function."""
    if isinstance(function, ast.Attribute):
        return function.value.id if isinstance(
            function.value, ast.Name
        ) else "…", function.attr
    return "", function.id if isinstance(function, ast.Name) else ""


def _opening_mode(call: ast.Call, *, at: int) -> str:
    """How a file is opened, where that is written down: the argument at this place, or
    `mode`.
    """
    named = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    places = [*call.args[at : at + 1], *named]
    texts = [str(place.value) for place in places if isinstance(place, ast.Constant)]
    return next((text for text in texts if re.fullmatch("[rwxabt+]+", text)), "")


FOREIGN_ROOTS = {"tests", *(entry.stem for entry in TESTS.iterdir())} - {"kit"}
"""First names under which a helper of tests could be imported, and must not be: a
module with two names is loaded twice.
"""


def helpers_come_from_the_kit(
    path: Path, tree: ast.Module
) -> Iterator[tuple[int, str]]:
    """What tests share lies in tests/kit and is imported as kit.…; no test file imports
    another.
    """
    in_kit = parts_below(path, "tests")[0] == "kit"
    if not in_kit and not re.match(r"(test_\w+|conftest|__init__)\.py$", path.name):
        yield 1, "neither a test nor a conftest.py: helpers lie in tests/kit"
    for node in nodes_of(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield (
                node.lineno,
                "a relative import: tests import helpers as `from kit.module import name`",
            )
            continue
        for module in imported_modules(node):
            parts = module.split(".")
            if any(part == "conftest" or part.startswith("test_") for part in parts):
                yield (
                    node.lineno,
                    f"`{module}`: what a test file or a conftest.py shares belongs in tests/kit",
                )
            elif parts[0] in FOREIGN_ROOTS:
                yield (
                    node.lineno,
                    f"`{module}`: helpers of tests are imported from `kit` alone",
                )


def parts_below(path: Path, folder: str) -> tuple[str, ...]:
    """Folders and file name below the innermost folder of this name."""
    below = path.parts[::-1].index(folder)
    return path.parts[len(path.parts) - below :]


def imported_modules(node: ast.AST) -> list[str]:
    """What an import statement may load; a name taken from a package may be a module of
    it.
    """
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


IRREGULAR_PARTICIPLES = {
    "told",
    "held",
    "drawn",
    "met",
    "kept",
    "known",
    "shown",
    "seen",
    "made",
    "cut",
    "found",
    "given",
    "laid",
    "dealt",
    "grown",
    "said",
    "left",
    "bought",
    "sold",
    "paid",
    "spoken",
    "written",
    "spent",
    "sent",
    "lost",
    "thrown",
    "taken",
    "heard",
}
NOUNS_AND_VERBS_LIKE_PARTICIPLES = {
    "string",
    "bring",
    "seed",
    "feed",
    "need",
    "speed",
    "embed",
    "ceiling",
    "spacing",
    "heading",
    "meaning",
    "padding",
    "encoding",
    "nothing",
    "rounding",
    "sampling",
    "counting",
    "grouping",
    "setting",
    "pricing",
    "drafting",
    "fitting",
    "testing",
    "tracking",
    "indexing",
    "logging",
    "parsing",
    "timing",
    "binning",
    "smoothing",
    "pooling",
    "accounting",
    "proceed",
    "succeed",
    "exceed",
}


def is_participle(name: str) -> bool:
    """Is this one word, and a participle: what was done, but not to what?"""
    word = name.strip("_")
    if "_" in word or word in NOUNS_AND_VERBS_LIKE_PARTICIPLES:
        return False
    return word in IRREGULAR_PARTICIPLES or (
        len(word) > 4 and word.endswith(("ed", "ing"))
    )


def functions_say_what_they_do(_: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """A function is a verb and a noun, or plain mathematics; never a bare participle."""
    for node in nodes_of(tree):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and is_participle(node.name):
            yield node.lineno, f"`{node.name}`: name what is done, and to what"


def module_names(tree: ast.Module) -> Iterator[tuple[int, str, bool]]:
    """Classes and constants of a module: the line, the name, and whether a constant."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.lineno, node.name.strip("_"), False
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and target.id.isupper():
                yield node.lineno, target.id.strip("_"), True


def constants_say_of_what(_: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """One word cannot say both what a constant bounds and in which unit."""
    for line, name, constant in module_names(tree):
        if constant and "_" not in name and len(name) > 1:
            yield line, f"`{name}`: a constant of one word. Of what, in which unit?"


COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def one_idea_an_expression(path: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """In models/ and synthesizers/: no comprehension in another, and at most one
    conditional expression in what a statement works out.
    """
    if not {"models", "synthesizers"} & set(path.parts):
        return
    for node in nodes_of(tree):
        if isinstance(node, COMPREHENSIONS):
            inner = [n for n in ast.walk(node) if isinstance(n, COMPREHENSIONS)]
            if len(inner) > 1:
                yield node.lineno, "a comprehension inside another: name the inner one"
        if isinstance(node, ast.stmt):
            for whole in ast.iter_child_nodes(node):
                if isinstance(whole, ast.expr) and count_choices(whole) > 1:
                    yield (
                        whole.lineno,
                        "two conditional expressions in one: name one, or write `if`",
                    )


def count_choices(expression: ast.expr) -> int:
    """How many conditional expressions an expression holds."""
    return sum(isinstance(node, ast.IfExp) for node in ast.walk(expression))


def one_name_means_one_thing(trees: dict[Path, ast.Module]) -> Iterator[str]:
    """A class or constant name stands in one module of the package."""
    homes: dict[str, list[str]] = {}
    for path, tree in trees.items():
        for line, name, _ in module_names(tree):
            if len(name) > 1:
                homes.setdefault(name, []).append(f"{path.relative_to(ROOT)}:{line}")
    for name, places in sorted(homes.items()):
        if len(places) > 1:
            yield f"{places[0]}: `{name}` means another thing in {', '.join(places[1:])}"


def folders_are_rooms(paths: Iterable[Path]) -> Iterator[str]:
    """A folder of more modules than can be seen at a glance holds several rooms."""
    for folder, modules in sorted(Counter(path.parent for path in paths).items()):
        if modules > MOST_MODULES:
            place = folder.relative_to(ROOT)
            yield f"{place}: {modules} modules in one folder: more than one room?"


RULES: tuple[Rule, ...] = (
    nothing_that_runs_files,
    no_global_randomness,
    noise_is_unseedable,
    quiet_on_import,
    one_noun_each,
    exact_rows_stay_home,
    one_printer,
    files_say_who_may_read_them,
    functions_say_what_they_do,
    constants_say_of_what,
    one_idea_an_expression,
)
"""Of the package."""

TEST_RULES: tuple[Rule, ...] = (helpers_come_from_the_kit,)
"""Of the tests."""


def breaches(path: Path, tree: ast.Module, rules: tuple[Rule, ...]) -> Iterator[str]:
    """Every breach of these rules in one file, as path:line: what."""
    for rule in rules:
        for line, what in rule(path, tree):
            yield f"{path.relative_to(ROOT)}:{line}: {what}"


def main() -> int:
    """Check every module of the package and of its tests."""
    # Nothing here is garbage before the end, and syntax trees are millions of objects.
    gc.disable()
    found: list[str] = []
    package: dict[Path, ast.Module] = {}
    for folder, rules in ((SOURCE, RULES), (TESTS, TEST_RULES)):
        for path in sorted(folder.rglob("*.py")):
            tree = ast.parse(path.read_text(), str(path))
            found.extend(breaches(path, tree, rules))
            nodes_of.cache_clear()
            names_in.cache_clear()
            if folder == SOURCE:
                package[path] = tree
    found.extend(one_name_means_one_thing(package))
    found.extend(folders_are_rooms(package))
    for breach in found:
        print(breach)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
