"""Independent columns: pooled, consistent, and by the textbook's noise where asked."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kit.models.build import listed, measured, schema_of
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.synthesizers import Independent, Workload, ignore_progress

RNG = np.random.default_rng(0)


def test_columns_agree_on_one_total():
    looks = listed(measured(("a",), [30, 12]), measured(("b",), [20, 25, -4]))
    model = Independent().estimate(schema_of(2, 3), looks, RNG)
    assert model.total == pytest.approx((42 / 2 + 41 / 3) / (1 / 2 + 1 / 3))
    assert model.marginal(("a",)).sum() == pytest.approx(model.marginal(("b",)).sum())
    assert model.marginal(("b",))[2] == 0


def test_what_discovery_counted_is_used_too():
    """A sharp look at `a` and a vague one: the sharp one leads."""
    looks = listed(
        measured(("a",), [100, 0], scale=1), measured(("a",), [0, 100], scale=10)
    )
    model = Independent().estimate(schema_of(2), looks, RNG)
    assert model.shares["a"][0] > 0.98


def measured_for_real(
    open_curator,
    synthesizer,
    sizes,
    *,
    epsilon,
    delta=0,
    neighbours=Neighbours.ADD_REMOVE,
    rows=40,
):
    schema = schema_of(*sizes)
    cells = {
        name: [f"{name}{i % size}" for i in range(rows)]
        for name, size in zip(schema, sizes, strict=True)
    }
    curator = open_curator(
        schema,
        cells,
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        neighbours=neighbours,
    )
    return synthesizer.measure(curator, Workload.of_order(schema), ignore_progress)


@pytest.mark.parametrize(
    ("columns", "epsilon"), [(1, "1"), (5, "1"), (8, "0.25"), (3, "2.5")]
)
def test_equal_noise_is_the_textbooks(columns, epsilon, open_curator):
    """Each of d columns under replace: discrete Laplace of scale 2d/ε on counts, so
    2d/(εn) on frequencies.
    """
    found = measured_for_real(
        open_curator,
        Independent(equal=True),
        [4] * columns,
        epsilon=epsilon,
        neighbours=Neighbours.REPLACE,
    )
    histograms = [m for m in found if m.clique]
    assert len(histograms) == columns
    for m in histograms:
        assert m.law is Law.DISCRETE_LAPLACE
        assert 0 <= m.scale - 2 * columns / Fraction(epsilon) < Fraction(1, 2**20)
        assert m.cost.amount <= Fraction(epsilon) / columns


def test_the_number_of_rows_is_free_under_replace(open_curator):
    found = measured_for_real(
        open_curator, Independent(), [2, 2], epsilon=1, neighbours=Neighbours.REPLACE
    )
    (total,) = found.of(())
    assert (int(total.values), total.scale, total.cost.amount) == (40, 0, 0)
    assert Independent().estimate(schema_of(2, 2), found, RNG).total == pytest.approx(
        40, abs=1e-6
    )


@pytest.mark.parametrize(("delta", "power"), [("0", 1 / 2), ("1e-6", 2 / 3)])
def test_larger_columns_get_more_of_the_budget(delta, power, open_curator):
    sizes = np.array([2, 16, 54])
    found = measured_for_real(
        open_curator, Independent(), sizes, epsilon=1, delta=delta
    )
    parts = np.array([float(m.cost.amount) for m in found])
    assert parts / parts.sum() == pytest.approx(
        sizes**power / (sizes**power).sum(), rel=1e-3
    )


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_no_other_split_has_a_smaller_mean_error(delta, open_curator):
    """Σ size · scale, the mean L1 error up to a constant: below the equal split's, and
    below that of fifty splits nearby.
    """
    sizes = np.array([2, 16, 54])

    def error(synthesizer):
        found = measured_for_real(
            open_curator, synthesizer, sizes, epsilon=1, delta=delta
        )
        return sum(m.values.size * float(m.scale) for m in found), np.array(
            [float(m.cost.amount) for m in found]
        )

    best, parts = error(Independent())
    assert best < error(Independent(equal=True))[0]
    power = (
        1 if delta == "0" else 1 / 2
    )  # a scale is ∝ 1/part in a pure run, ∝ 1/√part in a Gaussian one
    rng = np.random.default_rng(0)
    here = np.sum(sizes * parts**-power)
    for _ in range(50):
        other = parts * np.exp(rng.normal(0, 0.3, 3))
        other *= parts.sum() / other.sum()
        assert np.sum(sizes * other**-power) >= here * (1 - 1e-6)
