"""Partial rows: gathered by equal codes, dealt cells by rounding."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kit.models.build import schema_of
from understudy.models.sampling.conditions import (
    RowGroups,
    check_given,
    deal_cells,
    group_rows,
)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=30)
)
def test_rows_are_in_one_group_exactly_when_their_codes_are_equal(pairs):
    codes = np.array(pairs)
    groups = group_rows({"a": codes[:, 0], "b": codes[:, 1]}, ("a", "b"), len(pairs))
    assert groups.keys[groups.member].tolist() == codes.tolist()
    assert len({tuple(key) for key in groups.keys.tolist()}) == len(groups.keys)
    assert groups.counts.sum() == len(pairs)


def test_the_empty_clique_gathers_everybody():
    groups = group_rows({"a": np.array([1, 0])}, (), 2)
    assert groups.counts.tolist() == [2]


def test_every_row_is_dealt_a_cell_of_its_own_group():
    groups = RowGroups(np.array([[0], [1], [2]]), np.array([2, 0, 2, 1, 2, 0]))
    cells = deal_cells(
        np.array([1.0, 1.0, 5.0, 0.0, 1.0, 2.0]),
        np.array([2, 1, 3]),
        groups,
        np.random.default_rng(0),
    )
    of_group = np.array([0, 0, 1, 2, 2, 2])
    assert of_group[cells].tolist() == groups.member.tolist()
    assert 3 not in cells


def test_codes_of_any_integer_type_may_be_given():
    assert check_given(schema_of(2), {"a": np.array([0, 1], np.uint8)}) == 2
