"""How noise scales with a share of the budget, read off answers that are paid for."""

from __future__ import annotations

import math
from fractions import Fraction

from understudy.accounting.cost import Accounting
from understudy.measurements import Measurements
from understudy.models.estimates.noise_moments import (
    MEAN_ABS_LAPLACE,
    MEAN_ABS_NORMAL,
    noise_variance,
)


def noise_power(accounting: Accounting) -> float:
    """Noise is ∝ share^-power: twice the share halves Laplace noise, four times the
    share Gaussian noise.
    """
    return 1.0 if accounting is Accounting.PURE else 0.5


def unit_noise(measured: Measurements, share: Fraction, power: float) -> float:
    """Mean |noise| on a cell of a marginal that gets the whole budget, estimated from
    what `share` of it measured. 0 where all was exact.
    """
    # One answer is enough: all were measured together, and their costs say how the share
    # was split.
    paid = sum(m.cost.amount for m in measured)
    one = next((m for m in measured if m.cost.amount > 0), None)
    if one is None:
        return 0.0
    ratio = MEAN_ABS_LAPLACE if power == 1 else MEAN_ABS_NORMAL
    mean = ratio * math.sqrt(noise_variance(one.law, one.scale))
    return mean * math.pow(share * one.cost.amount / paid, power)
