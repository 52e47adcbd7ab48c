"""Sums of lowest units off the hierarchy, against dense linear algebra."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kit.censuses import make_design, make_truth, measure
from understudy.censuses.areas import AreaMap, find_area_variances
from understudy.censuses.hierarchy import Hierarchy
from understudy.censuses.lattice import MarginalLattice
from understudy.censuses.least_squares import LevelAnswer, estimate_tree
from understudy.errors import SchemaError

TREE = {"n": {"a": ["1", "2", "3"], "b": ["1"]}, "s": {"c": ["1", "2"]}}
HIERARCHY = Hierarchy.from_tree(("state", "county", "block"), TREE)
LATTICE = MarginalLattice((3,), [(), (0,)])


def dense_variances(measured, weights):
    """Variances of a weighted sum of blocks, by cell, from the whole covariance."""
    rows = []
    for level, axes, variance in measured:
        units = HIERARCHY.count_units(level)
        member = np.zeros((units, 6))
        member[HIERARCHY.ancestors(level), np.arange(6)] = 1
        cells = np.eye(3) if axes else np.ones((1, 3))
        rows.append(np.kron(member, cells) / variance**0.5)
    design = np.vstack(rows)
    covariance = np.linalg.inv(design.T @ design)
    summing = np.kron(weights[None, :], np.eye(3))
    by_cell = summing @ covariance @ summing.T
    return by_cell[0, 0], by_cell.sum()


@pytest.mark.parametrize(
    "weights", [[1, 0, 1, 0, 1, 0], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1]]
)
def test_errors_of_sums_are_those_of_dense_least_squares(weights):
    measured = [
        (0, (), 2.0),
        (1, (0,), 3.0),
        (2, (), 0.5),
        (3, (0,), 4.0),
        (3, (), 1.0),
    ]
    answers = [
        LevelAnswer(
            level, axes, np.zeros((HIERARCHY.count_units(level), *(3,) * len(axes))), v
        )
        for level, axes, v in measured
    ]
    estimate = estimate_tree(HIERARCHY, LATTICE, answers)
    inside = np.array(weights)
    areas = AreaMap(("x",), np.where(inside == 1, 0, -1))
    cell, total = dense_variances(measured, inside.astype(float))
    assert find_area_variances(HIERARCHY, estimate, areas, (0,)) == pytest.approx(cell)
    assert find_area_variances(HIERARCHY, estimate, areas, ()) == pytest.approx(total)


def test_what_was_not_measured_is_known_for_whole_parents_alone():
    answers = [LevelAnswer(2, (), np.zeros(3), 1.0)]
    estimate = estimate_tree(HIERARCHY, MarginalLattice((3,), [()]), answers)
    areas = AreaMap(("county", "part"), np.array([0, 0, 0, -1, 1, -1]))
    assert find_area_variances(HIERARCHY, estimate, areas, ()).tolist() == [1.0, np.inf]


def test_areas_come_from_a_file_and_are_written(tmp_path: Path):
    (tmp_path / "school.csv").write_text(
        "state,county,school\nn,a,oak\nn,b,\nn,c,elm\ns,a,elm\n"
    )
    from understudy.censuses.design import CensusDesign
    from understudy.censuses.release import CensusRelease, estimate_census

    plain = {
        "hierarchy": {"columns": ["state", "county"]},
        "areas": {"school": "school.csv"},
    }
    schema = make_design({"hierarchy": plain["hierarchy"]}).schema
    design = CensusDesign.of(schema, plain, folder=tmp_path)
    rng = np.random.default_rng(0)
    measured = measure(design, make_truth(design, rng, 3.0), rng, 2.0)
    release = CensusRelease(
        design, None, None, measured, {}, estimate_census(design, measured, {}), "gls"
    )
    table = release.area_table("school", "sex")
    assert table["school"].tolist() == ["oak", "oak", "elm", "elm"]
    counts = release.counts("county", "sex")
    assert table["count"].tolist() == [*counts[0], *(counts[2] + counts[4])]
    # Two counties of two states: their errors add up nearly as if independent.
    single = release.estimates("county", "sex")[1][0]
    assert single < table["standard_error"][2] < 1.5 * single


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("state,county\nn,a\n", "needs the columns"),
        ("state,county,school\nq,a,oak\n", "no lowest unit"),
        ("state,county,school\nn,a,\n", "names no area"),
        ("state,county,school\nn,a,oak\nn,a,elm\n", "twice"),
        (None, "cannot be read"),
    ],
)
def test_a_file_without_areas_is_refused(tmp_path: Path, text, words):
    from understudy.censuses.areas import read_areas

    design = make_design({"hierarchy": {"columns": ["state", "county"]}})
    path = tmp_path / "school.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SchemaError, match=words):
        read_areas(path, "school", design.hierarchy)


@pytest.mark.parametrize("areas", [{"state": "x.csv"}, ["x.csv"]])
def test_an_area_needs_a_name_of_its_own(areas):
    with pytest.raises(SchemaError, match="areas"):
        make_design({"hierarchy": {"columns": ["state", "county"]}, "areas": areas})
