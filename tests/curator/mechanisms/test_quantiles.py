"""Quantiles of a bounded column, asked of the curator."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kit.curator.contexts import context_of
from understudy.accounting.cost import Accounting
from understudy.curator.mechanisms.quantiles import choose_quantiles
from understudy.errors import Refused
from understudy.schema import Integer, Schema

SCHEMA = Schema(columns=(Integer(name="x", min=0, max=1000),))
QUARTILES = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]


@pytest.mark.parametrize("accounting", Accounting)
def test_quartiles_of_many_rows_are_close(accounting):
    context = context_of(
        [{"x": i % 1001} for i in range(20_020)], SCHEMA, accounting=accounting
    )
    before = context.payments.amount_left
    found = choose_quantiles(context, SCHEMA["x"], QUARTILES, amount=before)
    # EM loses at most (2Δ/ε)(ln|lattice| + 15) ranks but for e^-15; a rank is 1/20 of a
    # lattice step
    assert all(abs(index - 250 * (i + 1)) < 60 for i, index in enumerate(found))
    assert before * Fraction(99, 100) <= before - context.payments.amount_left <= before


def test_without_bounds_it_is_refused():
    schema = Schema(columns=(Integer(name="income"),))
    with pytest.raises(Refused, match=r"income.*bounds: learn"):
        choose_quantiles(
            context_of([], schema), schema["income"], QUARTILES, amount=Fraction(1, 100)
        )
