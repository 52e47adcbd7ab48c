"""Axes: round ticks, their labels, and where a number lies on one."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10


def format_axis_number(value: float) -> str:
    """A number on an axis.

    >>> format_axis_number(0.5), format_axis_number(3.0), format_axis_number(20000)
    ('0.5', '3', '20,000')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:.3g}"


def axis_ticks(end: float, *, most: int = 6) -> list[float]:
    """Round numbers from 0 to `end`.

    >>> axis_ticks(1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    # The power of ten below the smallest step that could do.
    size = 10 ** floor(log10(end / most)) if end > 0 else 1.0
    step = next(size * m for m in (1, 2, 5, 10) if end / (size * m) <= most)
    # Without the slack, 0.6 / 0.2 = 2.9999999999999996 would lose the last tick.
    count = floor(end / step + 1e-9) + 1
    return [round(i * step, 10) for i in range(count)]


@dataclass(frozen=True)
class LinearAxis:
    """A linear axis from `low` to `high`, drawn from `start` over `length` pixels.

    >>> axis = LinearAxis(-1.0, 3.0, start=100, length=400)
    >>> axis.at(0.0), axis.at(99.0), axis.ticks()
    (200.0, 500.0, [-1.0, 0.0, 1.0, 2.0, 3.0])
    """

    low: float
    high: float
    start: float
    length: float

    def at(self, value: float) -> float:
        """Where a value lies, in pixels; beyond an end, at the end."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + self.length * min(max(share, 0.0), 1.0)

    def ticks(self) -> list[float]:
        """Round numbers on the axis."""
        step = axis_ticks(self.high - self.low)[1]
        first, last = ceil(self.low / step), floor(self.high / step)
        return [round(i * step, 10) for i in range(first, last + 1)]


@dataclass(frozen=True)
class LogAxis:
    """A logarithmic axis from `low` to `high`, drawn from `start` over `length` pixels.

    >>> LogAxis(1.0, 100.0, start=50, length=200).at(10.0)
    150.0
    """

    low: float
    high: float
    start: float
    length: float

    def at(self, value: float) -> float:
        """Where a value lies, in pixels."""
        decades = log10(self.high) - log10(self.low)
        return self.start + self.length * (log10(value) - log10(self.low)) / decades
