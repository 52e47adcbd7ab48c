"""Range queries: boxes are what they say, and their answers are exact."""

from __future__ import annotations

import numpy as np
import pytest

from kit.people import SCHEMA, made, table
from understudy.evaluation.utility import marginals
from understudy.evaluation.utility.ranges import (
    assess_range_queries,
    draw_code_range,
    draw_queries,
)
from understudy.findings import Unavailable


def test_a_table_answers_as_itself() -> None:
    real = table(made(200, 1))
    found = assess_range_queries(real, real, SCHEMA, queries=50)
    assert found.value == 0
    assert found.facts["largest"] == 0


def test_every_answer_against_the_rows_themselves() -> None:
    here, there = table(made(300, 1)), table(made(200, 2, related=False))
    rng = np.random.default_rng(3)
    asked = draw_queries(SCHEMA, [("age", "school", "sex")], 40, rng)
    for side in (here, there):
        records = side.records()
        cells = marginals.occurring_cells(side, ("age", "school", "sex"), SCHEMA)
        for query in asked:
            hit = np.ones(records.rows, bool)
            for name, inside in zip(query.clique, query.inside, strict=True):
                hit &= inside[records.codes[name]]
            assert query.share(*cells) == pytest.approx(hit.mean())


def test_a_stretch_holds_neighbours_and_no_missing_cell() -> None:
    rng = np.random.default_rng(5)
    codec = SCHEMA.codecs["age"]
    for _ in range(200):
        inside = draw_code_range(codec, rng)
        hits = np.flatnonzero(inside)
        assert np.all(np.diff(hits) == 1)
        assert not inside[len(codec.bins) :].any()
    assert all(draw_code_range(SCHEMA.codecs["sex"], rng).any() for _ in range(50))


def test_large_boxes_are_answered_from_the_cells_that_occur(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, there = table(made(200, 1)), table(made(150, 2))
    dense = assess_range_queries(here, there, SCHEMA, queries=60)
    monkeypatch.setattr(marginals, "MAX_DENSE_MARGINAL_CELLS", 5)
    assert assess_range_queries(here, there, SCHEMA, queries=60).value == pytest.approx(
        dense.value
    )


def test_the_farthest_are_told_in_words_and_an_empty_table_is_refused() -> None:
    found = assess_range_queries(
        table(made(200, 1)), table(made(200, 2, related=False)), SCHEMA, queries=80
    )
    values = [part.value for part in found.parts]
    assert values == sorted(values, reverse=True)
    assert " and " in found.parts[0].name
    with pytest.raises(Unavailable, match="no rows"):
        assess_range_queries(table([]), table(made(5, 1)), SCHEMA)
