"""Small made countries, their truth and their measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.censuses.design import CensusDesign
from understudy.censuses.lattice import sum_to_marginal
from understudy.censuses.level_measurement import LevelMeasurement
from understudy.schema import Schema

SCHEMA = """
columns:
  state: {type: categorical, values: [n, s, w], nullable: false}
  county: {type: categorical, values: [a, b, c, d], nullable: false}
  age: {type: categorical, values: [child, adult, old], nullable: false}
  kind: {type: categorical, values: [home, gq], nullable: false}
  sex: {type: categorical, values: [f, m], nullable: false}
"""
IMPOSSIBLE = "impossible: [\"age = 'child' and kind = 'gq'\"]\n"


def make_design(plain: Mapping[str, Any], *, zeros: bool = False) -> CensusDesign:
    """A design of the small schema; `zeros` declares that no child is in a facility."""
    return CensusDesign.of(Schema.parse(SCHEMA + (IMPOSSIBLE if zeros else "")), plain)


def make_truth(design: CensusDesign, rng: Generator, mean: float) -> list[NDArray[Any]]:
    """True tables of all units, by level."""
    leaves = design.hierarchy.count_units(len(design.hierarchy.columns))
    table = rng.poisson(mean, (leaves, *design.shape)) * ~design.impossible
    return [
        add_up(design, table, level) for level in range(len(design.hierarchy.levels))
    ]


def add_up(design: CensusDesign, leaves: NDArray[Any], level: int) -> NDArray[Any]:
    """The tables of a level from those of the lowest units."""
    table = np.zeros((design.hierarchy.count_units(level), *design.shape), np.int64)
    np.add.at(table, design.hierarchy.ancestors(level), leaves)
    return table


def count_query(
    design: CensusDesign, table: NDArray[Any], query: tuple[str, ...]
) -> Any:
    """A query of tables over all axes."""
    return sum_to_marginal(table, tuple(range(len(design.shape))), design.axes(query))


def measure(
    design: CensusDesign, truth: list[NDArray[Any]], rng: Generator, scale: float
) -> tuple[LevelMeasurement, ...]:
    """Simulated answers to every query of the plan; a scale of 0 adds nothing."""
    measured = []
    for level, query, _ in design.plan.steps():
        exact = count_query(design, truth[design.hierarchy.levels.index(level)], query)
        noise = np.rint(rng.normal(0, scale, exact.shape)).astype(np.int64)
        measured.append(LevelMeasurement(level, query, exact + noise, scale))
    return tuple(measured)


def read_exact(design: CensusDesign, truth: list[NDArray[Any]]) -> dict[int, Any]:
    """The counts of the invariants that read rows."""
    exact = {}
    for place, each in enumerate(design.invariants):
        if each.reads_rows:
            table = truth[design.hierarchy.levels.index(each.level)]
            exact[place] = count_query(design, table, each.query)
    return exact
