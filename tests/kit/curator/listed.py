"""The curator's primitives written out in plain Python over a list of rows: slow,
obvious, and the measure of the real tables.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from itertools import product

import numpy as np
from numpy.typing import NDArray

from understudy.queries.features import FeaturePlan
from understudy.queries.query import FeatureKind, UnitFeature
from understudy.queries.statistics import Statistic
from understudy.schema import Categorical, Lattice, Schema, holds_for_row
from understudy.schema.columns.cell import to_plain_cell
from understudy.tables import TYPE_CANDIDATES

Row = Mapping[str, object]

EVEN_DECIMALS = {"[2468]": "fifth", "[0-9][05]": "twentieth", "[0-9][2468]": "fiftieth"}
"""Steps of decimals that are not halves or quarters, by their digits."""


def vote_of(cell: object) -> str:
    """The most specific type that a cell of text can be read as."""
    text = "" if cell is None else str(cell).strip()
    if not text:
        return "empty"
    if text in ("0", "1"):
        return ("zero", "bit")[int(text)]
    if text.lower() in ("true", "false", "yes", "no", "t", "f", "y", "n"):
        return "boolean"
    if re.fullmatch(r"0\d+", text):
        return "zero-led"
    if whole := re.fullmatch(r"([+-]?(?:0|[1-9]\d{0,17}))(\.0{1,6})?", text):
        steps = (step for step in (1000, 100, 10, 5, 2) if int(whole[1]) % step == 0)
        point = ".0" if whole[2] else ""
        if whole[1] in ("0", "1"):
            return ("zero", "bit")[int(whole[1])] + point
        return f"integer{next(steps, '')}{point}"
    if decimal := re.fullmatch(r"[+-]?(?:0|[1-9]\d{0,14})?\.(\d{1,6})", text):
        rounded = {"5": "half", "25": "quarter", "50": "quarter", "75": "quarter"}
        if decimal[1] in rounded:
            return rounded[decimal[1]]
        for digits, name in EVEN_DECIMALS.items():
            if re.fullmatch(digits, decimal[1]):
                return name
        return f"decimal{len(decimal[1])}"
    for kind, read in (
        ("date", date.fromisoformat),
        ("time", time.fromisoformat),
        ("datetime", datetime.fromisoformat),
    ):
        try:
            found = read(text)
        except ValueError:
            continue
        return "instant" if kind == "datetime" and found.tzinfo is not None else kind
    return "text"


class Listed:
    """Rows in a list."""

    def __init__(self, rows: Sequence[Row], schema: Schema) -> None:
        self._rows, self._schema = list(rows), schema

    def rows(self) -> int:
        return len(self._rows)

    def _cells(self, clique: Sequence[str]) -> Counter[tuple[int, ...]]:
        codecs = self._schema.codecs
        return Counter(
            tuple(codecs[name].code(row[name]) for name in clique) for row in self._rows
        )

    def counts(self, cliques: Sequence[tuple[str, ...]]) -> list[NDArray[np.int64]]:
        tables = []
        for clique in cliques:
            sizes, cells = self._schema.sizes(clique), self._cells(clique)
            dense = np.zeros(sizes, np.int64)
            for cell in product(*map(range, sizes)):
                dense[cell] = cells[cell]
            tables.append(dense)
        return tables

    def sparse_counts(
        self, clique: tuple[str, ...]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        cells = sorted(self._cells(clique).items())
        codes = np.array([cell for cell, _ in cells], np.int64).reshape(-1, len(clique))
        return codes, np.array([n for _, n in cells], np.int64)

    def labels(
        self, column: str, *, by_unit: bool = False
    ) -> tuple[list[str], NDArray[np.int64]]:
        described = self._schema[column]
        assert isinstance(described, Categorical)
        unit = self._schema.unit.id if by_unit else None
        pairs = [
            (str(v), i if unit is None else row[unit])
            for i, row in enumerate(self._rows)
            if (v := row[column]) not in (None, "", *described.missing)
        ]
        seen = Counter(label for label, _ in set(pairs))
        return list(seen), np.array(list(seen.values()), np.int64)

    def _indices(self, column: str) -> list[int]:
        described = self._schema[column]
        assert isinstance(described, Lattice)
        found = []
        for row in self._rows:
            cell = to_plain_cell(row[column])
            with suppress(ValueError):
                found.append(
                    described.index_of(
                        described.parse(cell) if isinstance(cell, str) else cell
                    )
                )
        return found

    def lattice(self, column: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        seen = sorted(Counter(self._indices(column)).items())
        return np.array([i for i, _ in seen], np.int64), np.array(
            [n for _, n in seen], np.int64
        )

    def lattice_counts(self, column: str, edges: Sequence[int]) -> NDArray[np.int64]:
        counts = np.zeros(len(edges) - 1, np.int64)
        for index in self._indices(column):
            if edges[0] <= index < edges[-1]:
                counts[bisect_right(edges, index) - 1] += 1
        return counts

    def sum(self, column: str, low: int, high: int) -> int:
        return sum(min(max(i, low), high) for i in self._indices(column))

    def count_valid(self, column: str) -> int:
        return len(self._indices(column))

    def cell_sums(
        self, clique: Sequence[str], statistics: Sequence[Statistic]
    ) -> tuple[NDArray[np.int64], list[list[int]]]:
        codecs = {name: self._schema.codecs[name] for name in clique}
        sizes = [codec.size for codec in codecs.values()]
        sums: dict[int, list[int]] = {}
        for row in self._rows:
            place = 0
            for name, size in zip(clique, sizes, strict=True):
                place = place * size + codecs[name].code(row[name])
            held = sums.setdefault(place, [0] * len(statistics))
            for i, statistic in enumerate(statistics):
                held[i] += self._term(statistic, row)
        places = sorted(sums)
        columns = [[sums[p][i] for p in places] for i in range(len(statistics))]
        return np.array(places, np.int64), columns

    def _term(self, statistic: Statistic, row: Row) -> int:
        """What one row adds."""
        product = 1
        for name in statistic.value_columns:
            codec, cell = self._schema.codecs[name], to_plain_cell(row[name])
            if cell is None or not codec.is_value[codec.code(cell)]:
                return 0
            column = self._schema[name]
            if not isinstance(column, Lattice):
                continue
            try:
                index = column.index_of(cell)
            except ValueError:
                return 0
            for factor in statistic.factors:
                if factor.column == name:
                    clipped = min(max(index, factor.low), factor.high)
                    product *= (clipped - factor.origin) ** factor.power
        return product

    def _place(self, clique: Sequence[str], row: Row) -> int:
        place = 0
        for name in clique:
            codec = self._schema.codecs[name]
            place = place * codec.size + codec.code(row[name])
        return place

    def cell_values(
        self, clique: Sequence[str], column: str
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        described = self._schema[column]
        assert isinstance(described, Lattice)
        seen: Counter[tuple[int, int]] = Counter()
        for row in self._rows:
            with suppress(ValueError):
                index = described.index_of(to_plain_cell(row[column]))
                seen[self._place(clique, row), index] += 1
        cells = [cell for cell, _ in seen]
        values = [value for _, value in seen]
        return (
            np.array(cells, np.int64),
            np.array(values, np.int64),
            np.array(list(seen.values()), np.int64),
        )

    def unit_cells(
        self, clique: Sequence[str]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        unit = self._schema.unit.id
        assert unit is not None
        pairs = {(hash(row[unit]), self._place(clique, row)) for row in self._rows}
        units = [pair[0] for pair in pairs]
        return np.array(units, np.int64), np.array([p[1] for p in pairs], np.int64)

    def group_sizes(
        self, key: str, clique: Sequence[str], most: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        groups: dict[object, list[int]] = {}
        for row in self._rows:
            if row[key] not in (None, ""):
                groups.setdefault(row[key], []).append(self._place(clique, row))
        seen = Counter(
            (min(places), min(len(places), most)) for places in groups.values()
        )
        cells = np.array([cell for cell, _ in seen], np.int64)
        sizes = np.array([size for _, size in seen], np.int64)
        return cells, sizes, np.array(list(seen.values()), np.int64)

    def derive_units(self, plan: FeaturePlan) -> Listed:
        unit, codecs = self._schema.unit.id, plan.cells.codecs
        assert unit is not None
        rows = []
        for who in dict.fromkeys(row[unit] for row in self._rows):
            own = [row for row in self._rows if row[unit] == who]
            rows.append({f.name: _derive(f, own, codecs) for f in plan.features})
        return Listed(rows, plan.schema)

    def votes(self, columns: Sequence[str]) -> NDArray[np.int64]:
        ballots = np.zeros((len(columns), len(TYPE_CANDIDATES)), np.int64)
        for row in self._rows:
            for i, name in enumerate(columns):
                ballots[i, TYPE_CANDIDATES.index(vote_of(row[name]))] += 1
        return ballots

    def sizes(self) -> NDArray[np.int64]:
        unit = self._schema.unit
        each = (
            Counter(row[unit.id] for row in self._rows)
            if unit.id is not None
            else dict(enumerate([1] * self.rows()))
        )
        found = np.zeros(unit.max_rows, np.int64)
        for rows in each.values():
            found[min(rows, unit.max_rows) - 1] += 1
        return found

    def broken(self) -> int:
        codecs = self._schema.codecs
        return sum(
            any(holds_for_row(p, row, codecs) for _, p in self._schema.named_breaches)
            for row in self._rows
        )

    def with_schema(self, schema: Schema) -> Listed:
        return Listed(self._rows, schema)


def _derive(feature: UnitFeature, rows: Sequence[Row], codecs: object) -> object:
    """A column per unit, by the words of its definition."""
    kept = [
        row
        for row in rows
        if feature.condition is None or holds_for_row(feature.condition, row, codecs)  # type: ignore[arg-type]
    ]
    if feature.kind is FeatureKind.COUNT:
        return len(kept)
    if feature.kind is FeatureKind.ANY:
        return bool(kept)
    values = [row[str(feature.column)] for row in kept]
    numbers = [value for value in values if value is not None]
    compute = {"sum": sum, "min": min, "max": max}[str(feature.kind)]
    return compute(numbers) if numbers else None  # type: ignore[operator,arg-type]
