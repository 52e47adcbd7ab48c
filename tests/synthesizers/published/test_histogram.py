"""The whole domain: clamped, rescaled or projected, and refused where it is too large."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.models.build import listed, measured, schema_of
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.models import default_rows
from understudy.models.estimates.consistency import clamp_bias
from understudy.schema import Categorical, Schema
from understudy.synthesizers import Histogram, Workload, ignore_progress

SCHEMA = schema_of(2, 3)
NOISY = np.array([[5, -2, 0], [1, -1, 3]])
RNG = np.random.default_rng(0)


def fitted(how: str, values=NOISY, schema=SCHEMA):
    return Histogram(fit=how).estimate(
        schema, listed(measured(("a", "b"), values)), np.random.default_rng(0)
    )


def test_clamping_gives_as_many_copies_as_the_noisy_count_says():
    model = fitted("clamp")
    assert model.total == 9
    rows = model.sample(default_rows(model), np.random.default_rng(0))
    counts = np.zeros((2, 3), int)
    np.add.at(counts, (rows["a"], rows["b"]), 1)
    assert counts.tolist() == [[5, 0, 0], [1, 0, 3]]


def test_rescaling_keeps_the_pooled_total():
    model = fitted("rescale")
    assert model.total == 6
    assert model.marginal(("a", "b")) == pytest.approx(np.maximum(NOISY, 0) * 6 / 9)


def test_projection_keeps_the_total_and_takes_off_one_constant():
    model = fitted("project")
    assert model.total == 6
    assert model.marginal(("a", "b")) == pytest.approx(np.array([[4, 0, 0], [0, 0, 2]]))


@given(
    st.lists(st.integers(-9, 9), min_size=6, max_size=6),
    st.sampled_from(["project", "clamp", "rescale"]),
)
def test_counts_are_never_negative_and_sum_to_the_total(values, how):
    model = fitted(how, np.array(values).reshape(2, 3))
    marginal = model.marginal(("b", "a"))
    assert np.all(marginal >= 0)
    assert marginal.sum() == pytest.approx(model.total)
    assert sum(values) > 0 or how == "clamp" or default_rows(model) == 0


def test_an_empty_domain_is_filled_by_clamping_alone():
    """Ten thousand empty cells at scale 2: clamping invents t/(1 - t²) = .96 rows in
    each; projection keeps to the total.
    """
    from understudy.accounting.law import Law
    from understudy.noise import draw_noise

    schema = schema_of(100, 100)
    noise = draw_noise(Law.DISCRETE_LAPLACE, Fraction(2), (100, 100))
    look = listed(measured(("a", "b"), noise, scale=2))
    clamped = Histogram(fit="clamp").estimate(schema, look, RNG).total
    spread = (
        1.74 / 100
    )  # sd of max(G, 0) at this scale, and of its mean over ten thousand cells
    assert clamped / 10_000 == pytest.approx(clamp_bias(2.0), abs=5 * spread)
    assert Histogram(fit="project").estimate(schema, look, RNG).total == pytest.approx(
        max(noise.sum(), 0)
    )


def test_a_large_domain_is_refused_before_anything_is_spent():
    schema = schema_of(*[10] * 7)
    with pytest.raises(
        Refused,
        match=r"10,000,000 cells, more than 1,000,000.*stability.*Nothing was spent",
    ):
        Histogram().check(schema, delta=Fraction(0))
    Histogram(limit=10**7).check(schema, delta=Fraction(0))
    with pytest.raises(Refused, match=r"10\^26 cells"):
        Histogram().check(schema_of(*[10] * 26), delta=Fraction(0))


def test_what_is_known_of_an_open_schema_is_enough_to_refuse():
    schema = schema_of(*[10] * 7)
    opened = Schema(columns=(*schema.columns, Categorical(name="open")))
    with pytest.raises(Refused, match="cells"):
        Histogram().check(opened, delta=Fraction(0))


@pytest.mark.parametrize("options", [{"fit": "guess"}, {"limit": 0}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(Refused, match="histogram"):
        Histogram(**options)


@pytest.mark.parametrize(
    ("sizes", "accounting", "bought"),
    [
        ((30, 30), Accounting.GDP, True),
        ((2, 3), Accounting.GDP, False),
        ((10, 10), Accounting.PURE, False),
        ((30, 30), Accounting.PURE, True),
    ],
)
def test_the_number_of_rows_is_measured_where_a_sum_over_cells_is_noisier(
    open_curator, sizes, accounting, bought
):
    """√900 cells is more than √20 and more than 20; √100 is more than the first alone."""
    schema = schema_of(*sizes)
    rows = {name: ["0"] * 50 for name in schema}
    curator = open_curator(
        schema,
        rows,
        epsilon=Fraction(2),
        delta=Fraction(0) if accounting is Accounting.PURE else Fraction("1e-6"),
        neighbours=Neighbours.ADD_REMOVE,
    )
    found = Histogram().measure(curator, Workload.of_order(schema), ignore_progress)
    assert [m.clique for m in found].count(()) == bought
    assert curator.share_left < Fraction(1, 1000)


def test_a_public_number_of_rows_is_not_paid_for(open_curator):
    schema = schema_of(30, 30)
    curator = open_curator(
        schema,
        {name: ["0"] * 50 for name in schema},
        epsilon=Fraction(2),
        delta=Fraction("1e-6"),
        neighbours=Neighbours.REPLACE,
    )
    found = Histogram().measure(curator, Workload.of_order(schema), ignore_progress)
    assert all(not m.scale for m in found if m.clique == ())
