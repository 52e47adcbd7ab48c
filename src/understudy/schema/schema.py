"""The schema: the public description of a table, including what is left to learn."""

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
from understudy.schema.unit import ROW_UNIT, Unit

# No table has more rows, so a larger declared number is a slip or an attack.
MAX_DECLARED_ROWS = 10**12

# A rule over more cells than this is checked row by row, without a table of its
# structural zeros.
MAX_MASK_CELLS = 1 << 22

# Cells of all tables of structural zeros, a byte each: thousands of rules must not make
# thousands of large tables.
MAX_TOTAL_MASK_CELLS = 1 << 26


@dataclass(frozen=True, kw_only=True)
class Schema:
    """A table's public description.

    `rows` is the number of rows if the owner declares it public (`replace` neighbours
    need it). `impossible` lists predicates that hold for no row, and `rules` those that
    hold for every row, whatever the data; `broken` says what becomes of rows that break
    them. Iterating gives the names of the columns that take part in a release.

    >>> from understudy.schema.columns.discrete import Boolean, Text
    >>> list(Schema(columns=(Boolean(name="smoker"), Text(name="remarks"))))
    ['smoker']
    """

    columns: tuple[Column, ...]
    unit: Unit = ROW_UNIT
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
        self._check_names()
        self._check_unit()
        self._check_row_count()
        for predicate in self.impossible:
            check_impossible(predicate, self.by_name)
        for rule in self.rules:
            check_rule(rule, self.by_name)
        if self.broken is BrokenRowPolicy.MISSING:
            self._check_rule_cells_nullable()

    def _check_names(self) -> None:
        if len(self.by_name) == len(self.columns):
            return
        counts = Counter(column.name for column in self.columns)
        repeated = min(name for name, count in counts.items() if count > 1)
        raise SchemaError(
            f'column "{repeated}" stands twice in the schema. Names must differ'
        )

    def _check_unit(self) -> None:
        unit_id = self.unit.id
        if unit_id is None:
            for column in self.columns:
                if column.constant:
                    raise SchemaError(
                        f'column "{column.name}": constant within whom? Add `unit` with'
                        " an `id`"
                    )
            return
        if unit_id not in self.by_name:
            raise SchemaError(f'unit: the id column "{unit_id}" is not in the schema')
        if not isinstance(self[unit_id], Identifier):
            raise SchemaError(
                f'unit: the id column "{unit_id}" must have type identifier'
            )

    def _check_row_count(self) -> None:
        if self.rows is None:
            return
        if self.rows < 0:
            raise SchemaError("rows: a table cannot have fewer than 0 rows")
        if self.rows > MAX_DECLARED_ROWS:
            raise SchemaError(
                f"rows: more than {MAX_DECLARED_ROWS:,} rows, which no table has."
                " Correct it, or leave it out"
            )

    def _check_rule_cells_nullable(self) -> None:
        """With `broken: missing`, cells of broken rules become missing, so each of
        their columns must have a code for that.
        """
        named = set().union(
            *(predicate.columns for predicate in self.impossible),
            *(rule.columns for rule in self.rules),
        )
        for column in self.columns:
            if column.name in named and column.is_modelled and not column.nullable:
                raise SchemaError(
                    f'broken: missing empties cells, and column "{column.name}" is not'
                    " nullable. Remove `nullable: false`, or choose drop"
                )

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """Every column under its name."""
        # With tens of thousands of columns nothing may search the list for one.
        return {column.name: column for column in self.columns}

    @cached_property
    def order(self) -> dict[str, int]:
        """The position of every column of the release."""
        return {name: position for position, name in enumerate(self)}

    def _repr_html_(self) -> str:
        # Imported here: what writes a schema down needs the class itself.
        from understudy.schema.declared_domain import schema_html

        return schema_html(self)

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
        """The identifiers for which synthetic rows carry fresh keys."""
        identifiers = [c for c in self.columns if isinstance(c, Identifier)]
        return tuple(c.name for c in identifiers if c.generate and c.use)

    @property
    def constant_columns(self) -> tuple[str, ...]:
        """The columns of a release that are the same in all rows of a unit."""
        return tuple(name for name in self if self[name].constant)

    @property
    def is_closed(self) -> bool:
        """Whether the domain of every column of the release is known."""
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
        """The predicates that hold for no row, each with the name of the rule that says
        so; rules that are still to be learned are left out.

        >>> schema = Schema.parse(
        ...     "columns: {a: {type: integer}, b: {type: integer}}\\nrules: [a <= b]"
        ... )
        >>> [(name, str(predicate)) for name, predicate in schema.named_breaches]
        [('a <= b', 'a > b')]
        """
        breaches = [(f"never {predicate}", predicate) for predicate in self.impossible]
        for rule in self.rules:
            predicate = rule.breach_predicate(self.by_name)
            if predicate is not None:
                breaches.append((rule.title, predicate))
        return tuple(breaches)

    @cached_property
    def masks(self) -> dict[tuple[str, ...], NDArray[np.bool_]]:
        """The structural zeros of every set of columns that a rule is about, if their
        table is small enough to hold.
        """
        too_large = {predicate.columns for predicate in self.unmasked_predicates}
        named = (predicate.columns for predicate in self.forbidden_predicates)
        # Several rules may be about the same columns; they share a table.
        maskable = dict.fromkeys(
            columns for columns in named if columns not in too_large
        )
        masks: dict[tuple[str, ...], NDArray[np.bool_]] = {}
        for columns in maskable:
            clique = tuple(sorted(columns, key=self.order.__getitem__))
            zeros = self.zeros(clique)
            if zeros is not None:
                masks[clique] = zeros
        return masks

    @cached_property
    def unmasked_predicates(self) -> tuple[Predicate, ...]:
        """The forbidden predicates over too many cells for a table of structural zeros,
        alone or together with the tables before.
        """
        has_mask: dict[frozenset[str], bool] = {}
        total_cells = 0
        for predicate in self.forbidden_predicates:
            columns = predicate.columns
            if columns in has_mask:
                continue
            cells = math.prod(self.sizes(tuple(columns)))
            has_mask[columns] = (
                cells <= MAX_MASK_CELLS and total_cells + cells <= MAX_TOTAL_MASK_CELLS
            )
            if has_mask[columns]:
                total_cells += cells
        return tuple(p for p in self.forbidden_predicates if not has_mask[p.columns])

    @cached_property
    def forbidden_predicates(self) -> tuple[Predicate, ...]:
        """The breaches about columns that all take part in a release, split into parts
        about as few columns as possible.
        """
        released = set(self)
        parts: dict[Predicate, None] = {}
        for _, predicate in self.named_breaches:
            if predicate.columns <= released:
                parts |= dict.fromkeys(split_disjuncts(predicate))
        return tuple(parts)

    @cached_property
    def _forbidden_by_column(self) -> dict[str, list[tuple[frozenset[str], Predicate]]]:
        """Forbidden predicates with their columns, filed under the first of them."""
        # A predicate knows its columns by walking its tree; here that is done once.
        filed: dict[str, list[tuple[frozenset[str], Predicate]]] = {}
        for predicate in self.forbidden_predicates:
            columns = predicate.columns
            filed.setdefault(min(columns), []).append((columns, predicate))
        return filed

    def forbidden_within(self, clique: Iterable[str]) -> list[Predicate]:
        """The forbidden predicates about these columns alone."""
        inside = frozenset(clique)
        predicates = []
        for name in sorted(inside):
            for columns, predicate in self._forbidden_by_column.get(name, ()):
                if columns <= inside:
                    predicates.append(predicate)
        return predicates

    def sizes(self, clique: tuple[str, ...]) -> tuple[int, ...]:
        """Number of codes of each column of a clique."""
        return tuple(self.column_sizes[name] for name in clique)

    def zeros(self, clique: tuple[str, ...]) -> NDArray[np.bool_] | None:
        """The structural zeros of a clique: cells that no row can be in, by code; None
        if there are none.

        >>> from understudy.schema import Boolean, Integer, parse_predicate
        >>> age = Integer(name="age", min=14, max=16, nullable=False)
        >>> married = Boolean(name="married", nullable=False)
        >>> never = parse_predicate("age < 15 and married = true")
        >>> schema = Schema(columns=(age, married), impossible=(never,))
        >>> schema.zeros(("age", "married")).astype(int).tolist()
        [[0, 1], [0, 0], [0, 0]]
        """
        predicates = self.forbidden_within(clique)
        if not predicates:
            return None
        mask = np.zeros(self.sizes(clique), np.bool_)
        for predicate in predicates:
            mask |= surely_true_cells(predicate, self.codecs, clique)
        return mask if mask.any() else None

    def with_row_units(self) -> Schema:
        """The same schema with rows as privacy units. No column is constant then, because
        a constant column is the same in all rows of one unit.
        """
        columns = tuple(replace(column, constant=False) for column in self.columns)
        return replace(self, columns=columns, unit=ROW_UNIT)

    def with_column(self, column: Column) -> Schema:
        """The same schema with the column of this name replaced."""
        columns = (column if c.name == column.name else c for c in self.columns)
        return replace(self, columns=tuple(columns))


def check_impossible(predicate: Predicate, columns: Mapping[str, Column]) -> None:
    """Refuse an impossible predicate that makes no sense for the columns it names."""
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
