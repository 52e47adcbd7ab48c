"""Every record in one group, by who else looks like it."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.evaluation.risk.groups import assess_risk_groups
from understudy.findings import Unavailable
from understudy.schema import Boolean, Integer, Schema
from understudy.tables import Records

SCHEMA = Schema(
    columns=(
        Boolean(name="smoker", nullable=False),
        Integer(name="age", min=0, max=99, nullable=False, bins=tuple(range(101))),
    )
)


def people(smoker: list[int], age: list[int]) -> Records:
    return Records(
        SCHEMA,
        {"smoker": np.array(smoker, np.uint8), "age": np.array(age, np.uint8)},
        {"age": np.array(age, np.int64)},
    )


def counted(smoker: list[int], age: list[int], **options: object) -> dict[str, object]:
    found = assess_risk_groups(people(smoker, age), ["smoker", "age"], **options)  # type: ignore[arg-type]
    assert found.value == next(p.value for p in found.parts if p.name == "high risk")
    assert sum(p.value or 0 for p in found.parts) == pytest.approx(1)
    return {p.name.split()[0]: p.facts["records"] for p in found.parts}


def test_the_three_groups() -> None:
    # Six of one age; two more with their label, far off; one with a label of her own.
    smoker, age = [0] * 8 + [1], [30] * 6 + [60, 90] + [30]
    assert counted(smoker, age) == {"low": 6, "medium": 2, "high": 1}


def test_a_wider_radius_hides_more_and_a_larger_crowd_fewer() -> None:
    smoker, age = [0] * 8 + [1], [30] * 6 + [60, 90] + [30]
    assert counted(smoker, age, radius={"age": 60.0}) == {
        "low": 8,
        "medium": 0,
        "high": 1,
    }
    assert counted(smoker, age, least=7) == {"low": 0, "medium": 8, "high": 1}
    assert counted(smoker, age, least=8) == {"low": 0, "medium": 0, "high": 9}


def test_some_are_judged_among_all() -> None:
    everybody = people([0] * 20, [30] * 20)
    found = assess_risk_groups(
        everybody.take(slice(0, 3)), ["smoker"], population=everybody
    )
    assert (found.value, found.facts["records"], found.facts["of"]) == (0.0, 3, 20)


def test_nobody_and_nothing_known_are_reasons() -> None:
    with pytest.raises(Unavailable, match="no rows"):
        assess_risk_groups(people([], []), ["smoker"])
    with pytest.raises(Unavailable, match="quasi_identifier"):
        assess_risk_groups(people([0], [1]), [])
