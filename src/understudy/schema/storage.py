"""How far the numbers of a stored type reach: public, because the type is."""

from __future__ import annotations

import re
from fractions import Fraction

_WORDS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64}
_WHOLE = re.compile(r"(u?)(?:int(8|16|32|64)|(tinyint|smallint|integer|bigint))(?:\[pyarrow\])?", re.IGNORECASE)
_DECIMAL = re.compile(r"decimal\d*\((?:precision=)?(\d+), ?(?:scale=)?(\d+)\)", re.IGNORECASE)


def reach(dtype: str | None) -> tuple[Fraction, Fraction] | None:
    """The smallest and the largest number that a stored type holds; None where it has no such ends.

    >>> reach("TINYINT"), reach("UInt16"), reach("DECIMAL(3,1)")
    ((Fraction(-128, 1), Fraction(127, 1)), (Fraction(0, 1), Fraction(65535, 1)), (Fraction(-999, 10), Fraction(999, 10)))
    >>> reach("float64"), reach(None)
    (None, None)
    """
    if dtype is None:
        return None
    if found := _WHOLE.fullmatch(dtype):
        bits = int(found[2] or _WORDS[found[3].lower()])
        return (
            (Fraction(0), Fraction(2**bits - 1))
            if found[1]
            else (Fraction(-(2 ** (bits - 1))), Fraction(2 ** (bits - 1) - 1))
        )
    if found := _DECIMAL.fullmatch(dtype):
        digits, decimals = int(found[1]), int(found[2])
        most = Fraction(10**digits - 1, 10**decimals)
        return -most, most
    return None
