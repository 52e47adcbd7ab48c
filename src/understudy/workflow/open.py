"""Opening a table: what is public about it before anything is spent, and whether a
schema fits it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.databases.address import (
    DatabaseAddress,
    is_address,
    parse_address,
    refuse_lake,
    refuse_remote,
)
from understudy.databases.database_table import DatabaseTable
from understudy.errors import Refused, SchemaError, TableError
from understudy.notices import Notice, NoticeKind
from understudy.schema import (
    Column,
    Identifier,
    Integer,
    Real,
    Schema,
    Text,
    UndeclaredColumn,
    schema_from_dict,
    schema_to_dict,
)
from understudy.schema.columns.from_dtype import column_of_type
from understudy.schema.columns.number_spelling import NumberSpelling
from understudy.schema.identifier_names import guess_identifier
from understudy.tables import TableSource, open_table
from understudy.tables.sources.header import INDEX_NOTE
from understudy.tables.sources.kind import table_kind
from understudy.tables.streams.open_connected import open_connected
from understudy.tables.streams.open_database import open_database
from understudy.tables.streams.spark import is_spark_frame, open_spark_frame
from understudy.text import join_first_names

Word = TypeVar("Word", bound=StrEnum)


class SupportsArrowStream(Protocol):
    """A table that any Arrow library can read: a pandas, polars or pyarrow frame, a
    DuckDB relation, and others.
    """

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a capsule of the Arrow C stream interface."""


class SupportsArrowTable(Protocol):
    """A table that gives a pyarrow table, as a DataFrame of Spark 4 does."""

    def toArrow(self) -> Any:
        """The rows as a pyarrow table."""


TableLike = (
    str
    | Path
    | Sequence[str | Path]
    | SupportsArrowStream
    | SupportsArrowTable
    | DatabaseTable
    | DatabaseAddress
    | TableSource
)
"""What can be opened as a table: a CSV or Parquet file, several of them, a frame, a table
of a database, or a table that is open already.
"""

MIN_EPSILON_PER_ROW = Fraction(1, 10**5)
"""Smallest ε of a pure run for each row of a unit. Scales end at 2⁵⁰: a fiftieth of
this ε, shared by the distances of ten thousand pairs on their finer grid, stays below.
"""

MIN_MU_PER_ROW = Fraction(2, 10**9)
"""Smallest μ of a GDP run for each row of a unit, and of a zCDP run with ρ = μ²/2, by
the same reckoning: roots of parts add up.
"""


def member_of(kind: type[Word], value: str, noun: str) -> Word:
    """The member of an enumeration by its value; `noun` names it in a refusal.

    >>> member_of(Accounting, "gdp", "accounting")
    <Accounting.GDP: 'gdp'>
    """
    try:
        return kind(value)
    except ValueError:
        raise Refused(
            f"The {noun} is one of {', '.join(kind)}. Nothing was spent"
        ) from None


def open_source(
    data: object,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    multiline: bool = False,
    decimal: str | None = None,
    thousands: str | None = None,
    sheet: str | None = None,
    only_csv: bool = True,
    schema: object = None,
) -> TableSource:
    """The table behind a path or frame; one that is open already is returned as it is.

    The other arguments are those of `open_table`. Those of CSV files are refused for a
    table that is none, and `sheet` for one that is no Excel file, unless `only_csv` is
    False: then they concern those of several tables that are. Only of JSON lines does
    the `schema` say which columns there are.
    """
    if isinstance(data, TableSource):
        return data
    database = find_database(data)
    if database is not None:
        if only_csv and any(
            (delimiter, encoding, multiline, decimal, thousands, sheet)
        ):
            _refuse_csv_options(database)
        return database
    # Nothing is said about CSV files, so any kind of table will do.
    if not only_csv and not _is_workbook(data):
        sheet = None
    if not any((delimiter, encoding, multiline, decimal, thousands)):
        keys = _declared_keys(data, schema)
        return open_table(data, header=keys or True, sheet=sheet)
    source = open_table(
        data,
        delimiter=delimiter,
        encoding=encoding or "utf-8",
        multiline=multiline,
        decimal=decimal,
        thousands=thousands,
        sheet=sheet,
    )
    if only_csv and source.kind != "csv":
        _refuse_csv_options(source)
    return source


def _refuse_csv_options(source: TableSource) -> NoReturn:
    source.close()
    raise TableError(
        f"{source.title}: is no CSV file, so delimiter, encoding, multiline,"
        " decimal and thousands say nothing about it. Leave them out. Nothing was read"
    )


def find_database(data: object) -> TableSource | None:
    """The table of a database, opened; None where data are something else."""
    if isinstance(data, str) and is_address(data):
        data = parse_address(data)
    paths = [data] if isinstance(data, str | Path) else data
    for path in paths if isinstance(paths, Sequence) else ():
        if isinstance(path, str | Path):
            refuse_remote(str(path))
            refuse_lake(Path(path))
    if isinstance(data, DatabaseAddress):
        return open_database(data)
    if isinstance(data, DatabaseTable):
        return open_connected(data)
    if is_spark_frame(data):
        return open_spark_frame(data)
    return None


def _is_workbook(data: object) -> bool:
    is_path = isinstance(data, str | Path)
    return is_path and table_kind(Path(str(data))) == "excel"


def _declared_keys(data: object, schema: object) -> list[str]:
    """The keys of JSON lines that a schema declares; none for any other table."""
    is_path = isinstance(data, str | Path)
    if not is_path or table_kind(Path(str(data))) != "json lines":
        return []
    if isinstance(schema, str | Path):
        schema = Schema.load(schema)
    return [each.name for each in schema.columns] if isinstance(schema, Schema) else []


def schema_for(source: TableSource, schema: Schema | str | Path | None) -> Schema:
    """The schema given, checked against the table's header; without one, columns whose
    types are learned by a noisy vote.

    The types in which a frame or file stores its columns are no declarations: one empty
    cell turns a pandas column of whole numbers into floats, one odd cell turns what a
    reader inferred into texts. Only columns that have no text at all (lists, structures,
    bytes) are recognised by their stored type, and left out.
    """
    if schema is None:
        source.check_header()
        undeclared = [_undeclared_column(source, name) for name in source.names]
        return Schema(columns=_with_number_marks(source, undeclared))
    if not isinstance(schema, Schema | str | Path):
        raise SchemaError(
            "A schema is a Schema or the path of a schema file; Schema.parse reads its"
            " text. Nothing was spent"
        )
    known = (
        check_readable(schema) if isinstance(schema, Schema) else Schema.load(schema)
    )
    _refuse_absent_columns(known, source)
    place = {name: at for at, name in enumerate(source.names)}
    # In the table's order, so that synthetic rows look like real ones. The header is
    # public, so its order is.
    columns = sorted(
        known.columns, key=lambda column: place.get(column.name, len(place))
    )
    return replace(known, columns=_with_number_marks(source, columns))


def _refuse_absent_columns(known: Schema, source: TableSource) -> None:
    """Refuse a table without a column that the schema needs."""
    for column in known.columns:
        # A column that takes no part may be missing.
        is_needed = column.is_modelled or column.name == known.unit.id
        if is_needed and column.name not in source.names:
            raise TableError(
                f'{source.title}: column "{column.name}" is in the schema and not'
                " in the table. Nothing was spent"
            )


def _with_number_marks(
    source: TableSource, columns: Iterable[Column]
) -> tuple[Column, ...]:
    """The columns, those of numbers with the marks that the table's owner declared for
    all of them: synthetic rows are spelled so too.
    """
    numbers = source.numbers
    if numbers is None:
        return tuple(columns)
    return tuple(_with_marks(column, numbers) for column in columns)


def _with_marks(column: Column, numbers: NumberSpelling) -> Column:
    marks: dict[str, Any] = {"thousands": numbers.thousands}
    if isinstance(column, Real | UndeclaredColumn):
        marks["decimal"] = numbers.decimal
    if not isinstance(column, Integer | Real | UndeclaredColumn):
        return column
    # A column may declare marks of its own.
    is_plain = all(getattr(column, key) == getattr(type(column), key) for key in marks)
    return replace(column, **marks) if is_plain else column


def find_left_out(source: TableSource, schema: Schema, *, given: bool) -> Notice | None:
    """Which columns of a table take no part, and why; None where all do. Names are
    public: the header says them.
    """
    names_by_reason: dict[str, list[str]] = {}
    for name in source.names:
        reason = _why_left_out(schema, name, given=given)
        if reason is not None and name == source.index_name:
            reason = INDEX_NOTE
        if reason is not None:
            names_by_reason.setdefault(reason, []).append(name)
    if not names_by_reason:
        return None
    parts = [
        f"{join_first_names(names)} ({reason})"
        for reason, names in names_by_reason.items()
    ]
    left_out = tuple(name for names in names_by_reason.values() for name in names)
    return Notice(NoticeKind.LEFT_OUT, f"Left out: {'; '.join(parts)}.", left_out)


def _why_left_out(schema: Schema, name: str, *, given: bool) -> str | None:
    """Why a column of the table is not released; None where it is. `given`: whether the
    custodian wrote the schema.
    """
    column = next((each for each in schema.columns if each.name == name), None)
    if column is None:
        return "not in the schema"
    if column.is_modelled:
        return None
    if isinstance(column, Identifier) and column.generate:
        return None
    if given:
        return "by the schema"
    if isinstance(column, Identifier):
        return "identifiers by their names"
    return "of types that are not released"


def check_readable(schema: Schema) -> Schema:
    """The schema, refused where a file of it could not be read: a release of it would
    be paid for and then lost.
    """
    try:
        # A release file holds its schema in this form.
        schema_from_dict(schema_to_dict(schema))
    except SchemaError as error:
        cause = error.cause.removeprefix("schema: ")
        raise Refused(
            f"A release with this schema could not be read again. {cause}. Nothing was"
            " spent"
        ) from None
    return schema


def refuse_tiny(filter: Filter, max_rows: int) -> None:
    """Refuse a budget at which the noise of some answer would be wider than the noise
    source can draw.
    """
    # A unit of several rows splits the budget among them, in effect.
    min_epsilon = MIN_EPSILON_PER_ROW * max_rows
    if filter.accounting is Accounting.PURE:
        if filter.total < min_epsilon:
            raise Refused(
                f"With ε below {float(min_epsilon):g} every answer would be noise"
                " alone. Use a larger ε, or allow a small δ such as 1e-9. Nothing was"
                " spent"
            )
        return
    is_gdp = filter.accounting is Accounting.GDP
    mu_squared = filter.total if is_gdp else 2 * filter.total  # ρ = μ²/2
    if mu_squared < (MIN_MU_PER_ROW * max_rows) ** 2:
        raise Refused(
            "With so small an ε and δ every answer would be noise alone. Use a larger"
            " ε. Nothing was spent"
        )


def _undeclared_column(source: TableSource, name: str) -> Column:
    """A column of which only the header is known."""
    if name == source.index_name:
        return Identifier(name=name, note=INDEX_NOTE)
    if guess_identifier(name):
        # By its name alone, which is public: a look at the cells would not be.
        return Identifier(name=name, note="its name says so")
    stored = column_of_type(name, (source.types or {}).get(name, "VARCHAR"))
    if isinstance(stored, Text):
        return stored
    return UndeclaredColumn(name=name, points_wholes=source.points_wholes)


def without_notes(schema: Schema) -> Schema:
    """The schema as a release may carry it. Notes that a draft left beside columns are
    for the owner: they were made from the rows.
    """
    return replace(
        schema, columns=tuple(replace(column, note="") for column in schema.columns)
    )
