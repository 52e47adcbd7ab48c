"""Make released answers agree with each other: a verb on a set of answers.

Equations are written in the names of the answers, as in "all = men + women". The
mathematics is in models/estimates/projection.py; it is post-processing and free.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.models.estimates.projection import ConsistentAnswers, project_answers

MAX_EQUATION_LENGTH = 10_000
"""Characters of one equation; longer ones are refused unread."""

_TERM_REGEX = re.compile(
    r"\s*(?P<sign>[+-])?\s*(?:(?P<number>\d+(?:\.\d+)?)\s*\*?)?\s*(?P<name>[^\W\d]\w*)?\s*"
)


@dataclass(frozen=True, eq=False)
class ReconciledAnswers:
    """Answers that satisfy their equations: values, standard deviations, and the
    covariance of the noise that is left, in the order of `names`.
    """

    names: tuple[str, ...]
    values: Mapping[str, float]
    deviations: Mapping[str, float]
    covariance: NDArray[np.float64]


def reconcile(
    answers: Mapping[str, tuple[float, float]], equations: Sequence[str]
) -> ReconciledAnswers:
    """The most exact numbers that are near the answers and satisfy the equations.

    `answers` gives each name a noisy value and the standard deviation of its noise,
    independent of the others; 0 for a number that is public. Equations are linear, with
    names, numbers, +, - and one =.

    >>> found = reconcile(
    ...     {"all": (2005, 2), "men": (1001, 5), "women": (995, 4)},
    ...     ["all = men + women"],
    ... )
    >>> {name: round(value, 1) for name, value in found.values.items()}
    {'all': 2004.2, 'men': 1006.0, 'women': 998.2}
    """
    names = tuple(answers)
    rows = [_read_equation(text, names) for text in equations]
    if not names or not rows:
        raise Refused("Nothing to reconcile: give answers, and at least one equation")
    pairs = _read_answers([answers[name] for name in names])
    found: ConsistentAnswers = project_answers(
        pairs[:, 0],
        np.diag(pairs[:, 1] ** 2),
        np.array([weights for weights, _ in rows]),
        np.array([total for _, total in rows]),
    )
    return ReconciledAnswers(
        names,
        dict(zip(names, found.values.tolist(), strict=True)),
        dict(zip(names, found.deviations.tolist(), strict=True)),
        found.covariance,
    )


def _read_answers(answers: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    """A row for each answer: its value and the deviation of its noise."""
    pairs = np.array(answers, float)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or (pairs[:, 1] < 0).any():
        raise Refused("An answer is a value and the standard deviation of its noise")
    return pairs


def _read_equation(text: str, names: tuple[str, ...]) -> tuple[list[float], float]:
    """Weights of all answers and the total of one equation."""
    sides = text.split("=")
    if len(sides) != 2 or len(text) > MAX_EQUATION_LENGTH:
        raise Refused(
            f"{_quote_equation(text)} is no equation: write all = men + women"
        )
    weights = dict.fromkeys(names, 0.0)
    total = 0.0
    for side, direction in zip(sides, (1.0, -1.0), strict=True):
        for factor, name in _read_terms(side, text):
            if name is None:
                total -= direction * factor
            elif name in weights:
                weights[name] += direction * factor
            else:
                raise Refused(
                    f"{_quote_equation(text)} names an answer that is not there:"
                    f" {name[:40]}"
                )
    return list(weights.values()), total


def _read_terms(side: str, text: str) -> list[tuple[float, str | None]]:
    terms: list[tuple[float, str | None]] = []
    at = 0
    while at < len(side):
        match = _TERM_REGEX.match(side, at)
        number, name = (match["number"], match["name"]) if match else (None, None)
        # Every term but the first needs its sign, or `2 3` would be read as a sum.
        if match is None or (number is name is None) or (terms and not match["sign"]):
            terms = []
            break
        sign = -1.0 if match["sign"] == "-" else 1.0
        terms.append((sign * float(number or 1), name))
        at = match.end()
    if not terms:
        raise Refused(
            f"{_quote_equation(text)} cannot be read: use names, numbers, +, - and one ="
        )
    return terms


def _quote_equation(text: str) -> str:
    short = text if len(text) <= 60 else text[:57] + "..."
    return repr(short)
