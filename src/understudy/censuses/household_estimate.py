"""Tables of households that agree with the persons' tables of the same units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.censuses.controlled_rounding import Integers
from understudy.censuses.design import CensusDesign
from understudy.censuses.household_design import HouseholdDesign
from understudy.censuses.household_sizes import fit_sizes
from understudy.censuses.householders import HouseholderNeeds
from understudy.censuses.lattice import sum_to_marginal
from understudy.censuses.least_squares import HierarchyEstimate, estimate_tree
from understudy.censuses.level_measurement import LevelMeasurement, to_answers
from understudy.censuses.margins import LevelMargin


@dataclass(frozen=True, eq=False)
class HouseholdEstimate:
    """Households by size and kind: unbiased estimates, and whole tables (unit × size ×
    the household's columns) by level.
    """

    gls: HierarchyEstimate
    tables: tuple[Integers, ...]


def find_needs(
    design: CensusDesign, margins: Sequence[LevelMargin]
) -> HouseholderNeeds | None:
    """How many householders every unit needs; None where no households are declared."""
    households = design.households
    if households is None:
        return None
    axes = design.axes(households.columns)
    counts = [sum_to_marginal(each.counts, each.axes, axes) for each in margins]
    return HouseholderNeeds.of(
        design.hierarchy,
        counts,
        households.mark_householders(design.schema, design.columns),
        axes,
        mark_kinds(design, households),
        households.max_persons,
    )


def mark_kinds(design: CensusDesign, households: HouseholdDesign) -> NDArray[np.bool_]:
    """The cells of the household's columns that have households."""
    return households.mark_kinds(design.schema, design.columns, design.impossible)


def estimate_households(
    design: CensusDesign,
    households: HouseholdDesign,
    measurements: Sequence[LevelMeasurement],
    leaves: Integers,
) -> HouseholdEstimate:
    """Tables of households from noisy ones, and from the lowest units' persons."""
    hierarchy = design.hierarchy
    answers = to_answers(measurements, hierarchy.levels, households.find_axes)
    gls = estimate_tree(hierarchy, design.household_lattice, answers)
    whole = tuple(range(len(households.table_columns)))
    target = gls.estimate_table(len(hierarchy.levels) - 1, whole)
    flat = target.reshape(len(leaves), households.max_persons, -1)
    heads, persons = count_householders(design, households, leaves)
    tables = [fit_sizes(flat, heads, persons).reshape(target.shape)]
    for level in range(len(hierarchy.levels) - 2, -1, -1):
        tables.insert(0, hierarchy.sum_children(level, tables[0]))
    return HouseholdEstimate(gls, tuple(tables))


def count_householders(
    design: CensusDesign, households: HouseholdDesign, tables: Integers
) -> tuple[Integers, Integers]:
    """Householders and persons in households of each unit, by kind of household."""
    whole = tuple(range(len(design.shape)))
    axes = design.axes(households.columns)
    marked = households.mark_householders(design.schema, design.columns)
    heads = sum_to_marginal(tables * marked, whole, axes).reshape(len(tables), -1)
    persons = sum_to_marginal(tables, whole, axes).reshape(len(tables), -1)
    return heads, persons * mark_kinds(design, households).reshape(-1)
