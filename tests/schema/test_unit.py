"""The privacy unit: a row, or an id with a bound on its rows."""

from __future__ import annotations

import pytest

from understudy.errors import SchemaError
from understudy.schema.unit import MAX_UNIT_ROWS, ROW_UNIT, Unit


def test_a_row_is_its_own_unit():
    assert Unit() == ROW_UNIT
    assert ROW_UNIT.noun == "row"


def test_sizes_have_one_entry_for_each_number_of_rows():
    assert Unit(id="patient", max_rows=3, sizes=(5, 0, 1)).sizes == (5, 0, 1)


@pytest.mark.parametrize("sizes", [(5,), (5, 1, 1, 1), (5, -1, 0), (0, 0, 0)])
def test_sizes_that_count_nobody_or_too_few_are_refused(sizes):
    with pytest.raises(SchemaError, match="unit: sizes"):
        Unit(id="patient", max_rows=3, sizes=sizes)


@pytest.mark.parametrize("max_rows", [0, -1, MAX_UNIT_ROWS + 1])
def test_a_bound_that_is_none_is_refused(max_rows):
    with pytest.raises(SchemaError, match="unit: max_rows must be"):
        Unit(id="patient", max_rows=max_rows)
