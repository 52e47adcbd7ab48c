"""The context: what a share of the budget buys, before anything is paid."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kit.curator.contexts import context_of
from understudy.accounting.cost import Accounting
from understudy.errors import Refused
from understudy.schema import Boolean, Schema

SMOKERS = Schema(columns=(Boolean(name="smoker"),))


@pytest.mark.parametrize("accounting", Accounting)
def test_noise_wider_than_any_that_is_drawn_is_refused_before_the_charge(accounting):
    context = context_of([{"smoker": True}], SMOKERS, accounting=accounting)
    with pytest.raises(Refused, match="nothing was asked"):
        context.scale(Fraction(1, 10**40), context.unit_vector())
    assert context.payments.charges == []
