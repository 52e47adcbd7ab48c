"""Bounds by unit and value, and lists of facilities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kit.censuses import count_query, make_design, make_truth, measure, read_exact
from understudy.censuses.design import CensusDesign
from understudy.censuses.release import estimate_census
from understudy.errors import Refused, SchemaError

TREE = {
    "hierarchy": {
        "columns": ["state", "county"],
        "tree": {"n": ["a", "b"], "s": ["c"]},
    }
}


def with_facilities(folder: Path, text: str, **given: object) -> CensusDesign:
    (folder / "facilities.csv").write_text(text)
    facilities = {"level": "county", "query": "kind", "facilities": "facilities.csv"}
    exact = {"level": "state", "query": "total", "keep": "counts"}
    plain = {**TREE, "invariants": [{**facilities, **given}, exact]}
    return CensusDesign.of(make_design(TREE, zeros=True).schema, plain, folder=folder)


def test_facilities_bound_the_persons_of_their_type(tmp_path: Path):
    text = "state,county,kind,facilities\nn,a,gq,2\ns,c,gq,1\n"
    design = with_facilities(tmp_path, text, max_persons=3)
    rng = np.random.default_rng(1)
    truth = make_truth(design, rng, mean=3.0)
    exact = read_exact(design, truth)
    for seed in range(10):
        noise = np.random.default_rng(seed)
        made = estimate_census(design, measure(design, truth, noise, 9.0), exact)
        kinds = count_query(design, made.fitted.tables[2], ("kind",))
        assert 2 <= kinds[0, 1] <= 6
        assert kinds[1, 1] == 0
        assert 1 <= kinds[2, 1] <= 3
        totals = count_query(design, made.fitted.tables[1], ())
        assert (totals == exact[1]).all()


def test_more_facilities_than_persons_are_refused():
    plain = {
        **TREE,
        "invariants": [
            {"level": "county", "query": "kind", "at_least": {"n/a": {"gq": 9}}},
            {"level": "state", "query": "total", "at_most": {"n": 8}},
        ],
    }
    from fractions import Fraction

    from understudy.accounting.cost import Accounting
    from understudy.accounting.filter import Filter
    from understudy.accounting.neighbours import Neighbours
    from understudy.workflow.censuses.census_check import check_design

    budget = Filter(Accounting.ZCDP, Fraction(1))
    with pytest.raises(Refused, match=r"Nothing was\s+spent"):
        check_design(make_design(plain), budget, Neighbours.REPLACE)


@pytest.mark.parametrize(
    ("text", "given", "words"),
    [
        ("state,county,kind,facilities\nn,a,gq,-1\n", {}, "needs state"),
        ("state,county,kind,facilities\nn,a,barracks,1\n", {}, "needs state"),
        ("state,county,kind\nn,a,gq\n", {}, "needs state"),
        ("state,county,kind,facilities\nn,a,gq,1\nn,a,gq,1\n", {}, "twice"),
        ("", {"query": "kind * sex"}, "one column"),
        ("", {"level": "village"}, "no level"),
        ("", {"at_least": 1}, "either"),
    ],
)
def test_what_is_no_list_of_facilities_is_refused(tmp_path: Path, text, given, words):
    with pytest.raises(SchemaError, match=words):
        with_facilities(tmp_path, text, **given)


@pytest.mark.parametrize(
    "bound", [{"n/a": {"barracks": 1}}, {"n/a": {"gq": "many"}}, {"n/a": [1]}]
)
def test_what_is_no_bound_is_refused(bound):
    listed = [{"level": "county", "query": "kind", "at_most": bound}]
    with pytest.raises(SchemaError, match="census"):
        make_design({**TREE, "invariants": listed})
