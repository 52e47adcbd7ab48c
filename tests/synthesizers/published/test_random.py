"""Random rows: right types, no cost, nothing about anybody."""

from __future__ import annotations

import numpy as np
import pytest

from kit.models.build import schema_of
from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.models import default_rows
from understudy.synthesizers import Random


def test_every_code_is_equally_frequent():
    model = Random().estimate(schema_of(4, 5), Measurements(), np.random.default_rng(0))
    rows = model.sample(1000, np.random.default_rng(0))
    assert np.bincount(rows["a"]).tolist() == [250] * 4
    assert np.bincount(rows["b"]).tolist() == [200] * 5


@pytest.mark.parametrize(
    ("asked", "declared", "rows"),
    [(None, None, 1000), (None, 70, 70), (5, 70, 5), (0, None, 0), (None, 0, 0)],
)
def test_rows_are_asked_for_or_declared_or_a_thousand(asked, declared, rows):
    schema = schema_of(2, rows=declared)
    assert (
        default_rows(
            Random(rows=asked).estimate(
                schema, Measurements(), np.random.default_rng(0)
            )
        )
        == rows
    )


def test_it_reads_no_rows():
    assert not Random.reads_rows
    assert not Random.needs_delta


def test_a_negative_number_of_rows_is_refused():
    with pytest.raises(Refused, match="rows"):
        Random(rows=-1)
