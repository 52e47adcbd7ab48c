"""Objects that no reader expects in a cell."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from decimal import Decimal

import numpy as np
import pandas as pd


class Hostile:
    """An object that raises whatever is asked of it."""

    def _raise(self, *_):
        raise RuntimeError("hostile")

    __eq__ = __hash__ = __str__ = __repr__ = __bool__ = __float__ = __int__ = (
        __index__
    ) = __len__ = __iter__ = _raise


class HostileText(str):
    __eq__ = __hash__ = __str__ = __repr__ = __bool__ = Hostile._raise


class HostileZone(tzinfo):
    utcoffset = dst = tzname = Hostile._raise


HOSTILE = [
    Hostile(),
    Hostile,
    [],
    {},
    b"12",
    object(),
    np.array([1, 2]),
    np.void(b"ab"),
    1j,
    np.timedelta64(2**62, "Y"),
    datetime(2024, 1, 1, tzinfo=HostileZone()),
    Decimal("1e999999"),
    range(3),
    lambda: 1,
    np.datetime64(2**62, "us"),
    pd.DataFrame(),
    re,
]
