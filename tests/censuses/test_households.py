"""Persons and households of one census: one householder in each household, and tables
that agree at every level.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.censuses import add_up, count_query, measure, read_exact
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.accounting.neighbours import Neighbours
from understudy.censuses.design import CensusDesign
from understudy.censuses.household_estimate import count_householders
from understudy.censuses.household_sizes import deal_households, fit_place, fit_sizes
from understudy.censuses.level_measurement import LevelMeasurement
from understudy.censuses.release import estimate_census
from understudy.errors import Refused, SchemaError
from understudy.schema import Schema
from understudy.workflow.censuses import census_check

SCHEMA = """
columns:
  home: identifier
  state: {type: categorical, values: [n, s, w], nullable: false}
  county: {type: categorical, values: [a, b, c, d], nullable: false}
  age: {type: categorical, values: [child, adult], nullable: false}
  kind: {type: categorical, values: [own, rent, facility], nullable: false}
  role: {type: categorical, values: [head, partner, other], nullable: false}
impossible: ["age = 'child' and role = 'head'", "kind = 'facility' and role != 'other'"]
"""
HOUSEHOLDS = {
    "key": "home",
    "max_persons": 4,
    "columns": ["kind"],
    "householder": {"role": "head"},
}


def make_design(tree, *, invariants=(), **households):
    plain = {
        "hierarchy": {"columns": ["state", "county"], "tree": tree},
        "plan": {"queries": {"total": 1, "kind": 1, "detail": 1}},
        "invariants": list(invariants),
        "households": {**HOUSEHOLDS, **households},
    }
    return CensusDesign.of(Schema.parse(SCHEMA), plain)


def make_country(design, rng, mean):
    """True tables of persons and of households of all levels: households of 1 to 4
    persons, and some facilities.
    """
    leaves = design.hierarchy.count_units(2)
    persons = np.zeros((leaves, *design.shape), np.int64)
    homes = np.zeros((leaves, *design.households.find_shape(design.schema)), np.int64)
    for leaf in range(leaves):
        for _ in range(rng.poisson(mean)):
            size, kind = rng.integers(1, 5), rng.integers(2)
            homes[leaf, size - 1, kind] += 1
            persons[leaf, 1, kind, 0] += 1
            for _ in range(size - 1):
                persons[leaf, rng.integers(2), kind, rng.integers(1, 3)] += 1
        persons[leaf, rng.integers(2), 2, 2] += rng.poisson(mean / 4)
    assert not persons[:, design.impossible].any()
    levels = range(3)
    truth = [add_up(design, persons, level) for level in levels]
    linked = []
    for level in levels:
        table = np.zeros(
            (design.hierarchy.count_units(level), *homes.shape[1:]), np.int64
        )
        np.add.at(table, design.hierarchy.ancestors(level), homes)
        linked.append(table)
    return truth, linked


def measure_households(design, truth, rng, scale):
    measured = []
    for level, query, _ in design.households.plan.steps():
        table = truth[design.hierarchy.levels.index(level)]
        noise = np.rint(rng.normal(0, scale, table.shape)).astype(np.int64)
        assert query == design.households.table_columns
        measured.append(LevelMeasurement(level, query, table + noise, scale))
    return tuple(measured)


def estimate(design, persons, homes, rng, scale, **options):
    return estimate_census(
        design,
        measure(design, persons, rng, scale),
        read_exact(design, persons),
        households=measure_households(design, homes, rng, scale),
        **options,
    )


TREES = st.dictionaries(
    st.sampled_from("nsw"),
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True),
    min_size=1,
)
KEPT = st.sampled_from(
    [
        (),
        ({"level": "state", "query": "total", "keep": "counts"},),
        ({"level": "county", "query": "kind", "keep": "zeros"},),
        (
            {"level": "state", "query": "total", "keep": "counts"},
            {"level": "county", "query": "kind", "keep": "counts"},
        ),
    ]
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(TREES, KEPT, st.integers(0, 2**32), st.sampled_from(["gls", "topdown"]))
def test_persons_and_households_agree_on_random_countries(tree, kept, seed, method):
    design = make_design(tree, invariants=kept)
    rng = np.random.default_rng(seed)
    persons, homes = make_country(design, rng, mean=rng.choice([0.3, 2.0, 8.0]))
    made = estimate(design, persons, homes, rng, scale=6.0, method=method)
    for level in range(3):
        check_level(design, made, level)
    for place, exact in read_exact(design, persons).items():
        each = design.invariants[place]
        table = made.fitted.tables[design.hierarchy.levels.index(each.level)]
        counts = count_query(design, table, each.query)
        held = counts == exact if each.keep == "counts" else counts[exact == 0] == 0
        assert held.all()
    check_microdata(design, made, rng)


def check_level(design, made, level):
    """Whole, non-negative, adding up; as many households as householders, with as many
    persons as there are.
    """
    table, homes = made.fitted.tables[level], made.households.tables[level]
    assert (table >= 0).all()
    assert (homes >= 0).all()
    assert not table[:, design.impossible].any()
    if level:
        sums = design.hierarchy.sum_children(level - 1, table)
        assert (sums == made.fitted.tables[level - 1]).all()
        sums = design.hierarchy.sum_children(level - 1, homes)
        assert (sums == made.households.tables[level - 1]).all()
    heads, inside = count_householders(design, design.households, table)
    sizes = np.arange(1, homes.shape[1] + 1)[None, :, None]
    assert (homes.sum(axis=1) == heads).all()
    assert ((homes * sizes).sum(axis=1) == inside).all()


def check_microdata(design, made, rng):
    leaves, homes = made.fitted.tables[2], made.households.tables[2]
    places = np.nonzero(leaves)
    leaf, _, kind, role = (np.repeat(axis, leaves[places]) for axis in places)
    number = deal_households(leaf, kind, role == 0, homes, rng)
    assert ((number == 0) == (kind == 2)).all()
    for home in range(1, number.max(initial=0) + 1):
        members = number == home
        assert 1 <= members.sum() <= 4
        assert (role[members] == 0).sum() == 1
        assert len({*leaf[members]}) == len({*kind[members]}) == 1
    found = np.bincount(number)[1:] if len(number) else np.zeros(0, int)
    sizes = np.bincount(found, minlength=5)[1:]
    assert (sizes == homes.sum(axis=(0, 2))).all()


@pytest.mark.parametrize("method", ["gls", "topdown"])
def test_without_noise_the_truth_comes_back(method):
    design = make_design({"n": ["a", "b"], "s": ["a"]})
    rng = np.random.default_rng(3)
    persons, homes = make_country(design, rng, mean=20)
    made = estimate(design, persons, homes, rng, scale=0.0, method=method)
    for level in range(3):
        assert (made.fitted.tables[level] == persons[level]).all()
        assert (made.households.tables[level] == homes[level]).all()


def test_sums_of_places_stay_near_their_estimates():
    """What one place cannot follow is handed to the next: over 400 places of three
    households the sizes in all differ by a few, not by hundreds.
    """
    rng = np.random.default_rng(5)
    households = np.full((400, 1), 3)
    persons = np.full((400, 1), 6)
    wanted = np.array([1.2, 0.9, 0.6, 0.3])
    noise = rng.normal(0, 2, (400, 4, 1))
    noise -= noise.mean(axis=0)
    sizes = fit_sizes(wanted[None, :, None] + noise, households, persons)
    assert np.abs(sizes.sum(axis=(0, 2)) - 400 * wanted).max() < 20
    alone = sum(fit_place(wanted + each[:, 0], 3, 6) for each in noise)
    assert np.abs(alone - 400 * wanted).max() > 50


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"key": "street"}, "identifier"),
        ({"householder": {"role": "lord"}}, "does not mark"),
        ({"householder": {"kind": "own"}}, "does not mark"),
    ],
)
def test_what_cannot_be_counted_is_refused(changed, words):
    with pytest.raises(Refused, match=words):
        make_design({"n": ["a"]}, **changed).check(Neighbours.REPLACE)


@pytest.mark.parametrize(
    "changed",
    [
        {"max_persons": 0},
        {"max_persons": "many"},
        {"share": 1},
        {"share": "x"},
        {"columns": ["height"]},
        {"householder": "head"},
        {"hight": 3},
        {"plan": 3},
    ],
)
def test_what_is_no_design_is_named(changed):
    with pytest.raises(SchemaError, match="households"):
        make_design({"n": ["a"]}, **changed)


def test_rules_that_allow_no_householder_are_refused():
    """Nobody lived in a household, and nothing was said."""
    text = SCHEMA.replace("age = 'child' and role = 'head'", "role = 'head'")
    with pytest.raises(Refused, match="no householder"):
        replace(make_design({"n": ["a"]}), schema=Schema.parse(text)).check(
            Neighbours.REPLACE
        )


def test_places_that_cannot_be_numbered_are_refused(monkeypatch):
    monkeypatch.setattr(census_check, "MAX_NUMBERED_PLACES", 3 * 4 * 3 - 1)
    budget = Filter(Accounting.ZCDP, Fraction(1))
    with pytest.raises(Refused, match="can be numbered"):
        census_check.check_design(make_design({"n": ["a"]}), budget, Neighbours.REPLACE)


def test_an_invariant_about_roles_is_refused():
    kept = {"level": "state", "query": "role", "keep": "counts"}
    with pytest.raises(Refused, match="with households"):
        make_design({"n": ["a"]}, invariants=[kept]).check(Neighbours.REPLACE)
