"""Predicates on decoded rows: the same answers as one row of Python values at a time."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.schema.predicates import (
    CODECS,
    contents,
    decoded,
    lists,
    pair_tests,
    single_tests,
    sums,
)
from understudy.schema import (
    DecodedCells,
    Integer,
    codec_of,
    holds_for_row,
    parse_predicate,
    true_rows,
)
from understudy.schema.predicates.ast import And, IfThen, Not, Or
from understudy.schema.predicates.on_values import weighted_sum


@settings(max_examples=300, deadline=None)
@given(
    st.recursive(
        st.one_of(single_tests(), pair_tests(), sums(), lists()),
        lambda part: st.one_of(
            st.builds(Not, part),
            st.builds(And, part, part),
            st.builds(Or, part, part),
            st.builds(IfThen, part, part),
        ),
        max_leaves=3,
    ),
    st.integers(0, 2**32),
)
def test_many_rows_are_judged_as_each_is(predicate, seed):
    random = Random(seed)
    values = {
        name: [v for cell in contents(name) for v in cell] for name in predicate.columns
    }
    rows = [{name: random.choice(values[name]) for name in values} for _ in range(30)]
    right = [holds_for_row(predicate, row, CODECS) for row in rows]
    assert true_rows(predicate, CODECS, decoded(rows)).tolist() == right


def test_sums_of_large_numbers_never_wrap():
    columns = [
        Integer(name=name, min=0, max=2**61, bins=(0, 2**61 + 1))
        for name in ("a", "b", "c", "total")
    ]
    codecs = {column.name: codec_of(column) for column in columns}
    large = DecodedCells(np.array([2**61]), np.zeros(1, np.uint8))
    rows = {
        "a": large,
        "b": large,
        "c": large,
        "total": DecodedCells(np.array([2**61 - 2**61]), np.zeros(1, np.uint8)),
    }
    predicate = parse_predicate("4 * a + 4 * b = total")
    assert not true_rows(predicate, codecs, rows).any()
    assert weighted_sum(predicate.terms, predicate.constant, codecs, rows)[
        0
    ].tolist() == [2**64]
