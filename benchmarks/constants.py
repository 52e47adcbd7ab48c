"""How far the error of `adaptive` moves when one of its constants is halved or doubled.

    python benchmarks/constants.py --data DIR --seconds 3600    runs, appended to --lines
    python benchmarks/constants.py --report                     the table of what was run

Thresholds and budget shares are varied; compute limits, guards and grids decide on time
and memory first. Every cell (a table and an ε) is run with the constants as they are and
with each one changed, all in one round, and the errors are those of
benchmarks/ablation.py. Noise
cannot be seeded, so a ratio has the noise of two sets of runs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import pkgutil
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from ablation import RESULTS, Study, current_commit, deviation, release_of, score
from adaptive import Judge
from coded_tables import load

import understudy.synthesizers.adaptive as adaptive_room
from understudy.models.fitting.constant_table import Constant, ConstantKind
from understudy.synthesizers.adaptive.constants import ADAPTIVE_CONSTANTS

LINES = RESULTS / "constants.jsonl"
FACTORS = (Fraction(1, 2), Fraction(2))
VARIED_KINDS = (ConstantKind.THRESHOLD, ConstantKind.BUDGET)
TABLES = ("fair", "chain", "tree", "clique", "parity")
EPSILONS = ("0.1", "1", "10")
TOLERATED_CHANGE = 0.02
"""Of the error: a constant that moves it by less has a wide enough range."""


def list_varied_constants() -> list[Constant]:
    """The constants that are numbers and decide on the statistics."""
    return [
        constant
        for constant in ADAPTIVE_CONSTANTS.rows
        if constant.kind in VARIED_KINDS
        and isinstance(constant.value, int | float | Fraction)
    ]


def change_value(constant: Constant, factor: Fraction) -> Any:
    """A constant times a factor, of the same type; a share stays below one."""
    value: Any = constant.value
    if isinstance(value, int):
        return max(1, round(value * factor))
    changed = type(value)(value * factor)
    is_share = constant.kind is ConstantKind.BUDGET
    return min(changed, type(value)(Fraction(99, 100))) if is_share else changed


@contextmanager
def replace_constant(name: str, value: Any) -> Iterator[None]:
    """While inside, every module of `adaptive` that names the constant has this value."""
    with ExitStack() as stack:
        for found in pkgutil.iter_modules(adaptive_room.__path__):
            module = importlib.import_module(f"{adaptive_room.__name__}.{found.name}")
            if name in vars(module):
                stack.enter_context(mock.patch.object(module, name, value))
        yield


def run_round(
    study: Study, judge: Judge, cell: tuple[str, str], number: int, end: float
) -> None:
    """One run as it is, and one for every constant and factor."""
    table, epsilon = cell
    variants: list[tuple[str, str, Any]] = []
    for constant in list_varied_constants():
        # As many runs of the whole as of each change: all ratios share their noise.
        variants.append(("", "1", None))
        for factor in FACTORS:
            variants.append(
                (constant.name, str(factor), change_value(constant, factor))
            )
    for name, factor, value in variants:
        if time.monotonic() > end:
            return
        with replace_constant(name, value):
            release, busy = release_of(judge.table, epsilon)
        errors, _ = score(release, judge)
        study.write(
            table=table,
            epsilon=epsilon,
            round=number,
            constant=name,
            factor=factor,
            errors=errors,
            busy=busy,
        )


def run(options: argparse.Namespace) -> None:
    """Rounds over all cells until time is up."""
    study = Study(options.lines, current_commit())
    judges = {title: Judge.of(load(title, options.data)) for title in options.table}
    end = time.monotonic() + options.seconds
    number = 1 + max((line["round"] for line in study.lines()), default=-1)
    while time.monotonic() < end:
        for cell in [(t, e) for t in options.table for e in EPSILONS]:
            run_round(study, judges[cell[0]], cell, number, end)
        number += 1


def mean_change(
    lines: Sequence[dict[str, Any]], name: str, factor: str
) -> tuple[float, float] | None:
    """The mean logarithm of the error's ratio over cells and both orders, and its
    standard error; None without runs.
    """
    logs: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for line in lines:
        key = line["table"], line["epsilon"], line["constant"], line["factor"]
        logs[key].append(float(np.mean(np.log(np.maximum(line["errors"], 1e-9)))))
    means, variances = [], []
    for (table, epsilon, constant, changed), off in logs.items():
        if (constant, changed) != (name, factor):
            continue
        whole = logs.get((table, epsilon, "", "1"), [])
        if whole:
            means.append(np.mean(off) - np.mean(whole))
            both = (np.array(off), np.array(whole))
            variances.append(sum(deviation(x) ** 2 / x.size for x in both))
    if not means:
        return None
    return float(np.mean(means)), math.sqrt(sum(variances)) / len(means)


def measure_spread(lines: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """By how much single runs of a cell vary, changed or not, as a root mean square over
    cells; and the standard error of a change that this gives with one run on either side.

    What the changes do is in it, so it is at least what runs vary by.
    """
    logs: dict[tuple[str, str], list[float]] = defaultdict(list)
    for line in lines:
        cell = line["table"], line["epsilon"]
        logs[cell].append(float(np.mean(np.log(np.maximum(line["errors"], 1e-9)))))
    variances = [np.var(runs, ddof=1) for runs in logs.values()]
    spread = math.sqrt(np.mean(variances))
    return spread, spread * math.sqrt(2 / len(variances))


def report(lines: Sequence[dict[str, Any]]) -> str:
    """A row for every constant: how the mean error changes, in per cent."""
    cells = {(line["table"], line["epsilon"]) for line in lines}
    out = [
        f"{len(lines)} runs on {len(cells)} cells (a table and an ε): change of the mean"
        " error of pairs and triples.",
        "",
        "| constant | value | halved | doubled | within 2 % |",
        "|---|---|---|---|---|",
    ]
    for constant in list_varied_constants():
        changes = [mean_change(lines, constant.name, str(f)) for f in FACTORS]
        known = [change for change in changes if change is not None]
        if len(known) < len(FACTORS):
            continue
        texts = [f"{100 * mean:+.1f} ± {100 * error:.1f} %" for mean, error in known]
        # Said only of what the runs can tell: two standard errors decide.
        worst = max(abs(mean) - 2 * error for mean, error in known)
        best = max(abs(mean) + 2 * error for mean, error in known)
        verdict = "unclear"
        if best < TOLERATED_CHANGE:
            verdict = "yes"
        elif worst > TOLERATED_CHANGE:
            verdict = "no"
        out.append(
            f"| `{constant.name}` | {constant.text} | {' | '.join(texts)} | {verdict} |"
        )
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with Adult and ACS")
    parser.add_argument("--table", action="append", help="this table; may be repeated")
    parser.add_argument("--seconds", type=float, default=600, help="time to run for")
    parser.add_argument("--lines", type=Path, default=LINES, help="where runs are kept")
    parser.add_argument("--report", action="store_true", help="print, run nothing")
    parser.add_argument("--json", type=Path, help="also write the lines to this file")
    options = parser.parse_args()
    options.table = options.table or list(TABLES)
    if not options.report:
        run(options)
    lines = Study(options.lines, "").lines()
    print(report(lines))
    spread, error = measure_spread(lines)
    print(
        f"\nRuns of one cell vary by {spread:.1%}; a change has ± {error:.1%} by that."
    )
    if options.json:
        options.json.write_text(json.dumps(lines) + "\n")


if __name__ == "__main__":
    main()
