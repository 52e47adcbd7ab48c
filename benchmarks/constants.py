"""How far the error of `adaptive` moves when one of its constants is halved or doubled.

    python benchmarks/constants.py --seconds 3600    runs, appended to --lines
    python benchmarks/constants.py --report          the table of what was run

Varied are the thresholds and budget shares of the algorithm and of its fit; compute
limits, guards and grids decide on time and memory first. A changed constant is declared
with its new value in a process of its own, before anything is computed from it.

Noise cannot be seeded, so here it is replaced: the same question of two runs gets the
same normal or Laplace numbers, drawn from the round and the question, at whatever scale
each of them pays for. Where a change decides nothing the runs are then the same to the
last digit, and elsewhere they differ by what the change does and by little else. A
change that made no difference to a cell (a table, an ε and a δ) in SAME_ROUNDS rounds is
not run there again. Errors are those of benchmarks/ablation.py.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import math
import multiprocessing
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from coded_tables import Coded, binary, clique, load
from scipy.special import ndtri
from scipy.stats import t as student

LINES = Path(__file__).resolve().parent / "results" / "constants.jsonl"
FACTORS = (Fraction(1, 2), Fraction(2))
VARIED_KINDS = ("THRESHOLD", "BUDGET")
TABLE_MODULE = "understudy.models.fitting.constant_table"
SAME_ROUNDS = 2
TOLERATED_CHANGE = 0.02
"""Of the error: a constant that moves it by less has a wide enough range."""

# Nothing of the package is imported above or at the top of a parent process: a child
# that is forked from it declares a changed constant first.


class SweepCell(NamedTuple):
    """What is run: a table, an ε and a δ."""

    table: str
    epsilon: str
    delta: str

    def __str__(self) -> str:
        pure = " pure" if self.delta == "0" else ""
        return f"{self.table}@{self.epsilon}{pure}"


CELLS = (
    SweepCell("fair", "1", "1e-9"),
    SweepCell("chain", "0.1", "1e-9"),
    SweepCell("parity", "1", "1e-9"),
    SweepCell("ten", "0.1", "1e-9"),
    SweepCell("six", "1", "0"),
)
"""A real table, one whose pairs form a tree, one whose triples matter, columns of two
values, and few columns in a pure run: together they reach nearly every stage.
"""

Variant = tuple[str, str]
"""The name of a constant and the factor it is multiplied by; ("", "1") for none."""

WHOLE: Variant = ("", "1")


def change_value(value: Any, kind: str, factor: Fraction) -> Any:
    """A constant's value times a factor, of the same type; a share stays below one."""
    if isinstance(value, tuple):
        return tuple(change_value(each, kind, factor) for each in value)
    if isinstance(value, int):
        return max(1, round(value * factor))
    changed = type(value)(value * factor)
    is_share = kind == "BUDGET"
    return min(changed, type(value)(Fraction(99, 100))) if is_share else changed


def is_varied(value: object, kind: str) -> bool:
    """Whether a constant is a number, or a few, and decides on the statistics."""
    return kind in VARIED_KINDS and isinstance(value, int | float | Fraction | tuple)


def load_constants(variant: Variant) -> list[str]:
    """Declare all constants, one of them changed, before anything else of the package
    is imported; the names of those that a sweep varies.
    """
    assert "understudy.models" not in sys.modules, "its constants are declared already"
    places = importlib.util.find_spec("understudy").submodule_search_locations
    path = Path(places[0], *TABLE_MODULE.split(".")[1:]).with_suffix(".py")
    spec = importlib.util.spec_from_file_location(TABLE_MODULE, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[TABLE_MODULE] = module
    spec.loader.exec_module(module)
    declare, varied = module.ConstantTable.add, []
    changed, factor = variant

    def declare_changed(
        table: Any, name: str, value: Any, kind: Any, unit: str, why: str
    ) -> Any:
        if is_varied(value, kind.name):
            varied.append(name)
        if name == changed:
            value = change_value(value, kind.name, Fraction(factor))
        return declare(table, name, value, kind, unit, why)

    module.ConstantTable.add = declare_changed
    importlib.import_module("understudy.models.fitting.constants")
    importlib.import_module("understudy.synthesizers.adaptive.constants")
    assert changed in {"", *varied}, f"no constant {changed}"
    return varied


def list_variants() -> list[Variant]:
    """Every varied constant with every factor."""
    names = load_constants(WHOLE)
    return [(name, str(factor)) for name in names for factor in FACTORS]


class SharedNoise:
    """Noise that follows from a round and from what is asked, at any scale."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._asked: dict[str, int] = defaultdict(int)
        self._questions: list[str] = []

    def note_request(self, request: Mapping[str, Any]) -> None:
        """The questions of a request, one for each array that will be drawn; each
        distance is a question by itself.
        """
        mechanism = request["mechanism"]
        if mechanism == "marginals":
            self._questions = [
                f"{clique} {axes}" for clique, axes, _ in request["cliques"]
            ]
        elif mechanism == "errors":
            self._questions = [
                f"distance {clique}" for clique, _ in request["candidates"]
            ]
        else:
            raise AssertionError(f"adaptive asks no {mechanism} of a closed schema")

    def draw(self, law: Any, scale: Fraction, shape: tuple[int, ...]) -> Any:
        """Numbers of the law, rounded: those of the next question, or one for each."""
        if shape == (len(self._questions),) and self._questions[0].startswith(
            "distance"
        ):
            standard = np.concatenate(
                [self._standard(law, q, (1,)) for q in self._questions]
            )
        else:
            standard = self._standard(law, self._questions.pop(0), shape)
        return np.rint(standard * float(scale)).astype(np.int64)

    def _standard(self, law: Any, question: str, shape: tuple[int, ...]) -> Any:
        name = f"{self._number} {question} {self._asked[question]}"
        self._asked[question] += 1
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        even = np.random.default_rng(seed).random(shape)
        even = np.clip(even, 1e-15, 1 - 1e-15)
        if "LAPLACE" in law.name:
            tail = np.log(2 * np.minimum(even, 1 - even))
            return np.where(even < 0.5, tail, -tail)
        return ndtri(even)


@contextmanager
def share_noise(number: int) -> Iterator[None]:
    """While inside, runs draw the noise of this round."""
    from understudy.curator.context import MechanismContext
    from understudy.curator.payment import Payments

    noise = SharedNoise(number)
    pay = Payments.pay

    def pay_noted(
        self: Payments, request: Any, cost: Any, count: Callable[[], Any], draw: Any
    ) -> Any:
        noise.note_request(request)
        return pay(self, request, cost, count, draw)

    def add_noise(context: MechanismContext, exact: Any, scale: Fraction) -> Any:
        return exact + noise.draw(context.law, scale, exact.shape) if scale else exact

    with (
        mock.patch.object(Payments, "pay", pay_noted),
        mock.patch.object(MechanismContext, "add_noise", add_noise),
    ):
        yield


Job = tuple[Variant, int, tuple[SweepCell, ...], str]


def run_variant(job: Job) -> list[dict[str, Any]]:
    """A line for each cell: errors with one constant changed, under a round's noise.
    Runs in a process of its own.
    """
    variant, number, cells, commit = job
    load_constants(variant)
    from ablation import release_of, score
    from adaptive import Judge

    lines = []
    for cell in cells:
        judge = Judge.of(TABLES[cell.table])
        with share_noise(number):
            release, busy = release_of(
                judge.table, cell.epsilon, delta=cell.delta, seed=number
            )
        errors, _ = score(release, judge)
        lines.append(
            cell._asdict()
            | {
                "round": number,
                "constant": variant[0],
                "factor": variant[1],
                "errors": errors,
                "busy": round(busy, 3),
                "commit": commit,
            }
        )
    return lines


TABLES: dict[str, Coded] = {}
"""Loaded before processes are forked, which find them here."""


SMALL_TABLES: dict[str, Callable[[], Coded]] = {
    "six": lambda: clique(rows=3_000, columns=6, size=4, kinds=5, seed=22),
    "ten": lambda: binary(rows=3_000, columns=10, seed=23),
}
"""Few columns, whose plans a pure run compares, and columns of two values."""


def load_table(name: str) -> Coded:
    """A small table, or one of coded_tables.py."""
    return SMALL_TABLES[name]() if name in SMALL_TABLES else load(name, None)


Errors = dict[SweepCell, dict[Variant, dict[int, float]]]
"""Logarithms of errors, by cell, variant and round."""


def read_errors(lines: Sequence[Mapping[str, Any]]) -> Errors:
    """The mean of the logarithmic errors of pairs and triples of every run."""
    errors: Errors = defaultdict(lambda: defaultdict(dict))
    for line in lines:
        cell = SweepCell(line["table"], line["epsilon"], line["delta"])
        log = float(np.mean(np.log(np.maximum(line["errors"], 1e-9))))
        errors[cell][line["constant"], line["factor"]][line["round"]] = log
    return errors


def read_changes(
    runs: Mapping[Variant, Mapping[int, float]], variant: Variant
) -> list[float]:
    """How far a change moved the logarithmic error of a cell, round by round."""
    whole = runs.get(WHOLE, {})
    changed = runs.get(variant, {})
    return [changed[number] - whole[number] for number in changed if number in whole]


def open_cells(
    errors: Errors, variant: Variant, cells: Sequence[SweepCell], number: int
) -> tuple[SweepCell, ...]:
    """The cells in which a variant is to be run in a round: not run there yet, and not
    without effect in SAME_ROUNDS rounds.
    """
    left = []
    for cell in cells:
        runs = errors[cell]
        changes = read_changes(runs, variant)
        without_effect = len(changes) >= SAME_ROUNDS and not any(changes)
        is_settled = variant != WHOLE and without_effect
        if number not in runs[variant] and not is_settled:
            left.append(cell)
    return tuple(left)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """What was run."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(options: argparse.Namespace) -> None:
    """Rounds over all constants until time is up or enough were made."""
    from subprocess import check_output

    commit = check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()
    cells = [
        cell
        for cell in CELLS
        if not options.table or cell.table in options.table
        if not options.epsilon or cell.epsilon in options.epsilon
    ]
    TABLES.update({cell.table: load_table(cell.table) for cell in cells})
    end = time.monotonic() + options.seconds
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        variants = [WHOLE, *pool.apply(list_variants)]
        for number in range(options.rounds):
            for variant in variants:
                if time.monotonic() > end:
                    return
                errors = read_errors(read_lines(options.lines))
                todo = open_cells(errors, variant, cells, number)
                if not todo:
                    continue
                lines = pool.apply(run_variant, ((variant, number, todo, commit),))
                with options.lines.open("a") as file:
                    file.writelines(json.dumps(line) + "\n" for line in lines)


class ConstantEffect(NamedTuple):
    """What a change does to the error: the mean over all cells, the half-width of its
    95 % interval by how much cells differ, the number of cells in which it does
    anything, and the cell it moves most.
    """

    mean: float
    half_width: float
    acting: int
    largest: tuple[float, str]


def measure_effect(errors: Errors, variant: Variant) -> ConstantEffect | None:
    """The effect of a change; None unless it was run in every cell."""
    changes = {cell: read_changes(runs, variant) for cell, runs in errors.items()}
    if not all(changes.values()):
        return None
    by_cell = {str(cell): float(np.mean(logs)) for cell, logs in changes.items()}
    means = np.array(list(by_cell.values()))
    error = float(means.std(ddof=1)) / math.sqrt(means.size)
    largest = max(by_cell, key=lambda cell: abs(by_cell[cell]))
    return ConstantEffect(
        mean=float(means.mean()),
        half_width=error * float(student.ppf(0.975, means.size - 1)),
        acting=sum(1 for logs in changes.values() if any(logs)),
        largest=(by_cell[largest], largest),
    )


def judge_range(effects: Sequence[ConstantEffect]) -> str:
    """Whether the mean error moves by less than TOLERATED_CHANGE between both factors,
    as far as their intervals tell.
    """
    if not any(effect.acting for effect in effects):
        return "acts in no cell"
    if all(abs(e.mean) + e.half_width < TOLERATED_CHANGE for e in effects):
        return "yes"
    if any(abs(e.mean) - e.half_width > TOLERATED_CHANGE for e in effects):
        return "no"
    return "unclear"


def report(lines: Sequence[Mapping[str, Any]]) -> str:
    """A row for every constant: how the mean error changes, in per cent."""
    errors = read_errors(lines)
    rounds = {line["round"] for line in lines}
    cells = ", ".join(str(cell) for cell in errors)
    out = [
        f"{len(lines)} runs under shared noise, {len(rounds)} for each change and cell"
        f" ({cells}): change of the mean error of pairs and triples.",
        "",
        "| constant | halved | doubled | cells | largest change of a cell | within 2 % |",
        "|---|---|---|---|---|---|",
    ]
    names = dict.fromkeys(line["constant"] for line in lines if line["constant"])
    for name in sorted(names):
        found = [measure_effect(errors, (name, str(factor))) for factor in FACTORS]
        effects = [effect for effect in found if effect is not None]
        if len(effects) < len(FACTORS):
            continue
        texts = [f"{e.mean:+.1%} ± {e.half_width:.1%}" for e in effects]
        acting = max(effect.acting for effect in effects)
        size, cell = max(
            (effect.largest for effect in effects), key=lambda largest: abs(largest[0])
        )
        most = f"{cell} {size:+.1%}" if acting else ""
        fields = [f"`{name}`", *texts, str(acting), most, judge_range(effects)]
        out.append(f"| {' | '.join(fields)} |")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="append", help="this table; may be repeated")
    parser.add_argument("--epsilon", action="append", help="this ε; may be repeated")
    parser.add_argument("--rounds", type=int, default=1, help="rounds, at most")
    parser.add_argument("--seconds", type=float, default=600, help="time to run for")
    parser.add_argument("--lines", type=Path, default=LINES, help="where runs are kept")
    parser.add_argument("--report", action="store_true", help="print, run nothing")
    parser.add_argument("--json", type=Path, help="also write the lines to this file")
    options = parser.parse_args()
    if not options.report:
        run(options)
    lines = read_lines(options.lines)
    print(report(lines))
    if options.json:
        options.json.write_text(json.dumps(lines) + "\n")


if __name__ == "__main__":
    main()
