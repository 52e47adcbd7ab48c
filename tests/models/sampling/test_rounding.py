"""Rounding: sums exact, every count within one, unbiased, nothing where nothing is
expected.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kit.models.build import surprising
from understudy.models.sampling.rounding import (
    draw_shuffled_codes,
    round_counts,
    round_groups,
)

WEIGHTS = st.floats(0, 1e6, allow_subnormal=False) | st.sampled_from(
    [0.0, 1.0, 0.5, 1 / 3]
)
TABLES = hnp.arrays(
    np.float64, hnp.array_shapes(max_dims=3, max_side=6), elements=WEIGHTS
)


@given(TABLES, st.integers(0, 100_000), st.integers(0, 2**32))
def test_counts_sum_to_the_rows_and_stay_within_one(expected, rows, seed):
    if expected.sum() == 0:
        expected = expected + 1
    counts = round_counts(expected, rows, np.random.default_rng(seed))
    assert counts.shape == expected.shape
    assert counts.dtype == np.int64
    assert counts.sum() == rows
    total = sum(Fraction(x) for x in expected.ravel().tolist())
    for count, weight in zip(
        counts.ravel().tolist(), expected.ravel().tolist(), strict=True
    ):
        assert abs(count - Fraction(weight) * rows / total) < 1
        assert weight > 0 or count == 0


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=20).filter(any),
    st.integers(1, 7),
    st.integers(0, 2**32),
)
def test_whole_numbers_stay_as_they_are(counts, times, seed):
    """Rounding a table of counts, or a multiple of it, invents nothing."""
    scaled = np.array(counts) / sum(counts)
    rounded = round_counts(scaled, times * sum(counts), np.random.default_rng(seed))
    assert rounded.tolist() == [times * c for c in counts]


@given(
    st.lists(WEIGHTS, min_size=2, max_size=30).filter(any),
    st.integers(0, 1000),
    st.integers(0, 2**32),
)
def test_any_range_of_one_column_is_within_one(expected, rows, seed):
    shares = np.array(expected) / sum(expected)
    counts = round_counts(shares, rows, np.random.default_rng(seed))
    exact = np.concatenate([[0], np.cumsum(shares * rows)])
    given_out = np.concatenate([[0], np.cumsum(counts)])
    away = (given_out - exact)[:, None] - (given_out - exact)[None, :]
    assert np.all(np.abs(away) < 1 + 1e-6)


@given(
    st.lists(
        st.tuples(
            st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=6), st.integers(0, 200)
        ),
        min_size=1,
        max_size=8,
    ),
    st.integers(0, 2**32),
)
def test_groups_are_rounded_each_on_its_own(groups, seed):
    expected = np.concatenate([np.array(cells) for cells, _ in groups])
    sizes = np.array([len(cells) for cells, _ in groups])
    rows = np.array([n for _, n in groups])
    counts = round_groups(expected, sizes, rows, np.random.default_rng(seed))
    for part, cells, n in zip(
        np.split(counts, np.cumsum(sizes)[:-1]), *zip(*groups, strict=True), strict=True
    ):
        assert part.sum() == n
        assert np.all(np.abs(part - np.array(cells) * n / sum(cells)) < 1 + 1e-9)


def _biased(rounding) -> bool:
    """Whether the mean over many roundings is not the expected count."""
    shares = np.array([[0.05, 0.15, 0.2], [0.25, 0.35, 0.0]])
    trials, rows, rng = 6_000, 7, np.random.default_rng(1)
    extra = sum(
        rounding(shares, rows, rng) - np.floor(shares * rows) for _ in range(trials)
    )
    chances = shares * rows - np.floor(shares * rows)
    return any(
        surprising(int(hits), trials, float(p), tests=6)
        for hits, p in zip(extra.flat, chances.flat, strict=True)
    )


def test_rounding_is_unbiased():
    assert not _biased(round_counts)


def test_the_test_of_bias_has_teeth():
    """Largest remainders, always to the same cells, sum correctly and are biased."""

    def largest_remainder(shares, rows, rng):
        scaled = shares * rows
        counts = np.floor(scaled)
        for cell in np.argsort(-(scaled - counts), axis=None)[
            : rows - int(counts.sum())
        ]:
            counts.flat[cell] += 1
        return counts

    assert _biased(largest_remainder)


def test_a_table_with_several_axes_does_not_meet_the_stride_of_the_marks():
    """Eight rows over a uniform 8 × 8 × 8 table, walked in order, would all share the
    code of the last column.
    """
    rng = np.random.default_rng(2)
    distinct = [
        len(np.unique(np.nonzero(round_counts(np.ones((8, 8, 8)), 8, rng))[2]))
        for _ in range(20)
    ]
    assert np.mean(distinct) > 3


def test_nothing_to_share_rows_among_is_an_error():
    with pytest.raises(ValueError, match="none is expected"):
        round_counts(np.zeros(3), 1, np.random.default_rng(0))
    assert round_counts(np.zeros(3), 0, np.random.default_rng(0)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("bad", [[-1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_what_is_no_expected_count_is_an_error(bad):
    with pytest.raises(ValueError, match="expected counts"):
        round_counts(np.array(bad), 5, np.random.default_rng(0))


def test_groups_and_rows_must_fit():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="every group needs cells"):
        round_groups(np.ones(2), np.array([1, 0]), np.array([1, 1]), rng)
    with pytest.raises(ValueError, match="negative"):
        round_groups(np.ones(2), np.array([2]), np.array([-1]), rng)


def test_a_column_is_shuffled_and_compact():
    codes = draw_shuffled_codes(
        np.array([0.5, 0.5]), 1000, np.random.default_rng(0), np.dtype(np.uint8)
    )
    assert codes.dtype == np.uint8
    assert np.bincount(codes).tolist() == [500, 500]
    assert 300 < np.count_nonzero(np.diff(codes.astype(int))) < 700
