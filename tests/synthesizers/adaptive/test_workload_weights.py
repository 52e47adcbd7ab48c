"""Weights of columns and pairs, and the strongest triples: held to the plain loops they
stand for.
"""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.synthesizers.adaptive.workload_weights import (
    IndexedWorkload,
    column_weights,
    pair_weights,
    strongest_triples,
)

NAMES = ["a", "b", "c", "d", "e"]
WORKLOADS = st.dictionaries(
    st.lists(st.sampled_from([*NAMES, "x"]), min_size=1, max_size=4, unique=True).map(
        tuple
    ),
    st.integers(0, 9).map(float),
    max_size=12,
)


def test_pairs_weigh_what_holds_them():
    targets = {("c", "a"): 2.0, ("a", "b", "x"): 1.0, ("b",): 9.0}
    found = pair_weights(IndexedWorkload.of(targets, ["a", "b", "c"]))
    assert found == {("a", "b"): 1.0, ("a", "c"): 2.0}


@given(WORKLOADS)
def test_weights_are_sums_over_all_that_hold_them(workload):
    pairs = {
        p: sum(w for clique, w in workload.items() if set(p) <= set(clique))
        for p in combinations(NAMES, 2)
    }
    indexed = IndexedWorkload.of(workload, NAMES)
    assert list(pair_weights(indexed).items()) == [
        (p, w) for p, w in pairs.items() if w > 0
    ]
    assert column_weights(indexed) == {
        n: sum(w for c, w in workload.items() if n in c) for n in NAMES
    }


@given(
    st.lists(
        st.tuples(
            st.permutations(NAMES).map(lambda p: tuple(p[:3])), st.integers(1, 3)
        ),
        max_size=9,
    ),
    st.dictionaries(
        st.sampled_from(list(combinations(NAMES, 2))), st.integers(0, 9).map(float)
    ),
    st.lists(st.integers(2, 9), min_size=5, max_size=5),
    st.integers(0, 5),
)
def test_the_strongest_triples_are_those_of_a_plain_sort(triples, far, sizes, many):
    weights = {("a", "b"): 3.0, ("c",): 1.0, **{r: float(w) for r, w in triples}}
    cells = dict(zip(NAMES, sizes, strict=True))
    strong = {
        r: sum(far.get(p, 0.0) for p in combinations(sorted(r), 2)) * w
        for r, w in weights.items()
        if len(r) == 3 and math.prod(cells[n] for n in r) <= 100
    }
    assert (
        strongest_triples(IndexedWorkload.of(weights, NAMES), far, cells, 100, many)
        == sorted(strong, key=lambda r: -strong[r])[:many]
    )


def test_no_triples_no_list():
    workload = IndexedWorkload.of({("a", "b"): 1.0}, ["a", "b"])
    far, sizes = {("a", "b"): 2.0}, {"a": 2, "b": 2}
    assert strongest_triples(workload, far, sizes, 10, 5) == []


@pytest.mark.parametrize("names", [["a"], ["a", "b"]])
def test_columns_that_nothing_holds_weigh_nothing(names):
    nothing = IndexedWorkload.of({}, names)
    assert column_weights(nothing) == dict.fromkeys(names, 0.0)
    assert pair_weights(nothing) == {}
