"""The schema: the public description of a table, and what in it is left to learn."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema.columns.base import Column
from understudy.schema.columns.codec import Codec, codec_of
from understudy.schema.columns.discrete import Identifier
from understudy.schema.predicates.ast import Predicate
from understudy.schema.predicates.comparable import check_predicate
from understudy.schema.predicates.on_cells import surely_true_cells
from understudy.schema.predicates.rules import BrokenRowPolicy, Rule, split_disjuncts

MAX_UNIT_ROWS = 1_000_000
"""The most rows that may be protected together: noise on every count grows with them.
"""

MAX_DECLARED_ROWS = 10**12
"""Rows that a table may be declared to have: no table has more, so a larger number is a
slip or an attack.
"""

MAX_MASK_CELLS = 1 << 22
"""A rule over more cells than this is kept row by row, without a table of what it
forbids.
"""

MAX_TOTAL_MASK_CELLS = 1 << 26
"""Cells of all tables of what is forbidden, a byte each: thousands of rules must not
make thousands of large tables.
"""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """Whom the guarantee protects: the row, or an id with at most `max_rows` rows,
    enforced.

    `sizes` says how many ids have 1, 2, … `max_rows` rows, where that is known:
    declared, or `learned` at a price.

    >>> Unit(id="patient", max_rows=5).noun
    'patient'
    """

    id: str | None = None
    max_rows: int = 1
    sizes: tuple[int, ...] = ()
    learned: bool = False

    def __post_init__(self) -> None:
        if self.sizes and (
            len(self.sizes) != self.max_rows
            or min(self.sizes) < 0
            or max(self.sizes) == 0
        ):
            raise SchemaError(
                "unit: sizes must say how many have 1, 2, … max_rows rows, and not be"
                " all 0"
            )
        if not 1 <= self.max_rows <= MAX_UNIT_ROWS:
            raise SchemaError(
                f"unit: max_rows must be at least 1 and at most {MAX_UNIT_ROWS:,}:"
                " noise grows with it"
            )
        if self.id is None and self.max_rows != 1:
            raise SchemaError(
                "unit: max_rows needs an id column. Add `id`, or leave max_rows out"
            )

    @property
    def noun(self) -> str:
        """The unit in words."""
        return "row" if self.id is None else self.id


@dataclass(frozen=True, kw_only=True)
class Schema:
    """A table's public description.

    `rows` is the number of rows where the owner declares it public (needed for
    `replace` neighbours). `impossible` lists what holds for no row, by the nature of
    the thing, and `rules` what holds for every one; `broken` says what becomes of rows
    that break them. Iterating gives the names of the columns that take part in a
    release.

    >>> from understudy.schema.columns.discrete import Boolean, Text
    >>> list(Schema(columns=(Boolean(name="smoker"), Text(name="remarks"))))
    ['smoker']
    """

    columns: tuple[Column, ...]
    unit: Unit = Unit()
    rows: int | None = None
    impossible: tuple[Predicate, ...] = ()
    rules: tuple[Rule, ...] = ()
    broken: BrokenRowPolicy = BrokenRowPolicy.KEEP
    count_broken: bool = False

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema file; an error names the file and the line.

        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "people.yaml")
        ...     _ = path.write_text("columns: {age: {type: integer, min: 0, max: 90}}")
        ...     list(Schema.load(path))
        ['age']
        """
        # The reader of files builds schemas, so it imports this module and cannot be
        # imported by it before a method is called.
        from understudy.schema.yaml.file import load_schema_file

        return load_schema_file(path)

    @classmethod
    def parse(cls, text: str, *, source: str = "schema") -> Schema:
        """Read a schema from the text of a schema file; `source` begins its errors.

        >>> list(Schema.parse("columns: {smoker: boolean, remarks: text}"))
        ['smoker']
        """
        from understudy.schema.yaml.file import parse_schema_text

        return parse_schema_text(text, source)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a schema file, whole or not at all, readable by its owner only: a
        schema may have been drafted from the rows.

        >>> import tempfile
        >>> from pathlib import Path
        >>> schema = Schema.parse("columns: {smoker: boolean}")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     schema.save(Path(folder, "people.yaml"))
        ...     Schema.load(Path(folder, "people.yaml")) == schema
        True
        """
        from understudy.schema.yaml.file import save_schema_file

        save_schema_file(self, path)

    def __post_init__(self) -> None:
        if len(self.by_name) < len(self.columns):
            times = Counter(column.name for column in self.columns)
            twice = min(name for name, count in times.items() if count > 1)
            raise SchemaError(
                f'column "{twice}" stands twice in the schema. Names must differ'
            )
        if self.unit.id is not None and self.unit.id not in self.by_name:
            raise SchemaError(
                f'unit: the id column "{self.unit.id}" is not in the schema'
            )
        if self.unit.id is not None and not isinstance(self[self.unit.id], Identifier):
            raise SchemaError(
                f'unit: the id column "{self.unit.id}" must have type identifier'
            )
        if self.unit.id is None and any(column.constant for column in self.columns):
            name = next(column.name for column in self.columns if column.constant)
            raise SchemaError(
                f'column "{name}": constant within whom? Add `unit` with an `id`'
            )
        if self.rows is not None and self.rows < 0:
            raise SchemaError("rows: a table cannot have fewer than 0 rows")
        if self.rows is not None and self.rows > MAX_DECLARED_ROWS:
            raise SchemaError(
                f"rows: more than {MAX_DECLARED_ROWS:,} rows, which no table has."
                " Correct it, or leave it out"
            )
        for predicate in self.impossible:
            check_impossible(predicate, self.by_name)
        for rule in self.rules:
            check_rule(rule, self.by_name)
        if self.broken is BrokenRowPolicy.MISSING:
            self._check_rule_cells_nullable()

    def _check_rule_cells_nullable(self) -> None:
        spoken = set().union(
            *(p.columns for p in self.impossible),
            *(rule.columns for rule in self.rules),
        )
        for column in self.columns:
            if column.name in spoken and column.is_modelled and not column.nullable:
                raise SchemaError(
                    f'broken: missing empties cells, and column "{column.name}" is not'
                    " nullable. Remove `nullable: false`, or choose drop"
                )

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """Every column under its name; with tens of thousands of columns nothing may
        search the list for one.
        """
        return {column.name: column for column in self.columns}

    @cached_property
    def order(self) -> dict[str, int]:
        """The place of every column of the release among them."""
        return {name: place for place, name in enumerate(self)}

    def __getitem__(self, name: str) -> Column:
        if name not in self.by_name:
            raise SchemaError(f'column "{name}" is not in the schema')
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return (c.name for c in self.columns if c.is_modelled)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return (
            isinstance(name, str)
            and name in self.by_name
            and self.by_name[name].is_modelled
        )

    @property
    def keys(self) -> tuple[str, ...]:
        """The identifiers that rows carry fresh keys of."""
        return tuple(
            c.name
            for c in self.columns
            if isinstance(c, Identifier) and c.generate and c.use
        )

    @property
    def constant_columns(self) -> tuple[str, ...]:
        """The columns of a release that are the same in all rows of a unit."""
        return tuple(name for name in self if self[name].constant)

    @property
    def is_closed(self) -> bool:
        """Whether every column of the release has a known domain."""
        return all(self[name].is_closed for name in self)

    @cached_property
    def codecs(self) -> dict[str, Codec]:
        """The codec of every column of the release; the schema must be closed."""
        return {name: codec_of(self[name]) for name in self}

    @cached_property
    def column_sizes(self) -> dict[str, int]:
        """Number of codes of every column of the release.

        >>> Schema.parse("columns: {smoker: {type: boolean, nullable: false}}").column_sizes
        {'smoker': 2}
        """
        return {name: codec.size for name, codec in self.codecs.items()}

    @cached_property
    def named_breaches(self) -> tuple[tuple[str, Predicate], ...]:
        """What no row may have, each with the name of the rule that says so; what is
        still to be learned is left out.

        >>> from understudy.schema import Integer, Schema
        >>> page = "columns: {a: {type: integer, min: 0, max: 9}, b: {type: integer, min: 0, max: 9}}\\nrules: [a <= b]"
        >>> [(name, str(predicate)) for name, predicate in Schema.parse(page).named_breaches]
        [('a <= b', 'a > b')]
        """
        found = [
            (rule.title, rule.breach_predicate(self.by_name)) for rule in self.rules
        ]
        said = [(f"never {predicate}", predicate) for predicate in self.impossible]
        return (
            *said,
            *((name, predicate) for name, predicate in found if predicate is not None),
        )

    @cached_property
    def masks(self) -> dict[tuple[str, ...], NDArray[np.bool_]]:
        """The structural zeros of every set of columns that a rule is about, where
        their table is small enough to hold.
        """
        large = {p.columns for p in self.unmasked_predicates}
        cliques = (
            tuple(n for n in self if n in p.columns)
            for p in self.forbidden_predicates
            if p.columns not in large
        )
        found = {clique: self.zeros(clique) for clique in dict.fromkeys(cliques)}
        return {clique: zeros for clique, zeros in found.items() if zeros is not None}

    @cached_property
    def unmasked_predicates(self) -> tuple[Predicate, ...]:
        """What is forbidden over too many cells for a table, or when the tables before
        it are as many as are held.
        """
        masked: dict[frozenset[str], bool] = {}
        held = 0
        for columns in (predicate.columns for predicate in self.forbidden_predicates):
            if columns not in masked:
                size = math.prod(self.sizes(tuple(columns)))
                masked[columns] = (
                    size <= MAX_MASK_CELLS and held + size <= MAX_TOTAL_MASK_CELLS
                )
                held += size if masked[columns] else 0
        return tuple(p for p in self.forbidden_predicates if not masked[p.columns])

    @cached_property
    def forbidden_predicates(self) -> tuple[Predicate, ...]:
        """The breaches about columns that all take part in a release, in parts that are
        about as few columns as can be.
        """
        kept = set(self)
        said = (
            predicate
            for _, predicate in self.named_breaches
            if predicate.columns <= kept
        )
        return tuple(
            dict.fromkeys(
                part for predicate in said for part in split_disjuncts(predicate)
            )
        )

    @cached_property
    def _forbidden_by_column(self) -> dict[str, list[tuple[frozenset[str], Predicate]]]:
        """The same under the first of its columns, with all of them."""
        found: dict[str, list[tuple[frozenset[str], Predicate]]] = {}
        for predicate in self.forbidden_predicates:
            found.setdefault(min(predicate.columns), []).append(
                (predicate.columns, predicate)
            )
        return found

    def forbidden_within(self, clique: Iterable[str]) -> list[Predicate]:
        """What is forbidden of these columns and no others."""
        inside = frozenset(clique)
        touching = (
            pair
            for name in sorted(inside)
            for pair in self._forbidden_by_column.get(name, ())
        )
        return [predicate for columns, predicate in touching if columns <= inside]

    def sizes(self, clique: tuple[str, ...]) -> tuple[int, ...]:
        """Number of codes of each column of a clique."""
        return tuple(self.column_sizes[name] for name in clique)

    def zeros(self, clique: tuple[str, ...]) -> NDArray[np.bool_] | None:
        """The cells of a clique that no row can be in (structural zeros), by code; None
        where there are none.

        >>> from understudy.schema import Boolean, Integer, parse_predicate
        >>> columns = (Integer(name="age", min=14, max=16, nullable=False), Boolean(name="married", nullable=False))
        >>> schema = Schema(columns=columns, impossible=(parse_predicate("age < 15 and married = true"),))
        >>> schema.zeros(("age", "married")).astype(int).tolist()
        [[0, 1], [0, 0], [0, 0]]
        """
        inside = self.forbidden_within(clique)
        if not inside:
            return None
        mask = surely_true_cells(inside[0], self.codecs, clique)
        for predicate in inside[1:]:
            mask |= surely_true_cells(predicate, self.codecs, clique)
        return mask if mask.any() else None

    def with_row_units(self) -> Schema:
        """The same with rows as units: nothing is constant where nobody has several."""
        return replace(
            self,
            columns=tuple(replace(c, constant=False) for c in self.columns),
            unit=Unit(),
        )

    def with_column(self, column: Column) -> Schema:
        """The same schema with one column described anew."""
        return replace(
            self,
            columns=tuple(column if c.name == column.name else c for c in self.columns),
        )


def check_impossible(predicate: Predicate, columns: Mapping[str, Column]) -> None:
    """Refuse what is declared impossible of columns that it makes no sense for."""
    try:
        check_predicate(predicate, columns)
    except SchemaError as error:
        raise SchemaError(f"impossible: {predicate}: {error}") from None


def check_rule(rule: Rule, columns: Mapping[str, Column]) -> None:
    """Refuse a rule that makes no sense for the columns it names."""
    try:
        rule.check(columns)
    except SchemaError as error:
        raise SchemaError(f"rule {rule.title}: {error}") from None
