"""`adaptive` beside its neighbours, on the tables of benchmarks/coded_tables.py.

    python benchmarks/adaptive.py --data DIR                       everything; hours
    python benchmarks/adaptive.py --table fair --table chain       these tables
    python benchmarks/adaptive.py --only adaptive --only aim --epsilon 1 --runs 5

Errors are the mean total variation distance over all pairs and all triples of columns
(a fixed random 500 where there are more; none above 3,000,000 cells), as means over the
runs with their standard errors. Seconds are those the processor was busy from rows in
memory to synthetic rows in memory. δ = 1e-9, add/remove. Beside every other synthesizer
stands whether `adaptive` has won (+), lost (-) or tied (=) in pairs and triples: a tie
is within two standard errors of the difference. Where the error of `adaptive` rises
with ε by more than that, a line says so. A table, then one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
from coded_tables import Coded, load, names

from understudy.schema import Integer, Schema
from understudy.synthesizers import SYNTHESIZER_CLASSES, make
from understudy.tables.counting import Tally
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize

PEERS = ("adaptive", "mst", "aim", "privsyn", "privbayes", "residual")
EPSILONS = ("0.05", "0.1", "0.3", "1", "3", "10", "30")
MOST, LARGEST = 500, 3_000_000
ORDERS = (2, 3)
RESULTS = Path(__file__).resolve().parent / "results" / "adaptive.json"


@dataclass(frozen=True, eq=False)
class Judge:
    """The marginals a table is judged by, as shares of its rows."""

    table: Coded
    cliques: dict[int, list[tuple[str, ...]]]
    real: dict[int, list[np.ndarray]]

    @classmethod
    def of(cls, table: Coded) -> Judge:
        """All pairs and triples, or a random choice of them that is always the same."""
        cliques, draw = {}, np.random.default_rng(0)
        for order in ORDERS:
            every = list(combinations(table.sizes, min(order, len(table.sizes))))
            if len(every) > MOST:
                every = [
                    every[i]
                    for i in sorted(draw.choice(len(every), MOST, replace=False))
                ]
            cliques[order] = [
                c for c in every if math.prod(table.sizes[n] for n in c) <= LARGEST
            ]
        return cls(
            table,
            cliques,
            {
                order: shares(table.codes, table.sizes, cliques[order])
                for order in ORDERS
            },
        )

    def errors(self, codes: dict[str, np.ndarray]) -> list[float]:
        """Mean distances of other rows from these: pairs, triples. No row at all is as
        far off as can be.
        """
        if not len(next(iter(codes.values()))):
            return [1.0] * len(ORDERS)
        found = []
        for order in ORDERS:
            fake = shares(codes, self.table.sizes, self.cliques[order])
            found.append(
                float(
                    np.mean(
                        [
                            np.abs(a - b).sum() / 2
                            for a, b in zip(self.real[order], fake, strict=True)
                        ]
                    )
                )
            )
        return found


def shares(
    codes: dict[str, np.ndarray], sizes: dict[str, int], cliques: list[tuple[str, ...]]
) -> list[np.ndarray]:
    """Marginals as shares of all rows."""
    tally = Tally(cliques, sizes)
    tally.add(codes)
    return [counts / max(counts.sum(), 1) for counts in tally.counts()]


def job(name: str, epsilon: str, table: Coded) -> tuple[dict[str, np.ndarray], float]:
    """Synthetic rows, and the seconds the processor was busy."""
    frame = pa.table(
        {n: pa.array(column.astype(np.int32)) for n, column in table.codes.items()}
    )
    schema = Schema(
        columns=tuple(
            Integer(name=n, min=0, max=size - 1, nullable=False)
            for n, size in table.sizes.items()
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        release = synthesize(
            frame,
            schema,
            epsilon=epsilon,
            delta="1e-9",
            synthesizer=make(name),
            ledger=Path(folder) / "bench.ledger",
            run=RunOptions(dataset="bench"),
        )
        sampled = release.sample()
        busy = time.process_time() - start
    assert isinstance(sampled, pa.Table)
    return {
        n: sampled[n].to_numpy().astype(codes.dtype) for n, codes in table.codes.items()
    }, busy


def measured(name: str, epsilon: str, judge: Judge, runs: int) -> dict[str, object]:
    """Means and standard errors over some runs."""
    found = []
    for _ in range(runs):
        fake, busy = job(name, epsilon, judge.table)
        found.append([*judge.errors(fake), busy])
    table = np.array(found)
    spread = (
        table.std(axis=0, ddof=1) / math.sqrt(runs)
        if runs > 1
        else np.zeros(table.shape[1])
    )
    return {"mean": table.mean(axis=0).tolist(), "error": spread.tolist()}


def verdict(ours: dict[str, object], theirs: dict[str, object]) -> str:
    """Whether ours has won, lost or tied, in pairs and in triples."""
    marks = ""
    for i in range(len(ORDERS)):
        apart = ours["mean"][i] - theirs["mean"][i]  # type: ignore[index]
        blur = 2 * math.hypot(ours["error"][i], theirs["error"][i])  # type: ignore[index]
        marks += "=" if abs(apart) <= blur else "+" if apart < 0 else "-"
    return marks


def compare(options: argparse.Namespace) -> list[dict[str, object]]:
    """Every table, every ε, every synthesizer."""
    results: list[dict[str, object]] = []
    score = {"+": 0, "=": 0, "-": 0}
    for title in options.table or names(options.data):
        judge = Judge.of(load(title, options.data))
        print(
            f"{title}: {judge.table.rows:,} rows, {len(judge.table.sizes)} columns",
            flush=True,
        )
        before: dict[str, object] | None = None
        for epsilon in options.epsilon or EPSILONS:
            ours: dict[str, object] | None = None
            for name in options.only or PEERS:
                try:
                    found = measured(name, epsilon, judge, options.runs)
                except Exception as refusal:  # a refusal is a result too
                    print(
                        f"{epsilon:>5} {name:<12} {type(refusal).__name__}: {str(refusal)[:100]}",
                        flush=True,
                    )
                    continue
                ours = found if name == "adaptive" else ours
                marks = (
                    verdict(ours, found)
                    if ours is not None and name != "adaptive"
                    else ""
                )
                for mark in marks:
                    score[mark] += 1
                two, three, busy = found["mean"]  # type: ignore[misc]
                off2, off3, _ = found["error"]  # type: ignore[misc]
                print(
                    f"{epsilon:>5} {name:<12}{two:>8.4f} ± {off2:.4f}{three:>9.4f} ± {off3:.4f}{busy:>8.1f} s  {marks}",
                    flush=True,
                )
                results.append(
                    {
                        "table": title,
                        "epsilon": epsilon,
                        "synthesizer": name,
                        "against": marks,
                        "runs": options.runs,
                        **found,
                    }
                )
            if before is not None and ours is not None and "-" in verdict(ours, before):
                print(f"{epsilon:>5} adaptive: the error has risen with ε", flush=True)
            before = ours
    print(f"adaptive: {score['+']} won, {score['=']} tied, {score['-']} lost")
    return results


def store_results(results: list[dict[str, object]], path: Path = RESULTS) -> None:
    """Put results in the place of earlier ones of the same table, ε and synthesizer."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=path.parent
    ).stdout.strip()
    stored = json.loads(path.read_text()) if path.exists() else []
    known = {(r["table"], r["epsilon"], r["synthesizer"]): r for r in stored}
    for result in results:
        key = result["table"], result["epsilon"], result["synthesizer"]
        known[key] = result | {"commit": commit}
    path.write_text(json.dumps(list(known.values()), indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="a folder with adult-coded.csv and acs-ma2019.csv"
    )
    parser.add_argument("--table", action="append", help="this table; may be repeated")
    parser.add_argument(
        "--only",
        action="append",
        choices=list(SYNTHESIZER_CLASSES),
        help="this one; may be repeated",
    )
    parser.add_argument("--epsilon", action="append", help="this ε; may be repeated")
    parser.add_argument("--runs", type=int, default=3, help="runs to take the mean of")
    parser.add_argument("--json", type=Path, help="also write the JSON to this file")
    parser.add_argument(
        "--store",
        action="store_true",
        help="put the results among those of docs/synthesizers/adaptive-results.md",
    )
    options = parser.parse_args()
    results = compare(options)
    print(json.dumps(results))
    if options.store:
        store_results(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
