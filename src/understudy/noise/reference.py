"""The same noise from OpenDP: a second, independent implementation to compare with.

OpenDP samples the discrete Laplace and the discrete Gaussian by exact rejection on its
own cryptographic source. It takes the scale as a double, so only scales that are
doubles are accepted: the law drawn is the law priced, or nothing is drawn. It has no
rounded Gaussian on integers.
"""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.law import Law
from understudy.errors import Refused
from understudy.version import install_command

_OPENDP_FEATURES_LOCK = Lock()


def is_double(scale: Fraction) -> bool:
    """Whether a double holds `scale` exactly.

    >>> is_double(Fraction(3, 2**20)), is_double(Fraction(1, 3))
    (True, False)
    """
    return Fraction(float(scale)) == scale


def draw_reference(law: Law, scale: Fraction, n: int) -> NDArray[np.int64]:
    """`n` draws from OpenDP.

    >>> draw_reference(Law.DISCRETE_LAPLACE, Fraction(2), 3).shape
    (3,)
    """
    if law is Law.ROUNDED_GAUSSIAN:
        raise Refused(
            "OpenDP has no rounded Gaussian on integers; use the table back-end. No"
            " noise was drawn."
        )
    if not is_double(scale):
        raise Refused(
            "OpenDP takes its scale as a double and this scale is not one; round it up"
            " to a multiple of 2^-20. No noise was drawn."
        )
    dp = _import_opendp()
    # The feature switch is global to OpenDP: leave it as it was.
    with _OPENDP_FEATURES_LOCK:
        was_enabled = "contrib" in dp.GLOBAL_FEATURES
        dp.enable_features("contrib")
        try:
            domain = dp.vector_domain(dp.atom_domain(T="i64"))
            if law is Law.DISCRETE_LAPLACE:
                measurement = dp.m.make_laplace(
                    domain,
                    dp.l1_distance(T="i64"),
                    scale=float(scale),
                )
            else:
                measurement = dp.m.make_gaussian(
                    domain,
                    dp.l2_distance(T="i64"),
                    scale=float(scale),
                )
        finally:
            if not was_enabled:
                dp.disable_features("contrib")
    return np.array(measurement([0] * n) if n else [], dtype=np.int64)


def _import_opendp() -> Any:
    """OpenDP's prelude. It weighs more than all else together, so an extra brings it."""
    try:
        return import_module("opendp.prelude")
    except ImportError:
        raise Refused(
            f"OpenDP is not installed: {install_command('opendp')}. No noise was drawn."
        ) from None
