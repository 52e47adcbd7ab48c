"""Figures on a terminal, through rich; in a pipe the same without colour."""

from __future__ import annotations

import sys
from math import ceil, log10
from typing import TYPE_CHECKING

from understudy.attacks.finding import AttackFigure, Bars, Curves
from understudy.cli.layout import draw_bar
from understudy.svg.axis import axis_ticks, format_axis_number

if TYPE_CHECKING:
    from rich.text import Text

    from understudy.cli.console import TextConsole

CURVE_MARKS = "●▲■◆✚"
TERMINAL_EXPOSED_COLOUR, TERMINAL_SAFE_COLOUR = "bright_red", "bright_blue"
TERMINAL_CURVE_COLOURS = ("bright_red", "magenta", "green", "yellow", "cyan")
PLOT_COLUMNS, PLOT_LINES = 56, 14


def plot_figure(figure: AttackFigure, console: TextConsole | None = None) -> None:
    """Draw a figure on stdout."""
    from understudy.cli.console import TextConsole

    shown = console or TextConsole(file=sys.stdout, highlight=False)
    for line in figure_lines(figure):
        shown.print_line(line)


def figure_lines(figure: AttackFigure) -> list[Text]:
    """A figure as lines of text.

    >>> from understudy.attacks.finding import Bar
    >>> figure = Bars(title="Known", axis="share", bars=(Bar("all", 1.0),), top=1.0)
    >>> print(*(line.plain for line in figure_lines(figure)), sep="\\n")
    Known
      all  ██████████████████████████████ 1
    """
    from rich.text import Text

    body = _bar_lines(figure) if isinstance(figure, Bars) else _curve_lines(figure)
    return [Text(figure.title, style="bold"), *body]


def _bar_lines(figure: Bars) -> list[Text]:
    from rich.text import Text

    wide = max((len(b.label) for b in figure.bars), default=0)
    # A logarithmic axis ends at a power of ten.
    end = 10 ** ceil(log10(max(figure.end, 10))) if figure.log else figure.end
    drawn = []
    for one in figure.bars:
        share = log10(max(one.value, 1)) / log10(end) if figure.log else one.value / end
        # A bar of no length would look like a missing one.
        length = draw_bar(share, 30) or "▏"
        note = one.note or format_axis_number(one.value)
        drawn.append(
            Text.assemble(
                f"  {one.label:>{wide}}  ",
                (length, TERMINAL_SAFE_COLOUR if one.safe else TERMINAL_EXPOSED_COLOUR),
                f" {note}",
            )
        )
    return drawn


def _curve_lines(figure: Curves) -> list[Text]:
    from rich.text import Text

    low, high = figure.x_range
    grid: list[list[tuple[str, str]]] = [
        [(" ", "")] * (PLOT_COLUMNS + 1) for _ in range(PLOT_LINES + 1)
    ]

    def grid_place(x: float, y: float) -> tuple[int, int]:
        return round(
            PLOT_COLUMNS * (x - low) / ((high - low) or 1)
        ), PLOT_LINES - round(PLOT_LINES * min(max(y, 0.0), figure.end) / figure.end)

    legend = []
    plain = [curve for curve in figure.curves if not curve.dashed]
    # Dashed curves first: they are references, and others may cover them.
    for curve in sorted(figure.curves, key=lambda c: not c.dashed):
        mark = (
            "·" if curve.dashed else CURVE_MARKS[plain.index(curve) % len(CURVE_MARKS)]
        )
        colour = (
            ""
            if curve.dashed
            else (
                TERMINAL_SAFE_COLOUR
                if curve.safe
                else TERMINAL_CURVE_COLOURS[
                    plain.index(curve) % len(TERMINAL_CURVE_COLOURS)
                ]
            )
        )
        for (x0, y0), (x1, y1) in zip(curve.points, curve.points[1:], strict=False):
            columns = range(grid_place(x0, 0)[0], grid_place(x1, 0)[0] + 1)
            for column in columns:
                part = (column - columns[0]) / max(len(columns) - 1, 1)
                _, row = grid_place(low, y0 + part * (y1 - y0))
                if grid[row][column][0] == " ":
                    grid[row][column] = ("·", colour)
        if not curve.dashed:
            for x, y in curve.points:
                column, row = grid_place(x, y)
                grid[row][column] = (mark, colour)
        legend.append(
            Text.assemble(
                "          ",
                (mark, colour),
                f" {curve.label}  ",
                (_format_values(curve.points), "dim"),
            )
        )
    marks = {
        grid_place(low, t)[1]: format_axis_number(t)
        for t in axis_ticks(figure.end, most=5)
    }
    drawn = [Text(f"  {figure.y}")]
    for row, cells in enumerate(grid):
        drawn.append(Text.assemble(f"{marks.get(row, ''):>7} │", *cells))
    drawn.append(Text("        └" + "─" * (PLOT_COLUMNS + 1)))
    axis = [" "] * (PLOT_COLUMNS + 12)
    for x in sorted({x for curve in plain for x, _ in curve.points}):
        column, text = grid_place(x, 0)[0], format_axis_number(x)
        axis[column : column + len(text)] = text
    drawn.append(Text("         " + "".join(axis).rstrip()))
    drawn.append(Text(f"         {figure.x}"))
    return [*drawn, *legend]


def _format_values(points: tuple[tuple[float, float], ...]) -> str:
    return ", ".join(format_axis_number(round(y, 2)) for _, y in points)
