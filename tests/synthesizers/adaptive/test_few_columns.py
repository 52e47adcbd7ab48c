"""Few columns: which noise, which plan, and that it is the better one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.synthesizers.chains import ran
from understudy.accounting import Accounting, Budget, Neighbours
from understudy.schema import Identifier, Integer, Schema, Unit
from understudy.synthesizers.adaptive.adaptive import Adaptive
from understudy.synthesizers.adaptive.few_columns import FewColumnsPlan
from understudy.synthesizers.adaptive.laplace_noise import prefers_laplace
from understudy.workflow.planning.plan import plan

LARGEST = 100_000


def described(*sizes: int, **words) -> Schema:
    names = [f"c{i}" for i in range(len(sizes))]
    return Schema(
        columns=tuple(
            Integer(name=n, min=0, max=size - 1, nullable=False)
            for n, size in zip(names, sizes, strict=True)
        ),
        **words,
    )


def chosen(
    schema: Schema, epsilon="1", delta="1e-9", neighbours=Neighbours.ADD_REMOVE
) -> Accounting:
    return Adaptive().smallest_noise(schema, Budget.of(epsilon, delta), neighbours)


@pytest.mark.parametrize(
    ("sizes", "epsilon", "accounting"),
    [
        ((7,), "0.1", Accounting.PURE),
        ((7, 9), "0.1", Accounting.PURE),
        ((7, 9, 50), "0.1", Accounting.PURE),
        ((7, 9, 50, 80), "0.1", Accounting.GDP),
        ((7, 9, 50, 80), "1", Accounting.PURE),
        ((7, 9, 50, 80, 3), "1", Accounting.GDP),
        ((7, 9, 50, 80, 3), "10", Accounting.PURE),
        ((7,) * 7, "1", Accounting.GDP),
        ((2,) * 8, "1", Accounting.PURE),
        ((2,) * 10, "1", Accounting.GDP),
        ((2,) * 10, "10", Accounting.PURE),
        ((7,) * 15, "30", Accounting.GDP),
    ],
)
def test_which_noise_follows_from_sizes_and_the_budget(sizes, epsilon, accounting):
    assert chosen(described(*sizes), epsilon) is accounting


def test_a_larger_delta_favours_gaussian_noise_and_so_does_a_row_replaced():
    schema = described(7, 9, 5, 8)
    assert chosen(schema) is Accounting.PURE
    assert chosen(schema, delta="1e-3") is Accounting.GDP
    assert chosen(schema, neighbours=Neighbours.REPLACE) is Accounting.GDP


def test_rows_of_one_person_weigh_on_both_alike():
    columns = (*described(7, 9).columns, Identifier(name="who"))
    assert (
        chosen(Schema(columns=columns, unit=Unit(id="who", max_rows=5)))
        is Accounting.PURE
    )


def test_a_pure_run_stays_pure_and_an_open_schema_gaussian():
    assert chosen(described(*(7,) * 15), delta="0") is Accounting.PURE
    assert (
        chosen(Schema(columns=(Integer(name="a"), Integer(name="b")))) is Accounting.GDP
    )


def test_more_columns_never_turn_to_laplace():
    """Of columns alike, for one more of them Laplace noise is not chosen if it was not
    before.
    """
    for size in (2, 3, 7, 40):
        for epsilon, gaussian in ((0.1, 2521.0), (1.0, 30.2), (10.0, 0.42)):
            found = [
                prefers_laplace([size] * many, epsilon, gaussian, LARGEST)
                for many in range(1, 20)
            ]
            assert found == sorted(found, reverse=True)


def first_plan(
    noise: float, *sizes: int, rows: float = 5_000.0, off: float = 50.0
) -> FewColumnsPlan:
    names = [f"c{i}" for i in range(len(sizes))]
    pairs = dict.fromkeys(combinations(names, 2), float(max(len(sizes) - 2, 1)))
    weights = pairs | dict.fromkeys(combinations(names, 3), 1.0)
    return FewColumnsPlan(
        single={
            n: np.full(size, rows / size) for n, size in zip(names, sizes, strict=True)
        },
        column_errors=dict.fromkeys(names, off),
        column_weights=dict.fromkeys(names, float(len(weights))),
        weights=weights,
        total=rows,
        noise=noise,
        largest=LARGEST,
    )


def test_the_less_noise_the_more_is_asked_for_together():
    """Hidden by noise only columns are worth it, then pairs, and at last the whole
    table.
    """
    orders = [
        max(map(len, first_plan(noise, 6, 6, 6, 6).best_parts()))
        for noise in (3000.0, 10.0, 0.2)
    ]
    assert orders == [1, 2, 4]


@settings(max_examples=25)
@given(st.lists(st.integers(2, 12), min_size=2, max_size=5), st.floats(0.05, 5_000))
def test_parts_are_parts_of_one_budget(sizes, noise):
    parts = first_plan(noise, *sizes).best_parts()
    assert parts
    assert min(parts.values()) > 0
    assert sum(parts.values()) <= 1 + 1e-9


def test_a_table_too_large_to_be_counted_whole_is_not():
    parts = first_plan(0.01, 40, 40, 40, 40).best_parts()
    assert max(map(len, parts)) == 3


def correlated(rows: int, *sizes: int) -> pa.Table:
    rng = np.random.default_rng(5)
    hidden = rng.random(rows)
    near = [
        np.minimum(
            ((hidden + rng.normal(0, 0.15, rows)) % 1 * size).astype(int), size - 1
        )
        for size in sizes
    ]
    return pa.table({f"c{i}": codes for i, codes in enumerate(near)})


def joint(table: pa.Table, *sizes: int) -> np.ndarray:
    counts = np.zeros(sizes)
    np.add.at(counts, tuple(table[name].to_numpy() for name in table.column_names), 1)
    return counts


@pytest.mark.parametrize("sizes", [(5, 4), (3, 4, 2), (2, 3, 2, 3)])
def test_a_small_table_comes_back_as_it_was_at_a_large_epsilon(sizes, tmp_path):
    """Of at most 36 cells with 9/10 of ε = 30, one is off with probability 36 · 2
    exp(-27) = 1.4e-10.
    """
    rows = correlated(700, *sizes)
    release, _ = ran(
        tmp_path, Adaptive(), described(*sizes), rows, epsilon="30", delta="0"
    )
    assert np.array_equal(joint(release.sample(), *sizes), joint(rows, *sizes))


@pytest.mark.parametrize("sizes", [(8, 20), (5, 6, 7)])
def test_it_is_nearer_than_with_gaussian_noise(sizes, tmp_path):
    """By a factor of about three; the mean of 3 runs strays by a twentieth of itself."""
    rows = correlated(5_000, *sizes)
    off = {}
    for delta in ("0", "1e-9"):
        releases = [
            ran(tmp_path, Adaptive(), described(*sizes), rows, delta=delta)[0]
            for _ in range(3)
        ]
        off[delta] = np.mean(
            [
                np.abs(joint(r.sample(), *sizes) - joint(rows, *sizes)).sum()
                for r in releases
            ]
        )
    assert off["0"] < 0.7 * off["1e-9"]


@pytest.mark.parametrize("epsilon", ["1e-200", "1e-5", "1e6"])
def test_odd_budgets_are_judged_too(epsilon):
    assert chosen(described(3, 4, 5), epsilon) in Accounting


def test_a_huge_epsilon_is_spent_without_noise(tmp_path):
    rows = correlated(300, 3, 4, 5)
    release, _ = ran(
        tmp_path, Adaptive(), described(3, 4, 5), rows, epsilon="1e6", delta="0"
    )
    assert np.array_equal(joint(release.sample(), 3, 4, 5), joint(rows, 3, 4, 5))


def test_a_plan_says_where_another_noise_is_smaller_and_what_it_costs():
    few, many = (
        plan(described(*(6,) * columns), epsilon=1, outlook=False)
        for columns in (3, 12)
    )
    assert "guess right up to 73.1 times in 100" in few.warnings[-1]
    assert "card's bounds" in few.warnings[-1]
    assert few.accounting is Accounting.GDP
    assert many.warnings == ()
    assert plan(described(6, 6, 6), epsilon=1, delta=0, outlook=False).warnings == ()
