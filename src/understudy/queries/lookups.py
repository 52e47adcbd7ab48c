"""Public tables beside the private one: what a town's country is, or a code's chapter.

A question may group by the attributes of a public table and put conditions on them. They
are looked up by the value of one column of labels, so a join is a public map on the codes
of that column: groups become unions of its values, conditions become lists of them. Rows
whose value is not in the public table take no part, as in an inner join.

    us.PublicTable.load("towns.csv")                 its first column is looked up by
    SELECT country, COUNT(*) FROM people JOIN towns USING (town) GROUP BY country
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

from understudy.errors import Refused
from understudy.queries.conditions import (
    check_predicate_columns,
    join_conditions,
    read_predicate,
)
from understudy.queries.query import Aggregate, Condition, GroupKey, Query
from understudy.schema import Categorical, Column, Schema, holds_for_row
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.predicates.ast import (
    And,
    ColumnName,
    IfThen,
    In,
    IsMissing,
    Literal,
    Not,
    Or,
    Predicate,
)

MAX_PUBLIC_ROWS = 100_000
"""Rows of a public table: each may become a constant of a condition."""

_MAX_ATTRIBUTE_DECIMALS = 6

AttributeValue = str | int | float
"""A cell of a public table."""


@dataclass(frozen=True, eq=False)
class PublicTable:
    """A public table whose rows are looked up by the values of one private column.

    >>> towns = PublicTable("towns", "town", {"Bonn": {"land": "NRW"}})
    >>> towns.attributes
    ('land',)
    """

    name: str
    key: str
    rows: Mapping[str, Mapping[str, AttributeValue]]

    def __post_init__(self) -> None:
        names = {tuple(row) for row in self.rows.values()}
        is_empty = not self.rows or len(self.rows) > MAX_PUBLIC_ROWS
        if is_empty or len(names) != 1 or not self.attributes:
            raise Refused(
                f"public table {self.name}: it needs between 1 and {MAX_PUBLIC_ROWS:,}"
                " rows, all with the same attributes"
            )
        for row in self.rows.values():
            if any(value in (None, "") for value in row.values()):
                raise Refused(
                    f"public table {self.name}: a cell is empty. Fill it, or leave its"
                    " row out"
                )
        for attribute in self.attributes:
            # Groups of one key are put in order beside each other.
            cells = [row[attribute] for row in self.rows.values()]
            if len({isinstance(cell, str) for cell in cells}) > 1:
                raise Refused(
                    f"public table {self.name}: {attribute} has texts and numbers. Make"
                    " all of them texts"
                )

    @property
    def attributes(self) -> tuple[str, ...]:
        """Its columns besides the key."""
        return tuple(next(iter(self.rows.values()), {}))

    @classmethod
    def load(cls, path: str | Path, name: str = "") -> PublicTable:
        """A CSV file with a header line; rows are looked up by its first column. It is
        called by the name of the file.
        """
        where = Path(path)
        try:
            text = where.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(
                f"public table {where.name}: it cannot be read"
                f" ({type(error).__name__}). Give a CSV file in UTF-8"
            ) from None
        header, *lines = list(csv.reader(io.StringIO(text))) or [[]]
        rows: dict[str, dict[str, AttributeValue]] = {}
        for line in lines:
            if len(line) != len(header) or line[0] in rows:
                raise Refused(
                    f"public table {where.name}: every row has as many cells as the"
                    " header, and a value is looked up once"
                )
            rows[line[0]] = dict(zip(header[1:], line[1:], strict=True))
        key = header[0] if header else ""
        return cls(name or where.stem, key, _read_numbers(rows))


def _read_numbers(
    rows: dict[str, dict[str, AttributeValue]],
) -> dict[str, dict[str, AttributeValue]]:
    """The rows with attributes that are all numbers as numbers."""
    for attribute in next(iter(rows.values()), {}):
        try:
            numbers = [Decimal(str(row[attribute])) for row in rows.values()]
        except InvalidOperation:
            continue
        if not all(number.is_finite() for number in numbers):
            continue
        for row, number in zip(rows.values(), numbers, strict=True):
            is_whole = number == number.to_integral_value()
            row[attribute] = int(number) if is_whole else float(number)
    return rows


def add_attributes(schema: Schema, tables: Sequence[PublicTable]) -> Schema:
    """The schema with the attributes of public tables as columns, for reading a
    question: none of them is measured.
    """
    columns = list(schema.columns)
    names = {column.name.casefold() for column in columns}
    for table in tables:
        _find_key_column(table, schema)
        for attribute in table.attributes:
            if attribute.casefold() in names:
                raise Refused(
                    f"public table {table.name}: {attribute} is a column already."
                    " Rename it. Nothing was spent"
                )
            names.add(attribute.casefold())
            columns.append(_describe_attribute(table, attribute))
    return replace(schema, columns=tuple(columns))


def _find_key_column(table: PublicTable, schema: Schema) -> str:
    """The private column that a public table is looked up by."""
    alike = [n for n in schema.by_name if n.casefold() == table.key.casefold()]
    column = schema[alike[0]] if len(alike) == 1 else None
    if not isinstance(column, Categorical) or column.values is None:
        raise Refused(
            f"public table {table.name}: it is looked up by {table.key}, which must be a"
            " column of labels with declared `values`. Nothing was spent"
        )
    return column.name


def _describe_attribute(table: PublicTable, attribute: str) -> Column:
    values = [row[attribute] for row in table.rows.values()]
    numbers = [value for value in values if not isinstance(value, str)]
    if len(numbers) < len(values):
        labels = tuple(dict.fromkeys(str(value) for value in values))
        return Categorical(name=attribute, values=labels, nullable=False)
    low, high = min(numbers), max(numbers)
    if all(isinstance(number, int) for number in numbers):
        return Integer(name=attribute, min=int(low), max=int(high), nullable=False)
    step = Decimal(1).scaleb(-_MAX_ATTRIBUTE_DECIMALS)
    return Real(
        name=attribute,
        min=Fraction(str(low)),
        max=Fraction(str(high)),
        step=Fraction(step),
        nullable=False,
    )


def resolve_lookups(
    query: Query, schema: Schema, tables: Sequence[PublicTable]
) -> Query:
    """The same question on the columns of the private table alone."""
    if not tables or query.features:
        return query
    wide = add_attributes(schema, tables)
    lookup = _LookupRewriter(schema, wide, tuple(tables))
    used: set[str] = set()
    condition = lookup.rewrite_condition(query.condition, used)
    keys = tuple(lookup.rewrite_key(key, used) for key in query.keys)
    aggregates = tuple(lookup.rewrite_aggregate(a, used) for a in query.aggregates)
    for table in tables:
        # An inner join: values without a match are in no group and meet no condition.
        if table.name in used or table.name in query.joined:
            condition = join_conditions(condition, lookup.list_matches(table))
    return replace(
        query,
        condition=condition,
        keys=keys,
        aggregates=aggregates,
        text=str(query),
        joined=(),
    )


@dataclass(frozen=True, eq=False)
class _LookupRewriter:
    """Turns what a question says about attributes into what it says about keys."""

    schema: Schema
    wide: Schema
    tables: tuple[PublicTable, ...]

    def find_table(self, names: frozenset[str]) -> PublicTable | None:
        """The public table that all of these attributes are of."""
        for table in self.tables:
            if names and names <= set(table.attributes):
                return table
        return None

    def rewrite_aggregate(self, aggregate: Aggregate, used: set[str]) -> Aggregate:
        for name in aggregate.columns:
            if name not in self.schema.by_name and name in self.wide.by_name:
                raise Refused(
                    f"{name}: attributes of a public table group rows and limit them."
                    " Nothing was spent"
                )
        condition = self.rewrite_condition(aggregate.condition, used)
        return replace(aggregate, condition=condition, name=aggregate.title)

    def rewrite_key(self, key: GroupKey, used: set[str]) -> GroupKey:
        if key.cases:
            pairs = tuple(
                (self.rewrite_condition(condition, used) or condition, label)
                for condition, label in key.cases
            )
            return replace(key, cases=pairs)
        names = [n for n in self.wide.by_name if n.casefold() == key.column.casefold()]
        table = self.find_table(frozenset(names))
        if table is None:
            return key
        if key.edges:
            raise Refused(
                f"{key.column}: attributes of a public table have no bins here. Nothing"
                " was spent"
            )
        used.add(table.name)
        column = _find_key_column(table, self.schema)
        mapped = tuple((value, row[names[0]]) for value, row in table.rows.items())
        return GroupKey(column, name=key.title, mapping=mapped)

    def rewrite_condition(
        self, condition: Condition | None, used: set[str]
    ) -> Predicate | None:
        if condition is None:
            return None
        if isinstance(condition, str):
            read = read_predicate(condition, self.wide)
        else:
            read = check_predicate_columns(condition, self.wide)
        return self._rewrite(read, used)

    def _rewrite(self, predicate: Predicate, used: set[str]) -> Predicate:
        table = self.find_table(predicate.columns)
        if table is not None:
            used.add(table.name)
            return self._list_values(table, predicate)
        match predicate:
            case And(left, right) | Or(left, right) | IfThen(left, right):
                sides = self._rewrite(left, used), self._rewrite(right, used)
                return type(predicate)(*sides)
            case Not(part):
                return Not(self._rewrite(part, used))
        for name in sorted(predicate.columns.difference(self.schema.by_name)):
            raise Refused(
                f"{name}: an attribute of a public table is compared with constants."
                " Nothing was spent"
            )
        return predicate

    def _list_values(self, table: PublicTable, predicate: Predicate) -> Predicate:
        """The values of the key for whose rows a condition on attributes holds."""
        codecs = {name: self.wide.codecs[name] for name in predicate.columns}
        column = _find_key_column(table, self.schema)
        declared = set(self.declared_values(column))
        values = [
            value
            for value, row in table.rows.items()
            if value in declared and holds_for_row(predicate, row, codecs)
        ]
        return _is_one_of(column, values)

    def list_matches(self, table: PublicTable) -> Predicate:
        """That a row's key is in the public table."""
        column = _find_key_column(table, self.schema)
        declared = self.declared_values(column)
        return _is_one_of(column, [value for value in declared if value in table.rows])

    def declared_values(self, column: str) -> tuple[str, ...]:
        described = self.schema[column]
        assert isinstance(described, Categorical)
        return described.values or ()


def _is_one_of(column: str, values: Sequence[str]) -> Predicate:
    name = ColumnName(column)
    if values:
        return In(name, tuple(Literal(value) for value in values))
    # A list holds at least one value: no row is missing and not missing.
    return And(IsMissing(name), IsMissing(name, negated=True))
