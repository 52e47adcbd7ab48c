"""The design of a census release: everything the owner says, and nothing that rows say.

It is the part `census:` of a schema file, or made in Python. Structural zeros are the
schema's own rules.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.neighbours import Neighbours
from understudy.censuses.areas import AreaMap, read_areas
from understudy.censuses.bound_reader import read_bound, read_facilities
from understudy.censuses.controlled_rounding import UNBOUNDED_COUNT
from understudy.censuses.hierarchy import (
    DEFAULT_ROOT_NAME,
    Hierarchy,
    admit_missing_places,
)
from understudy.censuses.household_design import HouseholdDesign
from understudy.censuses.invariants import (
    Invariant,
    InvariantKind,
    UnitBounds,
    check_invariants,
)
from understudy.censuses.lattice import AxisSet, MarginalLattice
from understudy.censuses.measurement_plan import (
    HOUSEHOLD_PREFIX,
    MeasurementPlan,
    name_answer,
    parse_query,
    reads_otherwise,
)
from understudy.errors import Refused, SchemaError
from understudy.measurements import Clique
from understudy.schema import Schema

MAX_PERSON_CELLS = 1_000_000
"""Cells of the persons' table of one unit."""

TABLE_NUMBER_COLUMNS = ("count", "estimate", "standard_error", "measured", "noise_sd")
"""The columns of a table beside its labels."""

_DESIGN_KEYS = (
    "hierarchy",
    "plan",
    "invariants",
    "households",
    "publish",
    "areas",
)
_HIERARCHY_KEYS = ("columns", "root", "units", "tree")
_PLAN_KEYS = ("levels", "queries")
_HOUSEHOLD_KEYS = (
    "key",
    "max_persons",
    "columns",
    "householder",
    "share",
    "plan",
)
_INVARIANT_KEYS = (
    "level",
    "query",
    "keep",
    "at_least",
    "at_most",
    "facilities",
    "max_persons",
)


@dataclass(frozen=True, eq=False)
class CensusDesign:
    """A hierarchy, the columns that describe a person, the measurement plan and the
    invariants.

    >>> schema = Schema.parse('''
    ... columns:
    ...   state: {type: categorical, values: [north, south], nullable: false}
    ...   sex: {type: categorical, values: [f, m], nullable: false}
    ... ''')
    >>> design = CensusDesign.of(schema, {"hierarchy": {"columns": ["state"]}})
    >>> design.columns, design.hierarchy.levels, design.shape
    (('sex',), ('nation', 'state'), (2,))
    """

    schema: Schema
    hierarchy: Hierarchy
    plan: MeasurementPlan
    invariants: tuple[Invariant, ...] = ()
    households: HouseholdDesign | None = None
    publish: tuple[Clique, ...] | None = None
    """The queries whose tables are written; None for all that are measured."""

    areas: Mapping[str, AreaMap] = field(default_factory=dict)
    """Areas off the hierarchy by the names of their columns."""

    @classmethod
    def of(
        cls, schema: Schema, plain: Mapping[str, Any], *, folder: Path = Path()
    ) -> CensusDesign:
        """The design that the part `census` of a schema file says; files it names lie
        beside it in `folder`.
        """
        _check_keys(plain, _DESIGN_KEYS, "census")
        hierarchy = _read_hierarchy(schema, plain.get("hierarchy"), folder)
        schema = admit_missing_places(schema, hierarchy.columns)
        columns = tuple(name for name in schema if name not in hierarchy.columns)
        shares = plain.get("plan") or {}
        _check_keys(shares, _PLAN_KEYS, "census: plan")
        plan = MeasurementPlan.of(hierarchy.levels, columns, **shares)
        listed = plain.get("invariants") or []
        invariants = tuple(
            _read_invariant(each, schema, hierarchy, folder) for each in listed
        )
        households = None
        if plain.get("households") is not None:
            _check_keys(plain["households"], _HOUSEHOLD_KEYS, "census: households")
            households = HouseholdDesign.of(
                plain["households"], hierarchy.levels, columns
            )
            # Margins over the household's columns are fixed first, in every unit.
            fixed = Invariant(hierarchy.levels[-1], households.columns)
            invariants = (*invariants, fixed)
        return cls(
            schema,
            hierarchy,
            plan,
            invariants,
            households,
            _read_published(plain.get("publish"), columns),
            _read_area_maps(plain.get("areas") or {}, hierarchy, schema, folder),
        )

    @property
    def published_queries(self) -> tuple[Clique, ...]:
        """The queries whose tables are written, the total among them."""
        listed = self.plan.cliques() if self.publish is None else self.publish
        return tuple(dict.fromkeys([(), *listed]))

    @property
    def columns(self) -> Clique:
        """The columns that describe a person, in the schema's order."""
        return tuple(name for name in self.schema if name not in self.hierarchy.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a unit's table of persons."""
        return self.schema.sizes(self.columns)

    def axes(self, query: Clique) -> AxisSet:
        """The axes of a query in the persons' table."""
        return tuple(self.columns.index(name) for name in query)

    @cached_property
    def lattice(self) -> MarginalLattice:
        """The lattice of all queries and invariants."""
        asked = [
            *self.plan.cliques(),
            *self.published_queries,
            *(each.query for each in self.invariants),
        ]
        return MarginalLattice(self.shape, [self.axes(query) for query in asked])

    @cached_property
    def impossible(self) -> NDArray[np.bool_]:
        """The structural zeros of the persons' table."""
        zeros = self.schema.zeros(self.columns)
        return np.zeros(self.shape, bool) if zeros is None else zeros

    def check(self, neighbours: Neighbours) -> None:
        """Refuse what could not be released, before anything is spent."""
        if not self.schema.is_closed:
            raise Refused(
                "census: every column needs its values or bounds in the schema: nothing"
                " is learned here. Nothing was spent"
            )
        self._check_names()
        self.hierarchy.check_columns(self.schema)
        if not self.columns:
            raise Refused("census: no column describes a person. Nothing was spent")
        if np.prod(self.shape, dtype=float) > MAX_PERSON_CELLS:
            raise Refused(
                f"census: a unit's table has more than {MAX_PERSON_CELLS:,} cells."
                " Use fewer columns or coarser bins. Nothing was spent"
            )
        if self.impossible.all():
            raise Refused("census: the rules leave no cell possible. Nothing was spent")
        check_invariants(self.invariants, self.hierarchy, neighbours)
        if self.households is not None:
            self._check_households(self.households)

    def _check_names(self) -> None:
        """Refuse labels that a number of the same name would take the place of."""
        for name in (*self.schema, *self.areas):
            if name in TABLE_NUMBER_COLUMNS:
                raise Refused(
                    f'census: the column "{name}" has the name of a number in the tables.'
                    " Rename it. Nothing was spent"
                )
        for name in self.columns:
            if reads_otherwise(name, self.columns):
                raise Refused(
                    f'census: the column "{name}" has a name that means something else in'
                    " queries. Rename it. Nothing was spent"
                )

    def _check_households(self, households: HouseholdDesign) -> None:
        households.check(self.schema)
        if not households.mark_kinds(self.schema, self.columns, self.impossible).any():
            raise Refused(
                "census: households: the rules allow no householder, so nobody would"
                " live in a household. Nothing was spent"
            )
        for each in self.invariants:
            if not set(each.query) <= set(households.columns):
                raise Refused(
                    f"census: {each}: with households an invariant is about their"
                    f" columns alone ({', '.join(households.columns) or 'the total'})."
                    " Add the column to them, or leave the invariant out. Nothing was"
                    " spent"
                )

    @property
    def person_share(self) -> Fraction:
        """The part of the budget that the persons' queries get."""
        share = Fraction(0) if self.households is None else self.households.share
        return 1 - share

    @cached_property
    def household_lattice(self) -> MarginalLattice:
        """The lattice of the queries about households."""
        households = self.households
        assert households is not None
        asked = [*households.plan.cliques(), ()]
        shape = households.find_shape(self.schema)
        return MarginalLattice(shape, [households.find_axes(q) for q in asked])

    def without_answers(self, lost: Collection[str]) -> CensusDesign:
        """The design without the queries of these names (`block/detail`)."""
        steps = [
            (level, query)
            for level, query, _ in self.plan.steps()
            if name_answer(level, query, self.columns) in lost
        ]
        households = self.households
        if households is not None:
            columns = households.table_columns
            linked = [
                (level, query)
                for level, query, _ in households.plan.steps()
                if name_answer(level, query, columns, HOUSEHOLD_PREFIX) in lost
            ]
            plan = households.plan.without(linked)
            households = replace(households, plan=plan)
        return replace(self, plan=self.plan.without(steps), households=households)

    def with_schema(self, schema: Schema) -> CensusDesign:
        """The same design of a schema in another order."""
        moved = [
            replace(each, query=_in_order(each.query, schema))
            for each in self.invariants
        ]
        queries = {
            level: {_in_order(query, schema): share for query, share in shares.items()}
            for level, shares in self.plan.queries.items()
        }
        plan = replace(self.plan, queries=queries)
        households = self.households
        if households is not None:
            households = households.with_order(schema)
        publish = self.publish
        if publish is not None:
            publish = tuple(_in_order(query, schema) for query in publish)
        return CensusDesign(
            schema,
            self.hierarchy,
            plan,
            tuple(moved),
            households,
            publish,
            self.areas,
        )


def _in_order(query: Clique, schema: Schema) -> Clique:
    return tuple(name for name in schema if name in query)


def _read_published(plain: object, columns: Clique) -> tuple[Clique, ...] | None:
    if plain is None:
        return None
    if isinstance(plain, str) or not isinstance(plain, Sequence):
        raise SchemaError("census: publish: a list of queries, such as [total, age]")
    return tuple(parse_query(str(query), columns) for query in plain)


def _read_area_maps(
    plain: object, hierarchy: Hierarchy, schema: Schema, folder: Path
) -> dict[str, AreaMap]:
    if not isinstance(plain, Mapping):
        raise SchemaError("census: areas: a file for each, such as {school: areas.csv}")
    taken = {*hierarchy.levels, *schema}
    for name in plain:
        if name in taken:
            raise SchemaError(
                f'census: areas: "{name}" is a level or a column already. Name the area'
                " otherwise"
            )
    return {
        str(name): read_areas(folder / str(file), str(name), hierarchy)
        for name, file in plain.items()
    }


def _read_hierarchy(schema: Schema, plain: object, folder: Path) -> Hierarchy:
    if not isinstance(plain, Mapping) or "columns" not in plain:
        raise SchemaError(
            "census: name the columns of the hierarchy, the largest units first:"
            " `hierarchy: {columns: [state, county]}`"
        )
    _check_keys(plain, _HIERARCHY_KEYS, "census: hierarchy")
    given, root = plain["columns"], str(plain.get("root") or DEFAULT_ROOT_NAME)
    if not isinstance(given, str | Sequence):
        raise SchemaError("census: hierarchy: `columns` is a list of columns")
    columns = [given] if isinstance(given, str) else [str(name) for name in given]
    if "tree" in plain and "units" in plain:
        raise SchemaError("census: hierarchy: give a `tree` or a list of `units`")
    if "tree" in plain:
        return Hierarchy.from_tree(columns, plain["tree"], root=root)
    if "units" in plain:
        units = _read_units(folder / str(plain["units"]), columns)
        return Hierarchy.from_columns(columns, units, root=root)
    return Hierarchy.from_schema(columns, schema, root=root)


def _read_units(path: Path, columns: list[str]) -> list[tuple[str, ...]]:
    """The public list of lowest units: a CSV file with the hierarchy's columns."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return [
                tuple(row[name] for name in columns) for row in csv.DictReader(file)
            ]
    except OSError as error:
        raise SchemaError(f"{path}: cannot be read ({error.strerror})") from None
    except (KeyError, TypeError):
        raise SchemaError(
            f"{path}: needs the columns {', '.join(columns)} in every line"
        ) from None


def _read_invariant(
    plain: object, schema: Schema, hierarchy: Hierarchy, folder: Path
) -> Invariant:
    if not isinstance(plain, Mapping) or "level" not in plain:
        raise SchemaError("census: an invariant needs a `level` and a `query`")
    _check_keys(plain, _INVARIANT_KEYS, "census: invariant")
    keep = str(plain.get("keep", InvariantKind.NOTHING))
    if keep not in set(InvariantKind):
        raise SchemaError("census: an invariant keeps `counts` or `zeros`")
    level = str(plain["level"])
    columns = tuple(name for name in schema if name not in hierarchy.columns)
    query = parse_query(str(plain.get("query", "total")), columns)
    if "facilities" not in plain:
        at_least = read_bound(plain.get("at_least", 0), query, schema)
        at_most: UnitBounds = UNBOUNDED_COUNT
        if "at_most" in plain:
            at_most = read_bound(plain["at_most"], query, schema)
        return Invariant(level, query, InvariantKind(keep), at_least, at_most)
    if {"at_least", "at_most"} & set(plain):
        raise SchemaError(
            "census: an invariant has either `facilities` or bounds. Declare two"
        )
    path = folder / str(plain["facilities"])
    at_least, at_most = read_facilities(
        path, level, query, hierarchy, schema, plain.get("max_persons")
    )
    return Invariant(level, query, InvariantKind(keep), at_least, at_most)


def _check_keys(plain: object, known: tuple[str, ...], where: str) -> None:
    if not isinstance(plain, Mapping):
        raise SchemaError(f"{where}: must be a mapping of keys to values")
    for key in plain:
        if key not in known:
            raise SchemaError(
                f"{where}: `{key}` is not a key that is known here. Known here:"
                f" {', '.join(known)}"
            )
