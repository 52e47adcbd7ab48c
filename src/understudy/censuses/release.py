"""A census release: tables of every unit, consistent with each other, and everything
they were made from.

Four products say the same thing at different prices: the noisy measurements (unbiased,
independent, inconsistent), the least-squares tables (unbiased, consistent, real
numbers), the fitted tables (whole, non-negative, consistent, slightly biased) and the
microdata, whose counts are the fitted tables to the last digit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.censuses.areas import find_area_variances
from understudy.censuses.controlled_rounding import Integers
from understudy.censuses.design import CensusDesign
from understudy.censuses.household_design import SIZE_COLUMN, HouseholdDesign
from understudy.censuses.household_estimate import (
    HouseholdEstimate,
    estimate_households,
    find_needs,
)
from understudy.censuses.household_sizes import deal_households
from understudy.censuses.invariants import LevelBounds, bound_levels
from understudy.censuses.lattice import Floats, number_parts, sum_to_marginal
from understudy.censuses.least_squares import (
    EXACT_ANSWER_VARIANCE,
    LeastSquaresTables,
    LevelAnswer,
)
from understudy.censuses.level_measurement import LevelMeasurement, to_answers
from understudy.censuses.margins import fix_margins
from understudy.censuses.measurement_plan import parse_query
from understudy.censuses.promises import refuse_broken_promises
from understudy.censuses.streamed_estimate import estimate_answers
from understudy.censuses.top_down import FittedTables, MapFamilies, fit_tables
from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.releases import BudgetStatement, Guarantee

ESTIMATE_METHODS = ("gls", "topdown")
"""How detail is estimated: from all levels at once, or each unit from its own answers."""


ExactCounts = Mapping[int, Integers]
"""The counts of invariants that read rows, by their place in the design."""


@dataclass(frozen=True, eq=False)
class CensusEstimate:
    """What is computed from measurements and invariants, without a row."""

    gls: LeastSquaresTables
    fitted: FittedTables
    households: HouseholdEstimate | None = None


def estimate_census(
    design: CensusDesign,
    measurements: tuple[LevelMeasurement, ...],
    exact: ExactCounts,
    *,
    households: tuple[LevelMeasurement, ...] = (),
    method: str = "gls",
    map_families: MapFamilies = map,
) -> CensusEstimate:
    """Estimates of every table: unbiased ones, then whole and non-negative ones.
    `households` are the noisy tables of households, if there are any; `map_families`
    says where parents are fitted.
    """
    hierarchy, lattice = design.hierarchy, design.lattice
    answers = _list_answers(design, measurements, exact)
    gls = estimate_answers(hierarchy, lattice, answers)
    basis = gls
    if method == "topdown":
        basis = estimate_answers(hierarchy, lattice, answers, is_tree=False)
    bounds = bound_design(design, exact)
    margins = fix_margins(hierarchy, basis, bounds, design.impossible)
    fitted = fit_tables(
        hierarchy,
        basis,
        margins,
        design.impossible,
        householders=find_needs(design, margins),
        map_families=map_families,
    )
    refuse_broken_promises(hierarchy, fitted.tables, bounds, design.impossible)
    if design.households is None or not households:
        return CensusEstimate(gls, fitted)
    linked = estimate_households(
        design, design.households, households, fitted.tables[-1]
    )
    return CensusEstimate(gls, fitted, linked)


def bound_design(design: CensusDesign, exact: ExactCounts) -> list[LevelBounds]:
    """The bounds of every level under these exact counts."""
    return bound_levels(
        design.invariants,
        exact,
        design.hierarchy,
        design.lattice,
        design.columns,
        design.impossible,
    )


def _list_answers(
    design: CensusDesign, measurements: tuple[LevelMeasurement, ...], exact: ExactCounts
) -> list[LevelAnswer]:
    """Noisy answers and invariant counts, as least squares takes them."""
    levels = design.hierarchy.levels
    answers = to_answers(measurements, levels, design.axes)
    for place, invariant in enumerate(design.invariants):
        # A zero pattern is a bound, not an answer.
        if place in exact and invariant.keep == "counts":
            level, axes = levels.index(invariant.level), design.axes(invariant.query)
            answers.append(
                LevelAnswer(level, axes, exact[place], EXACT_ANSWER_VARIANCE)
            )
    return answers


@dataclass(frozen=True, eq=False)
class CensusRelease:
    """Everything of a census that may leave the building.

    `table` gives one query of one level: the consistent `count`, the unbiased `estimate`
    with its `standard_error`, and what was `measured` where the plan asks for it.

    >>> import tempfile, duckdb, understudy as us
    >>> people = duckdb.sql(
    ...     "SELECT ['n', 's'][1 + i % 2] AS state, i % 3 = 0 AS old FROM range(90) t(i)"
    ... )
    >>> schema = us.Schema.parse(
    ...     "columns: {state: {type: categorical, values: [n, s]}, old: boolean}"
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     account = f"{folder}/people.ledger"
    ...     design = {"hierarchy": {"columns": ["state"]}}
    ...     release = us.census(people, schema, design, rho=1, ledger=account)
    >>> list(release.table("state"))
    ['state', 'count', 'estimate', 'standard_error', 'measured', 'noise_sd']
    """

    design: CensusDesign
    guarantee: Guarantee
    statement: BudgetStatement
    measurements: tuple[LevelMeasurement, ...]
    exact: ExactCounts
    estimate: CensusEstimate
    method: str
    household_measurements: tuple[LevelMeasurement, ...] = ()
    lost_answers: tuple[str, ...] = ()
    """Answers (`block/detail`) that were paid for and lost when the run was killed."""

    def sentence(self) -> str:
        """The guarantee in one sentence, with what it leaves out."""
        promise = self.guarantee.sentence()
        if not self.guarantee.invariants:
            return promise
        agreed = ", ".join(self.guarantee.invariants)
        return f"{promise.removesuffix('.')}, among tables that agree on {agreed}."

    def _list_facts(self) -> list[tuple[str, str]]:
        levels, count = self.design.hierarchy.levels, self.design.hierarchy.count_units
        facts = [
            ("promise", self.sentence()),
            ("persons", f"{self.persons:,}"),
            ("units", ", ".join(f"{count(i):,} {n}" for i, n in enumerate(levels))),
        ]
        if self.design.households is not None:
            facts.insert(2, ("households", f"{self.household_count:,}"))
        lost = [("lost", ", ".join(self.lost_answers))] if self.lost_answers else []
        return facts + lost

    def __repr__(self) -> str:
        return "\n".join(f"{name:<10} {text}" for name, text in self._list_facts())

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th style="text-align:left">{name}</th>'
            f'<td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in self._list_facts()
        )
        return f"<table><caption>Census release</caption>{rows}</table>"

    @property
    def persons(self) -> int:
        """How many rows the microdata have."""
        return int(self.estimate.fitted.tables[0].sum())

    def counts(self, level: str, query: str = "total") -> Integers:
        """The consistent counts of a query for the units of a level."""
        place, clique = self._find(level, query)
        table = self.estimate.fitted.tables[place]
        whole = tuple(range(len(self.design.shape)))
        return sum_to_marginal(table, whole, self.design.axes(clique)).astype(np.int64)

    def estimates(self, level: str, query: str = "total") -> tuple[Floats, Floats]:
        """Unbiased least-squares estimates of a query, and the standard error of each
        unit's cells.
        """
        place, clique = self._find(level, query)
        axes = self.design.axes(clique)
        gls = self.estimate.gls
        return gls.estimate_table(place, axes), np.sqrt(gls.variances(place, axes))

    def find_measurement(
        self, level: str, query: str = "total"
    ) -> LevelMeasurement | None:
        """The noisy answer to a query of a level, if it was measured."""
        _, clique = self._find(level, query)
        return next(
            (m for m in self.measurements if (m.level, m.query) == (level, clique)),
            None,
        )

    def table(self, level: str, query: str = "total") -> dict[str, NDArray[Any]]:
        """One query of one level as columns: labels, `count`, `estimate`,
        `standard_error`, and `measured` with `noise_sd` where it was measured.
        """
        place, clique = self._find(level, query)
        count = self.counts(level, query)
        estimate, error = self.estimates(level, query)
        labels = self._label_cells(place, clique, count.shape)
        measured = self.find_measurement(level, query)
        return _join_columns(labels, count, estimate, error, measured)

    def area_table(self, area: str, query: str = "total") -> dict[str, NDArray[Any]]:
        """One query of areas off the hierarchy as columns: label, `count`, `estimate` and
        `standard_error`, which knows how the errors of neighbours go together.
        """
        areas = self.design.areas.get(area)
        if areas is None:
            known = ", ".join(self.design.areas) or "none"
            raise Refused(
                f'census: "{area}" is no area of this design; there are {known}'
            )
        lowest = self.design.hierarchy.levels[-1]
        place, clique = self._find(lowest, query)
        axes = self.design.axes(clique)
        gls = self.estimate.gls
        count = areas.sum_leaves(self.counts(lowest, query)).astype(np.int64)
        estimate = areas.sum_leaves(gls.estimate_table(place, axes)).astype(float)
        variances = find_area_variances(self.design.hierarchy, gls, areas, axes)
        cells = self._label_cells(0, clique, count.shape)
        labels = {area: np.repeat(np.array(areas.labels, object), count[0].size)}
        return _join_columns(
            {**labels, **cells}, count, estimate, np.sqrt(variances), None
        )

    def microdata(self) -> dict[str, NDArray[np.int64]]:
        """One row a person, as codes of the schema's columns."""
        leaves = self.estimate.fitted.tables[-1]
        places = np.nonzero(leaves)
        times = leaves[places]
        codes = self.design.hierarchy.code_leaves(self.design.schema)
        rows = {
            name: np.repeat(codes[places[0], depth], times)
            for depth, name in enumerate(self.design.hierarchy.columns)
        }
        for axis, name in enumerate(self.design.columns):
            rows[name] = np.repeat(places[1 + axis], times)
        return rows

    @property
    def household_count(self) -> int:
        """How many households the microdata have; 0 where none are declared."""
        linked = self.estimate.households
        return 0 if linked is None else int(linked.tables[0].sum())

    def household_counts(self, level: str, query: str = "total") -> Integers:
        """The consistent numbers of households for the units of a level, by `size` and
        the household's columns.
        """
        place, clique, design, linked = self._find_households(level, query)
        whole = tuple(range(len(design.table_columns)))
        axes = design.find_axes(clique)
        return sum_to_marginal(linked.tables[place], whole, axes).astype(np.int64)

    def household_table(
        self, level: str, query: str = "total"
    ) -> dict[str, NDArray[Any]]:
        """One query about households as columns: labels, `count`, `estimate`,
        `standard_error`, and `measured` with `noise_sd` where it was measured.
        """
        place, clique, design, linked = self._find_households(level, query)
        axes = design.find_axes(clique)
        count = self.household_counts(level, query)
        measured = next(
            (
                each
                for each in self.household_measurements
                if (each.level, each.query) == (level, clique)
            ),
            None,
        )
        labels = self._label_cells(place, clique, count.shape)
        error = np.sqrt(linked.gls.variances(place, axes))
        estimate = linked.gls.estimate_table(place, axes)
        return _join_columns(labels, count, estimate, error, measured)

    def number_households(self, rng: Generator) -> Integers:
        """The number of each person's household in the rows of `microdata`, counted
        from 1; 0 outside of households. Every household has one householder and the
        size that tables of households say; who else lives in it is drawn at random
        among the persons of its place and kind.
        """
        linked, design = self.estimate.households, self.design.households
        if linked is None or design is None:
            raise Refused("census: the design declares no households")
        leaves = self.estimate.fitted.tables[-1]
        places = np.nonzero(leaves)
        times = leaves[places]
        kinds = number_parts(self.design.shape, self.design.axes(design.columns))
        marked = design.mark_householders(self.design.schema, self.design.columns)
        cells = np.ravel_multi_index(places[1:], self.design.shape)
        return deal_households(
            np.repeat(places[0], times),
            np.repeat(kinds[cells], times),
            np.repeat(marked.reshape(-1)[cells], times),
            linked.tables[-1].reshape(len(leaves), design.max_persons, -1),
            rng,
        )

    def _find_households(
        self, level: str, query: str
    ) -> tuple[int, Clique, HouseholdDesign, HouseholdEstimate]:
        linked, design = self.estimate.households, self.design.households
        if linked is None or design is None:
            raise Refused("census: the design declares no households")
        place, _ = self._find(level, "total")
        return place, parse_query(query, design.table_columns), design, linked

    def _find(self, level: str, query: str) -> tuple[int, Clique]:
        levels = self.design.hierarchy.levels
        if level not in levels:
            raise Refused(
                f'census: "{level}" is no level; there are {", ".join(levels)}'
            )
        return levels.index(level), parse_query(query, self.design.columns)

    def _label_cells(
        self, level: int, clique: Clique, shape: tuple[int, ...]
    ) -> dict[str, NDArray[Any]]:
        """The labels of every unit and cell, one column each."""
        grid = np.unravel_index(np.arange(int(np.prod(shape))), shape)
        hierarchy = self.design.hierarchy
        columns: dict[str, NDArray[Any]] = {}
        for depth, name in enumerate(hierarchy.columns[:level]):
            labels = np.array([path[depth] for path in hierarchy.paths(level)], object)
            columns[name] = labels[grid[0]]
        for axis, name in enumerate(clique):
            if name == SIZE_COLUMN and name not in self.design.columns:
                columns[name] = 1 + grid[1 + axis]
                continue
            labels = np.array(self.design.schema.codecs[name].labels(), object)
            columns[name] = labels[grid[1 + axis]]
        return columns


def _join_columns(
    labels: dict[str, NDArray[Any]],
    count: Integers,
    estimate: Floats,
    error: Floats,
    measured: LevelMeasurement | None,
) -> dict[str, NDArray[Any]]:
    """A table's columns; every cell of a unit has the unit's standard error."""
    columns = {
        **labels,
        "count": count.ravel(),
        "estimate": estimate.ravel(),
        "standard_error": np.repeat(error, count[0].size),
    }
    if measured is not None:
        columns["measured"] = measured.values.ravel()
        columns["noise_sd"] = np.full(count.size, np.sqrt(measured.variance))
    return columns
