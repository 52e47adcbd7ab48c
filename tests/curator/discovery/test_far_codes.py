"""Numbers that mean missing are found without a schema, and values are not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from kit.curator.contexts import context_of, no_noise
from kit.privacy.world import Remembered
from understudy.curator.curator import Curator
from understudy.curator.discovery.bounds import learn_bounds
from understudy.curator.discovery.far_codes import list_code_indices
from understudy.curator.discovery.shares import discovery_shares
from understudy.schema import Integer, Lattice, Schema, UndeclaredColumn

OPEN = Schema(columns=(UndeclaredColumn(name="x"),))
NUMBERS = Schema(columns=(Integer(name="x", learned=("type",)),))
AGES = np.random.default_rng(4).integers(18, 91, 3000)


def learn_column(texts: list[str]) -> Lattice:
    """The column as discovery closes it."""
    context = context_of([{"x": text} for text in texts], OPEN, noise=no_noise)
    curator = Curator(context, OPEN)
    closed = curator.discover(
        share=sum(discovery_shares(OPEN), Fraction(0)),
        delta=curator.delta_left,
        progress=lambda stage, done: None,
    )
    column = closed["x"]
    assert isinstance(column, Lattice)
    return column


@pytest.mark.parametrize(
    ("ages", "code", "missing"),
    [
        ([str(a) for a in AGES], "-99", ("-99",)),
        ([str(a) for a in AGES], "999", ("999",)),
        ([f"{a}.0" for a in AGES], "-9.0", ("-9.0",)),
        ([f"{a}.{a % 7}" for a in AGES], "9999", ("9999",)),
    ],
)
def test_a_code_far_from_all_values_is_missing(ages, code, missing):
    column = learn_column([*ages, *[code] * 300])
    assert column.missing == missing
    assert "missing codes" in column.learned
    assert column.low is not None
    assert column.low * column.step >= 0
    assert column.high is not None
    assert column.high * column.step < 200


def test_a_code_is_found_under_noise():
    """250 rows under noise of 20 are found in 58 of 60 runs: that seven of twelve are not
    has a probability below 1e-6, up to one run in twenty.
    """
    rows = [{"x": int(v)} for v in [*AGES, *[-99] * 250]]
    table = Remembered(context_of(rows, NUMBERS).table)
    codes = list_code_indices(NUMBERS["x"])
    times_found = 0
    for _ in range(12):
        context = replace(context_of([], NUMBERS), table=table)
        bounds = learn_bounds(context, "x", amount=Fraction(2, 20**2), codes=codes)
        assert bounds is not None
        times_found += bounds.codes == (-99,)
    assert times_found >= 6


@pytest.mark.parametrize(
    "values",
    [
        [*AGES, *[-98] * 300],  # no codebook has it
        [*AGES, *[150] * 40, *[99] * 300],  # among other values
        [*range(1, 1000)] * 4,  # one value of many
        [*AGES, *range(-120, -70), *[-99] * 300],  # beside other values
    ],
)
def test_a_value_is_no_code(values):
    rows = [{"x": int(v)} for v in values]
    context = context_of(rows, NUMBERS, noise=no_noise)
    bounds = learn_bounds(
        context,
        "x",
        amount=context.payments.amount_left,
        codes=list_code_indices(NUMBERS["x"]),
    )
    assert bounds is not None
    assert bounds.codes == ()
    assert bounds.low <= min(values)
    assert max(values) <= bounds.high


def test_the_price_is_the_same_with_and_without_a_code():
    """The second histogram has other edges then, and the same sensitivity: its cells do
    not overlap, so a row lies in one of them.
    """
    spent = set()
    for values in (AGES, [*AGES, *[-99] * 300], [*AGES, *[-98] * 300]):
        context = context_of([{"x": int(v)} for v in values], NUMBERS)
        before = context.payments.amount_left
        codes = list_code_indices(NUMBERS["x"])
        learn_bounds(context, "x", amount=before / 2, codes=codes)
        spent.add((before - context.payments.amount_left) / before)
    assert len(spent) == 1
