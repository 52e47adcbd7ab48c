"""A made city behaves as Cambridge did."""

from __future__ import annotations

from math import exp

from understudy.attacks.linkage import (
    BIRTH_DATE_COUNT,
    CITY_RESIDENTS,
    CITY_ZIP_CODES,
    run_linkage_attack,
)


def test_most_are_unique_by_birth_date_sex_and_zip():
    found = run_linkage_attack().facts
    expected = exp(-CITY_RESIDENTS / (BIRTH_DATE_COUNT * 2 * CITY_ZIP_CODES))
    assert abs(found["unique"]["birth date, sex, ZIP code"] - expected) < 0.01
    assert found["unique"]["ZIP code"] == 0
    crowd = found["crowd"]
    assert (
        crowd["birth date"]
        >= crowd["birth date, sex"]
        >= crowd["birth date, sex, ZIP code"]
        == 1
    )


def test_the_roll_names_most_patients_and_mostly_rightly():
    found = run_linkage_attack(seed=3).facts
    assert found["named"] > 0.6 * found["patients"]
    assert found["right"] > 0.9 * found["named"]
    assert found["wrong"] == 0, (
        "a wrong name still has the same birth date, sex and ZIP code"
    )
