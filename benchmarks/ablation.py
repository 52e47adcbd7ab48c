"""What each part of `adaptive` is worth: its error with one part switched off.

    python benchmarks/ablation.py --data DIR --seconds 3600      runs, appended to --lines
    python benchmarks/ablation.py --report                       the table of what was run
    python benchmarks/ablation.py --table fair --part fission    these alone

Every part has one entry in PARTS: the functions it hangs on, and what stands in their
place when it is off. Nothing in the package knows of it.

A part of the fit is judged on the same noisy answers as the whole algorithm, and the
rows of both models are sampled from one seed: the difference is the part's alone. A
part of the run decides what is asked, so it needs answers of its own, whose noise
cannot be seeded. It is run only on cells (a table and an ε) where it acted in some run
of the whole algorithm; where it did not act, its ratio is 1 by construction.

Errors are those of benchmarks/adaptive.py: mean total variation distance over all pairs
and all triples of columns. A line of JSON for every run is appended to the file
`--lines`, so that a study may be cut off and taken up again. The next cell is always the
one that had the least processor time so far.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from adaptive import Judge
from coded_tables import Coded, load, names

from understudy.models.estimates.consistency import project_simplex
from understudy.models.estimates.loss_terms import Term
from understudy.schema import Integer, Schema
from understudy.synthesizers import make
from understudy.synthesizers.adaptive.distances import subtract_inner_errors
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize

EPSILONS = ("0.1", "1", "10")
DELTA = "1e-9"
RESULTS = Path(__file__).resolve().parent / "results"
LINES = RESULTS / "ablation.jsonl"
TYPICAL_DEVIATION, TYPICAL_PAIRED_DEVIATION = 0.05, 0.015
"""Of the logarithm of an error from run to run, and of a ratio on the same answers: about
the medians over cells, used where there is a single run.
"""

SEED = 20_260
"""Seed of the sampled rows of both models, so that the same rows are drawn from each."""

RUN = "understudy.synthesizers.adaptive"
FIT = "understudy.models.fitting"


@dataclass(frozen=True)
class Part:
    """One part: where it lives, what stands in its place, and whether the fit alone
    has it.
    """

    says: str
    where: tuple[str, ...]
    without: Callable[..., Any]
    fit: bool = False


def _nearest_counts(columns: Any) -> list[Term]:
    """The nearest non-negative counts with the right total, without a prior."""
    return [
        replace(
            t,
            values=project_simplex(t.values, float(even.sum()), allowed=even > 0),
        )
        for t, even in columns
    ]


def _one_stage(terms: Any, *_: Any, **__: Any) -> list[list[Any]]:
    larger = [t for t in terms if len(t.clique) > 2]
    return [[t for t in terms if len(t.clique) < 3], *([larger] if larger else [])]


PARTS: dict[str, Part] = {
    "cell strengths": Part(
        "prior variance of single cells",
        (f"{FIT}.marginal_strength.adjust_cell_answers",),
        lambda looks, *_: [term.values for term, _ in looks],
        fit=True,
    ),
    "one-way prior": Part(
        "gamma mixture prior of one-way counts",
        (f"{FIT}.base_model.denoise_one_ways",),
        _nearest_counts,
        fit=True,
    ),
    "forest fit": Part(
        "pairs that form a forest are fitted before the other pairs",
        (f"{FIT}.staged.split_into_stages",),
        _one_stage,
        fit=True,
    ),
    "forest rule": Part(
        "no forest is fitted first where noise hides which pairs are strong",
        (f"{FIT}.staged.interaction_signal_share",),
        lambda *_: 1.0,
        fit=True,
    ),
    "targets": Part(
        "marginals beyond the tree are met by exchanging rows",
        (f"{RUN}.adaptive.add_target_marginals",),
        lambda tree, *_: tree,
        fit=True,
    ),
    "binary shortcut": Part(
        "binary pairs that noise hides are all measured at once",
        (f"{RUN}.stages.binary_pair_parts",),
        lambda *_: {},
    ),
    "pair shortcut": Part(
        "the pair of two columns gets the whole budget",
        (f"{RUN}.first_measurement.pair_covers_columns",),
        lambda *_: False,
    ),
    "second round": Part(
        "columns and distances are asked again where noise hides pairs",
        (f"{RUN}.stages.are_pairs_hidden",),
        lambda *_: False,
    ),
    "distance shrinkage": Part(
        "noisy distances are shrunk to their mean",
        (f"{RUN}.questions.shrink_distances",),
        lambda distances: {r: max(float(d), 0.0) for r, d in distances.items()},
    ),
    "chance floor": Part(
        "unmeasured marginals are at least as far off as chance puts them",
        (f"{RUN}.questions.floor_at_chance",),
        lambda far, _: dict(far),
    ),
    "inner errors": Part(
        "distances without what column errors explain",
        (f"{RUN}.questions.subtract_inner_errors",),
        lambda far, *_: dict(far),
    ),
    "inner pairs": Part(
        "distances of triples without what distances of pairs explain",
        (f"{RUN}.questions.subtract_inner_errors",),
        lambda distances, errors, *_: subtract_inner_errors(distances, errors),
    ),
    "forest stage": Part(
        "pairs that form a forest are measured before the others",
        (f"{RUN}.stages.spanning_forest",),
        lambda order: list(order),
    ),
    "contrasts": Part(
        "columns of two values are measured as differences",
        (f"{RUN}.questions.contrast_maps",),
        lambda *_: {},
    ),
    "joint allocation": Part(
        "where one tree holds everything, one allocation over residuals",
        (f"{RUN}.stages._can_allocate_jointly",),
        lambda *_: False,
    ),
    "triples": Part(
        "triples are measured",
        (f"{RUN}.questions.strongest_triples",),
        lambda *_: [],
    ),
    "columns again": Part(
        "single columns compete with pairs for what is left",
        (f"{RUN}.stages.add_columns",),
        lambda _run, _state, competing, _pairs: competing,
    ),
}


@dataclass(frozen=True)
class RemovedPart:
    """A part that did not pay and is gone; its runs stay in the results."""

    says: str
    fit: bool = False


REMOVED: dict[str, RemovedPart] = {
    "fission": RemovedPart(
        "shrinkage and stages of the last fit chosen by data fission", fit=True
    ),
    "columns before": RemovedPart(
        "columns measured again before distances are asked a second time"
    ),
}


def resolve(where: str) -> tuple[Any, str]:
    """The module or class, and the name in it, of a dotted path."""
    home, name = where.rsplit(".", 1)
    try:
        return importlib.import_module(home), name
    except ModuleNotFoundError:
        module, owner = home.rsplit(".", 1)
        return getattr(importlib.import_module(module), owner), name


@contextmanager
def switched_off(part: Part) -> Iterator[None]:
    """While inside, the part is off."""
    with ExitStack() as stack:
        for where in part.where:
            home, name = resolve(where)
            stack.enter_context(mock.patch.object(home, name, part.without))
        yield


@contextmanager
def watched(acted: set[str]) -> Iterator[None]:
    """While inside, the parts of the run that made a difference are written down."""
    with ExitStack() as stack:
        for title, part in PARTS.items():
            if part.fit:
                continue
            for where in part.where:
                home, name = resolve(where)
                real = getattr(home, name)

                def probe(
                    *given: Any, title: str = title, part: Part = part, real: Any = real
                ) -> Any:
                    made = real(*given)
                    made = made if not isinstance(made, Iterator) else list(made)
                    if made != part.without(*given):
                        acted.add(title)
                    return made

                stack.enter_context(mock.patch.object(home, name, probe))
        yield


def release_of(
    table: Coded, epsilon: str, *, delta: str = DELTA, seed: int | None = None
) -> tuple[Any, float]:
    """A release, and the processor seconds from rows in memory to its model."""
    frame = pa.table({n: pa.array(c.astype(np.int32)) for n, c in table.codes.items()})
    schema = Schema(
        columns=tuple(
            Integer(name=n, min=0, max=size - 1, nullable=False)
            for n, size in table.sizes.items()
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        made = synthesize(
            frame,
            schema,
            epsilon=epsilon,
            delta=delta,
            seed=seed,
            synthesizer=make("adaptive"),
            ledger=Path(folder) / "bench.ledger",
            run=RunOptions(dataset="bench"),
        )
        return made, time.process_time() - start


def score(release: Any, judge: Judge) -> tuple[list[float], float]:
    """Errors of sampled rows, and the processor seconds of sampling."""
    start = time.process_time()
    sampled = release.sample(seed=SEED)
    busy = time.process_time() - start
    codes = judge.table.codes
    return judge.errors(
        {n: sampled[n].to_numpy().astype(c.dtype) for n, c in codes.items()}
    ), busy


@dataclass(frozen=True, eq=False)
class Study:
    """The lines written so far, and where they go."""

    path: Path
    commit: str

    def lines(self) -> list[dict[str, Any]]:
        """What was run."""
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def write(self, **line: Any) -> None:
        """Append one run."""
        with self.path.open("a") as file:
            file.write(json.dumps(line | {"commit": self.commit}) + "\n")

    def round(
        self, judge: Judge, table: str, epsilon: str, number: int, parts: Sequence[str]
    ) -> None:
        """The whole algorithm once, and every part off once."""
        acted: set[str] = set()
        with watched(acted):
            whole, busy = release_of(judge.table, epsilon)
        errors, more = score(whole, judge)
        known = {
            part
            for line in self.lines()
            if (line["table"], line["epsilon"]) == (table, epsilon)
            for part in line.get("acted", ())
        }
        common = {"table": table, "epsilon": epsilon, "round": number}
        self.write(
            **common, part="", errors=errors, busy=busy + more, acted=sorted(acted)
        )
        for title in parts:
            part = PARTS[title]
            if not part.fit and title not in acted | known:
                continue
            with switched_off(part):
                if part.fit:
                    start = time.process_time()
                    model = make("adaptive").estimate(
                        whole.schema, whole.measurements, np.random.default_rng(0)
                    )
                    spent = time.process_time() - start
                    other = replace(whole, model=model)
                else:
                    other, spent = release_of(judge.table, epsilon)
            errors, more = score(other, judge)
            self.write(**common, part=title, errors=errors, busy=spent + more)


def current_commit() -> str:
    """The commit that is measured, in short."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(
        words, check=True, capture_output=True, text=True, cwd=RESULTS
    )
    return done.stdout.strip()


def run(options: argparse.Namespace) -> None:
    """Rounds, always of the cell that had the least time, until time is up."""
    study = Study(options.lines, current_commit())
    tables = options.table or names(options.data)
    judges = {title: Judge.of(load(title, options.data)) for title in tables}
    cells = [(t, e) for t in tables for e in options.epsilon or EPSILONS]
    spent: dict[tuple[str, str], float] = dict.fromkeys(cells, 0.0)
    rounds: dict[tuple[str, str], int] = dict.fromkeys(cells, 0)
    for line in study.lines():
        cell = line["table"], line["epsilon"]
        if cell in spent:
            spent[cell] += line["busy"]
            rounds[cell] = max(rounds[cell], line["round"] + 1)
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        open_cells = [cell for cell in cells if rounds[cell] < options.runs]
        if not open_cells:
            break
        cell = min(open_cells, key=lambda cell: (rounds[cell] > 0, spent[cell]))
        start = time.process_time()
        study.round(judges[cell[0]], *cell, rounds[cell], options.part or list(PARTS))
        spent[cell] += time.process_time() - start
        rounds[cell] += 1
        print(*cell, rounds[cell], f"{spent[cell]:.0f} s", flush=True)


Cell = tuple[str, str]
Ratios = Mapping[Cell, tuple[float, float]]
"""For every cell the logarithm of a ratio of errors, and its standard error."""


def log_ratios(lines: Sequence[dict[str, Any]], title: str, order: int) -> Ratios:
    """How much larger the error is without a part, in every cell where it was run or
    did not act. Runs are compared with those of the same commit.
    """
    is_fit = (PARTS | REMOVED)[title].fit
    logs: dict[tuple[Cell, str, str], dict[int, float]] = defaultdict(dict)
    acted: dict[Cell, set[str]] = defaultdict(set)
    for line in lines:
        cell = line["table"], line["epsilon"]
        error = max(line["errors"][order], 1e-9)
        logs[cell, line["commit"], line["part"]][line["round"]] = math.log(error)
        acted[cell] |= set(line.get("acted", ()))
    found: dict[Cell, list[tuple[int, float, float]]] = defaultdict(list)
    for (cell, commit, part), off in logs.items():
        whole = logs.get((cell, commit, ""), {})
        if part != title or not whole:
            continue
        if is_fit:
            apart = np.array([off[i] - whole[i] for i in off if i in whole])
            mean = float(apart.mean())
            spread = deviation(apart, TYPICAL_PAIRED_DEVIATION)
            variance = spread**2 / apart.size
        else:
            both = [np.array(list(some.values())) for some in (off, whole)]
            mean = float(both[0].mean() - both[1].mean())
            variance = sum(deviation(some) ** 2 / some.size for some in both)
        found[cell].append((len(off), mean, variance))
    ratios: dict[Cell, tuple[float, float]] = {}
    for cell, names_of in acted.items():
        if cell not in found and title not in names_of and not is_fit:
            ratios[cell] = 0.0, 0.0
    for cell, parts in found.items():
        runs = sum(count for count, _, _ in parts)
        mean = sum(count * m for count, m, _ in parts) / runs
        error = math.sqrt(sum(count**2 * v for count, _, v in parts)) / runs
        ratios[cell] = mean, error
    return ratios


def deviation(logs: np.ndarray, typical: float = TYPICAL_DEVIATION) -> float:
    """The deviation of one run; of a single run, what is typical."""
    return float(logs.std(ddof=1)) if logs.size > 1 else typical


def seconds_ratio(lines: Sequence[dict[str, Any]], title: str) -> float:
    """Processor time without a part of the run, as a geometric mean of ratios."""
    busy: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for line in lines:
        busy[line["table"], line["epsilon"]][line["part"]].append(line["busy"])
    logs = [
        math.log(np.mean(runs[title]) / np.mean(runs[""]))
        for runs in busy.values()
        if title in runs and "" in runs
    ]
    return math.exp(float(np.mean(logs))) if logs else 1.0


def summary(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for every part: ratios of errors without it, and where it matters most."""
    rows = []
    for title, part in (PARTS | REMOVED).items():
        row: dict[str, Any] = {"part": title, "says": part.says, "fit": part.fit}
        row["removed"] = title in REMOVED
        for order, name in enumerate(("pairs", "triples")):
            ratios = log_ratios(lines, title, order)
            if not ratios:
                continue
            means = np.array([mean for mean, _ in ratios.values()])
            error = math.sqrt(sum(e**2 for _, e in ratios.values())) / len(ratios)
            row[name] = [math.exp(means.mean()), error]
            row["cells"] = len(ratios)
            row[f"{name} by cell"] = {
                "@".join(cell): [round(math.exp(mean), 4), round(error, 4)]
                for cell, (mean, error) in ratios.items()
            }
        row["seconds"] = None if part.fit else seconds_ratio(lines, title)
        rows.append(row)
    return rows


def report(lines: Sequence[dict[str, Any]]) -> str:
    """The summary as a text table, in Markdown."""
    cells = {(line["table"], line["epsilon"]) for line in lines}
    out = [
        f"{len(lines)} runs on {len(cells)} cells (a table and an ε):"
        " the error without a part, relative to the error with it.",
        "",
        "| part | cells | pairs | triples | seconds | where it matters most |",
        "|---|---|---|---|---|---|",
    ]
    for row in summary(lines):
        if "pairs" not in row:
            continue
        title = f"{row['part']} (removed)" if row["removed"] else row["part"]
        means = [f"{row[n][0]:.3f} ± {row[n][1]:.3f}" for n in ("pairs", "triples")]
        seconds = "" if row["seconds"] is None else f"{row['seconds']:.2f}"
        fields = [title, str(row["cells"]), *means, seconds, where_it_matters(row)]
        out.append(f"| {' | '.join(fields)} |")
    return "\n".join(out)


def where_it_matters(row: Mapping[str, Any]) -> str:
    """The cells with the largest effects that are beyond two standard errors."""
    effects: list[tuple[float, str]] = []
    for name in ("pairs", "triples"):
        for cell, (ratio, error) in row[f"{name} by cell"].items():
            size = abs(math.log(ratio))
            if size > max(2 * error, 0.02):
                effects.append((size, f"{cell} {ratio:.2f} ({name})"))
    return ", ".join(text for _, text in sorted(effects, reverse=True)[:3])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with Adult and ACS")
    parser.add_argument("--table", action="append", help="this table; may be repeated")
    parser.add_argument("--epsilon", action="append", help="this ε; may be repeated")
    parser.add_argument("--part", action="append", choices=list(PARTS))
    parser.add_argument("--runs", type=int, default=20, help="runs of a cell, at most")
    parser.add_argument("--seconds", type=float, default=600, help="time to run for")
    parser.add_argument("--lines", type=Path, default=LINES, help="where runs are kept")
    parser.add_argument("--report", action="store_true", help="print, run nothing")
    parser.add_argument("--json", type=Path, help="also write the summary to this file")
    options = parser.parse_args()
    if not options.report:
        run(options)
    lines = Study(options.lines, "").lines()
    print(report(lines))
    if options.json:
        options.json.write_text(json.dumps(summary(lines), indent=1) + "\n")


if __name__ == "__main__":
    main()
