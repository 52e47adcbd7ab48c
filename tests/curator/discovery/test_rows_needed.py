"""From how many rows discovery finds something."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kit.curator.contexts import context_of
from understudy.accounting.cost import Accounting
from understudy.curator.curator import Curator
from understudy.curator.discovery.rows_needed import rows_to_learn
from understudy.curator.discovery.shares import discovery_shares
from understudy.schema import Categorical, Integer, Schema, UndeclaredColumn

WIDTH = 6


def learn(rows: int, kind: type, value: object, accounting: Accounting) -> list[bool]:
    """Which of the columns were learned from rows that are all alike."""
    schema = Schema(columns=tuple(kind(name=f"c{i}") for i in range(WIDTH)))
    row = dict.fromkeys(schema, value)
    context = context_of([row] * rows, schema, accounting=accounting)
    curator = Curator(context, schema)
    closed = curator.discover(
        share=sum(discovery_shares(schema), Fraction(0)),
        delta=curator.delta_left,
        progress=lambda stage, done: None,
    )
    return [not closed[name].is_lost for name in closed]


@pytest.mark.parametrize("accounting", [Accounting.GDP, Accounting.PURE])
@pytest.mark.parametrize(
    ("kind", "value"),
    [(UndeclaredColumn, "yellow"), (Categorical, "yellow"), (Integer, 17)],
)
def test_as_many_rows_as_stated_are_enough_and_a_third_are_not(kind, value, accounting):
    """Stated is 19 times in 20 (a type and a label: 18 times in 20 at least). Of 24
    columns, fewer than 13 that are found or more than 11 at a third of the rows would be
    an alarm: 1e-7 for the first; a third of the rows lie two deviations below the
    threshold, where about one in a hundred is found.
    """
    schema = Schema(columns=tuple(kind(name=f"c{i}") for i in range(WIDTH)))
    context = context_of([], schema, accounting=accounting)
    needed = rows_to_learn(
        context,
        schema,
        amount=context.payments.amount_left,
        delta=context.payments.delta_left,
    )
    assert len(set(needed.values())) == 1
    rows = needed["c0"]
    found = np.concatenate([learn(rows, kind, value, accounting) for _ in range(4)])
    assert found.sum() >= 13
    few = np.concatenate([learn(rows // 3, kind, value, accounting) for _ in range(4)])
    assert few.sum() <= 11


def test_a_declared_column_needs_no_rows():
    schema = Schema(columns=(Integer(name="age", min=0, max=9), Integer(name="x")))
    context = context_of([], schema)
    needed = rows_to_learn(
        context, schema, amount=context.payments.amount_left, delta=Fraction(1, 10**6)
    )
    assert list(needed) == ["x"]
