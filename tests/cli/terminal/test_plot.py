"""Figures on a terminal: every label and value is there, whatever the size."""

from __future__ import annotations

import pytest

from understudy.attacks.finding import Bar, Bars, Curve, Curves
from understudy.cli.terminal.plot import figure_lines, plot_figure

BARS = Bars(
    title="known",
    axis="people",
    bars=(Bar("few", 1), Bar("many", 4, "4 of 5", safe=True)),
    top=5.0,
)
LOG = Bars(
    title="tables",
    axis="tables",
    bars=(Bar("one", 1), Bar("hundred", 100), Bar("all", 10_000)),
    log=True,
)
LINES = Curves(
    title="share",
    x="ratings",
    y="named",
    curves=(
        Curve("dates", ((2, 0.0), (8, 1.0))),
        Curve("bound", ((2, 0.5), (8, 0.5)), dashed=True),
    ),
    top=1.0,
)


def text(figure: Bars | Curves) -> list[str]:
    return [line.plain for line in figure_lines(figure)]


def test_bars_are_as_long_as_their_values() -> None:
    few, many = (line.count("█") for line in text(BARS)[1:])
    assert (few, many) == (6, 24)
    assert text(BARS)[2].endswith("4 of 5")


def test_a_log_axis_gives_each_factor_the_same_length() -> None:
    one, hundred, every = (line.count("█") for line in text(LOG)[1:])
    assert (one, hundred, every) == (0, 15, 30)


def test_lines_run_from_corner_to_corner() -> None:
    drawn = text(LINES)
    rows = [line.partition("│")[2] for line in drawn if "│" in line]
    assert rows[0].rstrip().endswith("●")
    assert rows[-1].startswith("●")
    assert set(rows[len(rows) // 2].strip()) <= set("·")
    assert any("dates  0, 1" in line for line in drawn)
    assert any("bound" in line for line in drawn)


def test_a_single_point_is_drawn() -> None:
    single = Curves(title="t", x="x", y="y", curves=(Curve("only", ((3, 2.0),)),))
    assert (
        sum("●" in line for line in text(single)) == 2
    )  # in the plot and beside its label


def test_hostile_labels_are_text_and_a_pipe_has_no_colour(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plot_figure(Bars(title="[bold]x[/bold]", axis="", bars=(Bar("[red]a[/red]", 1),)))
    out = capsys.readouterr().out
    assert "[bold]x[/bold]" in out
    assert "[red]a[/red]" in out
    assert "\x1b" not in out
