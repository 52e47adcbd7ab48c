"""What an owner says about households: which column is their key, how large they are at
most, which columns all members share, and who the householder is.

The household's columns tell who lives in a household at all: where structural zeros
forbid a householder (a nursing home), nobody does. Elsewhere every person belongs to one
household, and every household has exactly one householder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.budget import to_exact_fraction
from understudy.censuses.measurement_plan import MeasurementPlan
from understudy.errors import Refused, SchemaError
from understudy.measurements import Clique
from understudy.schema import Schema

SIZE_COLUMN = "size"
"""What the number of persons of a household is called in queries."""

MAX_HOUSEHOLD_PERSONS = 100
"""Persons of one household: a table of sizes has so many cells."""

DEFAULT_HOUSEHOLD_SHARE = Fraction(1, 4)
"""Part of the budget that tables of households get where the design says nothing."""


@dataclass(frozen=True, kw_only=True)
class HouseholdDesign:
    """Households of persons who share a key.

    `columns` are those of the persons' columns that all members of a household share;
    `householder` is the column and label that mark one person of each household; `share`
    is the part of the budget that the queries of `plan` get.
    """

    key: str
    max_persons: int
    columns: Clique
    householder: tuple[str, str]
    share: Fraction
    plan: MeasurementPlan

    @classmethod
    def of(
        cls, plain: Mapping[str, object], levels: Sequence[str], columns: Clique
    ) -> HouseholdDesign:
        """The design that the part `households` says, for these levels and columns of
        persons.
        """
        missing = [name for name in ("key", "householder") if name not in plain]
        if missing:
            raise SchemaError(f"census: households need a `{missing[0]}`")
        shared = _read_columns(plain.get("columns") or [], columns)
        plan = plain.get("plan") or {}
        if not isinstance(plan, Mapping):
            raise SchemaError("census: households: `plan` has `levels` and `queries`")
        shares = dict(plan)
        shares.setdefault("queries", {"detail": 1})
        return cls(
            key=str(plain["key"]),
            max_persons=_read_size(plain.get("max_persons")),
            columns=shared,
            householder=_read_householder(plain["householder"], columns),
            share=_read_share(plain.get("share", DEFAULT_HOUSEHOLD_SHARE)),
            plan=MeasurementPlan.of(levels, (SIZE_COLUMN, *shared), **shares),
        )

    def __str__(self) -> str:
        return (
            f"households by {self.key} of at most {self.max_persons} persons, with one"
            " householder each"
        )

    @property
    def table_columns(self) -> Clique:
        """The columns of the table of households."""
        return (SIZE_COLUMN, *self.columns)

    def find_shape(self, schema: Schema) -> tuple[int, ...]:
        """The shape of a unit's table of households."""
        return (self.max_persons, *schema.sizes(self.columns))

    def find_sizes(self, query: Clique, schema: Schema) -> tuple[int, ...]:
        """The shape of a marginal of it."""
        shape = dict(zip(self.table_columns, self.find_shape(schema), strict=True))
        return tuple(shape[name] for name in query)

    def find_axes(self, query: Clique) -> tuple[int, ...]:
        """The axes of a query in the table of households."""
        return tuple(self.table_columns.index(name) for name in query)

    def mark_householders(self, schema: Schema, columns: Clique) -> NDArray[np.bool_]:
        """The cells of the persons' table that are householders."""
        name, label = self.householder
        axis = columns.index(name)
        marked = np.zeros(schema.sizes(columns), bool)
        place: list[int | slice] = [slice(None)] * len(columns)
        place[axis] = int(schema.codecs[name].code(label))
        marked[tuple(place)] = True
        return marked

    def mark_kinds(
        self, schema: Schema, columns: Clique, impossible: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """The cells of the household's columns where a householder is possible."""
        possible = self.mark_householders(schema, columns) & ~impossible
        gone = tuple(i for i, name in enumerate(columns) if name not in self.columns)
        return np.asarray(possible.any(axis=gone))

    def with_order(self, schema: Schema) -> HouseholdDesign:
        """The same design of a schema in another order."""
        shared = tuple(name for name in schema if name in self.columns)
        order = (SIZE_COLUMN, *shared)
        queries = {
            level: {
                tuple(name for name in order if name in query): share
                for query, share in shares.items()
            }
            for level, shares in self.plan.queries.items()
        }
        return replace(self, columns=shared, plan=replace(self.plan, queries=queries))

    def check(self, schema: Schema) -> None:
        """Refuse what could not be counted or promised, before anything is spent."""
        named = {column.name: column for column in schema.columns}
        if self.key not in named or named[self.key].is_modelled:
            raise Refused(
                f'census: households: the key "{self.key}" must be in the schema as an'
                " identifier. Nothing was spent"
            )
        if SIZE_COLUMN in named:
            raise Refused(
                f'census: households: the column "{SIZE_COLUMN}" has the name of the'
                " number of persons of a household. Rename it. Nothing was spent"
            )
        name, label = self.householder
        codec = schema.codecs[name]
        if name in self.columns or label not in [str(v) for v in codec.labels()]:
            raise Refused(
                f'census: households: column "{name}" does not mark a householder: it'
                " needs the label in its declared values, and must not be one of the"
                " household's columns. Nothing was spent"
            )
        self._check_unit(schema)

    def _check_unit(self, schema: Schema) -> None:
        unit = schema.unit
        if unit.id is not None and unit.id != self.key:
            raise Refused(
                f'census: households: the privacy unit "{unit.id}" is neither a row nor'
                f' the household "{self.key}". Nothing was spent'
            )
        if unit.id is not None and unit.max_rows != self.max_persons:
            raise Refused(
                "census: households: `max_persons` must be the `max_rows` of the unit:"
                " larger households lose rows. Nothing was spent"
            )


def _read_columns(plain: object, columns: Clique) -> Clique:
    listed = [plain] if isinstance(plain, str) else plain
    if not isinstance(listed, Sequence) or not set(listed) <= set(columns):
        raise SchemaError(
            "census: households: `columns` are those of the persons' columns that all"
            " members of a household share"
        )
    return tuple(name for name in columns if name in listed)


def _read_size(plain: object) -> int:
    try:
        size = int(str(plain))
    except ValueError:
        size = 0
    if not 1 <= size <= MAX_HOUSEHOLD_PERSONS:
        raise SchemaError(
            "census: households: `max_persons` is a whole number from 1 to"
            f" {MAX_HOUSEHOLD_PERSONS}"
        )
    return size


def _read_householder(plain: object, columns: Clique) -> tuple[str, str]:
    if (
        not isinstance(plain, Mapping)
        or len(plain) != 1
        or next(iter(plain)) not in columns
    ):
        raise SchemaError(
            "census: households: `householder` names a column of persons and its label:"
            " `householder: {relation: householder}`"
        )
    ((name, label),) = plain.items()
    return str(name), str(label)


def _read_share(plain: object) -> Fraction:
    try:
        share = to_exact_fraction(plain)
    except ValueError:
        share = Fraction(0)
    if not 0 < share < 1:
        raise SchemaError(
            "census: households: `share` is a part of the budget between 0 and 1"
        )
    return share
