"""Levels of categories: groups are measured where codes are too many, and what is known
of a group reaches its codes.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from understudy.accounting.neighbours import Neighbours
from understudy.measurements import Identity, Partition
from understudy.schema import Boolean, Categorical, Schema
from understudy.synthesizers import Workload, ignore_progress
from understudy.synthesizers.adaptive.adaptive import Adaptive
from understudy.synthesizers.adaptive.hierarchies import (
    apply_maps,
    cliques_better_coarse,
    coarse_maps,
    level_of,
)

CHAPTERS, CODES = 20, tuple(f"{c:02}.{i:02}" for c, i in product(range(20), range(30)))
CHAPTER = tuple(code[:2] for code in CODES)


def hospital(*, levels: bool, rows: int = 8000):
    """Diagnoses by zipf's law, and two things that depend on their chapter alone."""
    rng = np.random.default_rng(7)
    code = rng.permutation(len(CODES))[(rng.zipf(1.2, rows) - 1) % len(CODES)]
    chapter = code // 30
    wards, stays = (
        rng.dirichlet(np.full(6, 0.4), CHAPTERS).cumsum(axis=1) for _ in range(2)
    )
    ward, stay = (
        (rng.random(rows)[:, None] > p[chapter]).sum(axis=1).clip(0, 5)
        for p in (wards, stays)
    )
    columns = (
        Categorical(
            name="code",
            values=CODES,
            nullable=False,
            levels={"chapter": CHAPTER} if levels else {},
        ),
        *(
            Categorical(name=n, values=tuple("abcdef"), nullable=False)
            for n in ("ward", "stay")
        ),
    )
    table = {
        "code": [CODES[c] for c in code],
        "ward": ["abcdef"[w] for w in ward],
        "stay": ["abcdef"[s] for s in stay],
    }
    truth = np.zeros((CHAPTERS, 6))
    np.add.at(truth, (chapter, ward), 1)
    return Schema(columns=columns), table, truth


def test_codes_are_grouped_with_other_and_missing_apart():
    column = Categorical(
        name="x",
        values=tuple("abcdefghijklmnopq"),
        other="else",
        missing=("?",),
        levels={"l": tuple("uuuuuvvvvvvvvvvvv")},
    )
    schema = Schema(columns=(column, Boolean(name="b", nullable=False)))
    assert level_of(schema, "x").bins == (0,) * 5 + (1,) * 12 + (2, 3, 4)
    assert level_of(schema, "b") is None
    assert coarse_maps(schema, [("x", "b"), ("b",)]) == {
        ("x", "b"): (level_of(schema, "x"), Identity(2))
    }


@pytest.mark.parametrize(
    ("levels", "groups"),
    [
        ({"fine": 300, "middle": 30, "coarse": 5}, 30),
        ({"fine": 300, "middle": 100}, 100),
        ({"same": 600}, None),
    ],
)
def test_of_several_levels_the_finest_that_is_small_is_taken(levels, groups):
    named = {
        name: tuple(str(i * size // 600) for i in range(600))
        for name, size in levels.items()
    }
    schema = Schema(
        columns=(Categorical(name="x", values=CODES, levels=named, nullable=False),)
    )
    found = level_of(schema, "x")
    assert (None if found is None else found.out) == groups


def test_a_short_list_is_fine_enough():
    column = Categorical(name="x", values=tuple("abcd"), levels={"l": tuple("uuvv")})
    assert level_of(Schema(columns=(column,)), "x") is None


def test_a_table_behind_its_maps_is_the_product_with_their_matrices():
    rng = np.random.default_rng(1)
    table, axes = (
        rng.random((5, 3, 4)),
        (Partition((0, 2, 1, 0, 2)), Identity(3), Partition((1, 0, 1, 1))),
    )
    expected = np.einsum("ai,ijk,ck->ajc", axes[0].matrix(), table, axes[2].matrix())
    np.testing.assert_allclose(apply_maps(axes, table), expected)


def test_what_gains_more_is_measured():
    fine, coarse = (
        {("a",): np.array([0.0, 5.0, 9.0])},
        {("a",): np.array([0.0, 6.0, 7.0]), ("b",): np.zeros(3)},
    )
    assert cliques_better_coarse(fine, coarse, 1) == [("a",), ("b",)]
    assert cliques_better_coarse(fine, coarse, 2) == [("b",)]


def test_levels_bring_back_at_low_epsilon_what_codes_alone_lose(open_curator):
    """Without levels the wards of a chapter are hardly learned at all at ε = 0.5; with
    them most of it is.
    """
    off = {}
    for levels in (False, True):
        schema, table, truth = hospital(levels=levels)
        curator = open_curator(
            schema,
            table,
            epsilon=Fraction(1, 2),
            delta=Fraction(1, 10**6),
            neighbours=Neighbours.ADD_REMOVE,
        )
        found = Adaptive().measure(
            curator, Workload.of_order(schema, 2), ignore_progress
        )
        model = Adaptive().estimate(schema, found, np.random.default_rng(0))
        pair = model.marginal(("code", "ward")).reshape(CHAPTERS, 30, 6).sum(axis=1)
        off[levels] = np.abs(pair / pair.sum() - truth / truth.sum()).sum() / 2
        assert (
            any(isinstance(m.maps[0], Partition) for m in found if len(m.clique) == 2)
            == levels
        )
        assert curator.share_left < Fraction(1, 1000)
    assert off[True] < 0.6 * off[False]


@pytest.mark.parametrize("epsilon", [1, 20])
def test_a_pair_too_large_to_be_measured_is_measured_by_its_levels(
    epsilon, open_curator
):
    schema, table, _ = hospital(levels=True)
    curator = open_curator(
        schema,
        table,
        epsilon=Fraction(epsilon),
        delta=Fraction(1, 10**6),
        neighbours=Neighbours.ADD_REMOVE,
    )
    found = Adaptive(largest=1000).measure(
        curator, Workload.of_order(schema, 2), ignore_progress
    )
    wide = [m for m in found if set(m.clique) == {"code", "ward"}]
    assert wide
    assert all(isinstance(m.maps[0], Partition) for m in wide)
