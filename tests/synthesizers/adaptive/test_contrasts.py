"""Columns of two values are asked for as differences."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.sensitivity import marginal_sensitivity
from understudy.measurements import Centring, Identity
from understudy.schema import Boolean, Integer, Schema, parse_predicate
from understudy.schema.predicates.rules import NeverRule
from understudy.synthesizers import Workload, ignore_progress
from understudy.synthesizers.adaptive.adaptive import Adaptive
from understudy.synthesizers.adaptive.contrasts import (
    contrast_columns,
    contrast_maps,
    contrast_noise_ratio,
)

SCHEMA = Schema(
    columns=(
        Boolean(name="smoker", nullable=False),
        Boolean(name="cough", nullable=False),
        Integer(name="visits", min=0, max=4, nullable=False),
        Integer(name="age", min=0, max=9, nullable=False),
    )
)


def test_columns_of_two_values_are_centred_and_others_are_not():
    cliques = [
        ("smoker",),
        ("age",),
        ("visits", "age"),
        ("smoker", "age"),
        ("smoker", "cough", "visits"),
    ]
    assert contrast_maps(SCHEMA, cliques, Neighbours.ADD_REMOVE, Accounting.GDP) == {
        ("smoker",): (Centring(2),),
        ("smoker", "age"): (Centring(2), Identity(10)),
        ("smoker", "cough", "visits"): (Centring(2), Centring(2), Identity(5)),
    }
    assert contrast_columns(("smoker", "age"), (Centring(2), Identity(10))) == {
        "smoker"
    }


@pytest.mark.parametrize("order", [(2, 10), (2, 2), (2, 2, 5)])
def test_what_is_saved_is_what_sensitivities_say(order):
    """The deviation of a centred table in rows, at the price of a plain one, by brute
    force over all cells of a row.
    """
    maps = tuple(Centring(n) if n == 2 else Identity(n) for n in order)
    matrix = np.ones((1, 1))
    for m in maps:
        matrix = np.kron(matrix, m.matrix())
    squares = (matrix**2).sum(axis=0).max()
    assert marginal_sensitivity(maps, Neighbours.ADD_REMOVE).l2_squared == squares
    rows = math.sqrt(squares) / math.prod(
        m.size for m in maps if isinstance(m, Centring)
    )
    assert contrast_noise_ratio(maps) == pytest.approx(rows)


@pytest.mark.parametrize(
    ("neighbours", "accounting"),
    [(Neighbours.REPLACE, Accounting.GDP), (Neighbours.ADD_REMOVE, Accounting.PURE)],
)
def test_where_nothing_is_saved_counts_are_asked(neighbours, accounting):
    assert contrast_maps(SCHEMA, [("smoker", "age")], neighbours, accounting) == {}


def test_what_is_impossible_is_left_out_of_plain_counts():
    schema = Schema(
        columns=SCHEMA.columns,
        rules=(NeverRule(predicate=parse_predicate("smoker = true and age = 0")),),
    )
    found = contrast_maps(
        schema,
        [("smoker", "age"), ("cough", "age")],
        Neighbours.ADD_REMOVE,
        Accounting.GDP,
    )
    assert list(found) == [("cough", "age")]


@pytest.mark.parametrize(
    ("neighbours", "asked"),
    [(Neighbours.ADD_REMOVE, True), (Neighbours.REPLACE, False)],
)
def test_the_default_asks_for_them(neighbours, asked, open_curator):
    draw = np.random.default_rng(0)
    kind = draw.integers(0, 2, 2000)
    rows = {
        "smoker": np.where(kind > 0, "true", "false").tolist(),
        "cough": np.where(
            (kind + (draw.random(2000) < 0.2)) % 2 > 0, "true", "false"
        ).tolist(),
        "visits": (2 * kind + draw.integers(0, 3, 2000)).tolist(),
        "age": (4 * kind + draw.integers(0, 6, 2000)).tolist(),
    }
    curator = open_curator(
        SCHEMA,
        rows,
        epsilon=Fraction(3),
        delta=Fraction(1, 10**6),
        neighbours=neighbours,
    )
    found = Adaptive().measure(curator, Workload.of_order(SCHEMA), ignore_progress)
    larger = [m for m in found if len(m.clique) > 1]
    assert larger
    for m in larger:
        centred = [isinstance(axis, Centring) for axis in m.maps]
        contrasts = [asked and name in ("smoker", "cough") for name in m.clique]
        # Everything fits into one tree here: where that is foretold to leave less, all
        # columns are centred (adaptive_whole.py).
        residual = [asked] * len(m.clique)
        assert centred in (contrasts, residual)


RUNS_UNTIL_ASKED_AGAIN = 20
"""At this ε noise passes for a pair in about one run of eight, and the pair takes what is
left; 20 such runs in a row have a chance of 1e-18.
"""


def test_columns_are_asked_as_differences_once_their_total_is_known(open_curator):
    """Columns with nothing in common: what is left goes to them again."""
    draw = np.random.default_rng(1)
    rows = {
        "smoker": np.where(draw.random(2000) < 0.5, "true", "false").tolist(),
        "cough": np.where(draw.random(2000) < 0.5, "true", "false").tolist(),
        "visits": draw.integers(0, 5, 2000).tolist(),
        "age": draw.integers(0, 10, 2000).tolist(),
    }
    for _ in range(RUNS_UNTIL_ASKED_AGAIN):
        curator = open_curator(
            SCHEMA,
            rows,
            epsilon=Fraction(1, 10),
            delta=Fraction(1, 10**6),
            neighbours=Neighbours.ADD_REMOVE,
        )
        looks: dict[str, list[bool]] = {name: [] for name in SCHEMA}
        for m in Adaptive().measure(
            curator, Workload.of_order(SCHEMA), ignore_progress
        ):
            if len(m.clique) == 1:
                looks[m.clique[0]].append(isinstance(m.maps[0], Centring))
        for name, (first, *again) in looks.items():
            assert not first
            assert all(centred == (name in ("smoker", "cough")) for centred in again)
        if all(len(asked) > 1 for asked in looks.values()):
            return
    pytest.fail("no run asked every column again")
