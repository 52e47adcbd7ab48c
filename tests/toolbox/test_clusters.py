"""k-means by noisy sums: a row is in one cluster, moves what is asked as far as was paid
for, and without noise a round is Lloyd's.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from kit.curator.contexts import no_noise
from kit.curator.listed import Listed, Row
from kit.plans import (
    audit_plan,
    exact_values,
    halve_noise,
    measure,
    neighbouring_tables,
)
from kit.queries.noiseless import table_of
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.queries.plan import QueryPlan
from understudy.schema import Schema
from understudy.toolbox.clusters import (
    move_centres,
    plan_cluster_space,
    plan_grid,
    plan_round,
    plan_rows,
)
from understudy.workflow.asking.questions import session
from understudy.workflow.synthesize import synthesize
from understudy.workflow.toolbox.cluster import cluster
from understudy.workflow.toolbox.cluster_release import cluster_release

SMALL = Schema.parse(
    """
columns:
  x: {type: integer, min: 0, max: 3}
  y: {type: integer, min: -1, max: 1, nullable: false}
"""
)
SPACE = plan_cluster_space(["x", "y"], SMALL)
CENTRES = np.array([[-0.8, 0.1], [0.9, 0.0]])
BOX = Schema.parse(
    """
columns:
  x: {type: integer, min: 0, max: 20, nullable: false}
  y: {type: real, min: 0, max: 10, step: 0.5, nullable: false}
"""
)


def make_points(rows: int) -> pl.DataFrame:
    """Two clusters, around (5, 2) and (15, 8)."""
    rng = np.random.default_rng(2)
    middles = np.where(rng.random((rows, 1)) < 0.5, [[5, 2]], [[15, 8]])
    points = middles + rng.normal(0, 1, (rows, 2))
    x = np.clip(np.rint(points[:, 0]), 0, 20).astype(int)
    y = np.clip(np.rint(points[:, 1] * 2) / 2, 0, 10)
    return pl.DataFrame({"x": x, "y": y})


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize(
    "plan", [plan_round(SPACE, CENTRES), plan_grid(SPACE), plan_rows(SPACE)]
)
def test_what_is_asked_moves_as_far_as_was_paid_for(
    plan: QueryPlan, relation: Neighbours
) -> None:
    rows: list[Row] = [
        {"x": x, "y": y} for x, y in product((None, 0, 1, 3), (-1, 0, 1))
    ]
    furthest = np.zeros((len(plan.statistics), 2))
    for one, other in neighbouring_tables(rows, relation, most_rows=1):
        here = exact_values(plan, Listed(one, SMALL))
        there = exact_values(plan, Listed(other, SMALL))
        for place, (a, b) in enumerate(zip(here, there, strict=True)):
            moved = np.abs(b - a).sum(), ((b - a) ** 2).sum()
            furthest[place] = np.maximum(furthest[place], moved)
    for (l1, l2_squared), statistic in zip(furthest, plan.statistics, strict=True):
        stated = plan.sensitivity(statistic, relation)
        assert l1 <= stated.l1
        assert l2_squared <= stated.l2_squared


def test_without_noise_a_round_is_lloyds() -> None:
    frame = make_points(300)
    space = plan_cluster_space(["x", "y"], BOX)
    points = np.column_stack([frame["x"] / 10 - 1, frame["y"] / 5 - 1])
    centres = np.array([[-0.213, 0.107], [0.331, -0.419]])
    plan = plan_round(space, centres)
    (counts, _), *sums = measure(
        plan, table_of(frame, BOX), amount=Fraction(10**6), draw=no_noise
    )
    totals = np.stack([values for values, _ in sums], axis=1) / space.half_ranges
    moved = move_centres(centres, np.array(counts), totals, np.random.default_rng(1))
    nearest = ((points[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert counts == np.bincount(nearest).tolist()
    assert np.allclose(moved, [points[nearest == j].mean(axis=0) for j in (0, 1)])


def test_an_empty_cluster_starts_again_inside_the_bounds() -> None:
    rng = np.random.default_rng(1)
    moved = move_centres(
        CENTRES, np.array([0.5, 10.0]), np.array([[9.0, 9.0], [40.0, -3.0]]), rng
    )
    assert np.all(np.abs(moved) <= 1)
    assert moved[1].tolist() == [1.0, -0.3]


def test_an_audit_sees_the_charge_and_refutes_half_of_the_noise() -> None:
    plan = plan_round(SPACE, CENTRES)
    common: list[Row] = [{"x": 1, "y": 0}]
    pair = Listed(common, SMALL), Listed([*common, {"x": 3, "y": 1}], SMALL)
    honest = audit_plan(plan, pair, trials=500)
    assert not honest.violated
    assert honest.share > 0.05
    assert audit_plan(plan, pair, trials=500, draw=halve_noise).violated


@pytest.mark.parametrize("method", ["auto", "lloyd"])
def test_clusters_are_found_and_charged(tmp_path: Path, method: str) -> None:
    people = tmp_path / "points.csv"
    make_points(4_000).write_csv(people)
    with session(people, BOX, budget=6) as questions:
        found = cluster(questions, ["x", "y"], clusters=2, epsilon=5, method=method)
    assert found.cost is not None
    assert np.allclose(sorted(found.centres[:, 0]), [5, 15], atol=3)
    assert found.assign(np.array([[4, 1], [16, 9]])).tolist() in ([0, 1], [1, 0])


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ([], {}, "between 1 and"),
        (["z"], {}, "not in the schema"),
        (["x", "x"], {}, "once"),
        (["x"], {"clusters": 0}, "clusters are"),
        (["x"], {"rounds": 0}, "rounds are"),
        (["x"], {"average": 6}, "average is"),
        (["x"], {"method": "magic"}, "method"),
    ],
)
def test_bad_clusterings_cost_nothing(
    tmp_path: Path, columns: list[str], options: dict[str, object], message: str
) -> None:
    people = tmp_path / "points.csv"
    make_points(50).write_csv(people)
    with session(people, BOX, budget=1) as questions:
        left = questions.price("SELECT COUNT(*) FROM points", epsilon=1).amount_left
        asked = {"clusters": 2, "epsilon": 1, **options}
        with pytest.raises(Refused, match=message):
            cluster(questions, columns, **asked)  # type: ignore[arg-type]
        after = questions.price("SELECT COUNT(*) FROM points", epsilon=1).amount_left
    assert after == left


@pytest.mark.parametrize("method", ["hybrid", "lloyd"])
def test_sums_too_wide_for_any_noise_cost_nothing(tmp_path: Path, method: str) -> None:
    people = tmp_path / "points.csv"
    people.write_text("x\n" + "5\n" * 50)
    wide = Schema.parse(f"columns:\n  x: {{type: integer, min: 0, max: {10**17}}}")
    with session(people, wide, budget=1) as questions:
        left = questions.price("SELECT COUNT(*) FROM points", epsilon=1).amount_left
        with pytest.raises(Refused, match="method=grid"):
            cluster(questions, ["x"], clusters=2, epsilon=1, method=method)
        after = questions.price("SELECT COUNT(*) FROM points", epsilon=1).amount_left
        # A grid counts rows, and needs no sums.
        found = cluster(questions, ["x"], clusters=2, epsilon=1)
    assert after == left
    assert found.method == "grid"


def test_clusters_of_a_release_are_those_of_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    rows = [f"{20 + i % 3},{5 if i % 2 else ''}" for i in range(300)]
    rows += [f"{70 + i % 3},{15 if i % 2 else ''}" for i in range(300)]
    path.write_text("\n".join(["age,visits", *rows]) + "\n")
    declared = Schema.parse(
        "columns:\n"
        "  age: {type: integer, min: 0, max: 99, nullable: false}\n"
        "  visits: {type: real, min: 0, max: 20, step: 0.5}\n"
    )
    release = synthesize(path, declared, epsilon=40, synthesizer="histogram")
    found = cluster_release(release, ["age", "visits"], clusters=2)
    low, high = found.centres[np.argsort(found.centres[:, 0])]
    assert low == pytest.approx([21, 5], abs=3)
    assert high == pytest.approx([71, 15], abs=3)
    # Half of the rows have no visits, and take no part.
    assert 200 < found.rows.sum() < 400
    assert found.cost is None
    for columns, clusters, words in (
        (["age"], 0, "clusters are"),
        (["height"], 2, "height"),
    ):
        with pytest.raises(Refused, match=words):
            cluster_release(release, columns, clusters=clusters)
