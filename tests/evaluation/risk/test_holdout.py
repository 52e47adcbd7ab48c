"""An attack that compares with a control is refused without one."""

from __future__ import annotations

import pytest

from kit.people import table
from understudy.evaluation.risk.holdout import NO_HOLDOUT, require_holdout
from understudy.findings import Unavailable
from understudy.schema import Integer, Schema

AGES = Schema(columns=(Integer(name="age", min=0, max=100),))
SOME = table([(50,), (60,)], AGES).records()
NOBODY = table([], AGES).records()


def test_the_control_is_handed_back() -> None:
    assert require_holdout(SOME, SOME, SOME) is SOME


@pytest.mark.parametrize("control", [None, NOBODY])
def test_no_control_is_said(control) -> None:
    with pytest.raises(Unavailable, match=NO_HOLDOUT):
        require_holdout(SOME, control, SOME)


@pytest.mark.parametrize("tables", [(NOBODY, SOME, SOME), (SOME, SOME, NOBODY)])
def test_a_table_without_rows_is_said(tables) -> None:
    with pytest.raises(Unavailable, match="one of the tables has no rows"):
        require_holdout(*tables)
