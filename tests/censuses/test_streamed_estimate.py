"""Countries that are estimated piece by piece come out the same."""

from __future__ import annotations

import numpy as np
import pytest

from kit.censuses import make_design, make_truth, measure, read_exact
from understudy.censuses import streamed_estimate, top_down
from understudy.censuses.areas import AreaMap, find_area_variances
from understudy.censuses.release import estimate_census
from understudy.censuses.streamed_estimate import StreamedEstimate

TREE = {"n": ["a", "b", "c"], "s": ["d"], "w": ["a", "d"]}
DESIGN = make_design(
    {
        "hierarchy": {"columns": ["state", "county"], "tree": TREE},
        "plan": {
            "levels": {"nation": 1, "state": 2, "county": 1},
            "queries": {"total": 1, "age * sex": 1, "kind * sex": 2, "detail": 1},
        },
        "invariants": [{"level": "state", "query": "total", "keep": "counts"}],
    },
    zeros=True,
)


@pytest.fixture
def made():
    rng = np.random.default_rng(3)
    truth = make_truth(DESIGN, rng, mean=4.0)
    return measure(DESIGN, truth, rng, 3.0), read_exact(DESIGN, truth)


@pytest.mark.parametrize("method", ["gls", "topdown"])
@pytest.mark.parametrize("held", [30, 12 * 4])
def test_tables_made_piece_by_piece_are_the_same(made, method, held, monkeypatch):
    """`held` keeps the nation alone, or the states too."""
    measurements, exact = made
    whole = estimate_census(DESIGN, measurements, exact, method=method)
    monkeypatch.setattr(streamed_estimate, "MAX_HELD_CELLS", held)
    monkeypatch.setattr(top_down, "MAX_HELD_CELLS", held)
    monkeypatch.setattr(top_down, "TASK_CELLS", 12)
    monkeypatch.setattr(streamed_estimate, "CHUNK_CELLS", 12 * 2)
    parts = estimate_census(DESIGN, measurements, exact, method=method)
    assert isinstance(parts.gls, StreamedEstimate)
    assert parts.gls.held_level == (0 if held == 30 else 1)
    for level, (one, other) in enumerate(
        zip(whole.fitted.tables, parts.fitted.tables, strict=True)
    ):
        assert (one == other).all()
        for query in [(), (0,), (1, 2), (0, 1, 2)]:
            dense, streamed = whole.gls, parts.gls
            assert np.allclose(
                dense.estimate_table(level, query),
                streamed.estimate_table(level, query),
            )
            assert np.allclose(
                dense.variances(level, query), streamed.variances(level, query)
            )
    assert parts.fitted.tables[-1].dtype == np.int16
    areas = AreaMap(("x",), np.array([0, -1, -1, 0, 0, -1]))
    by_area = [
        find_area_variances(DESIGN.hierarchy, each.gls, areas, (0,))
        for each in (whole, parts)
    ]
    assert np.allclose(*by_area)
