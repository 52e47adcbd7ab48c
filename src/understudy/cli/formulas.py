"""Formulas, radii and choices for a column, as options spell them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import click

MODEL_FAMILIES = ("gaussian", "logit", "probit", "poisson")
"""Regressions that a formula may name before its colon."""


def parse_formulas(formulas: Sequence[str]) -> dict[str, str]:
    """Each formula with its family; least squares where it names none."""
    families = {}
    for text in formulas:
        family, colon, formula = text.partition(":")
        # A formula may hold a colon of its own: an interaction of two columns.
        if colon and family.strip() in MODEL_FAMILIES:
            families[formula.strip()] = family.strip()
        else:
            families[text] = "gaussian"
    return families


def parse_radii(texts: Sequence[str]) -> dict[str, float] | None:
    """The radius of each column, as COLUMN=N says it."""
    radii = {}
    for text in texts:
        # The last equals sign: a column's name may hold one.
        column, _, number = text.rpartition("=")
        try:
            radius = float(number)
        except ValueError:
            radius = -1.0
        if not column or not 0 <= radius < math.inf:
            raise click.UsageError("--radius is a column and a number, such as age=3")
        radii[column] = radius
    return radii or None


def parse_choices(texts: Sequence[str], option: str, example: str) -> dict[str, str]:
    """What each column was given, as COLUMN=CHOICE says it."""
    chosen = {}
    for text in texts:
        column, _, choice = text.rpartition("=")
        if not column or not choice:
            raise click.UsageError(f"{option} names a column, such as {example}")
        chosen[column] = choice
    return chosen
