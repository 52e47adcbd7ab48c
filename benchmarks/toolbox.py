"""The toolbox beside theory and diffprivlib, on made-up rows.

    python benchmarks/toolbox.py regression [--peer PYTHON]

PYTHON is one that has diffprivlib. Noise is drawn from the operating system, so figures
differ from run to run within the standard errors of their number of runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.neighbours import Neighbours
from understudy.curator.questions import QuestionCurator
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.offers import amount_for_epsilon, offer_answer
from understudy.queries.plan import QueryPlan
from understudy.queries.precision import pool_values
from understudy.schema import Schema
from understudy.tables import Table, open_table
from understudy.toolbox.moments import plan_moments
from understudy.toolbox.regression import fit_moments

DELTA = Fraction(1, 10**9)
PEER = Path(__file__).parent / "peers" / "toolbox_with_diffprivlib.py"
WORKERS = Schema.parse(
    """
columns:
  age: {type: integer, min: 18, max: 90, nullable: false}
  edu: {type: integer, min: 0, max: 20, nullable: false}
  sex: {type: categorical, values: [F, M], nullable: false}
  pay: {type: integer, min: 0, max: 200, nullable: false}
"""
)
COEFFICIENTS = np.array([20.0, 0.5, 2.5, 8.0])


class FreeRun:
    """A run without a ledger: everything is admitted and nothing is kept."""

    def refuse_unaffordable(self, *_: object, **__: object) -> None: ...

    def recall(self, *_: object, **__: object) -> None: ...

    def charge(self, *_: object, **__: object) -> int:
        return 0

    def store(self, *_: object, **__: object) -> None: ...


def measure_plan(
    plan: QueryPlan, frame: pl.DataFrame, schema: Schema, epsilon: float, pure: bool
) -> tuple[list[tuple[list[float], NoiseScale]], Cost]:
    """The statistics of a plan at an ε, by the real curator on real rows."""
    accounting = Accounting.PURE if pure else Accounting.GDP
    budget = Budget.of(epsilon, 0 if pure else DELTA)
    offer = offer_answer(
        plan,
        neighbours=Neighbours.ADD_REMOVE,
        accounting=accounting,
        amount=amount_for_epsilon(budget, accounting),
    )
    table = Table(open_table(frame), schema)
    measured = QuestionCurator(table=table, run=FreeRun()).answer(offer)
    return [pool_values(each) for each in measured], offer.cost


def ask_peer(python: str, job: dict[str, Any]) -> Any:
    done = subprocess.run(
        [python, str(PEER)],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def make_workers(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    age = np.clip(np.rint(rng.normal(48, 16, rows)), 18, 90)
    edu = np.clip(np.rint(rng.normal(12, 3, rows)), 0, 20)
    is_male = rng.random(rows) < 0.5
    design = np.column_stack([np.ones(rows), age, edu, is_male])
    pay = design @ COEFFICIENTS + rng.normal(0, 15, rows)
    return pl.DataFrame(
        {
            "age": age.astype(int),
            "edu": edu.astype(int),
            "sex": np.where(is_male, "M", "F"),
            "pay": np.clip(np.rint(pay), 0, 200).astype(int),
        }
    )


def compare_regression(peer: str | None, runs: int) -> None:
    rng = np.random.default_rng(1)
    plan = plan_moments("pay ~ age + edu + sex", WORKERS)
    print("| rows | accounting | said nothing | coverage | rmse of age, edu, sex |")
    print("|---|---|---|---|---|")
    for rows in (1_000, 3_000, 10_000, 50_000):
        for pure in (False, True):
            held, errors, silent = [], [], 0
            for _ in range(runs):
                frame = make_workers(rows, rng)
                measured, _ = measure_plan(plan.plan, frame, WORKERS, 1, pure)
                sums = [values[0] for values, _ in measured]
                found = fit_moments(plan, sums, [noise for _, noise in measured])
                if not found.is_determined:
                    silent += 1
                    continue
                low, high = found.interval()
                held.append((low <= COEFFICIENTS) & (high >= COEFFICIENTS))
                errors.append(found.estimates - COEFFICIENTS)
            _print_row(rows, "pure" if pure else "GDP", silent, held, errors)
        if peer is not None:
            _print_row(rows, "diffprivlib, pure", 0, [], fit_by_peer(peer, rows, rng))


def fit_by_peer(
    peer: str, rows: int, rng: np.random.Generator, runs: int = 30
) -> list[np.ndarray]:
    frame = make_workers(rows, rng)
    x = np.column_stack([frame["age"], frame["edu"], frame["sex"] == "M"])
    job = {
        "task": "regression",
        "x": x.astype(float).tolist(),
        "y": frame["pay"].to_list(),
        "bounds_x": [[18, 90], [0, 20], [0, 1]],
        "bounds_y": [0, 200],
        "epsilon": 1,
        "runs": runs,
    }
    return [np.array(found) - COEFFICIENTS for found in ask_peer(peer, job)]


def _print_row(
    rows: int,
    accounting: str,
    silent: int,
    held: list[np.ndarray],
    errors: list[np.ndarray],
) -> None:
    coverage = f"{np.mean(held):.3f}" if held else "–"
    rmse = "–"
    if errors:
        each = np.sqrt(np.mean(np.square(errors), axis=0))[1:]
        rmse = ", ".join(f"{value:.3g}" for value in each)
    print(f"| {rows:,} | {accounting} | {silent} | {coverage} | {rmse} |", flush=True)


TASKS: dict[str, tuple[Callable[[str | None, int], None], int]] = {
    "regression": (compare_regression, 200),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--peer", metavar="PYTHON")
    parser.add_argument("--runs", type=int)
    chosen = parser.parse_args()
    compare, runs = TASKS[chosen.task]
    compare(chosen.peer, chosen.runs or runs)


if __name__ == "__main__":
    main()
