"""Curators broken on purpose, one way at a time: what an audit of a whole run has to
catch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import understudy.curator.mechanisms.select_cell
import understudy.curator.mechanisms.select_marginal
from understudy.accounting.cost import Cost
from understudy.curator import MechanismContext, Payments


def only_non_empty_cells(patch: pytest.MonkeyPatch) -> None:
    """Cells that are exactly zero stay zero."""
    original = MechanismContext.add_noise
    patch.setattr(
        MechanismContext,
        "add_noise",
        lambda self, e, scale: np.where(e != 0, original(self, e, scale), e),
    )


def one_scale_is_halved(patch: pytest.MonkeyPatch) -> None:
    """The scale that is used first is halved wherever it is used."""
    original, first = MechanismContext.add_noise, []

    def noisy(self: MechanismContext, exact: np.ndarray, scale: Fraction) -> np.ndarray:
        if scale and not first:
            first.append(scale)
        return original(self, exact, scale / 2 if scale in first else scale)

    patch.setattr(MechanismContext, "add_noise", noisy)


def a_stored_answer_is_given_as_new(patch: pytest.MonkeyPatch) -> None:
    """The first answer of a kind and shape is kept, and given to everybody who asks for
    another.
    """
    original, kept = Payments.pay, {}

    def pay(
        self: Payments, request: dict, cost: Cost, count: Callable, draw: Callable
    ) -> dict:
        key = request["mechanism"]
        if key not in kept:
            kept[key] = original(self, request, cost, count, draw)
        return kept[key]

    patch.setattr(Payments, "pay", pay)


def noise_is_used_twice(patch: pytest.MonkeyPatch) -> None:
    """Answers of one shape and scale share their noise."""
    kept: dict[object, np.ndarray] = {}

    def noisy(self: MechanismContext, exact: np.ndarray, scale: Fraction) -> np.ndarray:
        if not scale or getattr(self.draw, "quiet", False):
            return exact.copy()
        return exact + kept.setdefault(
            (exact.shape, scale), self.draw(self.law, scale, exact.shape)
        )

    patch.setattr(MechanismContext, "add_noise", noisy)


def selection_is_thought_half_as_sensitive(patch: pytest.MonkeyPatch) -> None:
    """Every score is said to move half as far as it does."""
    scores, original = (
        understudy.curator.mechanisms.select_marginal.CHOICE_SCORES,
        understudy.curator.mechanisms.select_cell.exponential_mechanism,
    )
    for name, score in scores.items():
        halved = None if score.add_remove is None else score.add_remove // 2
        claim = score.replace
        lower = (
            claim // 2
            if isinstance(claim, int)
            else lambda rows, shape, claim=claim: claim(rows, shape) // 2
        )
        patch.setitem(scores, name, replace(score, add_remove=halved, replace=lower))
    patch.setattr(
        understudy.curator.mechanisms.select_cell,
        "exponential_mechanism",
        lambda s, *, epsilon, sensitivity, **how: original(
            s, epsilon=epsilon, sensitivity=sensitivity / 2, **how
        ),
    )


def choices_forget_their_factor_two(patch: pytest.MonkeyPatch) -> None:
    """Choices are made as if all scores moved the same way."""
    for module in (
        understudy.curator.mechanisms.select_marginal,
        understudy.curator.mechanisms.select_cell,
    ):
        original = module.exponential_mechanism
        patch.setattr(
            module,
            "exponential_mechanism",
            lambda s, o=original, **how: o(s, **{**how, "monotone": True}),
        )
