"""The picture of tuning: risk against utility, a point for each setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from understudy.findings import INTERNAL_MARKING
from understudy.svg import (
    Markup,
    svg_element,
    svg_figure,
    svg_line,
    svg_text,
    svg_title,
)
from understudy.svg.axis import axis_ticks, format_axis_number
from understudy.svg.colours import (
    FAINT_COLOUR,
    INK_COLOUR,
    OKABE_ITO_BLUE,
    OKABE_ITO_GREEN,
    OKABE_ITO_ORANGE,
    OKABE_ITO_VERMILION,
)

if TYPE_CHECKING:
    from understudy.imputation.tuning import MaskTuning, MeasuredSetting

PICTURE_LEFT, PICTURE_TOP = 64, 40
"""Where the axes begin, in pixels; above them stands the key of colours."""

PICTURE_WIDTH, PICTURE_HEIGHT = 460, 280
"""Of the axes, in pixels."""

POINT_RADIUS, RING_RADIUS = 5, 9
"""Of a setting's point, and of the ring round the recommended one, in pixels."""

_COPY_COLOURS = (OKABE_ITO_BLUE, OKABE_ITO_ORANGE, OKABE_ITO_GREEN)


def draw_tuning(tuning: MaskTuning) -> Markup:
    """Settings by their risk and what they lose of the estimates: both lower is better,
    so the good corner is bottom left. A line marks the target, a ring the recommended
    setting. A setting whose copies do not allow the formulas has no loss to be drawn at.
    """
    compared = [one for one in tuning.settings if one.overlap is not None]
    settings = compared or tuning.settings
    losses = [measure_loss(one) for one in settings]
    # A little room beyond the farthest point, so that none lies on the frame.
    far_risk = 1.1 * max(tuning.risk_target, *(one.risk for one in settings)) or 1.0
    far_loss = 1.1 * max(losses) or 1.0
    counts = sorted({one.copies for one in settings})
    parts = _draw_axes(far_risk, far_loss, has_overlap=settings[0].overlap is not None)
    target = PICTURE_LEFT + PICTURE_WIDTH * tuning.risk_target / far_risk
    parts.append(
        svg_element(
            "line",
            svg_title(f"risk target {tuning.risk_target:g}"),
            x1=target,
            y1=PICTURE_TOP,
            x2=target,
            y2=PICTURE_TOP + PICTURE_HEIGHT,
            stroke=OKABE_ITO_VERMILION,
            stroke_dasharray="4 3",
        )
    )
    chosen = tuning.recommended_setting
    for one, loss in zip(settings, losses, strict=True):
        x = PICTURE_LEFT + PICTURE_WIDTH * one.risk / far_risk
        y = PICTURE_TOP + PICTURE_HEIGHT * (1 - loss / far_loss)
        colour = _COPY_COLOURS[counts.index(one.copies) % len(_COPY_COLOURS)]
        parts += _draw_setting(one, x, y, colour, is_chosen=one is chosen)
    return svg_figure(
        *parts,
        *_draw_key(counts),
        width=PICTURE_LEFT + PICTURE_WIDTH + 20,
        height=PICTURE_TOP + PICTURE_HEIGHT + 44,
        title=f"Risk and utility of masked copies, {INTERNAL_MARKING}",
    )


def measure_loss(setting: MeasuredSetting) -> float:
    """What a setting loses: 1 − overlap, or U_p where no formula was given."""
    if setting.overlap is None:
        return setting.propensity
    # Copies drawn near the original can overlap a hair more than 1 by rounding.
    return max(1 - setting.overlap, 0.0)


def _draw_setting(
    setting: MeasuredSetting, x: float, y: float, colour: str, *, is_chosen: bool
) -> list[Markup]:
    loss = measure_loss(setting)
    caption = svg_title(f"{setting.name}: risk {setting.risk:.3g}, loss {loss:.3g}")
    # Filled points are masks of some strength, hollow ones the plain methods.
    filled = colour if setting.strength is not None else "none"
    point = svg_element(
        "circle", caption, cx=x, cy=y, r=POINT_RADIUS, fill=filled, stroke=colour
    )
    if not is_chosen:
        return [point]
    ring = svg_element(
        "circle", cx=x, cy=y, r=RING_RADIUS, fill="none", stroke=INK_COLOUR
    )
    return [point, ring]


def _draw_axes(far_risk: float, far_loss: float, *, has_overlap: bool) -> list[Markup]:
    left, bottom = PICTURE_LEFT, PICTURE_TOP + PICTURE_HEIGHT
    right, middle = left + PICTURE_WIDTH, PICTURE_TOP + PICTURE_HEIGHT / 2
    loss_words = "1 − interval overlap" if has_overlap else "propensity score U_p"
    parts = []
    for tick in axis_ticks(far_loss):
        y = bottom - PICTURE_HEIGHT * tick / far_loss
        words = format_axis_number(tick)
        parts.append(svg_line(left, y, right, y, FAINT_COLOUR))
        parts.append(svg_text(left - 6, y + 4, words, size=10, anchor="end"))
    for tick in axis_ticks(far_risk):
        x = left + PICTURE_WIDTH * tick / far_risk
        words = format_axis_number(tick)
        parts.append(svg_text(x, bottom + 16, words, size=10, anchor="middle"))
    upright = f"rotate(-90 14 {middle})"
    return [
        *parts,
        svg_line(left, bottom, right, bottom, INK_COLOUR),
        svg_line(left, PICTURE_TOP, left, bottom, INK_COLOUR),
        svg_text(
            (left + right) / 2,
            bottom + 34,
            "largest of the match risks (lower is better)",
            size=12,
            anchor="middle",
        ),
        svg_text(
            14,
            middle,
            f"{loss_words} (lower is better)",
            size=12,
            anchor="middle",
            transform=upright,
        ),
    ]


def _draw_key(counts: Sequence[int]) -> list[Markup]:
    """Which colour stands for how many copies."""
    parts = []
    for place, count in enumerate(counts):
        x, y = PICTURE_LEFT + 110 * place, PICTURE_TOP - 22
        colour = _COPY_COLOURS[place % len(_COPY_COLOURS)]
        parts.append(svg_element("circle", cx=x, cy=y, r=POINT_RADIUS, fill=colour))
        parts.append(svg_text(x + 10, y + 4, f"{count} copies", size=12))
    return parts
