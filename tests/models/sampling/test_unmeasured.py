"""Filling in columns nothing is known of."""

from __future__ import annotations

import numpy as np

from kit.models.build import schema_of
from understudy.models.sampling.unmeasured import fill_columns, uniform_shares


def test_filled_rows_come_in_the_schemas_order_and_types():
    schema = schema_of(2, 300, 3)
    rows = fill_columns(
        schema, {"c": np.array([2, 1, 0], np.int64)}, 3, np.random.default_rng(0)
    )
    assert list(rows) == ["a", "b", "c"]
    assert [codes.dtype for codes in rows.values()] == [np.uint8, np.uint16, np.uint8]
    assert rows["c"].tolist() == [2, 1, 0]


def test_uniform_shares_of_a_clique_are_a_table():
    assert uniform_shares(schema_of(2, 3), ("b", "a")).tolist() == [[1 / 6] * 2] * 3
