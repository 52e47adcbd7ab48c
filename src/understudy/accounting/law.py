"""The three laws of noise, as names: what a measurement states and an accountant
prices.
"""

from __future__ import annotations

from enum import StrEnum


class Law(StrEnum):
    """Distribution of the integer noise on one cell; `scale` means t = exp(-1/scale)
    for Laplace and σ for the Gaussians.
    """

    DISCRETE_LAPLACE = "discrete_laplace"
    """P(k) ∝ exp(-|k|/scale). Pure ε = L1/scale."""

    ROUNDED_GAUSSIAN = "rounded_gaussian"
    """round(N(0, scale²)): post-processing of the Gaussian mechanism on integers, hence
    exactly μ-GDP with μ = L2/scale.
    """

    DISCRETE_GAUSSIAN = "discrete_gaussian"
    """P(k) ∝ exp(-k²/(2 scale²)). ρ-zCDP with ρ = L2²/(2 scale²); not μ-GDP."""
