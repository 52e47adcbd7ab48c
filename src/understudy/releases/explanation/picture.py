"""The picture of an explanation: bars of expected gain, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.decisions import Decision
from understudy.measurements import Clique
from understudy.svg import (
    Markup,
    shorten_text,
    svg_element,
    svg_figure,
    svg_line,
    svg_text,
    svg_title,
)
from understudy.svg.axis import axis_ticks, format_axis_number
from understudy.svg.colours import FAINT_COLOUR, INK_COLOUR, OKABE_ITO_BLUE
from understudy.text import format_percent

PICTURE_BARS_PER_STAGE = 12
"""Candidates of a stage that the picture shows: measured ones first."""

PICTURE_TITLE = "Expected gain of the candidates of each stage"
REJECTED_COLOUR = "#b8c1cc"

_LABEL_WIDTH, _BAR_WIDTH, _NOTE_WIDTH = 230, 300, 240
_PICTURE_WIDTH = _LABEL_WIDTH + _BAR_WIDTH + _NOTE_WIDTH
_KEY_HEIGHT, _STAGE_HEIGHT, _BAR_PITCH, _AXIS_HEIGHT = 34, 28, 20, 42
_MAX_LABEL_CHARACTERS = 34
_MIN_AXIS_ROWS = 1.0


def join_columns(clique: Clique) -> str:
    """A marginal by the names of its columns."""
    return " × ".join(clique)


def draw_gains(decisions: Sequence[Decision]) -> Markup:
    """The strongest candidates of every stage as bars of expected gain; what was
    measured is blue.

    >>> from understudy.decisions import Verdict
    >>> far = 410.0, 402.5, 0.09, 350.0, 0.6
    >>> strong = Decision("forest", ("age", "sex"), *far, Verdict.MEASURED)
    >>> draw_gains([strong]).count("<rect")
    3
    """
    by_stage: dict[str, list[Decision]] = {}
    for decision in decisions:
        by_stage.setdefault(decision.stage, []).append(decision)
    shown = {stage: some[:PICTURE_BARS_PER_STAGE] for stage, some in by_stage.items()}
    gains = [decision.gain for some in shown.values() for decision in some]
    # Without any gain, or with a made-up one in a file, the axis still needs a length.
    end = max([*gains, _MIN_AXIS_ROWS])
    parts, height = [*_draw_key()], float(_KEY_HEIGHT)
    bars: list[Markup] = []
    for stage, some in shown.items():
        bars.append(_stage_name(stage, height))
        height += _STAGE_HEIGHT
        for decision in some:
            bars += _draw_bar(decision, height, end)
            height += _BAR_PITCH
    # Grid lines first, so that bars and words lie above them.
    parts += _draw_axis(end, height)
    return svg_figure(
        *parts,
        *bars,
        width=_PICTURE_WIDTH,
        height=height + _AXIS_HEIGHT,
        title=PICTURE_TITLE,
    )


def _bar_length(gain: float, end: float) -> float:
    # A gain of nothing is drawn one pixel long, so that its colour is seen.
    return max(_BAR_WIDTH * (gain / end), 1.0)


def _draw_key() -> list[Markup]:
    parts: list[Markup] = []
    keys = [("measured", OKABE_ITO_BLUE), ("not measured", REJECTED_COLOUR)]
    for number, (words, colour) in enumerate(keys):
        x = _LABEL_WIDTH + 110 * number
        parts.append(svg_element("rect", x=x, y=8, width=12, height=12, fill=colour))
        parts.append(svg_text(x + 18, 18, words, size=12))
    return parts


def _stage_name(stage: str, height: float) -> Markup:
    words = shorten_text(stage, _MAX_LABEL_CHARACTERS)
    return svg_text(8, height + 18, words, size=13, font_weight="600")


def _draw_bar(decision: Decision, top: float, end: float) -> list[Markup]:
    name = join_columns(decision.clique)
    length = _bar_length(decision.gain, end)
    words = f"{name}: expected gain {decision.gain:,.1f} rows, {decision.verdict.value}"
    bar = svg_element(
        "rect",
        svg_title(words),
        x=_LABEL_WIDTH,
        y=top + 3,
        width=length,
        height=_BAR_PITCH - 6,
        fill=OKABE_ITO_BLUE if decision.is_measured else REJECTED_COLOUR,
    )
    note = decision.verdict.value
    if decision.is_measured:
        note = f"{format_percent(decision.part)} of the budget left"
    label = shorten_text(name, _MAX_LABEL_CHARACTERS)
    baseline = top + _BAR_PITCH - 6
    return [
        svg_text(_LABEL_WIDTH - 8, baseline, label, size=12, anchor="end"),
        bar,
        svg_text(_LABEL_WIDTH + length + 6, baseline, note, size=11),
    ]


def _draw_axis(end: float, bottom: float) -> list[Markup]:
    parts: list[Markup] = []
    for tick in axis_ticks(end, most=5):
        x = _LABEL_WIDTH + _BAR_WIDTH * (tick / end)
        parts.append(svg_line(x, _KEY_HEIGHT, x, bottom, FAINT_COLOUR))
        words = format_axis_number(tick)
        parts.append(svg_text(x, bottom + 16, words, size=11, anchor="middle"))
    middle = _LABEL_WIDTH + _BAR_WIDTH / 2
    title = "expected gain, in rows"
    parts.append(
        svg_text(middle, bottom + 34, title, size=12, anchor="middle", fill=INK_COLOUR)
    )
    return parts
