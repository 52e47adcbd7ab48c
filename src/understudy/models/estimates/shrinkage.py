"""Noisy marginals drawn towards independence where noise is all there is to see.

A large marginal is mostly cells in which few rows are expected, and noise hides what
little differs there. Empirical Bayes (Efron, Morris 1973): let a true count lie around
its expectation e under independence with variance τ²·e, as counts do, and the noisy one
around it with the noise's variance v. Then the best linear guess is e + (y −
e)·τ²e/(τ²e + v): close to the measurement where many rows are expected, close to the
expectation where hardly any are. τ² is estimated from the marginal itself: Σ(y − e)² is τ²·Σe +
cells·v on average.

Everything here is post-processing of what was released.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def shrink_counts(
    noisy: NDArray[np.float64], expected: NDArray[np.float64], variance: float
) -> NDArray[np.float64]:
    """The noisy counts, drawn towards the expected ones by as much as their noise
    suggests.

    >>> expected = np.array([80.0, 16.0, 4.0])
    >>> shrink_counts(expected + [20.0, -20.0, 0.0], expected, variance=0.0).tolist()
    [100.0, -4.0, 4.0]
    >>> shrink_counts(expected + [20.0, -20.0, 0.0], expected, variance=1000.0).tolist()
    [80.0, 16.0, 4.0]
    """
    away = noisy - expected
    mass = float(expected.sum())
    if mass <= 0:
        return noisy
    # The method of moments: what the squares exceed the noise by is prior variance, in
    # proportion to the expected counts.
    spread = max(
        0.0, (float(np.sum(away**2)) - away.size * variance) / mass
    ) * np.maximum(expected, 0.0)
    belief = np.divide(
        spread, spread + variance, out=np.zeros_like(spread), where=spread > 0
    )
    return expected + belief * away if variance > 0 else noisy


def signal_share(variance: float, noise: float) -> float:
    """The share of the variance of noisy values that is not noise, at least 0.

    This is the one criterion for "noise hides it": at a share of 0 the values say
    nothing about how they differ, at 1 they are exact.

    >>> [signal_share(4.0, noise) for noise in (0.0, 1.0, 8.0)]
    [1.0, 0.75, 0.0]
    """
    if noise <= 0:
        return 1.0
    return max(1 - noise / variance, 0.0) if variance > 0 else 0.0


def shrink_to_mean(values: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Noisy values shrunk to their mean by their signal share (Efron, Morris 1973).

    >>> shrink_to_mean(np.array([0.0, 4.0]), 1.0).tolist()
    [0.5, 3.5]
    """
    mean = values.mean()
    share = signal_share(float(values.var()), noise)
    return np.asarray(mean + share * (values - mean))
