"""The table sampler: thresholds exact, ambiguous words refined exactly, the law that
comes out the law asked for.
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from kit.noise.oracle import (
    ALPHA,
    PRECISION,
    SCALES,
    cdf_word,
    fit,
    probabilities,
    repeats,
    tail_list,
)
from kit.noise.scripted import Scripted, one_draw
from understudy.accounting.law import Law
from understudy.noise.cdf_table import MAX_NOISE_WORD, build_cdf_table, cached_cdf_table
from understudy.noise.normal import FIXED_POINT_BITS, MAX_TAIL_ERROR_UNITS
from understudy.noise.source import OS_SOURCE
from understudy.noise.tails import TailWords, tails_of_law

SOFT = 2 * MAX_TAIL_ERROR_UNITS << 64 - FIXED_POINT_BITS
"""Words an entry of the rounded Gaussian is wide: its tails are known to 54 bits, and
refinement to all the others.
"""


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize("scale", [s for s in SCALES if s <= 50], ids=str)
def test_every_threshold_is_the_oracles(law, scale):
    """Both ends of every entry equal ⌊F(k)·2^64⌋: no soft entry, no error in the last
    of 64 bits. Or hold it between them.
    """
    made = build_cdf_table(tails_of_law(law, scale))
    right = tail_list(law, scale, -made.first)
    with mpmath.workprec(PRECISION):
        left = [int(mpmath.floor(mpmath.ldexp(t, 64))) for t in reversed(right)]
        # F(k) < 1 always, also where 400 bits cannot tell
        words = left + [
            min(int(mpmath.floor(mpmath.ldexp(1 - t, 64))), MAX_NOISE_WORD)
            for t in right
        ]
    if law is Law.ROUNDED_GAUSSIAN:
        assert all(
            low <= word <= high
            for low, word, high in zip(
                made.low.tolist(), words, made.high.tolist(), strict=True
            )
        )
        assert int((made.high - made.low).max()) <= SOFT
        return
    assert made.low.tolist() == words
    assert made.high.tolist() == words
    assert made.soft_entry_count == 0


@pytest.mark.parametrize("law", Law)
def test_thresholds_of_a_large_table_are_the_oracles(law):
    test_every_threshold_is_the_oracles(law, Fraction(1000))


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(70)], ids=str)
def test_guide_agrees_with_thresholds(law, scale):
    """A head is settled only if all its words fall strictly between two entries."""
    made = cached_cdf_table(law, scale)
    heads = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    ends = heads + np.uint64(2**48 - 1)
    for edge in (heads, ends):
        by_search = np.searchsorted(made.high, edge, side="left") + made.first
        settled = made.guide != made.undecided_mark
        assert np.array_equal(by_search[settled], made.guide[settled])
    on_entry = np.concatenate([made.low, made.high]) >> np.uint64(48)
    assert set(np.flatnonzero(made.guide == made.undecided_mark)) == set(
        on_entry.tolist()
    )


def exact_answer(law, scale, prefix, bits, near):
    """min{k : U < F(k)} for every U in [prefix, prefix+1)/2^bits, which must be one and
    the same.
    """
    k = near - 3
    while prefix >= (word := cdf_word(law, scale, k, bits)):
        assert prefix != word, "still ambiguous"
        k += 1
    return k


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize(
    "scale", [Fraction(1, 2), Fraction(3), Fraction(12345, 1024)], ids=str
)
def test_words_on_an_entry_are_refined_with_64_more_bits(law, scale):
    made = cached_cdf_table(law, scale)
    lows, highs = made.low.tolist(), made.high.tolist()
    alone = [
        i
        for i in range(1, len(lows) - 1)
        if highs[i - 1] < lows[i] and highs[i] < lows[i + 1]
    ]
    for i in alone[:: max(1, len(alone) // 9)]:
        k = made.first + i
        word, fraction = divmod(cdf_word(law, scale, k, 128), 2**64)
        assert lows[i] <= word <= highs[i]
        for more, answer in (
            (0, k),
            (fraction - 1, k),
            (fraction + 1, k + 1),
            (MAX_NOISE_WORD, k + 1),
        ):
            source = one_draw(word, more)
            assert made.draw(1, source).tolist() == [answer]
            assert source.used == 3
            assert exact_answer(law, scale, word << 64 | more, 128, k) == answer


@pytest.mark.parametrize("law", Law)
def test_refinement_goes_on_while_bits_agree(law):
    """The bits of F(k) itself, three words long, and only then a difference."""
    scale, k = Fraction(5, 2), 1
    made = cached_cdf_table(law, scale)
    for last, answer in ((-1, k), (1, k + 1)):
        bits = cdf_word(law, scale, k, 256) + last
        words = [bits >> shift & MAX_NOISE_WORD for shift in (192, 128, 64, 0)]
        source = one_draw(*words)
        assert made.draw(1, source).tolist() == [answer]
        assert source.used == 5


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize(
    "scale", [Fraction(1, 100), Fraction(1), Fraction(30)], ids=str
)
@pytest.mark.parametrize("more", [1, 12345, 2**40, 2**60, MAX_NOISE_WORD - 5])
def test_far_tails_are_not_cut(law, scale, more):
    """The words 0 and 2^64 - 1 stand for everything beyond the table, and are refined
    to what lies there.
    """
    made = cached_cdf_table(law, scale)
    low = int(made.draw(1, one_draw(0, more, 7, 7))[0])
    high = int(
        made.draw(
            1,
            one_draw(
                MAX_NOISE_WORD,
                MAX_NOISE_WORD - more,
                MAX_NOISE_WORD - 7,
                MAX_NOISE_WORD - 7,
            ),
        )[0]
    )
    assert low == -high, "mirrored bits give mirrored noise"
    count = abs(low) + 3
    with mpmath.workprec(PRECISION):
        u = mpmath.ldexp(more << 128 | 7 << 64 | 7, -256)
        exact = -next(k for k, t in enumerate(tail_list(law, scale, count)) if t <= u)
    assert low == exact
    if scale == 1 and more == 1:
        assert low < made.first, "this draw lies beyond the table"


class Stream:
    """The same words to every table, other bits to their refinements."""

    def __init__(self, words):
        self._words, self._at = words, 0

    def words(self, n):
        self._at += n
        return self._words[self._at - n : self._at]

    def bits(self, n):
        return OS_SOURCE.bits(n)


class Vague:
    """A law whose words are known to within `doubt` only; single tails are as sharp as
    ever.
    """

    def __init__(self, exact, doubt):
        self.exact, self.scale, self.doubt, self.asked = (
            exact,
            exact.scale,
            np.uint64(doubt),
            0,
        )

    def tail(self, k, bits):
        self.asked += 1
        return self.exact.tail(k, bits)

    def words(self):
        low, high = self.exact.words()
        return TailWords(
            low - np.minimum(low, self.doubt), high + np.minimum(~high, self.doubt)
        )


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize("scale", [Fraction(2, 3), Fraction(3), Fraction(9)], ids=str)
def test_soft_entries_are_refined_to_the_same_noise(law, scale):
    """A table that is less sure only asks more often; whatever it decides is what the
    table that is surer decides.
    """
    sharp, soft = (
        cached_cdf_table(law, scale),
        build_cdf_table(Vague(tails_of_law(law, scale), 3)),
    )
    assert soft.soft_entry_count > 0
    words = []
    for low, high in zip(soft.low.tolist(), soft.high.tolist(), strict=True):
        words += [
            low,
            high,
            min(high + 1, MAX_NOISE_WORD),
            max(low - 1, 0),
            (low + high) // 2,
        ]
    known = sharp.low.tolist()
    for u in words:
        if u in known:
            continue
        assert (
            sharp.draw(1, one_draw(u, *[2**63] * 4)).tolist()
            == soft.draw(1, one_draw(u, *[2**63] * 4)).tolist()
        )


@pytest.mark.parametrize("law", Law)
def test_very_soft_tables_draw_the_same_law(law):
    """Bounds so wide that hundreds of draws are refined: what comes out is the law, not
    the bounds.
    """
    vague = Vague(tails_of_law(law, Fraction(2)), 2**57)
    draws = build_cdf_table(vague).draw(20_000)
    assert vague.asked > 2000
    assert fit(draws, probabilities(law, Fraction(2), 30)) > ALPHA
    unrefined = build_cdf_table(vague)
    guessed = np.searchsorted(unrefined.high, OS_SOURCE.words(20_000)) + unrefined.first
    assert fit(guessed, probabilities(law, Fraction(2), 30)) < ALPHA, (
        "without refinement the bounds would show"
    )


def test_soft_tables_agree_word_by_word_on_random_words():
    words = OS_SOURCE.words(60_000)
    for law in Law:
        sharp = cached_cdf_table(law, Fraction(20)).draw(40_000, Stream(words))
        assert np.array_equal(
            sharp,
            build_cdf_table(Vague(tails_of_law(law, Fraction(20)), 2**16)).draw(
                40_000, Stream(words)
            ),
        )


FAST = [(law, Fraction(s)) for law in Law for s in ("1/2", "1", "10", "100")]


def samples(law, scale, n):
    return cached_cdf_table(law, scale).draw(n), probabilities(
        law, scale, int(20 * scale) + 3
    )


@pytest.mark.parametrize(("law", "scale"), FAST, ids=str)
def test_draws_follow_the_law(law, scale):
    draws, p = samples(law, scale, 1_000_000)
    assert fit(draws, p) > ALPHA
    assert repeats(draws, p) > ALPHA


@pytest.mark.parametrize(("law", "scale"), FAST, ids=str)
def test_the_fit_rejects_broken_noise(law, scale):
    """A test that passes wrong noise tests nothing: scale 5 % off, scale halved, noise
    used twice, zero made likelier.
    """
    draws, p = samples(law, scale, 1_000_000)
    assert (
        fit(cached_cdf_table(law, scale * Fraction(21, 20)).draw(1_000_000), p) < ALPHA
    )
    assert fit(cached_cdf_table(law, scale / 2).draw(1_000_000), p) < ALPHA
    assert repeats(np.tile(draws[:500_000], 2), p) < ALPHA
    assert fit(np.where(np.arange(draws.size) % 50 == 0, 0, draws), p) < ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize(
    "scale", [Fraction(1), Fraction(10), Fraction(100), Fraction(1000)], ids=str
)
def test_ten_million_draws_follow_the_law(law, scale):
    draws, p = samples(law, scale, 10_000_000)
    assert fit(draws, p) > ALPHA
    assert repeats(draws, p) > ALPHA
    assert (
        fit(cached_cdf_table(law, scale * Fraction(21, 20)).draw(10_000_000), p) < ALPHA
    )
    assert repeats(np.tile(draws[:5_000_000], 2), p) < ALPHA


def test_tables_are_kept():
    assert cached_cdf_table(Law.DISCRETE_LAPLACE, Fraction(7)) is cached_cdf_table(
        Law.DISCRETE_LAPLACE, Fraction(7)
    )
    assert cached_cdf_table(Law.DISCRETE_LAPLACE, Fraction(7)) is not cached_cdf_table(
        Law.DISCRETE_GAUSSIAN, Fraction(7)
    )


def test_scripted_source_is_read_as_documented():
    """Four heads to a word: the lowest 16 bits first."""
    made = cached_cdf_table(Law.DISCRETE_LAPLACE, Fraction(1))
    source = Scripted(0x4000 | 0x8000 << 16 | 0xC000 << 32 | 0x8001 << 48)
    expected = [
        next(
            k
            for k in range(-9, 9)
            if head << 48 < cdf_word(Law.DISCRETE_LAPLACE, Fraction(1), k, 64)
        )
        for head in (0x4000, 0x8000, 0xC000, 0x8001)
    ]
    assert made.draw(4, source).tolist() == expected
