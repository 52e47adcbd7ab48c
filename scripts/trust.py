"""Draws docs/images/trust.svg: the error of a share under central, shuffled and local
privacy, against the number of respondents and against ε. Formulas, no data.

    python scripts/trust.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, sqrt
from pathlib import Path

from understudy.local.choice import (
    CANDIDATES_OF_VALUES,
    complete_plan,
    plan_collection,
)
from understudy.local.shuffling import local_epsilon
from understudy.local.support import support_probabilities
from understudy.svg import Markup, svg_element, svg_root, svg_text
from understudy.svg.axis import LogAxis, format_axis_number

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "trust.svg"
VALUES = 64
DELTA = 1e-9
RESPONDENTS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000)
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
ERRORS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)

Model = Callable[[float, int], float]


def central_error(epsilon: float, respondents: int) -> float:
    """Discrete Laplace noise on one count of a histogram (one row added or removed)."""
    t = exp(-epsilon)
    return sqrt(2 * t) / (1 - t) / respondents


def local_error(epsilon: float, respondents: int) -> float:
    """Randomisation alone, of the best of the mechanisms for a list of values."""
    plan = plan_collection("t", values=range(VALUES), epsilon=round(epsilon, 3))
    variances = []
    for name in CANDIDATES_OF_VALUES:
        support = support_probabilities(complete_plan(plan, name, 0))
        variances.append(support.noise_variance(1 / VALUES, respondents))
    return sqrt(min(variances))


def shuffled_error(epsilon: float, respondents: int) -> float:
    """The same with the larger ε that mixing allows."""
    return local_error(local_epsilon(epsilon, respondents, DELTA), respondents)


MODELS: dict[str, tuple[Model, str]] = {
    "local: nobody is trusted": (local_error, "#D55E00"),
    "shuffled: a shuffler is trusted": (shuffled_error, "#0072B2"),
    "central: the curator is trusted": (central_error, "#444444"),
}
"""Colours of Okabe and Ito."""


def draw_picture() -> str:
    """Two panels that share the axis of errors."""
    errors = LogAxis(ERRORS[0], ERRORS[-1], start=300, length=-270)
    parts: list[Markup] = [
        svg_element("title", "Standard error of a share by model of trust"),
        svg_element("rect", width=780, height=380, fill="#fff"),
        *draw_errors_axis(errors),
    ]
    people = LogAxis(RESPONDENTS[0], RESPONDENTS[-1], start=70, length=320)
    parts += draw_panel(people, errors, RESPONDENTS, "respondents, ε = 1", by_people)
    spent = LogAxis(EPSILONS[0], EPSILONS[-1], start=440, length=320)
    parts += draw_panel(spent, errors, EPSILONS, "ε, 100,000 respondents", by_epsilon)
    for i, (name, (_, colour)) in enumerate(MODELS.items()):
        parts.append(svg_text(70 + 240 * i, 368, name, size=12, fill=colour))
    return svg_root(*parts, view=(0, 0, 780, 380), role="img") + "\n"


def by_people(model: Model, respondents: float) -> float:
    """The error at ε = 1."""
    return model(1.0, int(respondents))


def by_epsilon(model: Model, epsilon: float) -> float:
    """The error of a hundred thousand respondents."""
    return model(epsilon, 100_000)


def draw_errors_axis(errors: LogAxis) -> list[Markup]:
    """Lines and labels of the errors."""
    parts = []
    for error in ERRORS:
        y = errors.at(error)
        line = svg_element("line", x1=70, y1=y, x2=760, y2=y, stroke="#ddd")
        label = svg_text(64, y + 4, f"{error:g}", size=11, anchor="end")
        parts += [line, label]
    heading = "standard error of a share (one of 64 values)"
    return [*parts, svg_text(70, 18, heading, size=12)]


def draw_panel(
    axis: LogAxis,
    errors: LogAxis,
    points: Sequence[float],
    heading: str,
    error_at: Callable[[Model, float], float],
) -> list[Markup]:
    """The curves of all models along one axis."""
    middle = axis.start + axis.length / 2
    parts = [svg_text(middle, 340, heading, size=12, anchor="middle")]
    for point in points:
        if f"{point:g}".strip("0.") in ("1", "1e+06", "1e+07") or len(points) == 7:
            label = format_axis_number(point)
            parts.append(svg_text(axis.at(point), 318, label, size=11, anchor="middle"))
    for model, colour in MODELS.values():
        places = [
            f"{axis.at(p):.1f},{errors.at(error_at(model, p)):.1f}" for p in points
        ]
        line = {"points": " ".join(places), "stroke": colour, "stroke_width": 2}
        parts.append(svg_element("polyline", fill="none", **line))
    return parts


if __name__ == "__main__":
    PICTURE.write_text(draw_picture(), encoding="utf-8")
