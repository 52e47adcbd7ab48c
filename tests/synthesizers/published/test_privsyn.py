"""PrivSyn: which pairs it buys, what it pays for them, and the rows that come out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kit.models.build import listed, measured, schema_of
from kit.synthesizers.noise import honest
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.models import ConditionalModel
from understudy.synthesizers import Workload, ignore_progress
from understudy.synthesizers.published import privsyn
from understudy.synthesizers.published.privsyn import PrivSyn
from understudy.testing import conformance
from understudy.testing.trial import TRIAL_DELTA, TRIAL_EPSILON

SETTINGS = {
    "default": PrivSyn(),
    "as published": PrivSyn(occupied=False, shrink=False),
    "pairs": PrivSyn(largest=1),
    "thrifty": PrivSyn(selection=Fraction(1, 50), singles=Fraction(1, 3)),
}


@pytest.mark.usefixtures("shared_trials")
@pytest.mark.parametrize(
    "judge", conformance.CONFORMANCE_CHECKS, ids=lambda judge: judge.__name__
)
def test_conforms_as_published(judge, open_curator):
    """The default is judged with all others, in test_check.py."""
    judge(SETTINGS["as published"], open_curator)


ROWS = 16 * 12 * 20


def table():
    """Two pairs of twins, and every combination of them equally often: pairs are either
    the same or exactly independent.
    """
    schema = schema_of(16, 16, 12, 12)
    a, c = (np.arange(ROWS) % 16, np.arange(ROWS) // 16 % 12)
    cells = {
        n: [f"{n}{code}" for code in codes]
        for n, codes in zip("abcd", (a, a, c, c), strict=True)
    }
    return schema, cells


def bought(
    open_curator, method, *, epsilon=TRIAL_EPSILON, delta=TRIAL_DELTA, made=None
):
    neighbours = Neighbours.ADD_REMOVE
    schema, rows = made or table()
    curator = open_curator(
        schema,
        rows,
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        neighbours=neighbours,
    )
    return (
        schema,
        rows,
        curator,
        method.measure(curator, Workload.of_order(schema), ignore_progress),
    )


@pytest.mark.parametrize("delta", [Fraction(0), TRIAL_DELTA])
@pytest.mark.parametrize("occupied", [True, False], ids=["default", "as published"])
def test_dependent_pairs_are_measured_and_others_are_not(occupied, delta, open_curator):
    """Noise takes an independent pair for a dependent one where it is 7 deviations (20
    scales of Laplace noise) large.

    That is, if single columns are known well: their noise makes every pair look
    dependent, and with a tenth of the budget it did so once in twenty-five runs.
    """
    *_, found = bought(
        open_curator,
        PrivSyn(occupied=occupied, shrink=occupied, singles=Fraction(3, 10)),
        delta=delta,
    )
    assert {m.clique for m in found if len(m.clique) > 1} == {("a", "b"), ("c", "d")}


@pytest.mark.parametrize("delta", [Fraction(0), TRIAL_DELTA])
def test_a_tenth_for_selection_a_tenth_for_one_ways_the_rest_for_pairs(
    delta, open_curator
):
    *_, found = bought(
        open_curator, PrivSyn(occupied=False, largest=1), delta=delta
    )  # pairs, whatever noise adds to them
    singles = sum(m.cost.amount for m in found if len(m.clique) == 1)
    others = {m.clique: m.cost.amount for m in found if len(m.clique) > 1}
    assert float(sum(others.values()) / singles) == pytest.approx(8, rel=1e-3)
    power = 2 / 3 if delta else 1 / 2
    ratio = float(others["a", "b"] / others["c", "d"])
    assert (
        1 < ratio <= 2**power * 1.001
    )  # 256 and 144 cells, each taken for a power of √2


@pytest.mark.parametrize("delta", [Fraction(0), TRIAL_DELTA])
def test_every_cell_is_noised_the_empty_ones_too(delta, open_curator):
    """μ, or ε, recomputed from returned minus exact counts never exceeds what was paid;
    a mutant that spares empty cells does.
    """
    schema = schema_of(80, 80)
    rows = {
        "a": [f"a{i % 3}" for i in range(500)],
        "b": [f"b{i % 3}" for i in range(500)],
    }
    *_, curator, found = bought(
        open_curator, PrivSyn(), epsilon=Fraction(6), delta=delta, made=(schema, rows)
    )
    assert ("a", "b") in found
    assert Fraction(0) <= curator.share_left <= Fraction(1, 100)
    assert honest(schema, rows, found)
    assert not honest(schema, rows, found, mutant="spare")
    assert not honest(schema, rows, found, mutant="halve")


def test_independence_is_judged_by_paid_one_ways_with_sensitivity_one(open_curator):
    """Noise on InDif of six pairs: one row moves each of them by one, so scale 6/ε' at
    a tenth of a pure budget, in grid units.
    """
    from understudy.curator.mechanisms.scores import SCORE_GRID

    schema, rows = table()
    seen = {}

    class Watched:
        def __init__(self, inner):
            self.inner = inner

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def errors(self, estimates, *, share):
            seen.update(self.inner.errors(estimates, share=share))
            return dict(seen)

    curator = open_curator(
        schema,
        rows,
        epsilon=Fraction(6),
        delta=Fraction(0),
        neighbours=Neighbours.ADD_REMOVE,
    )
    PrivSyn().measure(Watched(curator), Workload.of_order(schema), ignore_progress)
    assert len(seen) == 6
    assert {d.scale / SCORE_GRID for d in seen.values()} == {
        Fraction(6) / Fraction(6, 10)
    }


def test_where_no_pair_is_worth_its_noise_columns_are_sharpened(open_curator):
    _, _, curator, found = bought(
        open_curator, PrivSyn(occupied=False), epsilon=Fraction(1, 100)
    )
    assert {len(m.clique) for m in found} == {1}
    assert curator.share_left <= Fraction(1, 100)


@pytest.mark.parametrize("method", SETTINGS.values(), ids=SETTINGS)
def test_pairs_of_the_rows_are_learned(method, open_curator):
    schema, rows, _, found = bought(open_curator, method, epsilon=Fraction(50))
    model = method.estimate(schema, found, np.random.default_rng(0))
    codes = {n: [schema.codecs[n].code(v) for v in rows[n]] for n in schema}
    for pair in (("a", "b"), ("c", "d")):
        truth = np.zeros(schema.sizes(pair))
        np.add.at(truth, (codes[pair[0]], codes[pair[1]]), 1)
        assert 0.5 * np.abs(model.marginal(pair) - truth).sum() / ROWS < 0.05


def test_several_looks_at_one_marginal_are_pooled():
    schema = schema_of(2, 2)
    looks = listed(
        measured(("a",), [50, 50]),
        measured(("b",), [50, 50]),
        measured(("a", "b"), [[50, 0], [0, 50]], scale=1),
        measured(("b", "a"), [[0, 50], [50, 0]], scale=20),
    )
    targets = PrivSyn(shrink=False).target_marginals(schema, looks, 100.0)
    assert targets["a", "b"][0, 0] > 49


def test_its_model_says_that_it_cannot_complete_rows():
    looks = listed(measured(("a",), [5, 5]), measured(("b",), [5, 5]))
    assert not isinstance(
        PrivSyn().estimate(schema_of(2, 2), looks, np.random.default_rng(0)),
        ConditionalModel,
    )


def test_a_table_has_no_more_rows_than_allowed():
    looks = listed(measured(("a",), [500, 700]))
    model = PrivSyn(most_rows=100).estimate(
        schema_of(2), looks, np.random.default_rng(0)
    )
    assert (model.rows, model.total) == (100, 1200)
    assert np.bincount(
        model.sample(1200, np.random.default_rng(0))["a"]
    ) == pytest.approx([500, 700], abs=12)


@pytest.mark.parametrize(
    "options",
    [
        {"selection": 0},
        {"singles": 0},
        {"selection": Fraction(1, 2), "singles": Fraction(1, 2)},
        {"largest": 0},
    ],
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(Refused, match="privsyn"):
        PrivSyn(**options)


def test_a_marginal_of_many_columns_keeps_what_its_sums_tell(monkeypatch):
    """Ten two-valued columns, of which the first two are equal: every cell drowns in
    noise, the pair does not.
    """
    schema, rng = schema_of(*[2] * 10), np.random.default_rng(0)
    truth = np.zeros((2,) * 10)
    truth[0, 0], truth[1, 1] = (
        20.0,
        20.0,
    )  # 10,240 rows, twenty in every cell that can be
    looks = [
        measured(
            tuple(schema), truth + np.rint(rng.normal(0, 20, truth.shape)), scale=14
        )
    ]
    looks += [measured((name,), [5120, 5120]) for name in schema]

    def equal() -> float:
        table = (
            PrivSyn()
            .target_marginals(schema, listed(*looks), 10240.0)[tuple(schema)]
            .sum(axis=tuple(range(2, 10)))
        )
        return float(table[0, 0] + table[1, 1])

    kept = equal()
    monkeypatch.setattr(privsyn, "MAX_SHRUNK_COLUMNS", 10)
    assert kept > equal() + 500
