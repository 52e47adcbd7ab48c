"""What sizes decide is said: every algorithm that looks away from a marginal for its
size names it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kit.models.build import schema_of
from understudy.accounting.neighbours import Neighbours
from understudy.notices import Notice, NoticeKind, collect_notices
from understudy.synthesizers import Workload, ignore_progress, make
from understudy.synthesizers.budget_split import split_by_cells
from understudy.synthesizers.published import privsyn

SIZES = (2, 3, 30, 30)
LIMITED = {
    "mst": {"limit": 200},
    "gaussian": {"limit": 500},
    "residual": {"limit": 500},
    "mwem_pgm": {"limit": 500},
    "privmrf": {"cells": 500},
    "privsyn": {},
    "aim": {"largest": 200},
}


def stages_of(open_curator, name, options, sizes=SIZES):
    """What a run on made-up rows tells of what it left out."""
    schema = schema_of(*sizes)
    draw = np.random.default_rng(0)
    rows = {
        n: [f"{n}{i}" for i in draw.integers(0, size, 400)]
        for n, size in zip(schema, sizes, strict=True)
    }
    curator = open_curator(
        schema,
        rows,
        epsilon=Fraction(5),
        delta=Fraction("1e-6"),
        neighbours=Neighbours.ADD_REMOVE,
    )
    posted: list[Notice] = []
    with collect_notices(posted.append):
        make(name, **options).measure(
            curator, Workload.of_order(schema), ignore_progress
        )
    assert {notice.kind for notice in posted} <= {NoticeKind.TOO_LARGE}
    return [notice.text for notice in posted]


@pytest.mark.parametrize("name", LIMITED)
def test_a_pair_too_large_is_named(name, open_curator, monkeypatch):
    monkeypatch.setattr(privsyn, "MAX_PAIR_CELLS", 200)
    assert any(
        "c × d" in stage and "cells" in stage
        for stage in stages_of(open_curator, name, LIMITED[name])
    )


@pytest.mark.parametrize("name", LIMITED)
def test_where_all_fits_nothing_is_said(name, open_curator):
    assert stages_of(open_curator, name, {}, sizes=(2, 3, 3, 3)) == []


def test_cliques_are_told_apart_by_their_cells():
    schema = schema_of(10, 10)
    assert split_by_cells(schema, [("a", "b"), ("a",)], 100) == (
        [("a", "b"), ("a",)],
        [],
    )
    assert split_by_cells(schema, [("a", "b"), ("a",)], 99) == ([("a",)], [("a", "b")])
