"""Exact integer noise and exact private choice, on the operating system's randomness.
The only package that draws privacy noise.
"""

from __future__ import annotations

from understudy.noise.choice import exponential_mechanism, noisy_max
from understudy.noise.countable_choice import choose_countable
from understudy.noise.granularity import (
    granular_laplace,
    granular_scale,
    round_to_lattice,
)
from understudy.noise.quantile import median, quantile, quantile_sensitivity
from understudy.noise.samplers import (
    NoiseBackend,
    add_noise,
    discrete_gaussian,
    discrete_laplace,
    draw_noise,
    rounded_gaussian,
)
from understudy.noise.source import OS_SOURCE, BitSource, OperatingSystemSource

__all__ = [
    "OS_SOURCE",
    "BitSource",
    "NoiseBackend",
    "OperatingSystemSource",
    "add_noise",
    "choose_countable",
    "discrete_gaussian",
    "discrete_laplace",
    "draw_noise",
    "exponential_mechanism",
    "granular_laplace",
    "granular_scale",
    "median",
    "noisy_max",
    "quantile",
    "quantile_sensitivity",
    "round_to_lattice",
    "rounded_gaussian",
]
