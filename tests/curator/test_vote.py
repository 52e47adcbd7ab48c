"""The vote on types: one odd cell flips nothing, and one row moves one vote a column."""

from __future__ import annotations

import numpy as np
import pytest

from curator.rooms import neighbouring, no_noise, room_of
from understudy.accounting.cost import Currency
from understudy.accounting.neighbours import Neighbours
from understudy.curator.vote import elect, types
from understudy.schema import Categorical, Date, Datetime, Integer, Real, Schema, Time, Undeclared
from understudy.tables import CANDIDATES

SAMPLES = {
    Integer: ["12", "-7", "300"],
    Real: ["1.25", "-0.50", "3.75"],
    Date: ["2024-02-29", "1999-12-31"],
    Datetime: ["2024-02-29 12:30:00", "1999-12-31 00:00:01"],
    Time: ["12:30:00", "00:00:01"],
    Categorical: ["red", "green", "12b", "yes"],
}


def elected(cells, epsilon=50):
    schema = Schema(columns=(Undeclared(name="x"),))
    room = room_of([{"x": c} for c in cells], schema, epsilon=epsilon)  # so little noise that the tolerance decides
    return types(room, [schema["x"]], amount=room.till.left)[0]


@pytest.mark.parametrize("kind", SAMPLES, ids=lambda k: k.__name__)
@pytest.mark.parametrize("odd", [[], ["surprise"], ["2024-01-01"], ["3.14159"], [""] * 300])
def test_a_few_odd_cells_do_not_flip_a_type(kind, odd):
    cells = SAMPLES[kind] * 700 + odd
    assert type(elected(cells)) is kind


def test_decimals_are_counted():
    assert elected(["1.5", "2.25"] * 1000).step.denominator == 100


def test_zeros_and_ones_stay_numbers_and_yes_and_no_stay_words():
    """A release spells a cell as the file does."""
    bits = elected(["0", "1", "1"] * 700)
    assert (type(bits), bits.min, bits.max, bits.learned) == (Integer, 0, 1, ("type", "bounds"))
    assert type(elected(["yes", "no"] * 700)) is Categorical


def test_a_mostly_zero_column_is_not_taken_for_yes_and_no():
    assert isinstance(elected(["0"] * 1900 + ["150"] * 100), Integer)


@pytest.mark.parametrize("cells", [[], ["12"], [""] * 5000])
def test_nothing_to_go_by_gives_a_list_of_labels(cells):
    assert isinstance(elected(cells, epsilon=1), Categorical)


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("currency", [Currency.PURE, Currency.GDP])
def test_no_row_moves_more_than_one_vote_a_column(relation, currency):
    names = ("a", "b")
    schema = Schema(columns=tuple(Undeclared(name=n) for n in names))
    universe = [{"a": x, "b": y} for x, y in [("1", ""), ("x", "2.5"), ("2020-01-01", "true"), (None, "0")]]
    for here, there in neighbouring(universe, 4, relation):
        a, b = (room_of(rows, schema, noise=no_noise).table.votes(names) for rows in (here, there))
        moved = np.abs(a - b)
        assert moved.sum() <= (1 if relation is Neighbours.ADD_REMOVE else 2) * len(names)
        assert moved.sum(axis=1).max() <= (1 if relation is Neighbours.ADD_REMOVE else 2)


def test_text_wins_where_the_noise_drowns_the_votes():
    ballots = np.zeros(len(CANDIDATES), np.int64)
    ballots[CANDIDATES.index("integer")] = 20
    assert elect(ballots, noise=50.0) == "text"
