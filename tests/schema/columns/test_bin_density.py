"""Where in its bin a released value lies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from understudy.schema import Integer, codec_of
from understudy.schema.columns.bin_density import BinDensity, _edge_heights


@given(
    st.lists(st.tuples(st.integers(1, 50), st.floats(0, 1000)), min_size=1, max_size=12)
)
def test_the_density_is_never_negative_and_keeps_the_mass(pieces):
    widths = np.array([w for w, _ in pieces])
    spread = BinDensity.of(
        np.concatenate([[0], np.cumsum(widths)]), np.array([m for _, m in pieces])
    )
    assert (spread.left >= 0).all()
    assert (spread.right >= 0).all()
    assert (
        spread.left + spread.right <= 3 + 1e-9
    ).all()  # what is left for the middle is never negative


@given(
    st.lists(st.tuples(st.integers(1, 20), st.floats(0, 1000)), min_size=2, max_size=8)
)
def test_the_shares_of_a_bin_add_up(pieces):
    edges = np.concatenate([[0], np.cumsum([w for w, _ in pieces])])
    spread = BinDensity.of(
        edges, np.array([m for _, m in pieces]), np.array([0, 1, len(pieces)])
    )
    for bin_, (low, high) in enumerate([(0, edges[1]), (edges[1], edges[-1])]):
        assert sum(
            spread.share(bin_, index) for index in range(low, high)
        ) == pytest.approx(1)


def test_shares_are_how_often_a_value_is_drawn():
    spread = BinDensity.of(
        np.array([0, 5, 9, 10]), np.array([8.0, 2.0, 1.0]), np.array([0, 2, 3])
    )
    drawn = (
        np.bincount(
            spread.draw(np.zeros(200_000, np.int64), np.random.default_rng(1)),
            minlength=9,
        )
        / 200_000
    )
    shares = [spread.share(0, index) for index in range(9)]
    assert np.abs(drawn - shares).max() < 0.006  # five deviations of the largest


def test_the_density_is_continuous_from_bin_to_bin():
    heights, widths = np.array([4.0, 3.0, 2.5, 1.0]), np.array([10.0, 20.0, 5.0, 30.0])
    left, right = _edge_heights(heights, widths)
    assert np.allclose(left[1:], right[:-1])


def test_a_single_value_that_stands_out_does_not_lift_its_neighbours():
    heights, widths = np.array([1.0, 500.0, 1.0]), np.array([100.0, 1.0, 100.0])
    left, right = _edge_heights(heights, widths)
    assert right[0] == left[2] == 1.0


def test_values_follow_a_smooth_density_that_even_bins_do_not():
    """An exponential column in eight bins: drawn as it should be, and seen not to be
    when bins are filled evenly (false alarms: 1e-6).
    """
    edges = np.arange(0, 8001, 1000)
    masses = np.diff(1 - np.exp(-edges / 1500))
    rng = np.random.default_rng(6)
    bins = rng.choice(8, 20_000, p=masses / masses.sum())

    def law(x):
        return (1 - np.exp(-np.asarray(x) / 1500)) / (1 - np.exp(-8000 / 1500))

    smooth = BinDensity.of(edges, masses).draw(bins, rng) + rng.random(20_000)
    even = rng.uniform(edges[bins], edges[bins + 1])
    assert kstest(smooth, law).pvalue > 1e-6
    assert kstest(even, law).pvalue < 1e-6


@pytest.mark.parametrize("width", [1, 2, 3, 10**6, 2**61])
def test_every_value_lies_in_its_bin(width):
    edges = np.array([-width, 0, width])
    spread = BinDensity.of(edges, np.array([5.0, 1.0]))
    rng = np.random.default_rng(1)
    bins = np.repeat([0, 1], 500)
    index = spread.draw(bins, rng)
    assert ((index >= edges[bins]) & (index < edges[bins + 1])).all()


def test_pieces_of_a_bin_get_their_shares():
    spread = BinDensity.of(
        np.array([0, 1, 10, 20]), np.array([30.0, 10.0, 60.0]), np.array([0, 2, 3])
    )
    index = spread.draw(np.zeros(10_000, np.int64), np.random.default_rng(2))
    assert abs(np.mean(index == 0) - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 10_000)
    assert index.max() < 10


def test_a_bin_without_rows_is_spread_like_any_other():
    column = Integer(
        name="x",
        min=0,
        max=19,
        bins=(0, 10, 20),
        grain=((0, 9), (5, 1), (10, 0), (15, 0)),
        nullable=False,
    )
    codec = codec_of(column)
    spread = codec.bin_density(np.array([0.0, 10.0]))
    index = spread.draw(np.repeat([0, 1], 2000), np.random.default_rng(3))
    assert np.mean(index[:2000] < 5) > 0.85
    assert 0.4 < np.mean(index[2000:] < 15) < 0.6
