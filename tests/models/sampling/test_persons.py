"""Generated persons: their number of rows follows the histogram, and they agree on what
is constant.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.models.sampling.persons import gather_persons, representative_rows


def sizes_of(person) -> list[int]:
    return np.bincount(np.bincount(person)).tolist()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=40),
    st.lists(st.integers(0, 50), min_size=1, max_size=5),
    st.integers(0, 2**32),
)
def test_every_row_has_one_person_and_persons_agree(rows, sizes, seed):
    codes = {
        "sex": np.array([r[0] for r in rows], np.uint8),
        "town": np.array([r[1] for r in rows], np.uint8),
    }
    order, person = gather_persons(
        codes, ["sex", "town"], sizes, len(rows), np.random.default_rng(seed)
    )
    assert sorted(order.tolist()) == list(range(len(rows)))
    assert np.all(np.diff(person) >= 0)
    assert np.all(np.diff(person, prepend=-1) <= 1)
    assert max(np.bincount(person), default=0) <= len(sizes)
    for number in set(person.tolist()):
        assert (
            len({(codes["sex"][i], codes["town"][i]) for i in order[person == number]})
            == 1
        )


@pytest.mark.parametrize("constants", [(), ("sex",), ("sex", "town")])
def test_the_histogram_is_met(constants):
    """600, 300 and 100 of a thousand have one, two and three rows; in 30,000 rows that
    is met to the person, or nearly.
    """
    rng = np.random.default_rng(0)
    codes = {"sex": rng.integers(0, 2, 30_000), "town": rng.integers(0, 30, 30_000)}
    _, person = gather_persons(codes, constants, [600, 300, 100], 30_000, rng)
    assert sizes_of(person) == pytest.approx([0, 12_000, 6_000, 2_000], abs=3)


def test_groups_that_are_too_small_give_fewer_rows_a_person():
    """Nobody is made up to fill a household: constant columns decide."""
    codes = {"town": np.arange(100)}
    _, person = gather_persons(
        codes, ["town"], [0, 0, 1], 100, np.random.default_rng(0)
    )
    assert sizes_of(person) == [0, 100]


def test_rows_of_a_person_are_a_random_choice():
    """Which rows meet under one person does not depend on where they stood."""
    rng = np.random.default_rng(0)
    met = 0
    for _ in range(2_000):
        order, person = gather_persons(
            {"sex": np.zeros(6, np.int64)}, ["sex"], [0, 1], 6, rng
        )
        met += person[order == 0] == person[order == 1]
    # Row 0 meets each of five others equally often; 6 standard deviations of a share of
    # 1/5 in 2,000 are 0.054.
    assert abs(int(met[0]) / 2_000 - 0.2) < 0.054


def test_each_row_speaks_in_turn():
    person = np.array([0, 0, 0, 1, 2, 2])
    assert representative_rows(person).tolist() == [0, 0, 0, 3, 4, 4]
    assert representative_rows(person, 1).tolist() == [1, 1, 1, 3, 5, 5]
    assert representative_rows(person, 2).tolist() == [2, 2, 2, 3, 4, 4]
    assert representative_rows(np.zeros(0, np.int64)).tolist() == []
