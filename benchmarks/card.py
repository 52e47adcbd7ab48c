"""How often the card's bounds hold, and how much larger they are than the errors they
bound.

    python benchmarks/card.py                                              fair, four synthesizers, ε = 0.3, 1 and 3
    python benchmarks/card.py --tables all --data DIR --synthesizers adaptive --epsilon 0.1 1 10 --runs 2

Tables are those of benchmarks/coded_tables.py. `hold` is the share of the bounds of columns
and pairs that hold, promised are 95 %, of those that were measured and those of which a
distance was bought; `rows` the same of a sample of as many rows as the release gives by
default, whose own error counts. `bound/error` is how many times the larger of these two
errors a bound is, in the median, promised are 4 for those that were measured. A bound
that says nothing, because there is none or because it reaches 100 % of the rows, is
`vacuous` and counts for neither. `answers` is the share of intervals of
`release.answer` that hold the truth, over random questions about one to three columns.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import coded_tables as tables
import numpy as np
import pyarrow as pa

import understudy as us
from understudy.schema import Integer, Schema

COVERAGE, LOOSEST = 0.95, 4.0
"""The share of bounds that hold, and how many times the error a bound may be in the
median.
"""

QUESTIONS = 30
"""Random questions that are asked of every release."""

ENOUGH = 3.0
"""Standard errors that a share of bounds may be below what is promised before that is
called broken.
"""


def counted(
    codes: dict[str, np.ndarray], clique: tuple[str, ...], shape: tuple[int, ...]
) -> np.ndarray:
    """A marginal of codes."""
    flat = np.ravel_multi_index([codes[n].astype(np.int64) for n in clique], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def asked_of(
    release: us.Release, table: tables.Coded, rng: np.random.Generator
) -> list[bool]:
    """Whether the intervals of some random questions hold the truth."""
    held = []
    for i in range(QUESTIONS):
        clique = rng.choice(
            list(table.sizes), min(1 + i % 3, len(table.sizes)), replace=False
        )
        inside, words = np.ones(table.rows, bool), []
        for name in clique:
            place, above = int(rng.integers(table.sizes[name])), bool(rng.integers(2))
            inside &= (
                table.codes[name] >= place if above else table.codes[name] == place
            )
            words.append(f'"{name}" {">=" if above else "="} {place}')
        found = release.answer(f"count where {' and '.join(words)}")
        held.append(found.low <= int(inside.sum()) <= found.high)
    return held


class Tally:
    """What became of the bounds of one kind."""

    def __init__(self) -> None:
        self.held: list[bool] = []
        self.rows: list[bool] = []
        self.ratios: list[float] = []

    def cells(self) -> str:
        if not self.held:
            return f"{0:>8}{'':>29}"
        shares = f"{np.mean(self.held):>8.1%}{np.mean(self.rows):>8.1%}"
        return f"{len(self.held):>8}{shares}{np.median(self.ratios):>13.2f}"

    def kept(self) -> bool:
        if not self.held:
            return True
        slack = ENOUGH * np.sqrt(COVERAGE * (1 - COVERAGE) / len(self.held))
        return bool(min(np.mean(self.held), np.mean(self.rows)) >= COVERAGE - slack)


def judged(
    table: tables.Coded, name: str, epsilon: float, runs: int
) -> tuple[Tally, Tally, list[bool], float]:
    """So many releases: bounds of measured marginals, bounds of bought distances,
    answers, and the share of bounds that says nothing.
    """
    schema = Schema(
        columns=tuple(
            Integer(
                name=n, min=0, max=size - 1, nullable=False, bins=tuple(range(size + 1))
            )
            for n, size in table.sizes.items()
        )
    )
    frame = pa.table(table.codes)
    tallies, silent, said = {True: Tally(), False: Tally()}, 0, 0
    answers: list[bool] = []
    for seed in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            release = us.synthesize(
                frame,
                schema,
                epsilon=epsilon,
                synthesizer=name,
                ledger=Path(folder, "ledger"),
            )
        assert release.model is not None
        rows = release.model.sample(release.rows, np.random.default_rng(seed))
        answers += asked_of(release, table, np.random.default_rng(seed))
        for entry in release.card:
            if entry.error is None or entry.error >= 1:
                silent += 1
                continue
            said += 1
            shape = schema.sizes(entry.clique)
            real = counted(table.codes, entry.clique, shape)
            off, shown = (
                float(np.abs(real - found).sum()) / (2 * table.rows)
                for found in (
                    release.evidence.marginal(entry.clique),
                    counted(rows, entry.clique, shape),
                )
            )
            tally = tallies[entry.supported]
            tally.held.append(off <= entry.error)
            tally.rows.append(shown <= entry.error)
            tally.ratios.append(entry.error / max(off, shown, 1e-9))
    return tallies[True], tallies[False], answers, silent / max(silent + said, 1)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1, 3])
    parser.add_argument(
        "--synthesizers", nargs="+", default=["adaptive", "mst", "privsyn", "aim"]
    )
    parser.add_argument("--tables", nargs="+", default=["fair"], help="names, or `all`")
    parser.add_argument(
        "--data", type=Path, help="a folder with adult-coded.csv and acs-ma2019.csv"
    )
    asked = parser.parse_args()
    print(f"{'':<30}{'measured':^37}{'distance bought':^37}")
    head = f"{'bounds':>8}{'hold':>8}{'rows':>8}{'bound/error':>13}"
    print(
        f"{'table':<9}{'synthesizer':<14}{'ε':>6}{head}{head}{'vacuous':>10}{'answers':>10}"
    )
    kept = True
    for title in tables.names(asked.data) if asked.tables == ["all"] else asked.tables:
        table = tables.load(title, asked.data)
        for name in asked.synthesizers:
            for epsilon in asked.epsilon:
                measured, bought, answers, vacuous = judged(
                    table, name, epsilon, asked.runs
                )
                fine = measured.kept() and bought.kept()
                fine = fine and (
                    not measured.ratios or bool(np.median(measured.ratios) <= LOOSEST)
                )
                slack = ENOUGH * np.sqrt(COVERAGE * (1 - COVERAGE) / len(answers))
                fine = fine and bool(np.mean(answers) >= COVERAGE - slack)
                mark = "" if fine else "  !"
                print(
                    f"{title:<9}{name:<14}{epsilon:>6g}{measured.cells()}{bought.cells()}{vacuous:>10.1%}{np.mean(answers):>10.1%}{mark}",
                    flush=True,
                )
                kept &= fine
    print("as promised" if kept else "NOT as promised")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
