"""The three modes by name: what each asks, what each costs, and a description that rows
are sampled from.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kit.models.build import schema_of
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.models import NetworkModel, ProductModel
from understudy.schema import Boolean, Integer, Schema
from understudy.synthesizers import Workload, ignore_progress
from understudy.synthesizers.published.datasynthesizer import DataSynthesizer
from understudy.testing import conformance
from understudy.testing.trial import run_trial

RNG = np.random.default_rng(0)

MODES = {
    "random": DataSynthesizer(mode="random"),
    "independent": DataSynthesizer(mode="independent"),
    "correlated": DataSynthesizer(),
    "correlated, two parents": DataSynthesizer(k=2),
}

FAST = [
    judge
    for judge in conformance.CONFORMANCE_CHECKS
    if judge is not conformance.check_many_columns
]


@pytest.mark.usefixtures("shared_trials")
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "correlated"])
def test_conforms(mode, open_curator):
    """The default is judged with all others, in tests/testing/test_conformance.py."""
    for judge in FAST:
        judge(MODES[mode], open_curator)


@pytest.mark.parametrize("mode", ["random", "independent"])
def test_sixty_columns_are_no_trouble(mode, open_curator):
    conformance.check_many_columns(MODES[mode], open_curator)


def asked(
    open_curator,
    synthesizer,
    *,
    sizes=(2, 2, 2, 2, 2),
    epsilon=1,
    delta=0,
    neighbours=Neighbours.REPLACE,
):
    schema = schema_of(*sizes)
    rng = np.random.default_rng(1)
    base = rng.integers(0, 2, 200)
    cells = {
        n: [f"{n}{v}" for v in np.where(rng.random(200) < 0.8, base, 1 - base)]
        for n in schema
    }
    curator = open_curator(
        schema,
        cells,
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        neighbours=neighbours,
    )
    return (
        schema,
        curator,
        synthesizer.measure(curator, Workload.of_order(schema), ignore_progress),
    )


def test_random_asks_nothing(open_curator):
    """Type-consistent values at ε = 0."""
    _, curator, found = asked(open_curator, MODES["random"])
    assert (len(found), curator.share_left) == (0, 1)
    assert not MODES["random"].reads_rows
    assert DataSynthesizer.reads_rows
    model = DataSynthesizer(mode="random", rows=50).estimate(
        schema_of(2, 5), found, RNG
    )
    assert (model.total, np.bincount(model.sample(50, RNG)["b"]).tolist()) == (
        50,
        [10] * 5,
    )


@pytest.mark.parametrize(("columns", "epsilon"), [(1, "1"), (5, "0.5"), (8, "2")])
def test_independent_noise_is_the_textbooks(columns, epsilon, open_curator):
    """Each column gets ε/d; one row moves two cells: scale 2d/ε on counts, 2d/(εn) on
    frequencies.
    """
    _, _, found = asked(
        open_curator, MODES["independent"], sizes=[4] * columns, epsilon=epsilon
    )
    histograms = [m for m in found if m.clique]
    assert len(histograms) == columns
    for m in histograms:
        assert m.law is Law.DISCRETE_LAPLACE
        assert 0 <= m.scale - 2 * columns / Fraction(epsilon) < Fraction(1, 2**20)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_budget_is_halved_between_structure_and_tables(k, open_curator):
    """d − k tables share half of ε: scale 2(d − k)/(ε/2). The other half chose the
    network.
    """
    _, curator, found = asked(open_curator, DataSynthesizer(k=k), epsilon=2)
    tables = [m for m in found if m.clique]
    assert [len(m.clique) for m in tables] == [k + 1] * (5 - k)
    spent = sum(m.cost.amount for m in tables)
    assert Fraction(999, 1000) <= spent <= 1
    assert all(0 <= m.scale - 2 * (5 - k) < Fraction(1, 2**18) for m in tables)
    assert curator.share_left < Fraction(1, 1000)


def test_k_is_the_most_parents_of_any_column(open_curator):
    for k in (1, 2):
        schema, _, found = asked(open_curator, DataSynthesizer(k=k), epsilon=5)
        model = DataSynthesizer(k=k).estimate(schema, found, RNG)
        assert isinstance(model, NetworkModel)
        assert max(len(node.parents) for node in model.nodes) == k


def test_correlated_keeps_what_independent_forgets(open_curator):
    """Two columns that agree four times out of five, with hardly any noise."""
    agreement = {}
    for mode in ("independent", "correlated"):
        schema, _, found = asked(open_curator, DataSynthesizer(mode=mode), epsilon=100)
        pair = (
            DataSynthesizer(mode=mode).estimate(schema, found, RNG).marginal(("a", "b"))
        )
        agreement[mode] = pair.trace() / pair.sum()
    assert agreement["correlated"] - agreement["independent"] > 0.1


@pytest.mark.parametrize("neighbours", Neighbours)
def test_private_numbers_of_rows_are_served_too(neighbours, open_curator):
    _, curator, found = asked(
        open_curator, DataSynthesizer(), neighbours=neighbours, delta="1e-6"
    )
    assert curator.share_left < Fraction(1, 100)
    assert {m.law for m in found if m.clique} == {Law.ROUNDED_GAUSSIAN}


@pytest.mark.parametrize("mode", ["independent", "correlated"])
def test_a_missing_value_is_a_value(mode, open_curator):
    """It has a code of its own, a noisy count, and comes back in the rows; where it
    goes with another column, it still does.
    """
    schema = Schema(
        columns=(
            Boolean(name="asked", nullable=False),
            Integer(name="age", min=0, max=1),
        )
    )
    rows = {"asked": [True, False] * 200, "age": [1, None] * 200}
    trial = run_trial(
        DataSynthesizer(mode=mode), open_curator, schema, rows, epsilon=Fraction(50)
    )
    assert trial is not None
    shares = trial.model.marginal(("age",)) / trial.model.total
    assert shares.shape == (3,)
    assert shares[-1] == pytest.approx(0.5, abs=0.02)
    sample = trial.model.sample(1000, RNG)
    tied = np.mean((sample["age"] == 2) == (sample["asked"] == 0))
    assert tied > 0.95 if mode == "correlated" else 0.4 < tied < 0.6
    assert isinstance(
        trial.model, NetworkModel if mode == "correlated" else ProductModel
    )


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "magic"},
        {"mode": "independent", "k": 2},
        {"mode": "random", "k": 2},
        {"k": -1},
        {"rows": 5},
        {"mode": "random", "rows": -1},
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(Refused, match="Nothing was spent"):
        DataSynthesizer(**options)
