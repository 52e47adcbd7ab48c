"""Where random bits come from: the operating system, and nowhere else.

`OS_SOURCE` reads os.urandom afresh for every request. It keeps no buffer and no state,
so there is nothing to seed, nothing a forked worker could inherit and nothing to
rewind. Code that needs chosen bits (tests of refinement) passes its own `BitSource`.

`UniformReal` is a real number drawn uniformly from [0, 1), of which only as many bits
exist as some comparison has needed. It is what makes the samplers exact: a comparison
with an irrational number is never rounded, it asks for more bits (docs/proofs/noise.md,
lemma 1).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

IntegerBounds = tuple[int, int]
"""Integers (lo, hi) with lo ≤ value · 2^bits ≤ hi, for a precision `bits` the caller
knows.
"""

REFINEMENT_BITS = 64
"""Bits added to a `UniformReal` each time a comparison is undecided."""


class BitSource(Protocol):
    """Independent fair bits."""

    def words(self, n: int) -> NDArray[np.uint64]:
        """`n` words of 64 fair bits."""
        ...

    def bits(self, n: int) -> int:
        """An integer made of `n` fair bits."""
        ...


class OperatingSystemSource:
    """Fair bits from the operating system's cryptographic generator, unbuffered.

    >>> OS_SOURCE.words(3).shape
    (3,)
    >>> 0 <= OS_SOURCE.bits(7) < 128
    True
    """

    def words(self, n: int) -> NDArray[np.uint64]:
        """`n` words of 64 fair bits."""
        return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)

    def bits(self, n: int) -> int:
        """An integer made of `n` fair bits."""
        return int.from_bytes(os.urandom((n + 7) // 8), "little") & ((1 << n) - 1)


OS_SOURCE: BitSource = OperatingSystemSource()
"""The source everything uses unless a test passes another."""


@dataclass
class UniformReal:
    """A uniform real number U in [0, 1), known so far to lie in [prefix, prefix + 1) /
    2^count.
    """

    source: BitSource
    prefix: int = 0
    count: int = 0

    def below(self, bounds: Callable[[int], IntegerBounds]) -> bool:
        """Whether U < p, where `bounds(b)` encloses p · 2^b ever more tightly as b
        grows. Exact; ends with probability one.

        >>> def third(bits):
        ...     return (1 << bits) // 3, (1 << bits) // 3 + 1
        >>> below = sum(UniformReal(OS_SOURCE).below(third) for _ in range(1000))
        >>> 200 < below < 470
        True
        """
        # A few bits more than U has, or bounds one unit apart would decide too rarely.
        guard = 8
        while True:
            lo, hi = bounds(self.count + guard)
            if (self.prefix + 1) << guard <= lo:
                return True
            if self.prefix << guard >= hi:
                return False
            more = self.source.bits(REFINEMENT_BITS)
            self.prefix = self.prefix << REFINEMENT_BITS | more
            self.count += REFINEMENT_BITS


def draw_below(n: int, source: BitSource = OS_SOURCE) -> int:
    """A uniform integer in 0..n-1, by rejection.

    >>> draw_below(1)
    0
    """
    if n <= 0:
        raise ValueError("there is nothing to draw from")
    # Rejected rather than reduced modulo n, which would favour small numbers. More than
    # half of the draws are kept.
    width = (n - 1).bit_length()
    while (drawn := source.bits(width)) >= n:
        pass
    return drawn
