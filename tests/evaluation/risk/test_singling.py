"""Singling out and linkability: a copy against independent rows."""

from __future__ import annotations

import numpy as np
import pytest

from kit.people import SCHEMA, made, table
from understudy.evaluation.risk.singling import assess_linkability, assess_singling_out
from understudy.findings import Unavailable

COLUMNS = list(SCHEMA)


def test_a_copy_singles_out_and_independent_rows_do_not() -> None:
    members, control = table(made(800, 1)).records(), table(made(800, 2)).records()
    rng = np.random.default_rng(1)
    copy = assess_singling_out(members, control, members, COLUMNS, rng=rng)
    assert copy.value == 1  # what fits one row of a copy fits one person
    other = assess_singling_out(
        members, control, table(made(800, 3)).records(), COLUMNS, rng=rng
    )
    assert other.interval[0] < 0.02
    assert other.interval[1] > -0.02
    assert (
        other.facts["control"] > 0.1
    )  # rare is rare everywhere: without the control this would look like a leak


def test_a_copy_links_halves_and_independent_rows_do_not() -> None:
    members, control = table(made(500, 1)).records(), table(made(500, 2)).records()
    rng = np.random.default_rng(1)
    copy = assess_linkability(members, control, members, COLUMNS, rng=rng)
    assert copy.interval[0] > 0.1
    other = assess_linkability(
        members, control, table(made(500, 3)).records(), COLUMNS, rng=rng
    )
    assert other.interval[0] < 0.02
    assert len(other.parts) == 3


def test_what_it_takes() -> None:
    rows = table(made(20, 1)).records()
    rng = np.random.default_rng(1)
    with pytest.raises(Unavailable, match="holdout"):
        assess_singling_out(rows, None, rows, COLUMNS, rng=rng)
    with pytest.raises(Unavailable, match="no rows"):
        assess_linkability(rows, rows, table([]).records(), COLUMNS, rng=rng)
    with pytest.raises(Unavailable, match="two columns"):
        assess_linkability(rows, rows, rows, ["age"], rng=rng)
    same = table([(20, "F", "low", 1.0, True)] * 10).records()
    with pytest.raises(Unavailable, match="single synthetic row"):
        assess_singling_out(rows, rows, same, COLUMNS, rng=rng)
