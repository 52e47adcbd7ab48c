"""Granularity: every number that leaves is an integer, or on one public grid. No low
bits are left to tell tables apart.

Mironov, "On significance of the least significant bits for differential privacy", 2012.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from kit.curator.contexts import context_of
from kit.privacy.runs import OTHER, PLAIN, SCHEMA, csv, release_without_ledger
from kit.privacy.world import Remembered
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator
from understudy.measurements import Centring, Partition
from understudy.schema import (
    Boolean,
    Categorical,
    Integer,
    Real,
    Schema,
    UndeclaredColumn,
)
from understudy.synthesizers import ignore_progress

ROWS = [
    {"sex": "FM"[i % 2], "age": i % 90, "weight": 50 + i % 30, "smoker": i % 3 == 0}
    for i in range(60)
]
DECLARED = Schema(
    columns=(
        Categorical(name="sex", values=("F", "M"), nullable=False),
        Integer(
            name="age", min=0, max=89, bins=tuple(range(0, 91, 10)), nullable=False
        ),
        Real(name="weight", min=Fraction(0), max=Fraction(200), step=Fraction(1, 10)),
        Boolean(name="smoker"),
    )
)
PART = Fraction(1, 20)


def lowest_bit(values: np.ndarray) -> np.ndarray:
    """Exponent of the lowest bit that is set in a float: how fine it is."""
    mantissa, exponent = np.frexp(np.asarray(values, np.float64))
    whole = np.abs(mantissa * 2.0**53).astype(np.uint64)
    lowest = np.log2(
        (whole & (~whole + np.uint64(1))).astype(np.float64),
        where=whole > 0,
        out=np.full(len(whole), 53.0),
    )
    return exponent - 53 + lowest.astype(np.int64)


def fine(values: np.ndarray) -> float:
    """How often a number is finer than anything near 1 could be."""
    return float((lowest_bit(values) < -53).mean())


def answers(accounting: Accounting, relation: Neighbours) -> dict[str, object]:
    """Every kind of answer of the curator."""
    curator = Curator(
        context_of(
            ROWS, DECLARED, accounting=accounting, neighbours=relation, epsilon=20
        ),
        DECLARED,
    )
    age = curator.schema.sizes(("age",))[0]
    maps = [(Centring(2),), (Partition(tuple(i // 5 for i in range(age))),)]
    estimate = {("sex",): np.array([0.1, 0.7]), ("age",): np.full(age, 1 / 3)}
    return {
        "marginals": [
            m.values
            for m in curator.measure(
                [("sex",), ("age", "sex"), ("smoker",)], share=PART
            )
        ],
        "maps": [
            m.values
            for m in curator.measure([("sex",), ("age",)], share=PART, maps=maps)
        ],
        "count": curator.count(share=PART).values,
        "sum": curator.sum("weight", share=PART).value,
        "mean": [
            curator.mean("weight", share=PART).sum.value,
            curator.mean("weight", share=PART).count.value,
        ],
        "quantiles": curator.quantiles(
            "age", [Fraction(1, 4), Fraction(1, 2)], share=PART
        ),
        "errors": [d.value for d in curator.errors(estimate, share=PART).values()],
        "sparse": [
            (s.codes, s.values, s.threshold)
            for s in curator.sparse(("sex", "smoker"), share=PART).sparse
        ],
    }


def numbers(value: object) -> list[object]:
    """Every single number of an answer."""
    if isinstance(value, np.ndarray):
        assert value.dtype == np.int64
        return []
    if isinstance(value, list | tuple):
        return [n for part in value for n in numbers(part)]
    return [value]


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("accounting", Accounting)
def test_every_answer_is_made_of_integers(accounting, relation):
    for name, found in answers(accounting, relation).items():
        assert all(type(n) is int for n in numbers(found)), name


def test_distances_lie_on_one_grid():
    curator = Curator(context_of(ROWS, DECLARED), DECLARED)
    found = curator.errors({("sex",): np.array([np.pi, np.e])}, share=1)[("sex",)]
    assert found.grid == 1024
    assert type(found.value) is int


def test_learned_bounds_and_values_lie_on_declared_lattices():
    schema = Schema(
        columns=(
            Integer(name="age", step=5),
            Real(name="weight", step=Fraction(1, 10)),
            Categorical(name="sex"),
        )
    )
    curator = Curator(context_of(ROWS * 50, schema, epsilon=20), schema)
    learned = curator.discover(
        share=Fraction(1), delta=curator.delta_left, progress=ignore_progress
    )
    assert learned["age"].min % 5 == learned["age"].max % 5 == 0
    assert (
        (learned["weight"].min * 10).denominator
        == (learned["weight"].max * 10).denominator
        == 1
    )
    assert all(
        s.values.dtype == np.int64 for s in curator.discovered_measurements.sparse
    )


def test_a_learned_type_is_one_of_a_public_list():
    schema = Schema(columns=(UndeclaredColumn(name="age"),))
    curator = Curator(
        context_of([{"age": "1.23456"}] * 900, schema, epsilon=20), schema
    )
    learned = curator.discover(
        share=Fraction(1), delta=curator.delta_left, progress=ignore_progress
    )["age"]
    assert learned.step.denominator in [10**k for k in range(13)]


@pytest.mark.parametrize("method", ["independent", "histogram", "stability"])
def test_a_release_holds_integers_and_what_follows_from_them(method, tmp_path):
    """Measurements are integers; a model is a function of them and of public things, so
    its floats tell nothing more.
    """
    (tmp_path / "people.csv").write_bytes(csv(*[PLAIN, OTHER] * 20))
    schema = Schema(columns=tuple(SCHEMA[n] for n in ("sex", "smoker")))
    release = release_without_ledger(tmp_path / "people.csv", schema, method=method)
    assert len(release.measurements) + len(release.measurements.sparse) > 0
    for measured in (*release.measurements, *release.measurements.sparse):
        assert measured.values.dtype == np.int64
        assert isinstance(measured.scale, Fraction)
        assert (measured.scale * 2**20).denominator == 1
        assert isinstance(measured.cost.amount, Fraction)


def noisy_counts(count: int) -> np.ndarray:
    """A hundred thousand cells of this count with the curator's own noise, at ε = 1
    each.
    """
    cells = tuple(map(str, range(1000)))
    schema = Schema(columns=(Categorical(name="x", values=cells, nullable=False),))
    context = context_of(
        [{"x": c} for c in cells for _ in range(count)],
        schema,
        accounting=Accounting.PURE,
        delta=0,
        epsilon=100,
    )
    found = Curator(replace(context, table=Remembered(context.table)), schema).measure(
        [("x",)] * 100, share=1
    )
    return np.concatenate([m.values for m in found])


def test_the_curators_answers_have_no_low_bits_to_tell_tables_apart():
    here, there = noisy_counts(0), noisy_counts(1)
    assert len(here) == len(there) == 100_000
    assert fine(here) == fine(there) == 0


@pytest.mark.parametrize("law", ["laplace", "normal"])
def test_the_granularity_test_has_teeth(law):
    """The textbook mechanism in floating point: a fineness seen a quarter of the time
    at 0 is impossible at 1.
    """
    noise = getattr(np.random.default_rng(0), law)(0, 1, 100_000)
    assert fine(0 + noise) > 0.2
    assert fine(1 + noise) == 0
