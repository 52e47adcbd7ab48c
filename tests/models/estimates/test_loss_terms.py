"""Terms: the same loss as the measurements they stand for, up to a constant."""

from __future__ import annotations

import numpy as np
import pytest

from kit.models.build import listed, measured, schema_of
from understudy.measurements import Centring, Identity, Partition
from understudy.models.estimates.loss_terms import (
    MIN_TERM_VARIANCE,
    Term,
    single_column_terms,
    terms_of,
)
from understudy.models.estimates.noise_moments import cell_variance


def test_repeated_measurements_in_any_order_of_columns_become_one() -> None:
    schema = schema_of(2, 3)
    one = measured(("a", "b"), [[1, 2, 3], [4, 5, 6]], scale=3)
    two = measured(("b", "a"), [[1, 4], [2, 5], [3, 12]], scale=3)
    (term,) = terms_of(schema, listed(one, two))
    assert term.clique == ("a", "b")
    assert term.values.tolist() == [[1, 2, 3], [4, 5, 9]]
    assert term.variance == pytest.approx(cell_variance(one) / 2)


def test_merging_changes_the_loss_by_a_constant() -> None:
    rng = np.random.default_rng(0)
    schema = schema_of(4)
    looks = [measured(("a",), rng.integers(0, 90, 4), scale=s) for s in (2, 5, 9)]
    (term,) = terms_of(schema, listed(*looks))

    def apart(x: np.ndarray) -> float:
        whole = sum(
            float(np.sum((x - m.values) ** 2)) / cell_variance(m) for m in looks
        )
        return whole - float(np.sum((x - term.values) ** 2)) / term.variance

    assert apart(rng.normal(50, 20, 4)) == pytest.approx(apart(np.zeros(4)))


def test_different_maps_stay_different_questions() -> None:
    schema = schema_of(3)
    looks = listed(
        measured(("a",), [1, 2, 3]),
        measured(("a",), [3, 3], maps=(Partition((0, 0, 1)),)),
        measured(("a",), [0, 0, 0], maps=(Centring(3),)),
    )
    assert len(terms_of(schema, looks)) == 3


@pytest.mark.parametrize(
    "maps",
    [
        (Partition((0, 1, 0)), Centring(2)),
        (Centring(4), Identity(3)),
        (Centring(3), Centring(5)),
    ],
)
def test_a_map_and_its_transpose_are_those_of_the_matrices(maps) -> None:
    rng = np.random.default_rng(1)
    shape, out = [m.size for m in maps], [m.out for m in maps]
    (term,) = terms_of(
        schema_of(*shape), listed(measured(("a", "b"), np.ones(out), maps=maps))
    )
    dense = np.kron(maps[0].matrix(), maps[1].matrix()).astype(float)
    table, weights = rng.normal(size=shape), rng.normal(size=out)
    assert np.allclose(term.answer(table).ravel(), dense @ table.ravel())
    assert np.allclose(term.to_potential(weights).ravel(), dense.T @ weights.ravel())
    assert np.allclose(term.square(table).ravel(), dense**2 @ table.ravel())
    centred = [m.size for m in maps if isinstance(m, Centring)]
    assert term.row_variance == pytest.approx(term.variance / np.prod(centred) ** 2)


def test_single_columns_are_sums_with_the_noise_of_all_summed_cells() -> None:
    schema = schema_of(2, 3)
    (term,) = terms_of(
        schema, listed(measured(("a", "b"), [[1, 2, 3], [4, 5, 6]], scale=4))
    )
    a, b = single_column_terms(term)
    assert (a.clique, a.values.tolist(), a.variance) == (
        ("a",),
        [6, 15],
        pytest.approx(3 * term.variance),
    )
    assert (b.clique, b.values.tolist(), b.variance) == (
        ("b",),
        [5, 7, 9],
        pytest.approx(2 * term.variance),
    )


def test_a_centred_axis_leaves_nothing_to_sum() -> None:
    schema = schema_of(2, 2)
    (term,) = terms_of(
        schema,
        listed(
            measured(("a", "b"), [[1, -1], [-2, 2]], maps=(Identity(2), Centring(2)))
        ),
    )
    assert [t.clique for t in single_column_terms(term)] == [("b",)]


def test_exact_answers_keep_a_variance_that_floats_can_work_with() -> None:
    (term,) = terms_of(schema_of(2), listed(measured(("a",), [3, 4], scale=0)))
    assert term.variance == MIN_TERM_VARIANCE


def test_answers_in_rows_are_what_is_left_of_the_cells_when_sums_are_taken_off() -> (
    None
):
    counts = np.random.default_rng(6).normal(size=(2, 5, 3))
    term = Term(
        ("a", "b", "c"),
        (Centring(2), Identity(5), Centring(3)),
        np.zeros((2, 5, 3)),
        9.0,
    )
    wanted = counts - counts.mean(axis=0, keepdims=True)
    wanted = wanted - wanted.mean(axis=2, keepdims=True)
    assert np.allclose(term.to_rows(term.answer(counts)), wanted)
    plain = Term(("a",), (Identity(2),), np.zeros(2), 9.0)
    assert np.array_equal(plain.to_rows(np.array([3.0, 4.0])), [3.0, 4.0])
