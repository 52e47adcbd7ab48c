"""Exact integer noise and exact private choice, on the operating system's randomness. The only room that draws privacy noise."""

from __future__ import annotations

from understudy.noise.choice import exponential, noisy_max
from understudy.noise.granularity import granular_laplace, granular_scale, to_lattice
from understudy.noise.quantile import median, quantile, quantile_sensitivity
from understudy.noise.samplers import Backend, add_noise, discrete_gaussian, discrete_laplace, draw, rounded_gaussian
from understudy.noise.source import OS, OperatingSystem, Source

__all__ = [
    "OS",
    "Backend",
    "OperatingSystem",
    "Source",
    "add_noise",
    "discrete_gaussian",
    "discrete_laplace",
    "draw",
    "exponential",
    "granular_laplace",
    "granular_scale",
    "median",
    "noisy_max",
    "quantile",
    "quantile_sensitivity",
    "rounded_gaussian",
    "to_lattice",
]
