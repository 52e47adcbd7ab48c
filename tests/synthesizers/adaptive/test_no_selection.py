"""What is measured without asking first how far it is from a model."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from kit.synthesizers.chains import chain_of_labels
from kit.synthesizers.watched import run
from understudy.accounting.neighbours import Neighbours
from understudy.measurements import Centring, Identity
from understudy.schema import Categorical, Schema
from understudy.synthesizers import Workload
from understudy.synthesizers.adaptive import stages
from understudy.synthesizers.adaptive.adaptive import Adaptive
from understudy.synthesizers.adaptive.no_selection import pair_covers_columns


@pytest.mark.parametrize(
    ("neighbours", "delta"), [(n, d) for n in Neighbours for d in ("0", "1e-6")]
)
def test_the_pair_of_two_columns_gets_all(neighbours, delta, open_curator):
    curator, found = run(
        open_curator,
        Adaptive(),
        chain_of_labels(columns=2, size=4),
        neighbours=neighbours,
        delta=delta,
    )
    assert [(m.clique, m.maps) for m in found if m.clique] == [
        (("a", "b"), (Identity(4), Identity(4)))
    ]
    assert not found.gaps
    assert 0 <= curator.share_left < Fraction(1, 1000)


def test_two_large_columns_are_counted_first(open_curator):
    """The sums of their pair would be noisier than columns counted by themselves."""
    _, found = run(open_curator, Adaptive(), chain_of_labels(columns=2, size=40))
    assert {("a",), ("b",)} <= {m.clique for m in found}
    assert len(found.gaps) == 1
    assert not pair_covers_columns(
        ("a", "b"), {"a": 40, "b": 40}, {"a": 0.05, "b": 0.05}, 0.5
    )


def test_two_columns_that_are_wished_for_by_themselves_are_counted_first(open_curator):
    table = chain_of_labels(columns=2, size=4)
    workload = Workload((("a",), ("a", "b")), (5.0, 1.0))
    _, found = run(open_curator, Adaptive(), table, workload=workload)
    assert ("a",) in {m.clique for m in found}


def alike(columns=12, rows=4000, seed=3):
    """Columns of two values that all follow a hidden one, as much as each other: no
    pair stands out.
    """
    draw = np.random.default_rng(seed)
    hidden = draw.integers(0, 2, rows)
    names = [f"c{i}" for i in range(columns)]
    schema = Schema(
        columns=tuple(
            Categorical(name=n, values=(f"{n}0", f"{n}1"), nullable=False)
            for n in names
        )
    )
    codes = {
        name: np.where(draw.random(rows) < 0.5, hidden, draw.integers(0, 2, rows))
        for name in schema
    }
    return schema, {
        name: [f"{name}{code}" for code in column] for name, column in codes.items()
    }


def at_once(schema, found):
    """Whether every pair was asked for once, as one number, and nothing larger."""
    larger = [m for m in found if len(m.clique) > 1]
    asked = sorted(m.clique for m in larger) == sorted(combinations(schema, 2))
    return asked and {m.maps for m in larger} == {(Centring(2), Centring(2))}


def test_pairs_that_are_one_number_and_alike_are_asked_at_once(open_curator):
    """435 distances of which noise is nearly all: that they seem to tell more than a
    third has a chance below 1e-7.
    """
    table = alike(30, 20_000)
    curator, found = run(open_curator, Adaptive(), table, epsilon=Fraction(1, 5))
    assert at_once(table[0], found)
    assert len(found.gaps) == math.comb(30, 2), "distances were asked once"
    assert 0 <= curator.share_left < Fraction(1, 1000)
    again = [m.clique for m in found if m.maps == (Centring(2),)]
    assert again == [(name,) for name in table[0]], (
        "of columns the difference, once more"
    )


@pytest.mark.parametrize(
    ("table", "neighbours", "delta"),
    [
        (
            chain_of_labels(columns=12, size=2, rows=4000),
            Neighbours.ADD_REMOVE,
            "1e-6",
        ),  # a chain of strong pairs stands out
        (
            alike(),
            Neighbours.REPLACE,
            "1e-6",
        ),  # a difference costs as much as two counts
        (alike(), Neighbours.ADD_REMOVE, "0"),
    ],
)
def test_elsewhere_distances_decide(table, neighbours, delta, open_curator):
    _, found = run(
        open_curator, Adaptive(), table, neighbours=neighbours, delta=delta, epsilon=2
    )
    assert not at_once(table[0], found)


@pytest.mark.parametrize(
    ("columns", "rows", "epsilon"), [(12, 200, "1/50"), (46, 300, "5")]
)
def test_numbers_that_noise_hides_and_very_many_are_not_asked_at_once(
    columns, rows, epsilon, open_curator, monkeypatch
):
    class Decided(Exception):
        """The run went far enough."""

    plan = stages._plan_binary_pairs

    def stop(*given):
        assert plan(*given) == {}
        raise Decided

    monkeypatch.setattr(stages, "_plan_binary_pairs", stop)
    with pytest.raises(Decided):
        run(open_curator, Adaptive(), alike(columns, rows), epsilon=Fraction(epsilon))
