"""Grids: how the numbers a source holds lie on a column's lattice, in SQL that agrees
with exact fractions.

A source stores whole numbers (counts of cents, days, microseconds, …) or doubles.
Either way, bin edges are compared in the source's own numbers, at the least number that
reaches the edge, found with fractions beforehand; so coding needs no arithmetic on rows
and no rounding. Lattice indices themselves are computed in 128-bit integers, doubles by
first making them whole by a power of two, which is exact.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from understudy.schema.columns.code_layout import equal_bins
from understudy.schema.columns.lattice import MAX_LATTICE_INDEX
from understudy.tables.sql import quoting

MAX_INDEX_MAGNITUDE = MAX_LATTICE_INDEX - 1
"""Indices further out than this are clipped to it."""

OVERLONG_NUMBER = 10**38
"""What stands for a whole number too long for 127 bits: beyond every edge."""


MAX_COMPARED_EDGES = 2000
"""Edges that are compared one by one. A query that names 100,000 of them takes the
database most of a minute to parse.
"""


def _is_equal_width(edges: tuple[int, ...]) -> bool:
    return edges == equal_bins(edges[0], edges[-1] - 1, len(edges) - 1)


class NumberGrid(ABC):
    """Numbers of a source, ordered, and the lattice index of each."""

    @abstractmethod
    def least(self, index: int) -> str:
        """The least number of the source whose lattice index is at least `index`, as a
        literal.
        """

    @abstractmethod
    def index(self, value: str) -> str:
        """The lattice index of a number, clipped far out, as BIGINT."""

    def bin_sql(self, value: str, edges: tuple[int, ...]) -> str:
        """The bin of a number; below the first edge the first bin, above the last the
        last.
        """
        if len(edges) > MAX_COMPARED_EDGES and _is_equal_width(edges):
            return self._equal_bin_sql(value, edges)
        literals = [self.least(edge) for edge in edges]

        def bisect_edges(low: int, high: int) -> str:
            if low == high:
                return str(low)
            middle = (low + high + 1) // 2
            below = bisect_edges(low, middle - 1)
            above = bisect_edges(middle, high)
            return (
                f"CASE WHEN {value} < {literals[middle]} THEN {below} ELSE {above} END"
            )

        return bisect_edges(0, len(edges) - 2)

    def _equal_bin_sql(self, value: str, edges: tuple[int, ...]) -> str:
        """The same for bins of equal width, from the lattice index: bin i begins at
        low + count · i // bins, so x lies in bin ((x - low + 1) · bins - 1) // count.
        """
        low, count, bins = edges[0], edges[-1] - edges[0], len(edges) - 1
        near = f"LEAST(GREATEST({self.index(value)}, {low}), {edges[-1] - 1})"
        place = f"(CAST({near} AS HUGEINT) - ({low}) + 1) * {bins} - 1"
        return f"CAST(({place}) // {count} AS INTEGER)"


@dataclass(frozen=True)
class WholeGrid(NumberGrid):
    """Whole numbers, each `unit` steps of the lattice, going to the nearest lattice
    point or to the one before.
    """

    unit: Fraction
    nearest: bool

    def least(self, index: int) -> str:
        if not self.nearest:
            return quoting.whole_literal(math.ceil(index / self.unit))
        half = (index - Fraction(1, 2)) / self.unit
        # Halves go away from zero: up to an index above zero, away from one that is
        # not.
        return quoting.whole_literal(
            math.ceil(half) if index > 0 else math.floor(half) + 1
        )

    def index(self, value: str) -> str:
        if self.unit == 1:
            return _unless_null_sql(value, _clip_index_sql(value))
        far = min(math.ceil(MAX_INDEX_MAGNITUDE / self.unit) + 1, OVERLONG_NUMBER)
        near = f"LEAST(GREATEST(CAST({value} AS HUGEINT), {-far}), {far})"
        up = self.unit.numerator
        down = self.unit.denominator
        if self.nearest:
            rounded = _round_half_up_sql(f"abs({near})", up, down)
            return _unless_null_sql(
                value,
                _clip_index_sql(
                    f"CASE WHEN {value} < 0 THEN -({rounded}) ELSE {rounded} END"
                ),
            )
        floor = (
            f"(({near} * {up}) // {down} - CASE WHEN ({near} * {up}) % {down} < 0 THEN"
            " 1 ELSE 0 END)"
        )
        return _unless_null_sql(value, _clip_index_sql(floor))

    def bin_sql(self, value: str, edges: tuple[int, ...]) -> str:
        if self.unit == 1 and edges[-1] - edges[0] == len(edges) - 1:
            # One bin for each whole number: a subtraction does it.
            near = f"LEAST(GREATEST({value}, {edges[0]}), {edges[-1] - 1})"
            return (
                near
                if edges[0] == 0
                else f"({near} - {quoting.whole_literal(edges[0])})"
            )
        return super().bin_sql(value, edges)


@dataclass(frozen=True)
class DoubleGrid(NumberGrid):
    """Doubles, going to the nearest lattice point; infinities are no values."""

    step: Fraction

    def least(self, index: int) -> str:
        half = (index - Fraction(1, 2)) * self.step
        # Near the half there is a double on either side: take the first that reaches
        # it.
        try:
            number = float(half)
        except OverflowError:
            return quoting.double_literal(math.copysign(math.inf, half))
        number = math.nextafter(number, -math.inf)
        while math.isfinite(number) and (
            number < half or (index <= 0 and Fraction(number) == half)
        ):
            number = math.nextafter(number, math.inf)
        return quoting.double_literal(number)

    def index(self, value: str) -> str:
        # Every double that rounds away from zero is a whole multiple of 2^-bits.
        bits = 54 - math.floor(math.log2(self.step / 2))
        unit = 1 / (self.step * Fraction(2) ** bits)
        whole = (
            f"TRY_CAST(trunc(abs({value}) * {quoting.double_literal(2.0**bits)}) AS"
            " HUGEINT)"
        )
        rounded = _round_half_up_sql(whole, unit.numerator, unit.denominator)
        signed = (
            f"CAST(CASE WHEN {value} < 0 THEN -({rounded}) ELSE {rounded} END AS"
            " BIGINT)"
        )
        far = (
            f"WHEN {value} >= {self.least(MAX_INDEX_MAGNITUDE)} THEN"
            f" {MAX_INDEX_MAGNITUDE} WHEN {value} <"
            f" {self.least(1 - MAX_INDEX_MAGNITUDE)} THEN {-MAX_INDEX_MAGNITUDE}"
        )
        return f"CASE WHEN NOT isfinite({value}) THEN NULL {far} ELSE {signed} END"


def _unless_null_sql(value: str, expression: str) -> str:
    """An expression of a number; NULL of none. (LEAST and GREATEST would pass over a
    NULL.)
    """
    return f"CASE WHEN {value} IS NOT NULL THEN {expression} END"


def _clip_index_sql(index: str) -> str:
    return (
        f"CAST(LEAST(GREATEST({index}, {-MAX_INDEX_MAGNITUDE}), {MAX_INDEX_MAGNITUDE})"
        " AS BIGINT)"
    )


def _round_half_up_sql(value: str, up: int, down: int) -> str:
    """round(value · up / down), halves up, for value ≥ 0, without a product that could
    leave 127 bits.
    """
    if down == 1:
        return f"{value} * {up}"
    if 2 * up * down < 2**126:
        return (
            f"(({value} // {down}) * {up} + (({value} % {down}) * {2 * up} + {down}) //"
            f" {2 * down})"
        )
    # Only a step with a denominator beyond any decimal gets here; its last digits are
    # lost in a double anyway.
    return (
        f"TRY_CAST(round(CAST({value} AS DOUBLE) * {quoting.double_literal(up / down)})"
        " AS HUGEINT)"
    )
