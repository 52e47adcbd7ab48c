"""What is checked of a census before anything is spent, and what is read of it at no
cost: the counts that the owner declared invariant.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from understudy.accounting.budget import (
    DEFAULT_DELTA,
    Budget,
    Number,
    to_exact_fraction,
)
from understudy.accounting.conversion import epsilon_of_zcdp, rho_for
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.accounting.neighbours import Neighbours
from understudy.censuses.bound_reader import MAX_BOUND_PERSONS
from understudy.censuses.design import CensusDesign
from understudy.censuses.expected_error import plan_noise
from understudy.censuses.invariants import (
    InvariantKind,
    LevelBounds,
    refuse_contradictions,
)
from understudy.censuses.margins import check_program
from understudy.censuses.release import ESTIMATE_METHODS, ExactCounts, bound_design
from understudy.curator.mechanisms.geounits import UnitHistogram, UnitLevel
from understudy.errors import InvalidBudget, Refused
from understudy.noise.samplers import MAX_NOISE_SCALE
from understudy.schema import Schema, schema_to_dict
from understudy.schema.yaml.file import load_census_part
from understudy.tables import TableSource
from understudy.workflow.open import (
    TableLike,
    member_of,
    open_source,
    refuse_tiny,
    schema_for,
    without_notes,
)
from understudy.workflow.preflight import refuse_dropping

MAX_PERSONS_DEVIATION = 100_000_000
"""Standard deviation of the number of all persons: beyond it most people of the largest
country are noise, and microdata of a small one fill the memory with it.
"""

MAX_NUMBERED_PLACES = 1 << 62
"""Combinations of labels of hierarchy and households, which are numbered in 64 bits."""

MAX_LEVEL_CELLS = 1 << 30
"""Cells of one query of a level: two bytes each in memory, and as many for its tables."""


@dataclass(frozen=True, kw_only=True)
class CheckedCensus:
    """A design with its table, budget and relation, past every refusal that needs no
    row.
    """

    design: CensusDesign
    source: TableSource
    budget: Budget
    filter: Filter
    neighbours: Neighbours

    @property
    def accounting(self) -> Accounting:
        """What the run adds up: ρ or μ²."""
        return self.filter.accounting

    @property
    def levels(self) -> dict[str, UnitLevel]:
        """The levels as the curator counts them."""
        hierarchy = self.design.hierarchy
        return {
            name: UnitLevel(name, hierarchy.ancestors(i), hierarchy.count_units(i))
            for i, name in enumerate(hierarchy.levels)
        }

    @property
    def context_digest(self) -> str:
        """A digest of what every answer depends on: a run is resumed under it alone."""
        facts: list[object] = ["census", schema_to_dict(self.design.schema)]
        text = json.dumps(facts, sort_keys=True, default=str)
        return sha256(text.encode()).hexdigest()


def check_census(
    data: TableLike,
    schema: Schema | str | Path,
    plain: Mapping[str, Any] | None,
    *,
    rho: Number | None,
    epsilon: Number | None,
    delta: Number | None,
    neighbours: Neighbours | str,
    method: str,
    accounting: Accounting | str = Accounting.ZCDP,
) -> CheckedCensus:
    """Every refusal that needs no row."""
    if method not in ESTIMATE_METHODS:
        raise Refused(
            f"census: the method is {' or '.join(ESTIMATE_METHODS)}. Nothing was spent"
        )
    relation = member_of(Neighbours, neighbours, "neighbour relation")
    budget, privacy_filter = read_census_budget(rho, epsilon, delta, accounting)
    given = read_design(schema, plain)
    source = open_source(data)
    described = without_notes(schema_for(source, given.schema))
    design = given.with_schema(described)
    check_design(design, privacy_filter, relation)
    # The id is not released, and still read: it bounds a person's rows.
    unit_columns = [] if described.unit.id is None else [described.unit.id]
    if design.households is not None:
        unit_columns.append(design.households.key)
    source.check([*described, *unit_columns])
    return CheckedCensus(
        design=design,
        source=source,
        budget=budget,
        filter=privacy_filter,
        neighbours=relation,
    )


def check_design(design: CensusDesign, filter: Filter, neighbours: Neighbours) -> None:
    """The refusals of a design that a plan and a run have in common."""
    design.check(neighbours)
    refuse_tiny(filter, design.schema.unit.max_rows)
    refuse_dropping(design.schema, neighbours)
    _refuse_large_answers(design)
    _refuse_many_places(design)
    _refuse_wide_noise(design, filter, neighbours)
    # Public bounds alone; with exact counts they are compared again.
    bounds = bound_design(design, {})
    _refuse_crowds(bounds)
    refuse_contradictions(bounds, design.hierarchy)
    check_program(design.hierarchy, design.lattice, bounds, design.impossible)


def adopt_delta(
    checked: CheckedCensus,
    delta: Fraction,
    *,
    rho: Number | None,
    epsilon: Number | None,
) -> CheckedCensus:
    """The same census at the δ of a run that is resumed: its noise depends on it."""
    budget, privacy_filter = read_census_budget(rho, epsilon, delta, checked.accounting)
    return replace(checked, budget=budget, filter=privacy_filter)


def read_census_budget(
    rho: Number | None,
    epsilon: Number | None,
    delta: Number | None,
    accounting: Accounting | str = Accounting.ZCDP,
) -> tuple[Budget, Filter]:
    """The budget from a ρ or an ε, and the filter of a run on it."""
    chosen = member_of(Accounting, accounting, "accounting")
    if chosen is Accounting.PURE or (rho is not None and chosen is Accounting.GDP):
        raise InvalidBudget(
            "census: the accounting is zcdp, or gdp with an epsilon. Nothing was spent"
        )
    if (rho is None) == (epsilon is None):
        raise InvalidBudget(
            "census: give either a rho or an epsilon. Nothing was spent"
        )
    if rho is None:
        budget = Budget.of(epsilon, DEFAULT_DELTA if delta is None else delta)
        return budget, Filter.of(budget, accounting=chosen)
    try:
        amount = to_exact_fraction(rho)
        exact_delta = DEFAULT_DELTA if delta is None else to_exact_fraction(delta)
    except ValueError:
        amount = exact_delta = Fraction(0)
    if amount <= 0 or exact_delta <= 0:
        raise InvalidBudget(
            "census: rho and delta are numbers above 0. Nothing was spent"
        )
    budget = Budget(epsilon_of_zcdp(amount, exact_delta), exact_delta)
    # Both conversions round to the safe side: what ε is worth may be a trifle less.
    return budget, Filter(Accounting.ZCDP, min(amount, rho_for(budget)))


def read_design(
    schema: Schema | str | Path, plain: Mapping[str, Any] | None
) -> CensusDesign:
    """The design given, or that of the schema file."""
    folder = Path()
    if isinstance(schema, str | Path):
        folder = Path(schema).parent
        plain = load_census_part(schema) if plain is None else plain
        schema = Schema.load(schema)
    if plain is None:
        raise Refused(
            "census: no design. Add a part `census` to the schema file, or give one."
            " Nothing was spent"
        )
    return CensusDesign.of(schema, plain, folder=folder)


def read_exact_counts(checked: CheckedCensus, histogram: UnitHistogram) -> ExactCounts:
    """The counts that are declared invariant, and refusals of what contradicts them."""
    levels = checked.levels
    exact = {}
    for place, each in enumerate(checked.design.invariants):
        if each.reads_rows:
            only_zeros = each.keep is InvariantKind.ZEROS
            level = levels[each.level]
            exact[place] = histogram.read_invariant(
                level, each.query, only_zeros=only_zeros
            )
    bounds = bound_design(checked.design, exact)
    refuse_contradictions(bounds, checked.design.hierarchy)
    design = checked.design
    check_program(design.hierarchy, design.lattice, bounds, design.impossible)
    return exact


def _refuse_wide_noise(
    design: CensusDesign, filter: Filter, neighbours: Neighbours
) -> None:
    """Refuse noise that no source draws, and noise that would make up whole peoples."""
    persons, linked = plan_noise(design, filter.total, neighbours, filter.accounting)
    for asked, scale in (*persons, *linked):
        if scale > MAX_NOISE_SCALE:
            raise Refused(
                f"census: a query of {asked.level} has so small a part of the budget that"
                " its noise would be wider than any that is drawn. Give it more weight, or"
                " leave it out. Nothing was spent"
            )
    if any(each.keep is InvariantKind.COUNTS for each in design.invariants):
        return
    levels, count = design.hierarchy.levels, design.hierarchy.count_units
    # What the best single query says of all persons; least squares knows little more.
    deviation = min(
        float(scale)
        * math.sqrt(count(levels.index(asked.level)) * math.prod(asked.sizes))
        for asked, scale in persons
    )
    if deviation > MAX_PERSONS_DEVIATION:
        raise Refused(
            f"census: the number of persons would be off by {deviation:,.0f}, so that the"
            " tables were noise alone. Use a larger budget. Nothing was spent"
        )


def _refuse_crowds(bounds: Sequence[LevelBounds]) -> None:
    """Refuse lower bounds that more persons would have to keep than there are."""
    least = max((int(each.lower.sum()) for each in bounds[0].values()), default=0)
    if least > MAX_BOUND_PERSONS:
        raise Refused(
            f"census: the bounds ask for {least:,} persons, more than"
            f" {MAX_BOUND_PERSONS:,}. Nothing was spent"
        )


def _refuse_many_places(design: CensusDesign) -> None:
    """Refuse places of households that one number cannot tell apart."""
    households, schema = design.households, design.schema
    if households is None:
        return
    labels = schema.sizes((*design.hierarchy.columns, *households.columns))
    if math.prod(labels) > MAX_NUMBERED_PLACES:
        raise Refused(
            "census: households: the labels of the hierarchy have more combinations than"
            " can be numbered. Use labels that repeat in every larger unit (county 001 of"
            " each state). Nothing was spent"
        )


def _refuse_large_answers(design: CensusDesign) -> None:
    asked = [(level, design.schema.sizes(q)) for level, q, _ in design.plan.steps()]
    if design.households is not None:
        asked += [
            (level, design.households.find_sizes(q, design.schema))
            for level, q, _ in design.households.plan.steps()
        ]
    for level, sizes in asked:
        units = design.hierarchy.count_units(design.hierarchy.levels.index(level))
        cells = units * np.prod(sizes, dtype=float)
        if cells > MAX_LEVEL_CELLS:
            raise Refused(
                f"census: {level} has {cells:.3g} cells in one query, more than"
                f" {MAX_LEVEL_CELLS:,}. Measure fewer columns there, or release parts"
                " of the hierarchy apart. Nothing was spent"
            )
