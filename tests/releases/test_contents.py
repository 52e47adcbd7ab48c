"""The parts of a release: none may contradict another."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from kit.releases.builders import (
    SMALL,
    codes_of,
    guarantee,
    measured,
    model_of,
    release,
)
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.errors import ReleaseError
from understudy.measurements import Identity, Measurement, Measurements
from understudy.releases import Guarantee, Release, ReleaseKind
from understudy.releases.contents import environment
from understudy.schema import Integer, Schema


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": ReleaseKind.TABLES},
        {"kind": ReleaseKind.MICRODATA},
        {"microdata": codes_of(SMALL, 3)},
        {"guarantee": Guarantee.without_data()},
        {
            "guarantee": Guarantee(
                epsilon=Fraction(1), accounting=Accounting.PURE, amount=Fraction(1)
            )
        },
        {
            "guarantee": Guarantee(
                epsilon=Fraction(1),
                accounting=Accounting.GDP,
                amount=Fraction(1, 10**6),
            )
        },
        {
            "guarantee": Guarantee(
                epsilon=Fraction(1), accounting=Accounting.GDP, amount=Fraction(1)
            )
        },  # the threshold's δ is not covered
        {"frame": "excel"},
        {"options": {"callback": print}},
        {"options": {"share": float("nan")}},
    ],
)
def test_a_release_that_contradicts_itself_is_refused(changes):
    with pytest.raises(ReleaseError):
        release(**changes)


@pytest.mark.parametrize(
    "schema", [Schema(columns=(Integer(name="age"),)), Schema(columns=())]
)
def test_a_schema_with_something_left_to_learn_or_nothing_in_it_is_refused(schema):
    with pytest.raises(ReleaseError, match="schema"):
        Release(
            guarantee=Guarantee.without_data(), schema=schema, kind=ReleaseKind.TABLES
        )


@pytest.mark.parametrize(
    "codes",
    [
        {"sex": np.zeros(3, np.uint8)},
        {**codes_of(SMALL, 3), "sex": np.full(3, 9, np.uint8)},
        {**codes_of(SMALL, 3), "sex": np.zeros(4, np.uint8)},
        {**codes_of(SMALL, 3), "sex": np.zeros(3, np.int64)},
    ],
)
def test_microdata_outside_the_schema_are_refused(codes):
    with pytest.raises(ReleaseError, match="microdata"):
        release(model=None, kind=ReleaseKind.MICRODATA, microdata=codes)


def test_the_environment_says_versions_and_nothing_about_the_machine():
    import getpass
    import platform

    text = json.dumps(environment())
    assert platform.node() not in text
    assert getpass.getuser() not in text


def test_the_same_measurements_may_be_used_by_two_kinds_of_release():
    held = measured()
    for model, kind in (("product", ReleaseKind.MODEL), (None, ReleaseKind.TABLES)):
        assert release(model=model, kind=kind, measurements=held).measurements is held


def test_a_measurement_may_cost_all_there_is_and_not_more():
    def of(amount):
        one = Measurement(
            ("sex",),
            (Identity(2),),
            np.array([1, 2]),
            Law.ROUNDED_GAUSSIAN,
            Fraction(3),
            Cost(Accounting.GDP, amount),
        )
        held = Measurements((one,))
        return Release(
            guarantee=guarantee(),
            schema=SMALL,
            measurements=held,
            model=model_of(SMALL, "product"),
        )

    assert of(guarantee().amount).rows == 42
    with pytest.raises(ReleaseError, match="cost more"):
        of(guarantee().amount + Fraction(1, 10**30))
