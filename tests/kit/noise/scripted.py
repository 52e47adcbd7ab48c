"""A source that says what it is told to say, for tests that need one particular draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Scripted:
    """Gives out listed 64-bit words in order, whether asked for words or for bits, and
    counts what was asked.
    """

    def __init__(self, *words: int) -> None:
        self._left = list(words)
        self.used = 0

    def words(self, n: int) -> NDArray[np.uint64]:
        return np.array([self._next() for _ in range(n)], dtype=np.uint64)

    def bits(self, n: int) -> int:
        assert n == 64
        return self._next()

    def _next(self) -> int:
        self.used += 1
        return self._left.pop(0)


def one_draw(u: int, *more: int) -> Scripted:
    """A source from which a table reads the single 64-bit word u, and then `more`."""
    return Scripted(u >> 48, (u & (2**48 - 1)) << 16, *more)
