"""Figures on a terminal, through rich; in a pipe the same without colour."""

from __future__ import annotations

import sys
from math import ceil, log10
from typing import TYPE_CHECKING

from understudy.attacks.finding import Bars, Curves, Figure
from understudy.attacks.svg import spelled, ticks
from understudy.cli.layout import bar

if TYPE_CHECKING:
    from rich.text import Text

    from understudy.cli.console import TextConsole

MARKS = "●▲■◆✚"
EXPOSED, SAFE = "bright_red", "bright_blue"
COLOURS = ("bright_red", "magenta", "green", "yellow", "cyan")
WIDE, HIGH = 56, 14


def plot(figure: Figure, console: TextConsole | None = None) -> None:
    """Draw a figure on stdout."""
    from understudy.cli.console import TextConsole

    shown = console or TextConsole(file=sys.stdout, highlight=False)
    for line in lines(figure):
        shown.print_line(line)


def lines(figure: Figure) -> list[Text]:
    """A figure as lines of text.

    >>> from understudy.attacks.finding import Bar
    >>> print(*(line.plain for line in lines(Bars(title="Known", axis="share", bars=(Bar("all", 1.0),), top=1.0))), sep="\\n")
    Known
      all  ██████████████████████████████ 1
    """
    from rich.text import Text

    body = _bars(figure) if isinstance(figure, Bars) else _curves(figure)
    return [Text(figure.title, style="bold"), *body]


def _bars(figure: Bars) -> list[Text]:
    from rich.text import Text

    wide = max((len(b.label) for b in figure.bars), default=0)
    end = 10 ** ceil(log10(max(figure.end, 10))) if figure.log else figure.end
    drawn = []
    for one in figure.bars:
        share = log10(max(one.value, 1)) / log10(end) if figure.log else one.value / end
        length = bar(share, 30) or "▏"
        note = one.note or spelled(one.value)
        drawn.append(Text.assemble(f"  {one.label:>{wide}}  ", (length, SAFE if one.safe else EXPOSED), f" {note}"))
    return drawn


def _curves(figure: Curves) -> list[Text]:
    from rich.text import Text

    low, high = figure.xs
    grid: list[list[tuple[str, str]]] = [[(" ", "")] * (WIDE + 1) for _ in range(HIGH + 1)]

    def place(x: float, y: float) -> tuple[int, int]:
        return round(WIDE * (x - low) / ((high - low) or 1)), HIGH - round(
            HIGH * min(max(y, 0.0), figure.end) / figure.end
        )

    legend = []
    plain = [curve for curve in figure.curves if not curve.dashed]
    for curve in sorted(figure.curves, key=lambda c: not c.dashed):
        mark = "·" if curve.dashed else MARKS[plain.index(curve) % len(MARKS)]
        colour = "" if curve.dashed else SAFE if curve.safe else COLOURS[plain.index(curve) % len(COLOURS)]
        for (x0, y0), (x1, y1) in zip(curve.points, curve.points[1:], strict=False):
            columns = range(place(x0, 0)[0], place(x1, 0)[0] + 1)
            for column in columns:
                part = (column - columns[0]) / max(len(columns) - 1, 1)
                _, row = place(low, y0 + part * (y1 - y0))
                if grid[row][column][0] == " ":
                    grid[row][column] = ("·", colour)
        if not curve.dashed:
            for x, y in curve.points:
                column, row = place(x, y)
                grid[row][column] = (mark, colour)
        legend.append(Text.assemble("          ", (mark, colour), f" {curve.label}  ", (_values(curve.points), "dim")))
    marks = {place(low, t)[1]: spelled(t) for t in ticks(figure.end, most=5)}
    drawn = [Text(f"  {figure.y}")]
    for row, cells in enumerate(grid):
        drawn.append(Text.assemble(f"{marks.get(row, ''):>7} │", *cells))
    drawn.append(Text("        └" + "─" * (WIDE + 1)))
    axis = [" "] * (WIDE + 12)
    for x in sorted({x for curve in plain for x, _ in curve.points}):
        column, text = place(x, 0)[0], spelled(x)
        axis[column : column + len(text)] = text
    drawn.append(Text("         " + "".join(axis).rstrip()))
    drawn.append(Text(f"         {figure.x}"))
    return [*drawn, *legend]


def _values(points: tuple[tuple[float, float], ...]) -> str:
    return ", ".join(spelled(round(y, 2)) for _, y in points)
