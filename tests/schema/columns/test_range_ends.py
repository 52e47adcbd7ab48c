"""Values end where the rows of the outermost bins are used up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.schema.columns.bin_density import BinDensity
from understudy.schema.columns.range_ends import DensityPieces, sharpen_ends


def make_pieces(edges: list[int], masses: list[float]) -> DensityPieces:
    first = np.arange(len(edges), dtype=np.int64)
    return DensityPieces(np.array(edges, np.int64), np.array(masses), first)


def share_outside(pieces: DensityPieces, low: int, high: int) -> float:
    """The share of drawn values that lie outside a range."""
    density = BinDensity.of(*pieces)
    bins = len(pieces.first) - 1
    masses = np.add.reduceat(pieces.masses, pieces.first[:-1])
    rng = np.random.default_rng(1)
    rows = rng.choice(bins, 20_000, p=masses / masses.sum())
    drawn = density.draw(rows, rng)
    return float(np.mean((drawn < low) | (drawn >= high)))


@pytest.mark.parametrize("low", [2000, 2010, 2030])
def test_an_even_range_does_not_spill_over_its_ends(low):
    """Values from `low` to 2155 in bins of 40, most of which lie outside at both ends."""
    edges = list(range(1900, 2340, 40))
    covered = [max(0, min(e + 40, 2155) - max(e, low)) for e in edges[:-1]]
    pieces = make_pieces(edges, [100.0 * c for c in covered])
    assert share_outside(pieces, low, 2155) > 0.02
    assert share_outside(sharpen_ends(pieces), low, 2155) < 0.005


def test_a_tail_that_thins_out_is_kept_whole():
    pieces = make_pieces([0, 10, 20, 30, 40, 50], [800.0, 200.0, 50.0, 12.0, 3.0])
    assert sharpen_ends(pieces).edges.tolist() == pieces.edges.tolist()


def test_a_column_that_fills_its_bounds_is_kept_whole():
    pieces = make_pieces([0, 10, 20, 30, 40], [98.0, 103.0, 99.0, 96.0])
    assert sharpen_ends(pieces).edges.tolist() == pieces.edges.tolist()


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=12),
    st.lists(st.floats(0, 1e6), min_size=12, max_size=12),
)
def test_bins_keep_their_ends_and_masses(widths, masses):
    edges = np.concatenate([[0], np.cumsum(widths)])
    pieces = make_pieces(
        edges.tolist(), [1e-6 + mass for mass in masses[: len(widths)]]
    )
    sharp = sharpen_ends(pieces)
    assert np.all(np.diff(sharp.edges) > 0)
    assert sharp.edges[sharp.first].tolist() == edges.tolist()
    held = np.add.reduceat(sharp.masses, sharp.first[:-1])
    assert held == pytest.approx(pieces.masses)
