"""The imagined population: as many rows as were asked for, dependent columns, nothing
impossible.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy.curator.simulation.population import Population
from understudy.schema import Boolean, Integer, Schema, parse_predicate

SCHEMA = Schema(
    columns=(
        *(Integer(name=n, min=0, max=9, nullable=False) for n in "abcd"),
        Boolean(name="e", nullable=False),
    ),
    impossible=(parse_predicate("a = 0 and e = true"),),
)


@pytest.mark.parametrize("rows", [1, 7, 50_000])
def test_every_marginal_has_all_the_rows(rows: int) -> None:
    people = Population(SCHEMA, rows)
    for clique in ((), ("a",), ("b", "c"), ("d", "a", "b")):
        counts = people.counts(clique)
        assert counts.dtype == np.int64
        assert counts.sum() == rows
        assert counts.min() >= 0


def test_some_pairs_depend_more_than_others() -> None:
    people = Population(SCHEMA, 100_000)

    def dependence(a: str, b: str) -> float:
        table = people.counts((a, b)) / 100_000
        return float(np.abs(table - np.outer(table.sum(1), table.sum(0))).sum() / 2)

    found = sorted(
        dependence(a, b)
        for a, b in (("a", "b"), ("a", "c"), ("b", "c"), ("b", "d"), ("c", "d"))
    )
    assert found[0] > 0.1
    assert found[-1] > 1.5 * found[0]


def test_what_is_impossible_is_empty() -> None:
    assert Population(SCHEMA, 10_000).counts(("a", "e"))[0, 1] == 0


def test_all_marginals_know_what_is_impossible() -> None:
    """Also those of columns that only others link: each is the sum of any larger one,
    but for rounding.
    """
    links = ("a = 0 and e = true", "a > 5 and b < 4", "c = 3")
    people = Population(
        replace(SCHEMA, impossible=tuple(map(parse_predicate, links))), 100_000
    )
    whole = people.counts(tuple("abcde"))
    assert people.counts(("c",))[3] == 0
    assert people.counts(("b", "e")).min() > 0
    for clique in (
        ("a",),
        ("e",),
        ("b",),
        ("e", "b"),
        ("d", "a"),
        ("c", "a", "b"),
        ("d",),
    ):
        others = tuple("abcde".index(name) for name in "abcde" if name not in clique)
        alphabetic = tuple(sorted(clique))
        summed = whole.sum(axis=others).transpose(
            [alphabetic.index(name) for name in clique]
        )
        assert np.abs(people.counts(clique) - summed).sum() < 2_000


def test_very_many_columns_are_about_several_things() -> None:
    """Forty columns have two topics: pairs of one depend on each other, pairs of two do
    not, and triples say both.
    """
    rows, names = 1_000_000, [f"c{i}" for i in range(40)]
    people = Population(
        Schema(
            columns=tuple(Integer(name=n, min=0, max=5, nullable=False) for n in names)
        ),
        rows,
    )

    def dependence(a: str, b: str) -> float:
        table = people.counts((a, b)) / rows
        return float(np.abs(table - np.outer(table.sum(1), table.sum(0))).sum() / 2)

    assert (
        min(dependence("c0", "c1"), dependence("c3", "c19"), dependence("c20", "c39"))
        > 0.1
    )
    assert (
        max(dependence("c0", "c20"), dependence("c19", "c21"), dependence("c39", "c2"))
        < 1e-4
    )
    triple = people.counts(("c21", "c0", "c1"))
    for axis, pair in enumerate((("c0", "c1"), ("c21", "c1"), ("c21", "c0"))):
        assert np.abs(triple.sum(axis=axis) - people.counts(pair)).sum() < 1e-3 * rows
