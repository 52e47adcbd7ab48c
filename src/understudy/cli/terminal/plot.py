"""Figures on a terminal, through rich; in a pipe the same without colour."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import ceil, log10
from typing import TYPE_CHECKING

from understudy.attacks.finding import AttackFigure, Bars, Curve, Curves
from understudy.cli.terminal.layout import draw_bar
from understudy.svg.axis import axis_ticks, format_axis_number

if TYPE_CHECKING:
    from rich.text import Text

    from understudy.cli.terminal.console import TextConsole

CURVE_MARKS = "●▲■◆✚"
TERMINAL_EXPOSED_COLOUR, TERMINAL_SAFE_COLOUR = "bright_red", "bright_blue"
TERMINAL_CURVE_COLOURS = ("bright_red", "magenta", "green", "yellow", "cyan")
PLOT_COLUMNS, PLOT_LINES = 56, 14


def plot_figure(figure: AttackFigure, console: TextConsole | None = None) -> None:
    """Draw a figure on stdout."""
    from understudy.cli.terminal.console import TextConsole

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

    grid = _CurveGrid(figure)
    plain = [curve for curve in figure.curves if not curve.dashed]
    legend = []
    # Dashed curves first: they are references, and others may cover them.
    for curve in sorted(figure.curves, key=lambda c: not c.dashed):
        number = plain.index(curve) if curve in plain else None
        mark, colour = _curve_style(curve, number)
        grid.draw_lines(curve, colour)
        if not curve.dashed:
            grid.draw_points(curve, mark, colour)
        values = _format_values(curve.points)
        legend.append(
            Text.assemble(
                "          ", (mark, colour), f" {curve.label}  ", (values, "dim")
            )
        )
    x_values = sorted({x for curve in plain for x, _ in curve.points})
    return [
        Text(f"  {figure.y}"),
        *grid.lines(),
        Text("        └" + "─" * (PLOT_COLUMNS + 1)),
        Text("         " + grid.label_axis(x_values)),
        Text(f"         {figure.x}"),
        *legend,
    ]


def _curve_style(curve: Curve, number: int | None) -> tuple[str, str]:
    """Mark and colour of a curve; `number` counts those that are not dashed."""
    if number is None:
        return "·", ""
    mark = CURVE_MARKS[number % len(CURVE_MARKS)]
    if curve.safe:
        return mark, TERMINAL_SAFE_COLOUR
    return mark, TERMINAL_CURVE_COLOURS[number % len(TERMINAL_CURVE_COLOURS)]


class _CurveGrid:
    """Characters and colours of a plot, line by line from the top."""

    def __init__(self, figure: Curves) -> None:
        self._figure = figure
        self._cells: list[list[tuple[str, str]]] = [
            [(" ", "")] * (PLOT_COLUMNS + 1) for _ in range(PLOT_LINES + 1)
        ]

    def _column_of(self, x: float) -> int:
        low, high = self._figure.x_range
        return round(PLOT_COLUMNS * (x - low) / ((high - low) or 1))

    def _line_of(self, y: float) -> int:
        end = self._figure.end
        return PLOT_LINES - round(PLOT_LINES * min(max(y, 0.0), end) / end)

    def draw_lines(self, curve: Curve, colour: str) -> None:
        """Dots between the points, where nothing is drawn yet."""
        for (x0, y0), (x1, y1) in zip(curve.points, curve.points[1:], strict=False):
            columns = range(self._column_of(x0), self._column_of(x1) + 1)
            for column in columns:
                part = (column - columns[0]) / max(len(columns) - 1, 1)
                line = self._line_of(y0 + part * (y1 - y0))
                if self._cells[line][column][0] == " ":
                    self._cells[line][column] = ("·", colour)

    def draw_points(self, curve: Curve, mark: str, colour: str) -> None:
        """Marks at the points, over whatever is there."""
        for x, y in curve.points:
            self._cells[self._line_of(y)][self._column_of(x)] = (mark, colour)

    def lines(self) -> list[Text]:
        """The plot, with the ticks of its vertical axis."""
        from rich.text import Text

        ticks = axis_ticks(self._figure.end, most=5)
        labels = {self._line_of(tick): format_axis_number(tick) for tick in ticks}
        return [
            Text.assemble(f"{labels.get(line, ''):>7} │", *cells)
            for line, cells in enumerate(self._cells)
        ]

    def label_axis(self, values: Sequence[float]) -> str:
        """The horizontal axis, with these values below their columns."""
        characters = [" "] * (PLOT_COLUMNS + 12)
        for x in values:
            column, label = self._column_of(x), format_axis_number(x)
            characters[column : column + len(label)] = label
        return "".join(characters).rstrip()


def _format_values(points: tuple[tuple[float, float], ...]) -> str:
    return ", ".join(format_axis_number(round(y, 2)) for _, y in points)
