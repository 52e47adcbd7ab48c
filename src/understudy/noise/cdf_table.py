"""The exact table sampler: one look-up per draw, and more bits for the draws a look-up
cannot decide.

A draw is X = min{k : U < F(k)} for a uniform real U. The table holds, for every k that
matters, two integers between which ⌊F(k)·2^64⌋ is proven to lie (where they do not
coincide, the entry is soft). The first 64 bits u of U settle the draw unless u lies on
an entry, that is between its two integers. The lowest entry reaches down to 0 and the
highest up to 2^64 - 1, so the far tails lie on an entry and nothing is cut off. An
unsettled draw goes to `refine_draw`, which adds bits to U and precision to F until they
part.

Hence the result has exactly the stated law, given fair bits. Proof:
docs/proofs/noise.md, theorem 1. The chance of refining is under 10^-10 a draw: it costs
no time, and leaving it out would cost exactness.

The 64 bits are read as 16 and 48: most of the 65 536 values of the first 16 lie between
two entries and need no search.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.law import Law
from understudy.noise.source import OS_SOURCE, BitSource, IntegerBounds, UniformReal
from understudy.noise.tails import NOISE_WORD_BITS, Tails, tails_of_law

MAX_TABLE_SCALE = 10_000
"""Largest scale a table is built for (a second and 14 MB there); above it,
large_scales.py draws without one.
"""

TABLE_HEAD_BITS = 16
DRAWS_PER_CHUNK = 1 << 16
MAX_NOISE_WORD = (1 << NOISE_WORD_BITS) - 1


@dataclass(frozen=True, eq=False)
class CdfTable:
    """Where F(first), F(first + 1), ... lie among the 2^64 words: ⌊F·2^64⌋ is in [low,
    high].
    """

    tails: Tails
    first: int
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    guide: NDArray[Any]
    """For each 16-bit head the noise it stands for, or `undecided`."""

    @property
    def undecided_mark(self) -> int:
        """The mark of a head that needs more bits."""
        return int(np.iinfo(self.guide.dtype).min)

    @property
    def soft_entry_count(self) -> int:
        """How many entries are not known to the last bit."""
        return int(np.count_nonzero(self.low != self.high))

    def draw(self, n: int, source: BitSource = OS_SOURCE) -> NDArray[np.int64]:
        """`n` independent draws."""
        out = np.empty(n, dtype=np.int64)
        for start in range(0, n, DRAWS_PER_CHUNK):
            size = min(DRAWS_PER_CHUNK, n - start)
            # Four heads to a word: most draws need no more than 16 bits.
            heads = source.words((size + 3) // 4).view(np.uint16)[:size]
            drawn = self.guide.take(heads)
            out[start : start + size] = drawn
            more = np.flatnonzero(drawn == self.undecided_mark)
            if more.size:
                out[start + more] = self._search_entries(heads[more], source)
        return out

    def _search_entries(
        self, heads: NDArray[np.uint16], source: BitSource
    ) -> NDArray[np.int64]:
        rest = source.words(heads.size) >> np.uint64(TABLE_HEAD_BITS)
        head_shift = np.uint64(NOISE_WORD_BITS - TABLE_HEAD_BITS)
        u = heads.astype(np.uint64) << head_shift | rest
        at = np.searchsorted(self.high, u, side="left")
        drawn = at.astype(np.int64) + self.first
        # On an entry: F may lie on either side of U, and more bits have to decide.
        for i in np.flatnonzero(self.low[at] <= u):
            start = UniformReal(source, prefix=int(u[i]), count=NOISE_WORD_BITS)
            drawn[i] = refine_draw(self.tails, start, int(drawn[i]))
        return drawn


def refine_draw(law: Tails, u: UniformReal, guess: int) -> int:
    """min{k : U < F(k)}, by comparisons that read as many bits of U as they need;
    `guess` only says where to look first.
    """

    def is_below_cdf(k: int) -> bool:
        return u.below(lambda bits: enclose_cdf(law, k, bits))

    # Steps that double find a range around U in either direction, without end.
    step = 1
    if is_below_cdf(guess):
        high = guess
        while is_below_cdf(high - step):
            high -= step
            step *= 2
        low = high - step
    else:
        low = guess
        while not is_below_cdf(low + step):
            low += step
            step *= 2
        high = low + step
    # Invariant: U ≥ F(low) and U < F(high).
    while high - low > 1:
        middle = (low + high) // 2
        if is_below_cdf(middle):
            high = middle
        else:
            low = middle
    return high


def enclose_cdf(law: Tails, k: int, bits: int) -> IntegerBounds:
    """Encloses F(k) · 2^bits, for any integer k."""
    if k < 0:
        return law.tail(-k - 1, bits)
    lo, hi = law.tail(k, bits)
    return (1 << bits) - hi, (1 << bits) - lo


def build_cdf_table(law: Tails) -> CdfTable:
    """The table of one law at one scale.

    >>> table = build_cdf_table(tails_of_law(Law.DISCRETE_LAPLACE, Fraction(2)))
    >>> table.first, table.low.size, table.soft_entry_count
    (-88, 176, 0)
    """
    under, over = law.words()
    # F(-k-1) = Q(k), F(k) = 1 - Q(k); and 2^64 - 1 - w is the complement of the word w.
    # F does not decrease: a lower bound holds for all later entries too, an upper bound
    # for all earlier ones.
    low = np.maximum.accumulate(np.concatenate([under[::-1], ~over]))
    from_right = np.concatenate([over[::-1], ~under])[::-1]
    high = np.minimum.accumulate(from_right)[::-1].copy()
    assert low[0] == 0, "the far left tail must lie on an entry"
    assert high[-1] == MAX_NOISE_WORD, "the far right tail must lie on an entry"
    if np.array_equal(low, high):
        # No soft entry: one array serves as both.
        high = low
    first = -len(under)
    return CdfTable(
        tails=law,
        first=first,
        low=low,
        high=high,
        guide=_build_guide(first, low, high),
    )


def _build_guide(
    first: int,
    low: NDArray[np.uint64],
    high: NDArray[np.uint64],
) -> NDArray[Any]:
    """The noise for each head, where all 2^48 words that begin with it agree and none
    lies on an entry.
    """
    starts = np.arange(1 << TABLE_HEAD_BITS, dtype=np.uint64) << np.uint64(
        NOISE_WORD_BITS - TABLE_HEAD_BITS
    )
    ends = starts + np.uint64((1 << NOISE_WORD_BITS - TABLE_HEAD_BITS) - 1)
    at = np.searchsorted(high, starts, side="left")
    settled = low[at] > ends
    values = at + first
    # 16 bits where they hold all values: the guide then stays in the nearest cache.
    narrow = not settled.any() or int(np.abs(values[settled]).max()) < 1 << 15
    dtype = np.int16 if narrow else np.int32
    return np.where(settled, values, np.iinfo(dtype).min).astype(dtype)


@lru_cache(maxsize=32)
def cached_cdf_table(law: Law, scale: Fraction) -> CdfTable:
    """The table of `law` at `scale`, kept for the next call. Tables hold nothing
    private and no randomness.
    """
    return build_cdf_table(tails_of_law(law, scale))
