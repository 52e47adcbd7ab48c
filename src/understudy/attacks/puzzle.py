"""Published statistics as a puzzle: which tables of people could they come from?

A puzzle is a schema with at most one number per person, and statements about groups:
how many they are, and the sum, mean or median of their number. It is read from a YAML
file that has the words of a schema file (`columns`, `impossible`) and a list of
`statistics`:

    columns:
      age: {type: integer, min: 0, max: 125}
      sex: {type: categorical, values: [F, M]}
    statistics:
      - {id: everybody, count: 7, median: 30.0, mean: 38.0}
      - {id: women, where: sex = 'F', count: 4, mean: 33.5}
      - {id: children, where: age < 18, count: hidden}

A mean or median is taken as rounded to the digits that are written (38.0 to a tenth, 38
to a whole), a sum as exact. `hidden` is a suppressed count, from 0 to 2 unless
`hidden_most` says otherwise. `within` widens every number of a statement, by noise of at
most that size.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.resources import files
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema import (
    Boolean,
    Categorical,
    Column,
    Integer,
    Schema,
    parse_predicate,
    surely_true_cells,
)
from understudy.schema.yaml.nodes import (
    MAX_SCHEMA_FILE_BYTES,
    DocumentNode,
    DocumentSource,
    from_yaml,
)
from understudy.schema.yaml.reader import read_schema
from understudy.schema.yaml.section import Section

Range = tuple[Fraction, Fraction]

STATISTIC_KEYS = ("id", "where", "count", "sum", "mean", "median", "within")
PUZZLE_FILE_KEYS = ("statistics", "hidden_most")
HIDDEN_COUNT_MOST = 2
"""The largest count that suppression hides, unless the file says otherwise."""

MAX_PUZZLE_KINDS, MAX_PUZZLE_VALUES, MAX_PUZZLE_PEOPLE = 512, 2048, 40
"""A puzzle beyond these is no small table, and its search would not end."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedStatistic:
    """What was published about one group: `cells[kind, value]` says who is meant."""

    name: str
    cells: NDArray[np.bool_]
    count: tuple[int, int] = (0, MAX_PUZZLE_PEOPLE)
    total: Range | None = None
    mean: Range | None = None
    median: Range | None = None

    @property
    def has_count(self) -> bool:
        """Whether the size of the group was published."""
        return self.count != (0, MAX_PUZZLE_PEOPLE)


@dataclass(frozen=True, kw_only=True, eq=False)
class Puzzle:
    """Kinds of people (labels), the numbers they may have, which of both go together,
    and what was published.
    """

    kinds: tuple[tuple[str, ...], ...]
    values: tuple[int, ...]
    possible: NDArray[np.bool_]
    statements: tuple[PublishedStatistic, ...]
    columns: tuple[str, ...] = ()
    number: str | None = None

    @property
    def people(self) -> int:
        """The most people there can be."""
        if not self.has_total:
            raise SchemaError(
                "No statistic says how many people there are in all: add one without"
                " `where`"
            )
        return min(self._total_counts())

    @property
    def has_total(self) -> bool:
        """Whether a statistic says how many people there are in all."""
        return bool(self._total_counts())

    def _total_counts(self) -> list[int]:
        # A statistic is about everybody if it leaves out only what is impossible.
        return [
            statement.count[1]
            for statement in self.statements
            if statement.has_count and bool((statement.cells | ~self.possible).all())
        ]

    def without_statistics(self, *names: str) -> Puzzle:
        """The same puzzle had these statistics not been published."""
        published = tuple(s for s in self.statements if s.name not in names)
        return replace(self, statements=published)

    def describe_person(self, kind: int, value: int) -> str:
        """One person in words, the number first.

        >>> census_block().describe_person(0, 8)
        '8 F B single'
        """
        labels = " ".join(self.kinds[kind])
        return f"{self.values[value]} {labels}".strip() if self.number else labels


def load_puzzle(path: str | os.PathLike[str]) -> Puzzle:
    """Read a file of published statistics."""
    try:
        with Path(path).open("rb") as file:
            # One byte more than is allowed, so that the reader can refuse the file.
            text = file.read(MAX_SCHEMA_FILE_BYTES + 1).decode("utf-8-sig")
    except OSError as error:
        raise SchemaError(
            f"{os.fspath(path)}: cannot be read ({error.strerror})"
        ) from None
    except UnicodeDecodeError:
        raise SchemaError(
            f"{os.fspath(path)}: not UTF-8 text. Save it as UTF-8"
        ) from None
    return parse_puzzle(text, os.fspath(path))


def parse_puzzle(text: str, source: str = "tables") -> Puzzle:
    """Read published statistics from YAML text; `source` begins its errors.

    >>> puzzle = parse_puzzle("{columns: {smoker: boolean}, statistics: [{count: 3}]}")
    >>> puzzle.kinds, puzzle.people
    ((('no',), ('yes',)), 3)
    """
    where = DocumentSource(source)
    root = from_yaml(text, where)
    file = Section(root, where, "", "the file")
    listed = file.get("statistics")
    # What is no key of a puzzle is the schema's, and its reader checks it.
    schema_entries = tuple(
        entry for entry in root.entries or () if entry.key not in PUZZLE_FILE_KEYS
    )
    schema = read_schema(replace(root, entries=schema_entries), where)
    columns, number = _choose_columns(schema, where)
    if listed is None or not listed.items:
        raise where.error(
            None, "no statistics. Write `statistics:` and list what was published"
        )
    hidden = file.whole("hidden_most")
    layout = _PuzzleLayout(replace(schema, columns=tuple(columns)), number)
    statements = [
        layout.statement(
            item, i, where, HIDDEN_COUNT_MOST if hidden is None else hidden
        )
        for i, item in enumerate(listed.items, 1)
    ]
    # Findings name statistics by their id, so an id must name one.
    twice = _find_repeated([statement.name for statement in statements])
    if twice is not None:
        raise where.error(
            listed.line, f"statistics: two have the id {twice}. Give each its own"
        )
    puzzle = Puzzle(
        kinds=layout.kinds,
        values=layout.values,
        possible=layout.possible,
        statements=tuple(statements),
        columns=layout.labels,
        number=number,
    )
    try:
        people = puzzle.people
    except SchemaError as error:
        raise where.error(listed.line, str(error)) from None
    if people > MAX_PUZZLE_PEOPLE:
        raise where.error(
            listed.line,
            f"{people} people: reconstruction here is for small tables, up to"
            f" {MAX_PUZZLE_PEOPLE}",
        )
    return puzzle


def _find_repeated(names: list[str]) -> str | None:
    return next((name for name in names if names.count(name) > 1), None)


def census_block() -> Puzzle:
    """The seven people of Garfinkel, Abowd, Martindale, "Understanding database
    reconstruction attacks on public data", 2019.

    >>> len(census_block().statements)
    14
    """
    return parse_puzzle(census_block_text(), "census-block.yaml")


def census_block_text() -> str:
    """The file behind `census_block`, as an example to start from."""
    return (
        files("understudy.attacks")
        .joinpath("census-block.yaml")
        .read_text(encoding="utf-8")
    )


def _choose_columns(
    schema: Schema, source: DocumentSource
) -> tuple[list[Column], str | None]:
    """Columns without missing values, and the name of the one that is a number."""
    known = [column for column in schema.columns if column.is_modelled]
    for column in known:
        if (
            not isinstance(column, Boolean | Categorical | Integer)
            or not column.is_closed
        ):
            raise source.error(
                None,
                f"{column.name}: a small table has booleans, listed categories and one"
                " bounded integer",
            )
    numbers = [column.name for column in known if isinstance(column, Integer)]
    if len(numbers) > 1:
        raise source.error(
            None,
            f"{numbers[1]}: one number per person at most; {numbers[0]} is one already",
        )
    number = numbers[0] if numbers else None
    return [_without_missing(column) for column in known], number


def _without_missing(column: Column) -> Column:
    """The column without missing values, and a number with a cell for each of its
    values.
    """
    if isinstance(column, Integer):
        assert column.low is not None
        assert column.high is not None
        if column.high - column.low >= MAX_PUZZLE_VALUES:
            raise SchemaError(
                f"{column.name}: more than {MAX_PUZZLE_VALUES} values. Use a larger"
                " `step`"
            )
        # Bin edges at every value: one cell for each.
        every = tuple(range(column.low, column.high + 2))
        return replace(column, nullable=False, missing=(), bins=every)
    return replace(column, nullable=False, missing=())


class _PuzzleLayout:
    """The schema's cells as kinds × values."""

    def __init__(self, schema: Schema, number: str | None) -> None:
        self.schema, self.number = schema, number
        self.labels = tuple(name for name in schema if name != number)
        self.clique = (*self.labels, *([number] if number else []))
        self.kinds = tuple(
            product(*(_labels_of_column(schema[name]) for name in self.labels))
        )
        column = schema[number] if number else None
        self.step = column.step if isinstance(column, Integer) else 1
        self.values = _values_of_column(column) if isinstance(column, Integer) else (0,)
        if len(self.kinds) > MAX_PUZZLE_KINDS:
            raise SchemaError(
                f"{len(self.kinds)} kinds of people: too many for a small table,"
                f" {MAX_PUZZLE_KINDS} at most"
            )
        zeros = schema.zeros(self.clique)
        self.possible = np.ones(self.shape, bool)
        if zeros is not None:
            self.possible = ~self.reshape(zeros)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.kinds), len(self.values)

    def reshape(self, cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
        assert prod(cells.shape) == prod(self.shape), (
            "a number has one cell for each value"
        )
        return np.ascontiguousarray(cells).reshape(self.shape)

    def statement(
        self, node: DocumentNode, at: int, source: DocumentSource, hidden: int
    ) -> PublishedStatistic:
        section = Section(node, source, f"statistics, item {at}: ", "a statistic")
        section.check_keys(STATISTIC_KEYS)
        cells = self._cells_where(section)
        within = section.number("within") or Fraction(0)
        count = (0, MAX_PUZZLE_PEOPLE)
        if section.text("count") == "hidden":
            count = (0, hidden)
        elif (written := section.whole("count")) is not None:
            count = (max(0, written - int(within)), written + int(within))
        numbers = {
            key: self.range_around(
                section,
                key,
                within,
                rounded=key != "sum",
            )
            for key in ("sum", "mean", "median")
            if section.get(key) is not None
        }
        return PublishedStatistic(
            name=section.text("id") or f"item {at}",
            cells=cells & self.possible,
            count=count,
            total=numbers.get("sum"),
            mean=numbers.get("mean"),
            median=numbers.get("median"),
        )

    def _cells_where(self, section: Section) -> NDArray[np.bool_]:
        """Who a statistic is about; everybody unless it says `where`."""
        where = section.text("where")
        if where is None:
            return np.ones(self.shape, bool)
        try:
            predicate = parse_predicate(where)
            unknown = sorted(predicate.columns - set(self.clique))
            if unknown:
                raise SchemaError(f'there is no column "{unknown[0]}"')
            # Every cell holds one value, so what is sure of a cell is all there is.
            cells = surely_true_cells(predicate, self.schema.codecs, self.clique)
        except SchemaError as error:
            raise section.error("where", f"where: {error}") from None
        return self.reshape(cells)

    def range_around(
        self, section: Section, key: str, within: Fraction, *, rounded: bool
    ) -> Range:
        """A published number as the range it stands for."""
        if self.number is None:
            raise section.error(
                key, f"{key}: no column is a number. Add one of type integer"
            )
        value, text = section.number(key), section.text(key)
        assert value is not None
        assert text is not None
        # 38.0 was rounded to a tenth, 38 to a whole: half of the last digit either way.
        decimals = len(text.partition(".")[2].strip())
        rounding = Fraction(1, 2 * 10**decimals) if rounded else Fraction(0)
        slack = within + rounding
        return value - slack, value + slack


def _labels_of_column(column: Column) -> Sequence[str]:
    if isinstance(column, Boolean):
        return ("no", "yes")
    assert isinstance(column, Categorical)
    assert column.values is not None
    return (*column.values, *([column.other] if column.other is not None else []))


def _values_of_column(column: Integer) -> tuple[int, ...]:
    assert column.low is not None
    assert column.high is not None
    return tuple(i * column.step for i in range(column.low, column.high + 1))


def kinds_within(
    cells: NDArray[np.bool_], possible: NDArray[np.bool_]
) -> Iterator[tuple[bool, bool]]:
    """For each kind: whether all its possible people are in a group, and whether any
    is.
    """
    for inside, can in zip(cells, possible, strict=True):
        yield bool((inside | ~can).all()), bool((inside & can).any())
