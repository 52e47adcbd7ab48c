"""A dry run imagines as many people as a run would find, and noise hides as many of
them.
"""

from __future__ import annotations

import pytest

import understudy as us
from understudy.curator.simulation.dry_run import ASSUMED_RANGE, DryRunTable
from understudy.schema import Boolean, Date, Integer, Schema


def spread(column: Integer, *edges: int) -> list[int]:
    return (
        DryRunTable(Schema(columns=(column,)), people=1000)
        .lattice_counts("x", edges)
        .tolist()
    )


def test_people_lie_evenly_between_the_bounds_and_nowhere_else() -> None:
    assert spread(
        Integer(name="x", min=-50, max=49), -(2**62), -50, 0, 1, 50, 2**62
    ) == [0, 500, 10, 490, 0]
    assert sum(spread(Integer(name="x", min=0, max=6), *range(8))) == 1000


@pytest.mark.parametrize(
    ("column", "first"),
    [
        (Integer(name="x"), 0),
        (Integer(name="x", min=10**6), 10**6),
        (Integer(name="x", max=-1), -ASSUMED_RANGE),
    ],
)
def test_a_bound_that_is_declared_is_where_the_assumed_range_begins_or_ends(
    column: Integer, first: int
) -> None:
    assert spread(column, first, first + ASSUMED_RANGE) == [1000]


PLANS = 50
"""Plans whose bins are averaged: one alone has 2 to 20 at ε = 0.1 (deviation 3.1), and
by Bernstein's inequality the mean leaves the bounds below once in 10⁸ runs.
"""


@pytest.mark.parametrize(
    ("epsilon", "rows", "least", "most"),
    [("0.1", 2_000, 3, 12), (1, 2_000, 12, 19), (1, 10**6, 30, 33)],
)
def test_a_plan_learns_as_many_bins_as_its_rows_and_noise_allow(
    epsilon: object, rows: int, least: int, most: int
) -> None:
    columns = (
        Integer(name="x", min=0, max=9_999),
        Date(name="y"),
        Boolean(name="z"),
        Boolean(name="w"),
    )

    def count_bins() -> int:
        made = us.plan(
            Schema(columns=columns),
            epsilon=epsilon,
            rows=rows,
            synthesizer="independent",
            outlook=False,
        )
        return {m.clique[0]: m.cells for m in made.marginals}["x"]

    assert least <= sum(count_bins() for _ in range(PLANS)) / PLANS <= most
