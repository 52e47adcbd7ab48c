"""The toolbox beside theory and diffprivlib, on made-up rows.

    python benchmarks/toolbox.py regression|clusters|itemsets|medians|graphs [--peer PYTHON]

PYTHON is one that has diffprivlib. Noise is drawn from the operating system, so figures
differ from run to run within the standard errors of their number of runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator.mechanisms.select_itemsets import ItemsetChoice
from understudy.curator.mechanisms.smooth_median import (
    MedianColumn,
    SmoothMedian,
    enclose_smooth_scale,
)
from understudy.curator.questions import QuestionCurator
from understudy.noise import draw_noise
from understudy.noise.rounded_cauchy import draw_rounded_cauchy
from understudy.queries.builders import median as ask_median
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.offers import amount_for_epsilon, offer_answer
from understudy.queries.plan import QueryPlan, plan_query
from understudy.queries.precision import pool_values
from understudy.schema import Schema
from understudy.tables import Table, open_table
from understudy.toolbox.clusters import Clustering, fit_weighted_points
from understudy.toolbox.graphs import SimpleGraph, bound_triangles
from understudy.toolbox.itemsets import plan_itemsets
from understudy.toolbox.moments import plan_moments
from understudy.toolbox.regression import fit_moments
from understudy.toolbox.smooth_sensitivity import bound_smoothly
from understudy.workflow.synthesize import synthesize
from understudy.workflow.toolbox.cluster import cluster
from understudy.workflow.toolbox.cluster_release import cluster_release

DELTA = Fraction(1, 10**9)
CLUSTER_METHODS = ("auto", "hybrid", "grid", "lloyd", "release")
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

    def charge_together(
        self, charges: Sequence[object], **_: object
    ) -> tuple[int, ...]:
        return tuple(range(len(charges)))

    def store(self, *_: object, **__: object) -> None: ...


def measure_plan(
    plan: QueryPlan,
    frame: pl.DataFrame,
    schema: Schema,
    epsilon: float,
    pure: bool,
    share: Fraction = Fraction(1),
) -> tuple[list[tuple[list[float], NoiseScale]], Cost]:
    """The statistics of a plan at an ε, by the real curator on real rows."""
    accounting = Accounting.PURE if pure else Accounting.GDP
    budget = Budget.of(epsilon, 0 if pure else DELTA)
    offer = offer_answer(
        plan,
        neighbours=Neighbours.ADD_REMOVE,
        accounting=accounting,
        amount=amount_for_epsilon(budget, accounting) * share,
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


class BenchSession:
    """Questions to one frame without a ledger."""

    def __init__(self, frame: pl.DataFrame, schema: Schema, *, pure: bool) -> None:
        self.schema = schema
        self._frame = frame
        self._pure = pure

    def refuse_unaffordable(self, epsilon: Any) -> None: ...

    def can_measure(self, *_: object, **__: object) -> bool:
        return True

    def measure_plan(
        self,
        plan: QueryPlan,
        *,
        epsilon: Any,
        share: Fraction = Fraction(1),
        purpose: str = "",
    ) -> tuple[list[tuple[list[float], NoiseScale]], Cost]:
        del purpose
        return measure_plan(plan, self._frame, self.schema, epsilon, self._pure, share)


def make_blobs(rows: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    """Five normal clusters of different sizes in a box from 0 to 100."""
    middles = np.random.default_rng(11).uniform(15, 85, (5, columns))
    chosen = rng.choice(5, rows, p=[0.35, 0.25, 0.2, 0.1, 0.1])
    points = middles[chosen] + rng.normal(0, 5, (rows, columns))
    return np.clip(np.rint(points), 0, 100)


def mean_loss(points: np.ndarray, centres: np.ndarray) -> float:
    """Mean squared distance of a point from its nearest centre."""
    distances = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2)
    return float(distances.min(axis=1).mean())


def find_clusters(
    frame: pl.DataFrame, schema: Schema, epsilon: float, method: str
) -> Clustering:
    """Five clusters of all columns, at this pure ε."""
    if method == "release":
        release = synthesize(frame, schema, epsilon=epsilon, delta=0)
        return cluster_release(release, frame.columns, clusters=5)
    asked = BenchSession(frame, schema, pure=True)
    return cluster(asked, frame.columns, clusters=5, epsilon=epsilon, method=method)


def compare_clusters(peer: str | None, runs: int) -> None:
    rng = np.random.default_rng(1)
    methods = " | ".join(CLUSTER_METHODS)
    print(f"| rows | columns | ε | without noise | {methods} | diffprivlib |")
    print(f"|{'---|' * (len(CLUSTER_METHODS) + 5)}")
    for rows, columns, epsilon in (
        (2_000, 2, 0.5),
        (2_000, 2, 2),
        (50_000, 2, 1),
        (10_000, 4, 1),
        (50_000, 4, 1),
    ):
        points = make_blobs(rows, columns, rng)
        names = [f"x{i}" for i in range(columns)]
        box = dict.fromkeys(names, "{type: integer, min: 0, max: 100, nullable: false}")
        lines = [f"  {name}: {text}" for name, text in box.items()]
        schema = Schema.parse("\n".join(["columns:", *lines]) + "\n")
        frame = pl.DataFrame(points.astype(int), schema=names)
        ideal = fit_weighted_points(points / 100, np.ones(rows), 5, rng) * 100
        cells = [
            f"{rows:,}",
            str(columns),
            str(epsilon),
            f"{mean_loss(points, ideal):.1f}",
        ]
        for method in CLUSTER_METHODS:
            found = [find_clusters(frame, schema, epsilon, method) for _ in range(runs)]
            losses = [mean_loss(points, each.centres) for each in found]
            cells.append(f"{np.mean(losses):.1f}")
        cells.append("–" if peer is None else _peer_loss(peer, points, epsilon, runs))
        print(f"| {' | '.join(cells)} |", flush=True)


def _peer_loss(peer: str, points: np.ndarray, epsilon: float, runs: int) -> str:
    job = {
        "task": "clusters",
        "x": points.tolist(),
        "bounds_x": [[0, 100]] * points.shape[1],
        "clusters": 5,
        "epsilon": epsilon,
        "runs": runs,
    }
    losses = [mean_loss(points, np.array(found)) for found in ask_peer(peer, job)]
    return f"{np.mean(losses):.1f}"


def compare_itemsets(peer: str | None, runs: int) -> None:
    """Recall of the ten most frequent itemsets of baskets with three habits."""
    del peer
    rng = np.random.default_rng(1)
    names = [f"i{i}" for i in range(20)]
    lines = [f"  {name}: {{type: boolean, nullable: false}}" for name in names]
    schema = Schema.parse("\n".join(["columns:", *lines]) + "\n")
    space = plan_itemsets(names, schema, top=10, most_items=3, least_items=2)
    print("| rows | ε = 0.2 | ε = 1 | ε = 4 |")
    print("|---|---|---|---|")
    for rows in (1_000, 10_000, 100_000):
        table = Table(open_table(make_baskets(rows, names, rng)), schema)
        cells = [f"{rows:,}"]
        for epsilon in (Fraction(1, 5), Fraction(1), Fraction(4)):
            choice = ItemsetChoice(
                space=space,
                top=10,
                amount=epsilon / 2,
                accounting=Accounting.PURE,
                neighbours=Neighbours.ADD_REMOVE,
            )
            supports = choice.count_supports(table)
            best = set(np.argsort(-supports, kind="stable")[:10].tolist())
            found = [set(json.loads(choice.draw(table))) for _ in range(runs)]
            recall = np.mean([len(best & each) / 10 for each in found])
            cells.append(f"{recall:.2f}")
        print(f"| {' | '.join(cells)} |", flush=True)


def make_baskets(rows: int, names: list[str], rng: np.random.Generator) -> pl.DataFrame:
    """Each item by itself with a chance of 2 to 30 %, and three habits of three items."""
    chances = np.linspace(0.3, 0.02, len(names))
    has_item = rng.random((rows, len(names))) < chances
    for habit, chance in (([0, 3, 7], 0.3), ([2, 9, 12], 0.2), ([5, 14, 17], 0.15)):
        who = rng.random(rows) < chance
        has_item[np.ix_(who, habit)] = True
    return pl.DataFrame(has_item, schema=names)


def compare_medians(peer: str | None, runs: int) -> None:
    rng = np.random.default_rng(1)
    pay = np.rint(np.exp(rng.normal(np.log(40_000), 0.7, 20_000))).astype(int)
    frame = pl.DataFrame({"pay": pay})
    true = float(np.sort(pay)[(len(pay) + 1) // 2 - 1])
    print("| declared maximum | ε | us.median | smooth sensitivity | diffprivlib |")
    print("|---|---|---|---|---|")
    for high in (10**6, 10**9):
        text = f"columns:\n  pay: {{type: integer, min: 0, max: {high}, nullable: false}}\n"
        schema = Schema.parse(text)
        table = Table(open_table(frame), schema)
        for epsilon in (Fraction(1, 10), Fraction(1)):
            column = MedianColumn(name="pay", low=0, high=high, changes=1, described="")
            smooth = SmoothMedian(
                column=column, epsilon=epsilon, accounting=Accounting.PURE
            )
            plan = plan_query(ask_median("pay"), schema)
            found = {
                "search": [
                    measure_plan(plan, frame, schema, epsilon, True)[0][0][0][0]
                    for _ in range(runs)
                ],
                "smooth": [json.loads(smooth.draw(table)) for _ in range(runs)],
            }
            if peer is not None:
                job = {
                    "task": "medians",
                    "x": pay.tolist(),
                    "bounds": [0, high],
                    "epsilon": float(epsilon),
                    "runs": runs,
                }
                found["peer"] = ask_peer(peer, job)
            errors = [
                f"{np.median(np.abs(np.array(own) - true)):,.0f}"
                for own in found.values()
            ]
            print(
                f"| {high:,} | {float(epsilon):g} | {' | '.join(errors)} |", flush=True
            )


def compare_graphs(peer: str | None, runs: int) -> None:
    """Edges and triangles of a graph with many triangles, by relative error."""
    del peer
    rng = np.random.default_rng(1)
    places = rng.random((1_000, 2))
    near = ((places[:, None] - places[None]) ** 2).sum(axis=2) < 0.0033
    graph = SimpleGraph.of(np.argwhere(near), 1_000)
    largest = int(graph.degrees()[-1])
    print(f"{graph.size} edges, degrees up to {largest}")
    print(
        "| ε | edges, for an edge | edges, for a node, D = 30 | triangles, for an edge |"
    )
    print("|---|---|---|---|")
    true = graph.count_triangles()
    local = bound_triangles(graph)
    for epsilon in (Fraction(1, 10), Fraction(1)):
        law, beta = Law.DISCRETE_LAPLACE, epsilon / 2
        flow = graph.bounded_flow(30)
        plain = draw_noise(law, 1 / epsilon, (runs,)) / graph.size
        noisy = flow + draw_noise(law, 60 / epsilon, (runs,))
        bound = bound_smoothly(local, beta=beta, largest=998)
        scale = enclose_smooth_scale(bound, epsilon)
        triangles = [draw_rounded_cauchy(true, scale) / true - 1 for _ in range(runs)]
        errors = [plain, noisy / (2 * graph.size) - 1, np.array(triangles)]
        cells = [f"{np.median(np.abs(each)):.2%}" for each in errors]
        print(f"| {float(epsilon):g} | {' | '.join(cells)} |", flush=True)


TASKS: dict[str, tuple[Callable[[str | None, int], None], int]] = {
    "regression": (compare_regression, 200),
    "clusters": (compare_clusters, 20),
    "itemsets": (compare_itemsets, 20),
    "medians": (compare_medians, 100),
    "graphs": (compare_graphs, 200),
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
