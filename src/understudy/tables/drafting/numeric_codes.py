"""Numbers that mean missing: -99 among incomes, 9 on a scale of five, 999 among ages.
PRIVATE: exact counts, for the owner's draft alone.

Codebooks use few numbers for it, and only those are ever drafted. One is taken for a
code where several rows hold it and it stands apart: beyond the natural limits of its
column, or beyond a gap wider than those between other values, on a heap of its own. A
code that is drafted wrongly does little harm: it keeps its rows and its spelling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, takewhile
from typing import Any

from understudy.schema import Integer, Real
from understudy.schema.name_words import split_name_words
from understudy.tables.drafting.cell_summary import MIN_MISSING_CODE_SHARE
from understudy.tables.reading import encode
from understudy.tables.sources.source import TableSource
from understudy.tables.sql.let_columns import QueryLayers

MIN_CODE_ROWS = 3
"""Rows that must hold a number for it to be a code: one or two are slips or extremes."""

MAX_NEAR_VALUES = 10
"""Different values next to a code that its gap is compared with."""

MAX_NEIGHBOURS = 3
"""Different values next to a code that its heap is compared with."""

MIN_HEAP_RATIO = 2
"""How many times the rows of its neighbours a code beyond a gap must hold."""

MIN_INNER_HEAP_RATIO, MIN_INNER_HEAP_SHARE = 10, Fraction(1, 100)
"""The same for a code among other values, and the part of all rows that it must hold:
there are people of 99 years.
"""

MIN_EDGE_ROWS = 10
"""Rows that must hold each of the last two values of a scale for its end to be an edge
and not a tail.
"""

MIN_VALUES_ABOVE_MINUS_ONE = 10
"""Different values from which -1 among numbers from 0 on is a code: among fewer it is
an answer, as in -1, 0, 1.
"""

LEADING_CODES = frozenset(
    {777, 888, 7777, 8888, *(int("9" * digits) for digits in range(1, 9))}
)
"""Numbers that stand for missing by themselves."""

_FURTHER_CODES = frozenset({7, 8, 77, 88, 96, 97, 98, 996, 997, 998, 9996, 9997, 9998})
"""Numbers for further reasons (refused, not asked) beside one that stands by itself."""

_PRICE_WORDS = frozenset({
    "price", "preis", "prix", "precio", "prezzo", "prijs", "preco", "fare", "cost",
})  # fmt: skip
"""Prices end with nines, so that only negative ones are codes."""

MIN_INNER_CODE = 99
"""Among other values a smaller number is hardly ever a code."""


@dataclass(frozen=True)
class HeldValue:
    """A value of a column, in steps, and how many rows hold it."""

    value: int
    rows: int


@dataclass(frozen=True)
class ColumnEnd:
    """The different values at one end of a column, from the outside in, in steps of
    which a `unit` is the number 1. At the lower end all signs are turned.
    """

    held: Sequence[HeldValue]
    unit: int
    least_rows: int

    def count_outer_codes(self, codes: frozenset[int]) -> int:
        """How many of the outermost values are codes."""
        outer = takewhile(lambda entry: self._is_code(entry, codes), self.held)
        return sum(1 for _ in outer)

    def _is_code(self, entry: HeldValue, codes: frozenset[int]) -> bool:
        return entry.value % self.unit == 0 and entry.value // self.unit in codes

    def list_frequent(self, outer: int) -> list[int]:
        """The numbers among the outermost values that enough rows hold."""
        frequent = [e for e in self.held[:outer] if e.rows >= self.least_rows]
        return [entry.value // self.unit for entry in frequent]

    def find_apart(self, other_end: int) -> list[int]:
        """The codes beyond all other values, where they stand apart from them."""
        outer = self.count_outer_codes(LEADING_CODES | _FURTHER_CODES)
        # The innermost may be the end of the scale: then the gap is one code further.
        while outer and not self._stand_apart(outer, other_end):
            outer -= 1
        codes = self.list_frequent(outer)
        return codes if LEADING_CODES & set(codes) else []

    def find_beyond_zero(self) -> list[int] | None:
        """The codes on one side of zero, where all other values lie on the other; None
        where some lie on both.
        """
        outer = self.count_outer_codes(LEADING_CODES | _FURTHER_CODES | {1})
        rest = self.held[outer:]
        if not rest or rest[0].value > 0:
            return None
        codes = self.list_frequent(outer)
        if 1 in codes and not self._is_one_a_code(outer):
            codes.remove(1)
        return codes

    def _is_one_a_code(self, outer: int) -> bool:
        """Whether the innermost of the codes, 1, is a heap beside many values."""
        rest = self.held[outer:]
        neighbours = max(entry.rows for entry in rest[:MAX_NEIGHBOURS])
        is_heap = self.held[outer - 1].rows > MIN_HEAP_RATIO * neighbours
        return is_heap and len(rest) >= MIN_VALUES_ABOVE_MINUS_ONE

    def _stand_apart(self, outer: int, other_end: int) -> bool:
        """Whether the first values are apart from the others: by a gap wider than the
        gaps of the others, and by a heap, an edge or the width of the gap.
        """
        codes, rest = self.held[:outer], self.held[outer:]
        if len(rest) < 2:
            return False
        gap = codes[-1].value - rest[0].value
        near = rest[: MAX_NEAR_VALUES + 1]
        gaps = [above.value - below.value for above, below in pairwise(near)]
        if gap <= max(gaps):
            return False
        heap = max(entry.rows for entry in codes)
        neighbours = max(entry.rows for entry in rest[:MAX_NEIGHBOURS])
        is_scale = max(gaps) == min(gaps)
        is_edge = is_scale and min(e.rows for e in rest[:2]) >= MIN_EDGE_ROWS
        is_far = gap > rest[0].value - other_end
        return heap > MIN_HEAP_RATIO * neighbours or is_edge or is_far

    def find_inner_codes(self, total: int) -> list[int]:
        """Codes with larger values beyond them, on heaps far above their neighbours."""
        codes = []
        for place, entry in enumerate(self.held):
            first = max(place - MAX_NEIGHBOURS, 0)
            around = [*self.held[first:place], *self.held[place + 1 :][:MAX_NEIGHBOURS]]
            others = max((near.rows for near in around), default=entry.rows)
            is_heap = entry.rows > MIN_INNER_HEAP_RATIO * others
            is_large = entry.value >= MIN_INNER_CODE * self.unit
            if not (is_heap and is_large and self._is_code(entry, LEADING_CODES)):
                continue
            if entry.rows >= MIN_INNER_HEAP_SHARE * total:
                codes.append(entry.value // self.unit)
        return codes


def find_numeric_codes(source: TableSource, column: Integer | Real) -> tuple[str, ...]:
    """The numbers of a column that seem to mean missing, as they are spelled."""
    steps_per_unit = 1 / Fraction(column.step)
    if steps_per_unit.denominator != 1:
        return ()
    unit = int(steps_per_unit)
    layers = QueryLayers()
    index = encode.index_sql(layers, column, source.stored_column(column.name))
    cells = layers.query(source.relation, [f"{index} AS v"])
    counted = f"SELECT v, count(*) AS n FROM ({cells}) WHERE v IS NOT NULL GROUP BY v"
    doing = f'looking at column "{column.name}"'
    codes = [1, *LEADING_CODES, *_FURTHER_CODES]
    listed = ", ".join(f"{code * unit}, {-code * unit}" for code in codes)
    ((total, most),) = source.engine.run(
        f"SELECT sum(n), max(n) FILTER (v IN ({listed})) FROM ({counted})", doing=doing
    )
    least = max(MIN_CODE_ROWS, int(MIN_MISSING_CODE_SHARE * (total or 0)) + 1)
    # Most columns end here, after one scan.
    if most is None or most < least:
        return ()
    near = 2 * len(codes) + MAX_NEAR_VALUES
    ends = []
    for sign, order in ((1, "DESC"), (-1, "ASC")):
        query = f"SELECT v, n FROM ({counted}) ORDER BY v {order} LIMIT {near}"
        held = _hold_values(source.engine.run(query, doing=doing), sign)
        ends.append(ColumnEnd(held, unit, least))
    below, above = _choose_codes(*ends, total=int(total))
    if _PRICE_WORDS & set(split_name_words(column.name)):
        above = []
    return (*(str(-code) for code in below), *(str(code) for code in above))


def _hold_values(rows: list[tuple[Any, ...]], sign: int) -> list[HeldValue]:
    """Values and their rows, turned round where the lower end is looked at."""
    return [HeldValue(sign * int(value), int(count)) for value, count in rows]


def _choose_codes(
    high: ColumnEnd, low: ColumnEnd, *, total: int
) -> tuple[list[int], list[int]]:
    """The codes at both ends of a column, without their signs."""
    below = low.find_beyond_zero()
    if below is None:
        below = low.find_apart(-high.held[0].value)
    # Without the codes at the lower end the others begin where the column does.
    others = (entry for entry in low.held if entry.value // low.unit not in below)
    first = next(others, low.held[0])
    return below, high.find_apart(-first.value) or high.find_inner_codes(total)
