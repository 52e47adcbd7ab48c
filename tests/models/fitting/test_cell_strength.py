"""Cells that stand out: the answers given to a fit move every cell to where its own
strength would.
"""

from __future__ import annotations

import numpy as np
import pytest

from understudy.measurements import AxisMap, Centring, Identity, Partition
from understudy.models.estimates.loss_terms import Term
from understudy.models.fitting.cell_strength import adjust_cell_answers
from understudy.models.fitting.marginal_strength import shrink_terms_to_expected
from understudy.models.fitting.max_entropy import fit_max_entropy, typical_noise
from understudy.models.inference.calibration import Calibration
from understudy.models.inference.junction_tree import JunctionTree


def sparse(
    rng: np.random.Generator, noise: float = 30.0
) -> tuple[Term, np.ndarray, np.ndarray]:
    """A table of 400 cells of which 20 hold all that differs, seen through noise; what
    is expected, and the truth.
    """
    expected = np.full((20, 20), 50.0)
    true = expected - 20 + 400 * np.eye(20)
    noisy = true + rng.normal(0, noise, true.shape)
    return (
        Term(("a", "b"), (Identity(20), Identity(20)), noisy, noise**2),
        expected,
        true,
    )


def moved(term: Term, expected: np.ndarray, strength: float) -> np.ndarray:
    """Where a real fit with penalty N·KL moves the counts."""
    sizes = dict(zip(term.clique, expected.shape, strict=True))
    oracle = Calibration(JunctionTree.of([term.clique], sizes), [term.clique], sizes)
    total = float(expected.sum())
    asked = Term(term.clique, term.maps, term.values, term.variance / strength)
    base, weight = {term.clique: np.log(expected / total)}, typical_noise([asked])
    found = fit_max_entropy(
        oracle, [asked], total, base=base, shrinkage=weight, tolerance=1e-9
    )
    return total * oracle.run(found.potentials)[0][term.clique]


def test_a_few_cells_that_stand_out_are_believed_and_the_noise_of_the_others_is_not() -> (
    None
):
    rng, far = np.random.default_rng(0), []
    for _ in range(20):
        term, expected, true = sparse(rng)
        ((plain,), (told,)) = (
            [t.values for t in made]
            for made in ([term], shrink_terms_to_expected([(term, expected)])[0])
        )
        strength = (
            term.variance / shrink_terms_to_expected([(term, expected)])[0][0].variance
        )
        by = [
            np.abs(
                moved(
                    Term(term.clique, term.maps, v, term.variance), expected, strength
                )
                - true
            ).sum()
            for v in (plain, told)
        ]
        far.append(by)
    one, own = np.mean(far, axis=0)
    assert own < 0.9 * one


def test_cells_that_are_all_alike_keep_their_answers() -> None:
    rng = np.random.default_rng(1)
    expected = np.full((30, 30), 100.0)
    noisy = expected + rng.normal(0, np.sqrt(100 * 9 + 400.0), expected.shape)
    term = Term(("a", "b"), (Identity(30), Identity(30)), noisy, 400.0)
    (values,) = adjust_cell_answers([(term, expected)], np.array([9.0]), [9.0])
    assert np.abs(values - noisy).mean() < 0.25 * np.abs(noisy - expected).mean()


def test_a_fit_moves_a_cell_to_where_its_own_strength_would() -> None:
    term, expected, _ = sparse(np.random.default_rng(2))
    totals = term.values * (expected.sum() / term.values.sum())
    term = Term(term.clique, term.maps, totals, term.variance)
    (values,) = adjust_cell_answers([(term, expected)], np.array([30.0]), [5.0])
    gone = moved(Term(term.clique, term.maps, values, term.variance), expected, 5.0)
    # Alone, m + (v / f) log(m / e) = answer; one constant makes the sum right.
    logs = np.log(gone / expected)
    apart = gone + term.variance / 5.0 * logs - values
    assert np.ptp(apart) < 1e-2 * np.abs(values).max()


@pytest.mark.parametrize(
    "axes", [(Centring(2), Identity(6)), (Centring(2), Centring(2))]
)
def test_differences_stay_differences(axes: tuple[AxisMap, AxisMap]) -> None:
    rng = np.random.default_rng(3)
    shape = tuple(m.size for m in axes)
    expected = np.full(shape, 200.0)
    term = Term(("a", "b"), axes, np.zeros(shape), 100.0)
    noisy = term.answer(expected + rng.normal(0, 60, shape)) + rng.normal(0, 10, shape)
    (values,) = adjust_cell_answers(
        [(Term(("a", "b"), axes, noisy, 100.0), expected)], np.array([20.0]), [20.0]
    )
    for axis, m in enumerate(axes):
        if isinstance(m, Centring):
            assert np.abs(values.sum(axis=axis)).max() < 1e-6 * np.abs(values).max()
    assert np.corrcoef(values.ravel(), noisy.ravel())[0, 1] > 0.9


def test_coarser_bins_and_single_columns_are_left_alone() -> None:
    binned = Term(
        ("a", "b"),
        (Partition((0, 0, 1)), Identity(2)),
        np.array([[9.0, 1.0], [2.0, 8.0]]),
        4.0,
    )
    single = Term(("a",), (Identity(3),), np.array([3.0, 4.0, 13.0]), 4.0)
    looks = [(binned, np.full((3, 2), 3.3)), (single, np.full(3, 6.6))]
    for (term, _), values in zip(
        looks, adjust_cell_answers(looks, np.array([1.0, 1.0]), [1.0, 1.0]), strict=True
    ):
        assert np.array_equal(values, term.values)


def test_the_cells_of_a_very_large_and_mostly_empty_marginal_are_told_apart_too() -> (
    None
):
    rng = np.random.default_rng(4)
    expected = rng.gamma(0.3, 3.0, (1000, 300))
    noise, far = rng.normal(0, 5, expected.shape), np.zeros(expected.shape)
    far[::10, 0] = 200.0
    term = Term(
        ("a", "b"), (Identity(1000), Identity(300)), expected + far + noise, 25.0
    )
    (values,) = adjust_cell_answers([(term, expected)], np.array([1.0]), [1.0])
    assert np.all(np.isfinite(values))
    assert np.all(
        (values - expected)[far > 0] > 200
    )  # what stands out is believed at least as far as it was seen
