"""The score of SDNist, against its definition cell by cell."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from understudy.evaluation.utility.sdnist import (
    assess_sdnist,
    code_columns,
    density_cuts,
    group_gaps,
)
from understudy.findings import Unavailable
from understudy.schema import Boolean, Categorical, Integer, Real, Schema
from understudy.tables import Records
from understudy.tables.records import ABSENT_PLACE

AREAS = Categorical(name="PUMA", values=("a", "b", "c"), nullable=False)
SCHEMA = Schema(
    columns=(
        AREAS,
        Integer(name="age", min=0, max=99, nullable=True),
        Integer(name="kids", min=0, max=9, nullable=False),
        Boolean(name="smoker", nullable=False),
    )
)


def people(rows: int, seed: int, areas: tuple[float, ...]) -> Records:
    rng = np.random.default_rng(seed)
    ages = rng.integers(0, 100, rows)
    kids = rng.poisson(1.0, rows).clip(0, 9)
    ages[rng.random(rows) < 0.1] = ABSENT_PLACE
    return Records(
        SCHEMA,
        {
            "PUMA": rng.choice(3, rows, p=areas).astype(np.uint8),
            "age": np.where(ages == ABSENT_PLACE, 100, ages).astype(np.uint8),
            "kids": kids.astype(np.uint8),
            "smoker": (rng.random(rows) < 0.3 + 0.004 * ages.clip(0)).astype(np.uint8),
        },
        {"age": ages, "kids": kids},
    )


def rank_bins(real: list[int], column: list[int]) -> list[int]:
    """Twentieths of the real numbers by the mean rank of ties, missing −1: one by one."""
    known = sorted(value for value in real if value != ABSENT_PLACE)
    ends: dict[int, int] = {}
    for value in set(known):
        below = sum(other < value for other in known)
        mean_rank = below + (known.count(value) + 1) / 2
        place = min(int(20 * mean_rank / len(known)), 19)
        ends[place] = max(ends.get(place, value), value)
    cuts = [ends[place] for place in sorted(ends)][:-1]
    return [
        -1 if value == ABSENT_PLACE else sum(value > cut for cut in cuts)
        for value in column
    ]


def rows_of(table: Records, real: Records) -> list[tuple[int, ...]]:
    ages = rank_bins(real.places["age"].tolist(), table.places["age"].tolist())
    rest = [table.codes[name].tolist() for name in ("PUMA", "kids", "smoker")]
    return list(zip(rest[0], ages, rest[1], rest[2], strict=True))


def test_scores_are_those_of_the_definition() -> None:
    real, synthetic = (
        people(300, 1, (0.6, 0.4, 0.0)),
        people(200, 2, (0.2, 0.5, 0.3)),
    )
    here, there = rows_of(real, real), rows_of(synthetic, real)
    total = 0.0
    apart = dict.fromkeys((0, 1), 0.0)
    for pair in combinations((1, 2, 3), 2):
        shares = [
            Counter((row[0], row[pair[0]], row[pair[1]]) for row in rows)
            for rows in (here, there)
        ]
        cells = set(shares[0]) | set(shares[1])
        gaps = {
            cell: abs(shares[0][cell] / 300 - shares[1][cell] / 200) for cell in cells
        }
        total += sum(gaps.values())
        for group in apart:
            share = sum(row[0] == group for row in here) / 300
            inside = sum(gap for cell, gap in gaps.items() if cell[0] == group)
            apart[group] += min(inside, share) / share
    found = assess_sdnist(real, synthetic, "PUMA")
    assert found.value == pytest.approx(500 * (2 - total / 3))
    # The third area has no real rows, and so no score of its own.
    assert {part.name: part.value for part in found.parts} == {
        label: pytest.approx(1000 * (1 - apart[group] / 3))
        for group, label in ((0, "a"), (1, "b"))
    }


def test_the_same_rows_score_1000_everywhere() -> None:
    real = people(200, 3, (0.3, 0.3, 0.4))
    found = assess_sdnist(real, real, "PUMA")
    assert found.value == 1000
    assert [part.value for part in found.parts] == [1000] * 3


def test_many_cells_are_counted_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    columns = [(rng.integers(0, 5, 60), rng.integers(0, 6, 40)) for _ in range(3)]
    dense = group_gaps(*columns)
    monkeypatch.setattr("understudy.evaluation.utility.sdnist.MAX_DENSE_CELLS", 1)
    assert group_gaps(*columns) == pytest.approx(dense)


def test_a_number_that_only_synthetic_rows_have_is_a_value_of_its_own() -> None:
    real, synthetic = people(50, 5, (1, 0, 0)), people(50, 5, (1, 0, 0))
    synthetic.places["kids"][:] = 9
    here, there = code_columns("kids", real, synthetic)
    assert set(there).isdisjoint(here)


def test_a_code_above_the_percentiles_is_ranked_as_the_tool_ranks_it() -> None:
    """501 of POVPIP: SDNist 2.4 has it in one of twenty ranks, not in one of its own."""
    numbers = np.array([*range(100), *[501] * 50], np.float64)
    column = Integer(name="POVPIP", min=0, max=501, nullable=True)
    both = [
        Records(
            Schema(columns=(column,)),
            {"POVPIP": numbers.astype(np.uint16)},
            {"POVPIP": numbers.astype(np.int64)},
        )
        for _ in range(2)
    ]
    here, _ = code_columns("POVPIP", *both)
    # By the mean rank of ties: the first 100 have 14 of the twenty, the others the 17th.
    ends = {int(20 * (i + 1) / 150) for i in range(100)}
    assert len(set(here)) == len(ends) + 1 == 15
    assert here[100] == 14


def test_densities_have_fourteen_intervals() -> None:
    cuts = density_cuts(52_864.5)
    assert len(cuts) == 13
    assert cuts[0] == 150
    assert (np.diff(cuts) > 0).all()


def test_a_density_loses_its_decimals_before_it_is_placed() -> None:
    """As in the tool's validation: 1,723.3 lies above an edge of 1,723.27 and counts
    below it.
    """
    column = Real(name="DENSITY", min=16.3, max=52864.7, step=0.1, nullable=False)
    cuts = density_cuts(52_864.7)
    assert 1723 < cuts[5] < 1723.3
    tenths = np.array([17_229, 17_233, 17_240], np.int64)
    both = [
        Records(
            Schema(columns=(column,)),
            {"DENSITY": np.zeros(3, np.uint8)},
            {"DENSITY": tenths},
        )
        for _ in range(2)
    ]
    _, there = code_columns("DENSITY", *both)
    assert there.tolist() == [5, 5, 6]


def test_a_table_of_groups_alone_has_no_score() -> None:
    real = people(20, 6, (1, 0, 0))
    lonely = Records(Schema(columns=(AREAS,)), {"PUMA": real.codes["PUMA"]}, {})
    with pytest.raises(Unavailable):
        assess_sdnist(lonely, lonely, "PUMA")
