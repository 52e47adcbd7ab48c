"""Designs as files say them: shares, queries, invariants, and every refusal."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from kit.censuses import SCHEMA, make_design
from understudy.accounting.neighbours import Neighbours
from understudy.censuses import margins
from understudy.censuses.design import CensusDesign
from understudy.censuses.invariants import refuse_contradictions
from understudy.censuses.margins import check_program
from understudy.censuses.release import bound_design
from understudy.errors import Refused, SchemaError
from understudy.schema import Schema

GEOGRAPHY = {"hierarchy": {"columns": ["state", "county"]}}


def test_shares_multiply_and_add_up_to_one():
    plan = {
        "levels": {"nation": 1, "county": "3"},
        "queries": {"total": 1, "detail": 1},
    }
    design = make_design({**GEOGRAPHY, "plan": plan})
    assert design.plan.share("county", ()) == Fraction(3, 8)
    assert sum(share for *_, share in design.plan.steps()) == 1
    assert design.plan.detail_share(design.columns) == Fraction(1, 2)


def test_queries_may_differ_by_level():
    queries = {"state": {"age": 1}, "total": 1}
    design = make_design({**GEOGRAPHY, "plan": {"queries": queries}})
    assert list(design.plan.queries["state"]) == [("age",)]
    assert list(design.plan.queries["county"]) == [()]


def test_units_come_from_a_file(tmp_path: Path):
    (tmp_path / "units.csv").write_text("county,state\na,n\nb,s\n")
    plain = {"hierarchy": {"columns": ["state", "county"], "units": "units.csv"}}
    design = CensusDesign.of(Schema.parse(SCHEMA), plain, folder=tmp_path)
    assert design.hierarchy.leaves == (("n", "a"), ("s", "b"))
    for name, words in (
        ("none.csv", "cannot be read"),
        ("units.csv", "needs the columns"),
    ):
        (tmp_path / "units.csv").write_text("county\na\n")
        plain["hierarchy"]["units"] = name
        with pytest.raises(SchemaError, match=words):
            CensusDesign.of(Schema.parse(SCHEMA), plain, folder=tmp_path)


WRONG = [
    ({}, SchemaError, "name the columns"),
    ({"hierarchy": {"columns": ["state"], "trees": 1}}, SchemaError, "trees"),
    ({"hierarchy": {"columns": None}}, SchemaError, "list of columns"),
    ({"hierarchy": {"columns": ["state"], "units": 3}}, SchemaError, "3: cannot"),
    (
        {"hierarchy": {"columns": ["state"], "units": "u.csv", "tree": ["n"]}},
        SchemaError,
        "a `tree` or",
    ),
    ({"hierarchy": {"columns": ["state"], "root": 2020}}, None, ""),
    ({**GEOGRAPHY, "plan": {"levels": {"nation": 0}}}, Refused, "above 0"),
    ({**GEOGRAPHY, "plan": {"levels": {"nation": "x"}}}, Refused, "above 0"),
    ({**GEOGRAPHY, "plan": {"queries": {"age * age": 1}}}, Refused, "twice"),
    (
        {**GEOGRAPHY, "plan": {"queries": {"age * sex": 1, "sex * age": 1}}},
        Refused,
        "twice",
    ),
    ({**GEOGRAPHY, "plan": []}, None, ""),
    ({**GEOGRAPHY, "plan": [1]}, SchemaError, "mapping"),
    ({**GEOGRAPHY, "plan": {"levels": ["nation"]}}, SchemaError, "weights by name"),
    ({**GEOGRAPHY, "plan": {"queries": ["total"]}}, SchemaError, "weights by name"),
    (
        {"hierarchy": {"columns": ["state", "county"], "tree": {"n": [], "s": ["a"]}}},
        SchemaError,
        "nothing below",
    ),
    (
        {**GEOGRAPHY, "invariants": [{"level": "state", "at_most": 10**30}]},
        SchemaError,
        "whole numbers",
    ),
    ({**GEOGRAPHY, "invariants": ["x"]}, SchemaError, "needs a `level`"),
    (
        {**GEOGRAPHY, "invariants": [{"level": "state", "keep": "all"}]},
        SchemaError,
        "keeps",
    ),
    (
        {**GEOGRAPHY, "invariants": [{"level": "state", "at_least": -1}]},
        SchemaError,
        "whole",
    ),
]


@pytest.mark.parametrize(("plain", "error", "words"), WRONG)
def test_what_a_file_says_wrongly_is_refused(plain, error, words):
    if error is None:
        make_design(plain)
        return
    with pytest.raises(error, match=words):
        make_design(plain)


def contradict(*invariants, zeros=False):
    """The refusals of a design's bounds, as a run makes them."""
    design = make_design({**GEOGRAPHY, "invariants": list(invariants)}, zeros=zeros)
    design.check(Neighbours.REPLACE)
    bounds = bound_design(design, {})
    refuse_contradictions(bounds, design.hierarchy)
    check_program(design.hierarchy, design.lattice, bounds, design.impossible)


def test_bounds_that_contradict_each_other_are_refused():
    ten = {"level": "county", "query": "total", "at_least": 10}
    contradict(ten)
    with pytest.raises(Refused, match=r"of state n contradict"):
        contradict(ten, {"level": "state", "query": "total", "at_most": {"n": 9}})
    few = {"level": "nation", "query": "total", "at_most": 9}
    with pytest.raises(Refused, match=r"of nation contradict"):
        contradict(ten, few)
    # The unit that is wrong is named, not all that lie above it.
    with pytest.raises(Refused, match=r"of county s/a contradict"):
        contradict(
            ten, {"level": "county", "query": "total", "at_most": {"s/a": 9}}, few
        )
    with pytest.raises(Refused, match="contradict"):
        contradict({"level": "state", "query": "age * kind", "at_least": 1}, zeros=True)
    with pytest.raises(Refused, match="no unit"):
        contradict({"level": "state", "query": "total", "at_most": {"x": 1}})


def test_families_of_bounds_that_cross_may_be_smaller_than_nested_ones(monkeypatch):
    """HiGHS proves nested ones whole at once, and can need hours where they cross."""
    monkeypatch.setattr(margins, "MAX_CROSSING_CELLS", 40)
    wide = {"level": "state", "query": "age * kind", "at_most": 90}
    contradict(wide, {"level": "state", "query": "kind", "at_most": 90})
    with pytest.raises(Refused, match="more than 40"):
        contradict(wide, {"level": "state", "query": "age * sex", "at_most": 90})


@pytest.mark.parametrize("name", ["count", "measured"])
def test_a_column_named_like_a_number_of_the_tables_is_refused(name):
    """The number took the label's place in every table."""
    schema = Schema.parse(SCHEMA.replace("kind:", f"{name}:"))
    with pytest.raises(Refused, match="name of a number"):
        CensusDesign.of(schema, GEOGRAPHY).check(Neighbours.REPLACE)


@pytest.mark.parametrize("name", ["total", "detail", "age * sex"])
def test_a_column_whose_name_is_another_query_is_refused(name):
    """A plan that asked for the column measured something else, and said nothing."""
    schema = Schema.parse(SCHEMA.replace("kind:", f'"{name}":'))
    with pytest.raises(Refused, match="something else in queries"):
        CensusDesign.of(schema, GEOGRAPHY).check(Neighbours.REPLACE)


def test_a_bound_that_could_mean_two_units_is_refused():
    """The first of them was left without it."""
    text = SCHEMA.replace("[n, s, w]", "[n, n/a]").replace("[a, b, c, d]", "[a/b, b]")
    tree = {"columns": ["state", "county"], "tree": {"n": ["a/b"], "n/a": ["b"]}}
    few = {"level": "county", "query": "total", "at_most": {"n/a/b": 3}}
    design = CensusDesign.of(
        Schema.parse(text), {"hierarchy": tree, "invariants": [few]}
    )
    with pytest.raises(Refused, match="labels with a slash"):
        bound_design(design, {})


RULES = [
    ("state = 'n' and kind = 'gq'", "places and persons at once"),
    ("state = 'n' and county = 'a'", "forbids a unit"),
    ("state = 'w' and county = 'a'", ""),
]


@pytest.mark.parametrize(("rule", "words"), RULES)
def test_rules_about_places_are_refused_where_no_fit_keeps_them(rule, words):
    """They were passed over in silence."""
    schema = Schema.parse(f'{SCHEMA}impossible: ["{rule}"]\n')
    tree = {"columns": ["state", "county"], "tree": {"n": ["a"], "s": ["b"]}}
    design = CensusDesign.of(schema, {"hierarchy": tree})
    if not words:
        design.check(Neighbours.REPLACE)
        return
    with pytest.raises(Refused, match=words):
        design.check(Neighbours.REPLACE)


def test_bounds_on_crossing_marginals_that_no_table_keeps_are_refused():
    """Each is possible alone; together the children would have to be in facilities."""
    children = {"level": "nation", "query": "age", "at_least": 5}
    contradict(children, {"level": "nation", "query": "kind", "at_most": 20})
    with pytest.raises(Refused, match="at once"):
        contradict(children, {"level": "nation", "query": "kind", "at_most": 7})


def test_a_wrong_answer_of_the_solver_is_none(monkeypatch):
    """Its sums were believed, and the fits below them never ended."""
    bounds = [{"level": "nation", "query": "age", "at_least": 5}]
    bounds.append({"level": "nation", "query": "kind", "at_most": 20})
    real = margins.milp

    def spoil(*words, **options):
        solved = real(*words, **options)
        solved.x = solved.x - 1
        return solved

    monkeypatch.setattr(margins, "milp", spoil)
    with pytest.raises(Refused, match="at once"):
        contradict(*bounds)
