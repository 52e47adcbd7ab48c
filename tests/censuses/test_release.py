"""The promises of a census release: whole, non-negative, adding up, invariants exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.censuses import count_query, make_design, make_truth, measure, read_exact
from understudy.censuses.invariants import InvariantKind
from understudy.censuses.release import estimate_census

QUERIES = ["total", "age", "kind", "age * sex", "kind * sex", "detail"]
LEVELS = ["nation", "state", "county"]
CHECKED = settings(max_examples=200, deadline=None, derandomize=True)


@st.composite
def designs(draw):
    """Random trees, plans and invariants, also on marginals that cross."""
    trees = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True)
    tree = {state: draw(trees) for state in "nsw"[: draw(st.integers(1, 3))]}
    levels = draw(st.lists(st.sampled_from(LEVELS), min_size=1, unique=True))
    queries = draw(st.lists(st.sampled_from(QUERIES), min_size=1, unique=True))
    invariants = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "level": st.sampled_from(LEVELS),
                    "query": st.sampled_from(QUERIES),
                    "keep": st.sampled_from(["counts", "zeros"]),
                }
            ),
            max_size=3,
        )
    )
    return make_design(
        {
            "hierarchy": {"columns": ["state", "county"], "tree": tree},
            "plan": {
                "levels": dict.fromkeys(levels, 1),
                "queries": dict.fromkeys(queries, 1),
            },
            "invariants": invariants,
        },
        zeros=draw(st.booleans()),
    )


@CHECKED
@given(designs(), st.integers(0, 2**32), st.sampled_from(["gls", "topdown"]))
def test_every_promise_holds_on_random_trees_and_plans(design, seed, method):
    rng = np.random.default_rng(seed)
    truth = make_truth(design, rng, mean=rng.choice([0.2, 3.0]))
    measurements = measure(design, truth, rng, scale=5.0)
    exact = read_exact(design, truth)
    made = estimate_census(design, measurements, exact, method=method)
    check_promises(design, made.fitted.tables, exact)


def check_promises(design, tables, exact):
    """Whole, non-negative, no impossible persons, sums and invariants exact."""
    for level, table in enumerate(tables):
        assert table.dtype == np.int64
        assert (table >= 0).all()
        assert not table[:, design.impossible].any()
        if level:
            sums = design.hierarchy.sum_children(level - 1, table)
            assert (sums == tables[level - 1]).all()
    for place, each in enumerate(design.invariants):
        table = tables[design.hierarchy.levels.index(each.level)]
        counts = count_query(design, table, each.query)
        if each.keep is InvariantKind.COUNTS:
            assert (counts == exact[place]).all()
        else:
            assert not counts[exact[place] == 0].any()


@pytest.mark.parametrize("method", ["gls", "topdown"])
def test_without_noise_the_truth_comes_back(method):
    """Only here can the scale be 0: no option of a release reaches it."""
    design = make_design(
        {
            "hierarchy": {"columns": ["state", "county"]},
            "plan": {"queries": {"total": 1, "detail": 1}},
        }
    )
    rng = np.random.default_rng(3)
    truth = make_truth(design, rng, mean=2.0)
    made = estimate_census(design, measure(design, truth, rng, 0.0), {}, method=method)
    for fitted, true in zip(made.fitted.tables, truth, strict=True):
        assert (fitted == true).all()


@pytest.mark.parametrize("method", ["gls", "topdown"])
def test_detail_that_no_query_tells_keeps_nobody_from_a_place(method):
    """Two states of one kind of people each. The nation's detail was spread evenly over
    what its marginals admit, and lacked the people that the states are known to have.
    """
    design = make_design(
        {
            "hierarchy": {"columns": ["state"]},
            "plan": {"queries": {"age * sex": 1, "kind": 1}},
        }
    )
    leaves = np.zeros((3, *design.shape), np.int64)
    leaves[0, 0, 0, 0], leaves[1, 2, 1, 1] = 50, 60
    truth = [leaves.sum(axis=0, keepdims=True), leaves]
    rng = np.random.default_rng(1)
    made = estimate_census(design, measure(design, truth, rng, 0.0), {}, method=method)
    for query in (("age", "sex"), ("kind",)):
        fitted = count_query(design, made.fitted.tables[1], query)
        assert np.abs(fitted - count_query(design, leaves, query)).max() <= 1


def test_bounds_hold():
    design = make_design(
        {
            "hierarchy": {"columns": ["state", "county"]},
            "invariants": [
                {"level": "county", "query": "kind", "at_least": 2, "at_most": 40},
                {"level": "state", "query": "total", "at_most": {"n": 100}},
            ],
        }
    )
    rng = np.random.default_rng(5)
    truth = make_truth(design, rng, mean=3.0)
    made = estimate_census(design, measure(design, truth, rng, 20.0), {})
    kinds = count_query(design, made.fitted.tables[2], ("kind",))
    assert kinds.min() >= 2
    assert kinds.max() <= 40
    assert count_query(design, made.fitted.tables[1], ())[0] <= 100


def test_least_squares_is_unbiased_and_its_errors_are_as_stated():
    """Mean and mean square of 500 standardised errors: each fails by chance with
    probability below 1e-6 (five standard deviations).
    """
    design = make_design({"hierarchy": {"columns": ["state", "county"]}})
    rng = np.random.default_rng(7)
    truth = make_truth(design, rng, mean=1.0)
    scores = []
    for _ in range(500):
        gls = estimate_census_gls(design, truth, rng)
        error = gls.estimate_table(2, ())[0] - count_query(design, truth[2], ())[0]
        scores.append(error / np.sqrt(gls.variances(2, ())[0]))
    assert abs(np.mean(scores)) < 5 / np.sqrt(len(scores))
    assert abs(np.mean(np.square(scores)) - 1) < 5 * np.sqrt(2 / len(scores))


def estimate_census_gls(design, truth, rng):
    """The least-squares part alone, which takes no time."""
    from understudy.censuses.least_squares import estimate_tree
    from understudy.censuses.release import _list_answers

    measurements = measure(design, truth, rng, 4.0)
    answers = _list_answers(design, measurements, {})
    return estimate_tree(design.hierarchy, design.lattice, answers)
