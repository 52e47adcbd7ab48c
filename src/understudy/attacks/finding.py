"""What an attack found: sentences, numbers, and a figure that a terminal or an SVG file
can show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """One bar: a label, its length, what stands at its end, and whether it is the
    protected case.
    """

    label: str
    value: float
    note: str = ""
    safe: bool = False


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Bars, one below the other, on a common axis; on a log axis a bar begins at 1."""

    title: str
    axis: str
    bars: tuple[Bar, ...]
    log: bool = False
    top: float | None = None
    """The value at which the axis ends; by default the largest one."""

    @property
    def end(self) -> float:
        """The value at which the axis ends."""
        if self.top is not None:
            return self.top
        # An axis that ends at 0 has no length.
        return max((bar.value for bar in self.bars), default=1.0) or 1.0


@dataclass(frozen=True)
class Curve:
    """One labelled line through points; a dashed one is a bound rather than an
    observation.
    """

    label: str
    points: tuple[tuple[float, float], ...]
    dashed: bool = False
    safe: bool = False


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Lines over a common x-axis, each labelled where it ends."""

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    top: float | None = None

    @property
    def x_range(self) -> tuple[float, float]:
        """Ends of the x-axis."""
        all_x = [x for curve in self.curves for x, _ in curve.points]
        return min(all_x), max(all_x)

    @property
    def end(self) -> float:
        """Where the y-axis, which begins at 0, ends."""
        if self.top is not None:
            return self.top
        return max(y for curve in self.curves for _, y in curve.points) or 1.0


AttackFigure = Bars | Curves


@dataclass(frozen=True, kw_only=True)
class AttackFinding:
    """The outcome of an attack. `text` is for a person, `facts` for a program.

    >>> AttackFinding(
    ...     name="none",
    ...     title="Nothing",
    ...     text=("Nothing happened.",),
    ...     figure=Bars(title="", axis="", bars=()),
    ...     facts={},
    ... ).name
    'none'
    """

    name: str
    title: str
    text: tuple[str, ...]
    figure: AttackFigure
    facts: Mapping[str, object]
