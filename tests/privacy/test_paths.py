"""Every synthesizer audited over a whole run: what it loses on any neighbour,
recomputed from its answers, is never above what it paid.

Each question of a run is looked at with real noise on every cell. The same audit has to
catch four ways of breaking each run.
"""

from __future__ import annotations

import pytest

from kit.privacy.broken_runs import (
    a_stored_answer_is_given_as_new,
    choices_forget_their_factor_two,
    noise_is_used_twice,
    one_scale_is_halved,
    only_non_empty_cells,
    selection_is_thought_half_as_sensitive,
)
from kit.privacy.paths import BY_PERSON, SCHEMA, check_path, walk
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.synthesizers import SYNTHESIZER_CLASSES, make

ADD_REMOVE, REPLACE = Neighbours
PURE, GDP, ZCDP = Accounting
FAST, LONG = 400, 2_000

SHORT = {
    "independent": make("independent"),
    "histogram": make("histogram"),
    "gaussian": make("gaussian"),
    "residual": make("residual"),
    "mst": make("mst"),
    "mst, errors": make("mst", select="errors"),
    "mwem": make("mwem", rounds=3),
    "mwem, cells": make("mwem", rounds=3, whole=False),
    "mwem_pgm": make("mwem_pgm", rounds=3),
    "aim": make("aim", rounds=2),
    "privsyn": make("privsyn"),
    "privmrf": make("privmrf", theta=0.05),
    "privbayes": make("privbayes", k=1),
    "datasynthesizer": make("datasynthesizer", k=1),
}
"""With options under which twelve rows are enough to choose by, and a run is short."""

ELSEWHERE = {"random", "stability"}
"""One asks nothing; the other shows what is above a threshold and has an audit of its
own in test_audit.
"""

EVERY = {name: make(name) for name in SYNTHESIZER_CLASSES if name not in ELSEWHERE}
SELECTS = [
    name
    for name in SHORT
    if name not in {"independent", "histogram", "gaussian", "residual"}
]
TIGHT = 0.6
EFFORT = {"independent": 2, "adaptive": 2}
"""Two or three cells in a question tell little of their noise each: asked twice as
often, so that no chance leaves the audit blind.
"""


def test_every_algorithm_is_audited():
    assert {method.name for method in EVERY.values()} | ELSEWHERE == set(
        SYNTHESIZER_CLASSES
    )


@pytest.mark.parametrize(
    ("relation", "accounting"), [(ADD_REMOVE, GDP), (REPLACE, PURE)], ids=str
)
@pytest.mark.parametrize("name", {**EVERY, **SHORT})
def test_a_run_loses_no_more_than_it_paid(name, relation, accounting):
    times = FAST * EFFORT.get(name, 1)
    check_path(
        walk({**EVERY, **SHORT}[name], relation, accounting, times=times),
        tight=tightness(name, relation),
    )


@pytest.mark.parametrize("name", SHORT)
def test_a_person_with_two_rows_loses_no_more(name):
    check_path(
        walk(
            SHORT[name],
            ADD_REMOVE,
            GDP,
            times=FAST * EFFORT.get(name, 1),
            schema=BY_PERSON,
        ),
        tight=TIGHT,
    )


@pytest.mark.slow
@pytest.mark.parametrize("schema", [SCHEMA, BY_PERSON], ids=["row", "person"])
@pytest.mark.parametrize("accounting", Accounting)
@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("method", [*SHORT.values(), *EVERY.values()], ids=repr)
def test_a_run_loses_no_more_than_it_paid_at_length(
    method, relation, accounting, schema
):
    """In every accounting and under both relations, with the options above and with the
    defaults.
    """
    check_path(walk(method, relation, accounting, times=LONG, schema=schema), tight=0.3)


@pytest.mark.parametrize("name", SELECTS)
def test_what_is_chosen_by_is_part_of_the_audit(name):
    path = walk(SHORT[name], ADD_REMOVE, GDP, times=1)
    assert {asked.request["mechanism"] for asked in path.asked} & {"choice", "errors"}


def tightness(name: str, relation: Neighbours) -> float:
    """Scores of shares pay for more than one row moves them on these tables; so do
    distances that a replaced row moves together.
    """
    return (
        0.3
        if relation is REPLACE and name in {"privbayes", "datasynthesizer"}
        else TIGHT
    )


# Broken on purpose


ALWAYS = [
    only_non_empty_cells,
    one_scale_is_halved,
    noise_is_used_twice,
    a_stored_answer_is_given_as_new,
]
NO_CELLS = "residual", only_non_empty_cells
"""Residuals are differences of counts: one that is zero is not an empty cell."""

CHOOSES = [
    name for name in SELECTS if name not in {"mst, errors", "privsyn", "privmrf"}
]


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        *(
            (name, broken)
            for name in SHORT
            for broken in ALWAYS
            if (name, broken) != NO_CELLS
        ),
        *((name, selection_is_thought_half_as_sensitive) for name in SELECTS),
        *((name, choices_forget_their_factor_two) for name in CHOOSES),
    ],
    ids=lambda v: getattr(v, "__name__", v),
)
def test_a_broken_run_is_caught(name, broken, monkeypatch):
    def twice() -> None:  # a stored answer needs somebody who asked before
        for _ in range(2):
            check_path(walk(SHORT[name], ADD_REMOVE, GDP, times=FAST), tight=0.0)

    broken(monkeypatch)
    with pytest.raises(AssertionError):
        twice()
