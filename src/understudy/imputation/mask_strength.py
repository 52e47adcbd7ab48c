"""Masks of data augmentation: noisy versions of a cell that its replacement is drawn
near.

A number x has K noisy copies with error variance σ², in variances of the column; their
mean is all that matters. A label is kept with probability π and else exchanged for
another one, or, where labels have an order, has W = αx + e with a standard normal e.
K = 0, π = 1/C and α = 0 say nothing about the cell: then it is drawn as multiple
imputation draws it. Jiang, Raftery, Steele, Wang, "Balancing inferential integrity and
disclosure risk via model targeted masking and multiple imputation", 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused


@dataclass(frozen=True, kw_only=True)
class MaskStrength:
    """How much the noisy versions say of a cell.

    `copies` (K) and `variance` (σ²) are for numbers; `keep` (π) for labels, or `alpha`
    (α) where they have an order. More copies, less variance, a larger `keep` or `alpha`
    keep the draws nearer to the original: better estimates, more risk.

    >>> MaskStrength(copies=20, variance=1.0).transfer
    0.9523809523809523
    """

    copies: int = 5
    variance: float = 1.0
    keep: float = 0.8
    alpha: float | None = None

    def __post_init__(self) -> None:
        is_valid = self.copies >= 0 and self.variance > 0 and 0 <= self.keep < 1
        if not is_valid or (self.alpha is not None and self.alpha < 0):
            raise Refused(
                "mask: a strength has copies from 0 up, a variance above 0, `keep` from"
                " 0 to below 1 and `alpha` from 0 up"
            )

    @property
    def transfer(self) -> float:
        """Part of a number's own deviation that stays, 1/(1 + σ²/K), for a column that
        nothing predicts.
        """
        return self.copies / (self.copies + self.variance)


@dataclass(frozen=True, eq=False)
class NumberMask:
    """The mean of the noisy copies of each number, and its error variance."""

    mean: NDArray[np.float64]
    variance: float

    @classmethod
    def draw(
        cls, values: NDArray[np.float64], strength: MaskStrength, rng: Generator
    ) -> NumberMask | None:
        """A mask of a column; None if it says nothing."""
        return cls.of_spread(values, float(values.var()), strength, rng)

    @classmethod
    def of_spread(
        cls,
        values: NDArray[np.float64],
        spread: float,
        strength: MaskStrength,
        rng: Generator,
    ) -> NumberMask | None:
        """A mask of some cells of a column with this variance."""
        if strength.copies == 0 or spread == 0:
            return None
        variance = strength.variance * spread / strength.copies
        noise = np.sqrt(variance) * rng.standard_normal(len(values))
        return cls(values + noise, variance)


@dataclass(frozen=True, eq=False)
class LabelMask:
    """The log-likelihood of each label, for each row's noisy version."""

    log_likelihood: NDArray[np.float64]

    @classmethod
    def draw(
        cls,
        places: NDArray[np.int64],
        labels: int,
        strength: MaskStrength,
        rng: Generator,
    ) -> LabelMask:
        """A mask of labels, given by their places among the labels that occur."""
        codes = np.arange(labels)
        if strength.alpha is not None:
            noisy = strength.alpha * places + rng.standard_normal(len(places))
            distance = noisy[:, None] - strength.alpha * codes
            return cls(-0.5 * distance**2)
        # Another label, each as likely: one of the C − 1 places further round.
        shift = rng.integers(1, labels, size=len(places))
        is_kept = rng.random(len(places)) < strength.keep
        shown = np.where(is_kept, places, (places + shift) % labels)
        other = (1 - strength.keep) / (labels - 1)
        # `keep` may be 0: the label shown is then certain to be another one.
        with np.errstate(divide="ignore"):
            logs = np.log([other, strength.keep])
        return cls(logs[(shown[:, None] == codes).astype(np.int64)])
