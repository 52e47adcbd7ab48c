"""The line behind fits and rounding: tables that break a promise are not released."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kit.censuses import make_design, make_truth, measure, read_exact
from understudy.censuses import promises, top_down
from understudy.censuses.promises import refuse_broken_promises
from understudy.censuses.release import bound_design, estimate_census
from understudy.errors import ReleaseError

TREE = {"n": ["a", "b", "c"], "s": ["d"], "w": ["a", "d"]}
DESIGN = make_design(
    {
        "hierarchy": {"columns": ["state", "county"], "tree": TREE},
        "invariants": [{"level": "state", "query": "total", "keep": "counts"}],
    },
    zeros=True,
)
TRUTH = make_truth(DESIGN, np.random.default_rng(1), mean=40_000.0 / 12)
"""Counties of 40,000 persons: more than small integers hold."""

BOUNDS = bound_design(DESIGN, read_exact(DESIGN, TRUTH))


def move_person(tables: list[Any]) -> None:
    """Between two cells of a state, whose counties stay."""
    tables[1][0, 1, 0, 0] += 1
    tables[1][0, 1, 0, 1] -= 1


def owe_persons(tables: list[Any]) -> None:
    for level in range(3):
        here = tables[level][0]
        here[1, 0, 0] -= here[2, 0, 0] + 1
        here[2, 0, 0] += here[2, 0, 0] + 1


def place_child(tables: list[Any]) -> None:
    """In a facility, which the rules exclude."""
    for level in range(3):
        tables[level][0, 0, 1, 0] += 1
        tables[level][0, 0, 0, 0] -= 1


def move_states(tables: list[Any]) -> None:
    """From one state to another, in both their first counties."""
    for level, (giver, taker) in ((1, (0, 1)), (2, (0, 3))):
        tables[level][giver, 1, 0, 0] -= 1
        tables[level][taker, 1, 0, 0] += 1


@pytest.mark.parametrize("cells", [1, 24, 1 << 22])
@pytest.mark.parametrize("spoil", [move_person, owe_persons, place_child, move_states])
def test_a_table_that_breaks_a_promise_is_not_released(
    spoil: Callable[[list[Any]], None], cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promises, "CHECKED_CELLS", cells)
    tables = [table.copy() for table in TRUTH]
    tables[2] = tables[2].astype(np.int16)
    given = DESIGN.hierarchy, tables, BOUNDS, DESIGN.impossible
    refuse_broken_promises(*given)
    spoil(tables)
    with pytest.raises(ReleaseError, match="none is released"):
        refuse_broken_promises(*given)


def test_a_fault_of_rounding_stops_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rounding that forgets the sums of the children's margins."""
    rng = np.random.default_rng(2)
    truth = make_truth(DESIGN, rng, mean=3.0)
    answers = measure(DESIGN, truth, rng, 3.0), read_exact(DESIGN, truth)
    estimate_census(DESIGN, *answers)
    monkeypatch.setattr(top_down, "exchange_rows", lambda rounded, *_: rounded + 1)
    with pytest.raises(ReleaseError, match="none is released"):
        estimate_census(DESIGN, *answers)
