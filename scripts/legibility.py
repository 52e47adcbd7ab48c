"""How readable the package is, in figures: size, complexity, density, names, comments.

    python scripts/legibility.py [FOLDER]        (default: src/understudy)

Prints one line a measure with its goal, where there is one, and exits 1 if a goal is
missed. How each is counted:

* A code line is neither blank, nor a comment, nor inside a docstring. A string that
  stands as a statement of its own is a docstring, also below a constant or field.
* A function's length is its code lines. Dunder methods have no say in their names, so
  they are left out of the measures of names.
* A bare participle is a function named by one word that says what was done and not to
  what (`settled`); the list of exceptions is that of the house rules.
* Complexity is radon's: branches, and also boolean operators and comprehensions, which
  the linter's measure does not see.
* Parameters are counted without `self` and `cls`.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

sys.path.insert(0, str(Path(__file__).resolve().parent))
from house_rules import COMPREHENSIONS, MOST_MODULES, SOURCE, is_participle

LONG_FUNCTION_LINES = 50
LONG_LINE_CHARACTERS = 100
HIGH_COMPLEXITY = 10
MANY_METHODS = 20

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file: its lines, its syntax tree, and which lines are no code."""

    path: Path
    lines: list[str]
    tree: ast.Module
    docstring_lines: frozenset[int]
    comment_lines: frozenset[int]

    @classmethod
    def read(cls, path: Path) -> Module:
        """Parse a file."""
        text = path.read_text()
        tree = ast.parse(text)
        return cls(
            path,
            text.splitlines(),
            tree,
            frozenset(find_docstring_lines(tree)),
            frozenset(find_comment_lines(text)),
        )

    def count_code_lines(self, first: int = 1, last: int | None = None) -> int:
        """Lines from `first` to `last` that are code."""
        return sum(1 for _ in self.code_lines(first, last))

    def code_lines(self, first: int = 1, last: int | None = None) -> Iterator[str]:
        """The code among the lines from `first` to `last`."""
        for number, line in enumerate(self.lines[first - 1 : last], start=first):
            is_prose = number in self.docstring_lines or number in self.comment_lines
            if line.strip() and not is_prose:
                yield line

    @property
    def functions(self) -> list[FunctionNode]:
        """Functions and methods, nested ones too."""
        return [node for node in ast.walk(self.tree) if isinstance(node, FunctionNode)]

    @property
    def classes(self) -> list[ast.ClassDef]:
        """Classes, nested ones too."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]

    def count_nodes(self, *kinds: type[ast.AST]) -> int:
        """Nodes of these kinds in the syntax tree; of all kinds if none is named."""
        wanted = kinds or (ast.AST,)
        return sum(isinstance(node, wanted) for node in ast.walk(self.tree))


def find_docstring_lines(tree: ast.Module) -> Iterator[int]:
    """Numbers of the lines that strings standing alone take up."""
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield from range(value.lineno, (value.end_lineno or value.lineno) + 1)


def find_comment_lines(text: str) -> Iterator[int]:
    """Numbers of the lines that hold a comment and nothing else."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        alone = not token.line[: token.start[1]].strip()
        if token.type == tokenize.COMMENT and alone:
            yield token.start[0]


@dataclass(frozen=True)
class Measure:
    """One line of the table; `holds` is none where there is no goal."""

    name: str
    value: str
    goal: str = ""
    holds: bool | None = None


def percentile(values: list[int], share: float) -> int:
    """The smallest value that at least this share of all values does not exceed.

    >>> percentile([1, 2, 3, 4, 100], 0.9), percentile([1, 2, 3, 4], 0.5)
    (100, 2)
    """
    ordered = sorted(values)
    rank = -int(-share * len(ordered) // 1)
    return ordered[max(rank, 1) - 1] if ordered else 0


def percent(part: int, whole: int) -> float:
    """A share in per cent; 0 of nothing is 0."""
    return 100 * part / whole if whole else 0.0


def measure_size(modules: list[Module]) -> Iterator[Measure]:
    """How long modules and functions are."""
    code = sum(module.count_code_lines() for module in modules)
    lengths = [len(module.lines) for module in modules]
    functions = [
        module.count_code_lines(node.lineno, node.end_lineno)
        for module in modules
        for node in module.functions
    ]
    long = sum(length > LONG_FUNCTION_LINES for length in functions)
    percentiles = " / ".join(str(percentile(functions, p)) for p in (0.5, 0.9, 0.99))
    yield Measure("modules", str(len(modules)))
    yield Measure("code lines", f"{code:,}")
    yield Measure(
        "module lines, median / max", f"{median(lengths):.0f} / {max(lengths)}"
    )
    yield Measure("function code lines, median / p90 / p99", percentiles)
    yield Measure(
        f"functions over {LONG_FUNCTION_LINES} lines",
        f"{long} ({percent(long, len(functions)):.1f} %)",
    )


def list_complexities(module: Module) -> list[int]:
    """radon's complexity of every function and method."""
    from radon.visitors import ComplexityVisitor

    visitor = ComplexityVisitor.from_ast(module.tree)
    methods = [method for item in visitor.classes for method in item.methods]
    return [block.complexity for block in [*visitor.functions, *methods]]


def measure_complexity(modules: list[Module]) -> Iterator[Measure]:
    """How much branches, and how much a line holds."""
    values = [value for module in modules for value in list_complexities(module)]
    code = sum(module.count_code_lines() for module in modules)
    nodes = sum(module.count_nodes() for module in modules)
    choices = sum(module.count_nodes(ast.IfExp) for module in modules)
    comprehensions = sum(module.count_nodes(*COMPREHENSIONS) for module in modules)
    average = mean(values) if values else 0
    high = sum(value > HIGH_COMPLEXITY for value in values)
    density = nodes / code
    yield Measure("radon complexity, mean", f"{average:.2f}", "≤ 3.5", average <= 3.5)
    yield Measure(
        f"functions above complexity {HIGH_COMPLEXITY}",
        f"{percent(high, len(values)):.1f} %",
    )
    yield Measure(
        "syntax nodes per code line", f"{density:.2f}", "≤ 8.5", density <= 8.5
    )
    yield Measure(
        "conditional expressions per 1,000 lines", f"{1000 * choices / code:.0f}"
    )
    yield Measure(
        "comprehensions per 1,000 lines", f"{1000 * comprehensions / code:.0f}"
    )
    long = sum(
        len(line) > LONG_LINE_CHARACTERS
        for module in modules
        for line in module.code_lines()
    )
    yield Measure(
        f"code lines over {LONG_LINE_CHARACTERS} characters",
        f"{long} ({percent(long, code):.1f} %)",
    )


def measure_names(modules: list[Module]) -> Iterator[Measure]:
    """What functions and constants are called."""
    names = [node.name for module in modules for node in module.functions]
    names = [name for name in names if not name.startswith("__")]
    single = percent(sum("_" not in name.strip("_") for name in names), len(names))
    bare = percent(sum(is_participle(name) for name in names), len(names))
    constants: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        for name, value in list_constants(module.tree):
            constants[name].add(value)
    several = sum(len(values) > 1 for values in constants.values())
    yield Measure("one-word function names", f"{single:.0f} %", "≤ 45 %", single <= 45)
    yield Measure("bare participles", f"{bare:.1f} %", "≤ 1 %", bare <= 1)
    yield Measure("module constants", str(len(constants)))
    yield Measure("constant names with several values", str(several), "0", several == 0)


def list_constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Constants of a module with their values, as written."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name) and target.id.isupper():
                yield target.id, ast.dump(node.value)  # type: ignore[arg-type]


def measure_prose(modules: list[Module]) -> Iterator[Measure]:
    """How much is explained."""
    code = sum(module.count_code_lines() for module in modules)
    comments = sum(len(module.comment_lines) for module in modules)
    docstrings = sum(len(module.docstring_lines) for module in modules)
    headed = sum(ast.get_docstring(module.tree) is not None for module in modules)
    public = [node for module in modules for node in list_public(module.tree)]
    documented = sum(ast.get_docstring(node) is not None for node in public)
    commented = percent(comments, code)
    yield Measure("comment lines / code", f"{commented:.1f} %", "≥ 3 %", commented >= 3)
    yield Measure("docstring lines / code", f"{percent(docstrings, code):.0f} %")
    yield Measure("module docstrings", f"{headed} of {len(modules)}")
    yield Measure("public docstrings", f"{percent(documented, len(public)):.0f} %")


def list_public(tree: ast.Module) -> Iterator[FunctionNode | ast.ClassDef]:
    """Public classes and functions of a module, and public methods of the classes."""
    for node in tree.body:
        if not isinstance(node, FunctionNode | ast.ClassDef) or node.name[0] == "_":
            continue
        yield node
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, FunctionNode) and member.name[0] != "_":
                    yield member


def count_parameters(node: FunctionNode) -> int:
    """Parameters of a function, those behind stars too, without `self` and `cls`."""
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    starred = [star for star in (arguments.vararg, arguments.kwarg) if star is not None]
    return sum(item.arg not in {"self", "cls"} for item in [*named, *starred])


def measure_shapes(modules: list[Module], root: Path) -> Iterator[Measure]:
    """Annotations, parameters, classes and folders."""
    functions = [node for module in modules for node in module.functions]
    annotated = sum(node.returns is not None for node in functions)
    parameters = [count_parameters(node) for node in functions]
    methods = [
        sum(isinstance(member, FunctionNode) for member in node.body)
        for module in modules
        for node in module.classes
    ]
    large = sum(count > MANY_METHODS for count in methods)
    folders: dict[Path, int] = defaultdict(int)
    for module in modules:
        folders[module.path.parent] += 1
    widest = max(folders, key=lambda folder: folders[folder])
    place = widest.relative_to(root) if widest != root else Path(root.name)
    yield Measure("return annotations", f"{percent(annotated, len(functions)):.0f} %")
    most = max(parameters, default=0)
    yield Measure("parameters, p99 / max", f"{percentile(parameters, 0.99)} / {most}")
    yield Measure(
        f"classes over {MANY_METHODS} methods (max)",
        f"{large} ({max(methods, default=0)})",
    )
    yield Measure(
        "widest folder",
        f"{place} ({folders[widest]} modules)",
        f"≤ {MOST_MODULES}",
        folders[widest] <= MOST_MODULES,
    )


def measure_package(root: Path) -> list[Measure]:
    """All measures of the package in this folder."""
    modules = [Module.read(path) for path in sorted(root.rglob("*.py"))]
    parts: list[Callable[[list[Module]], Iterator[Measure]]] = [
        measure_size,
        measure_complexity,
        measure_names,
        measure_prose,
    ]
    measures = [measure for part in parts for measure in part(modules)]
    return [*measures, *measure_shapes(modules, root)]


def main(arguments: list[str]) -> int:
    """Print the table."""
    root = Path(arguments[0]) if arguments else SOURCE
    measures = measure_package(root)
    width = max(len(measure.name) for measure in measures)
    for measure in measures:
        mark = {None: "", True: "", False: "  ← missed"}[measure.holds]
        goal = f"   goal {measure.goal}{mark}" if measure.goal else ""
        print(f"{measure.name:<{width}}  {measure.value:>16}{goal}")
    return 1 if any(measure.holds is False for measure in measures) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
