"""Answers to questions beside SmartNoise SQL and OpenDP's Polars context: error at equal
(ε, δ), time beside DuckDB's own exact query, and how many counts a budget answers.

    python benchmarks/answers.py --install                 the peers in environments of their own, then everything
    python benchmarks/answers.py --part times --rows 10000000
    python benchmarks/answers.py --part batches            noise of cumulative counts asked together, from the plan alone

Fifty questions (benchmarks/peers/workload.py) about 100,000 made-up people: 24 counts,
10 sums, 12 means and 4 medians, with groups and conditions. All of them together have
ε = 1, δ = 1e-9, one row added or removed, and everybody composes as they do: SmartNoise
by its own statement of cost, OpenDP by zCDP, ours by Gaussian DP with all questions
asked together. The error of a question is the root mean square over its groups and over
`--rounds` rounds; ratios are ours over theirs, as geometric means over the questions
that the peer answers. SmartNoise has no medians.

Times are over a few questions of each kind, with rows in memory, two other questions
asked before: the median answer, in times of DuckDB's median exact query, and all of them
together in times of all of DuckDB's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "peers")]

from answer_job import order_groups  # noqa: E402
from peers import OURS, install, missing, python  # noqa: E402
from workload import Question, list_questions, make_rows  # noqa: E402

SCRIPTS = {
    OURS: "answer_with_understudy.py",
    "opendp": "answer_with_opendp.py",
    "smartnoise-sql": "answer_with_smartnoise_sql.py",
}
EPSILON, DELTA = 1.0, 1e-9
ERROR_ROWS = 100_000
FIRST_QUESTIONS = (2, 3)
"""Asked before those that are timed, as in a session that is open."""
TIMED_QUESTIONS = (0, 1, 4, 7, 24, 27, 34, 37)
"""Counts, sums and means, alone, by one key and by two, and with a condition."""


def run_job(peer: str, rows: Path, folder: Path, **task: object) -> dict[str, object]:
    """What a peer's script prints."""
    given = {"rows": str(rows), "epsilon": EPSILON, "delta": DELTA, **task}
    place = folder / "task.json"
    place.write_text(json.dumps(given))
    done = subprocess.run(
        [python(peer), HERE / "peers" / SCRIPTS[peer], place],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{peer} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def find_exact(rows: Path, asked: Sequence[Question]) -> list[list[float]]:
    """What DuckDB answers. A median is a value of the column, as ours are."""
    answers = []
    with duckdb.connect() as connection:
        for question in asked:
            text = question.to_sql(f"'{rows}'").replace("MEDIAN(", "QUANTILE_DISC(")
            if question.kind == "median":
                text = text.replace(f"({question.column})", f"({question.column}, 0.5)")
            found = {
                tuple(row[:-1]): float(row[-1])
                for row in connection.execute(text).fetchall()
            }
            answers.append(order_groups(question, found))
    return answers


def measure_errors(
    found: dict[str, object], exact: Sequence[Sequence[float]]
) -> list[float | None]:
    """The root mean square error of each question; None where there is no answer."""
    errors: list[float | None] = []
    rounds: list[list[list[float] | None]] = found["rounds"]  # type: ignore[assignment]
    for place, truth in enumerate(exact):
        answers = [answers[place] for answers in rounds]
        if any(answer is None for answer in answers):
            errors.append(None)
            continue
        gaps = np.array(answers, float) - np.array(truth)
        errors.append(float(np.sqrt(np.mean(gaps**2))))
    return errors


def spell_ratio(
    asked: Sequence[Question],
    ours: Sequence[float | None],
    theirs: Sequence[float | None],
    kind: str | None,
) -> str:
    logs = []
    for question, own, other in zip(asked, ours, theirs, strict=True):
        if own and other and kind in (None, question.kind):
            logs.append(math.log(own / other))
    return f"{math.exp(statistics.mean(logs)):.2f}" if logs else "–"


def compare_errors(peers: Sequence[str], rounds: int, folder: Path) -> None:
    rows = folder / "people.parquet"
    pl.DataFrame(make_rows(ERROR_ROWS)).write_parquet(rows)
    asked = list_questions()
    exact = find_exact(rows, asked)
    every = list(range(len(asked)))
    errors: dict[str, list[float | None]] = {}
    for peer in peers:
        found = run_job(
            peer,
            rows,
            folder,
            questions=every,
            rounds=rounds,
            together=True,
            affordable=True,
        )
        errors[peer] = measure_errors(found, exact)
        print(
            f"{peer}: counts within ±100 under ε = {EPSILON:g}: {found['affordable']}"
        )
    kinds = [None, "count", "sum", "mean", "median"]
    print("error, ours over theirs:", *[kind or "all" for kind in kinds], sep="\t")
    for peer in peers[1:]:
        ratios = [spell_ratio(asked, errors[OURS], errors[peer], k) for k in kinds]
        print(peer, *ratios, sep="\t")


def time_duckdb(rows: Path, asked: Sequence[Question]) -> dict[str, list[float]]:
    """Seconds of the exact query on a table in memory."""
    taken: dict[str, list[float]] = {"seconds": [], "busy": []}
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM '{rows}'")
        for question in asked:
            start = time.perf_counter(), time.process_time()
            connection.execute(question.to_sql("people")).fetchall()
            taken["seconds"].append(time.perf_counter() - start[0])
            taken["busy"].append(time.process_time() - start[1])
    return taken


def compare_times(peers: Sequence[str], rows: int, folder: Path) -> None:
    place = folder / "many.parquet"
    pl.DataFrame(make_rows(rows)).write_parquet(place)
    asked = [list_questions()[i] for i in TIMED_QUESTIONS]
    exact = time_duckdb(place, asked)
    print(f"{rows:,} rows, per answer", "seconds", "processor seconds", sep="\t")
    middles = [statistics.median(exact[unit]) for unit in ("seconds", "busy")]
    print("DuckDB", *[f"{middle:.4f}" for middle in middles], sep="\t")
    for peer in peers:
        found: dict[str, list[float]] = run_job(  # type: ignore[assignment]
            peer,
            place,
            folder,
            questions=(*FIRST_QUESTIONS, *TIMED_QUESTIONS),
            rounds=1,
            together=False,
            affordable=False,
        )
        cells = []
        for unit in ("seconds", "busy"):
            taken = found[unit][len(FIRST_QUESTIONS) :]
            middle = statistics.median(taken)
            times = middle / statistics.median(exact[unit])
            whole = sum(taken) / sum(exact[unit])
            cells.append(f"{middle:.4f} ({times:.1f} ×, all {whole:.1f} ×)")
        print(peer, *cells, sep="\t")


def compare_batches() -> None:
    """How many times less noise counts below equally spaced constants have together than
    one by one at the same budget: from cells measured once, and from the sums of cells
    that are measured.

    Of Q counts alone each has a Q-th part of the budget; the k-th is a sum of k cells.
    """
    from understudy.queries import count
    from understudy.queries.batches import plan_atoms
    from understudy.queries.plan import plan_query
    from understudy.schema import Integer, Schema

    schema = Schema(columns=(Integer(name="age", min=0, max=999, nullable=False),))
    print("counts\tcells once: times less noise\tsums recovered: times less noise")
    for counts in (8, 20, 100):
        cuts = [round(1000 * place / (counts + 1)) for place in range(1, counts + 1)]
        asked = [plan_query(count().where(f"age < {cut}"), schema) for cut in cuts]
        plan = plan_atoms(asked)
        assert plan is not None
        cells = math.sqrt(counts / statistics.mean(range(1, counts + 1)))
        print(f"{counts}\t{cells:.2f}\t{counts / sum(plan.price_roots):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument(
        "--part", choices=("errors", "times", "batches", "both"), default="both"
    )
    given = parser.parse_args()
    if given.part == "batches":
        compare_batches()
        return
    peers = [OURS]
    for name in SCRIPTS:
        trouble = install(name) if given.install and name != OURS else missing(name)
        if trouble:
            print(f"{name}: {trouble}")
        elif name != OURS:
            peers.append(name)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as name:
        if given.part != "times":
            compare_errors(peers, given.rounds, Path(name))
        if given.part != "errors":
            compare_times(peers, given.rows, Path(name))


if __name__ == "__main__":
    main()
