"""Integer noise of the three laws, drawn exactly.

  discrete Laplace    Ghosh, Roughgarden, Sundararajan, "Universally
                      utility-maximizing privacy mechanisms", 2009
                      (the geometric mechanism)
  rounded Gaussian    x + round(N(0, σ²)) on integer x: post-processing of
                      the Gaussian mechanism, hence exactly μ-GDP
  discrete Gaussian   Canonne, Kamath, Steinke, "The discrete Gaussian for
                      differential privacy", 2020

What makes integer answers plus this noise private is that the law is exact: there is no
float whose low bits could tell inputs apart (Mironov, "On significance of the least
significant bits for differential privacy", 2012) and no tail is cut.

Up to MAX_TABLE_SCALE the noise comes from the table sampler (cdf_table.py, proof in
docs/proofs/noise.md). Above it, large_scales.py makes the same comparisons without a
table: exact too, and slower.

The scale is an exact Fraction: the accountant prices the very number drawn with.
Nothing here takes a seed.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.law import Law
from understudy.errors import Refused
from understudy.noise.cdf_table import MAX_TABLE_SCALE, cached_cdf_table
from understudy.noise.large_scales import draw_without_table
from understudy.noise.reference import draw_reference
from understudy.noise.source import OS_SOURCE, BitSource

Shape = int | tuple[int, ...]

MAX_NOISE_SCALE = 2**50
"""Beyond this, noise would crowd 64-bit integers."""


class NoiseBackend(StrEnum):
    """Which implementation draws."""

    TABLE = "table"
    """This package's exact table sampler."""

    OPENDP = "opendp"
    """OpenDP's exact samplers, for comparison: slower, independent, with their own
    source of randomness. Needs the extra `opendp`.
    """


def discrete_laplace(
    scale: Fraction,
    size: Shape,
    *,
    source: BitSource = OS_SOURCE,
) -> NDArray[np.int64]:
    """P(k) ∝ exp(-|k|/scale).

    >>> discrete_laplace(Fraction(3, 2), (2, 5)).shape
    (2, 5)
    """
    return draw_noise(Law.DISCRETE_LAPLACE, scale, size, source=source)


def rounded_gaussian(
    scale: Fraction,
    size: Shape,
    *,
    source: BitSource = OS_SOURCE,
) -> NDArray[np.int64]:
    """round(N(0, scale²)).

    >>> rounded_gaussian(Fraction(10), 4).dtype
    dtype('int64')
    """
    return draw_noise(Law.ROUNDED_GAUSSIAN, scale, size, source=source)


def discrete_gaussian(
    scale: Fraction,
    size: Shape,
    *,
    source: BitSource = OS_SOURCE,
) -> NDArray[np.int64]:
    """P(k) ∝ exp(-k²/(2 scale²)).

    >>> discrete_gaussian(Fraction(10), ()).shape
    ()
    """
    return draw_noise(Law.DISCRETE_GAUSSIAN, scale, size, source=source)


def draw_noise(
    law: Law,
    scale: Fraction,
    size: Shape,
    *,
    source: BitSource = OS_SOURCE,
    backend: NoiseBackend = NoiseBackend.TABLE,
) -> NDArray[np.int64]:
    """Independent noise of `law`, shaped `size`.

    >>> opendp = NoiseBackend.OPENDP
    >>> draw_noise(Law.DISCRETE_LAPLACE, Fraction(1), 3, backend=opendp).shape
    (3,)
    """
    law = Law(law)
    backend = NoiseBackend(backend)
    scale = check_scale(scale)
    shape = (size,) if isinstance(size, int) else size
    n = prod(shape)
    if backend is NoiseBackend.OPENDP:
        if source is not OS_SOURCE:
            raise Refused(
                "OpenDP draws from its own source of randomness and cannot use another."
                " No noise was drawn."
            )
        flat = draw_reference(law, scale, n)
    elif scale <= MAX_TABLE_SCALE:
        # Cached by the public scale: how long it takes depends on no row.
        flat = cached_cdf_table(law, scale).draw(n, source)
    else:
        flat = draw_without_table(law, scale, n, source)
    return flat.reshape(shape)


def add_noise(
    values: NDArray[np.int64],
    law: Law,
    scale: Fraction,
    *,
    source: BitSource = OS_SOURCE,
    backend: NoiseBackend = NoiseBackend.TABLE,
) -> NDArray[np.int64]:
    """Integers plus independent integer noise on every one of them; refuses rather than
    wraps around.

    >>> add_noise(np.zeros(3, dtype=np.int64), Law.DISCRETE_GAUSSIAN, Fraction(5)).shape
    (3,)
    """
    values = np.asarray(values)
    if values.dtype.kind not in "iu" or not np.can_cast(values.dtype, np.int64):
        raise Refused(
            f"noise is added to 64-bit integers, not to {values.dtype}; scale to"
            " integers first. No noise was drawn."
        )
    exact = values.astype(np.int64)
    noise = draw_noise(law, scale, exact.shape, source=source, backend=backend)
    # Wrapping is found below; numpy's warning would go to a log.
    with np.errstate(over="ignore"):
        noisy = np.asarray(exact + noise, dtype=np.int64)
    # A sum wrapped around where its sign differs from that of both its parts.
    if np.any(((exact ^ noisy) & (noise ^ noisy)) < 0):
        raise Refused(
            "a noisy sum does not fit a 64-bit integer; use a coarser granularity or"
            " tighter bounds. Nothing was released."
        )
    return noisy


def check_scale(scale: Fraction) -> Fraction:
    """The scale as a positive Fraction of sensible size, or a refusal.

    >>> check_scale(Fraction(5, 2))
    Fraction(5, 2)
    """
    # Not a float: the scale that was priced and the one drawn with must be one number.
    if type(scale) not in (Fraction, int):
        raise Refused(
            "a noise scale must be an exact Fraction, the one the accountant priced. No"
            " noise was drawn."
        )
    if not 0 < scale <= MAX_NOISE_SCALE:
        raise Refused(
            "a noise scale must be positive and at most 2^50. No noise was drawn."
        )
    return Fraction(scale)
