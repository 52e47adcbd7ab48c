"""The stages of a run, each by itself on a real curator."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kit.synthesizers.chains import chain_of_labels
from understudy.accounting.neighbours import Neighbours
from understudy.decisions import Verdict
from understudy.synthesizers import Workload, ignore_progress
from understudy.synthesizers.adaptive.adaptive import Adaptive
from understudy.synthesizers.adaptive.candidates import BudgetShare, allocate_budget
from understudy.synthesizers.adaptive.constants import MIN_BUDGET_PART
from understudy.synthesizers.adaptive.first_measurement import FirstMeasurement
from understudy.synthesizers.adaptive.questions import add_columns, score_candidates
from understudy.synthesizers.adaptive.stages import (
    measure_few_columns,
    measure_forest,
    measure_tree,
    measure_triples,
    remeasure_columns,
)
from understudy.synthesizers.shared.spanning import spanning_forest


@pytest.fixture
def begin(open_curator):
    """A run after its first measurement of the columns."""

    def start(columns=8, size=4, rows=6000, epsilon="5", delta="1e-6", **options):
        schema, table = chain_of_labels(columns=columns, size=size, rows=rows)
        curator = open_curator(
            schema,
            table,
            epsilon=Fraction(epsilon),
            delta=Fraction(delta),
            neighbours=Neighbours.ADD_REMOVE,
        )
        settings = Adaptive(**options).settings
        look = FirstMeasurement(curator, Workload.of_order(schema), settings)
        first = curator.measure(
            look.singles,
            share=settings.singles,
            weights=list(look.first_parts.values()),
        )
        run, state = look.start(curator.discovered_measurements, first, ignore_progress)
        return look, run, state

    return start


def new_cliques(before, after):
    return [m.clique for m in after.measurements][len(before.measurements) :]


def test_the_forest_is_a_forest_and_decisions_say_why(begin):
    look, run, state = begin()
    after = measure_forest(run, state, look.pairs)
    asked = new_cliques(state, after)
    assert asked
    assert list(spanning_forest(asked)) == asked
    assert after.measured == tuple(asked)
    verdicts = {d.clique: d for d in after.decisions}
    assert set(verdicts) == set(look.pairs)
    assert {r for r, d in verdicts.items() if d.verdict is Verdict.MEASURED} == set(
        asked
    )
    for decision in after.decisions:
        assert decision.stage == "forest"
        assert decision.noisy_distance is not None
        assert decision.prior_variance >= 0
        assert (decision.part > MIN_BUDGET_PART) >= (
            decision.verdict is Verdict.MEASURED
        )
    # Neighbours in the chain are the strongest pairs.
    strongest = max(after.decisions, key=lambda d: d.prior_variance).clique
    assert ord(strongest[1]) - ord(strongest[0]) == 1


def test_a_stage_leaves_the_state_before_it_as_it_was(begin):
    look, run, state = begin()
    before = (len(state.measurements), state.measured, dict(state.distances))
    measure_forest(run, state, look.pairs)
    assert (len(state.measurements), state.measured, dict(state.distances)) == before


def test_the_tree_stage_reserves_what_triples_gain_more_by(begin):
    """The triples' share is left, and the stage after it spends it on them."""
    look, run, state = begin(cells=400)
    assert not run.is_jointly_fitted
    state = measure_forest(run, state, look.pairs)
    after = measure_tree(run, state, look.pairs)
    assert {len(r) for r in new_cliques(state, after)} <= {1, 2}
    assert run.curator.share_left == pytest.approx(float(after.reserved), abs=0.01)
    last = measure_triples(run, after)
    if after.reserved:
        assert {len(r) for r in new_cliques(after, last)} <= {3}
        assert run.curator.share_left < Fraction(1, 1000)
    else:
        assert last is after


def test_a_column_that_pairs_inform_says_so(begin):
    _, run, state = begin()
    _, candidates = score_candidates(run, state, [("a", "b")])
    shares = {("a", "b"): BudgetShare(0.0, 50.0)}
    informed = state.with_decisions("tree", candidates, shares, {})
    assert [d.verdict for d in informed.decisions] == [Verdict.INFORMED]
    without = state.with_decisions("tree", candidates, {}, {})
    assert [d.verdict for d in without.decisions] == [Verdict.NO_GAIN]


def test_one_tree_for_everything_takes_all_that_is_left(begin):
    look, run, state = begin(columns=5, size=3, epsilon="20")
    assert run.is_jointly_fitted
    after = measure_tree(run, state, look.pairs)
    assert {d.stage for d in after.decisions} == {"joint"}
    measured = [d for d in after.decisions if d.is_measured]
    assert sum(d.part for d in measured) == pytest.approx(1)
    assert max(d.gain for d in measured) > 0
    assert max(map(len, new_cliques(state, after))) == 3
    assert run.curator.share_left < Fraction(1, 500)
    assert measure_triples(run, after) is after


def test_few_columns_of_a_pure_run_are_measured_at_once(begin):
    _, run, state = begin(columns=3, size=3, delta="0")
    after = measure_few_columns(run, state)
    assert max(map(len, new_cliques(state, after))) > 1
    assert run.curator.share_left < Fraction(1, 1000)


def test_columns_again_lower_their_error(begin):
    look, run, state = begin()
    _, candidates = score_candidates(run, state, look.pairs)
    before = add_columns(run, state, {}, candidates)
    after = remeasure_columns(run, state, look.last_columns, Fraction(1, 2))
    again = add_columns(run, after, {}, candidates)
    assert all(again[r].distance < 0.7 * before[r].distance for r in before)


@pytest.mark.parametrize(("epsilon", "order"), [("1/1000", 1), ("2", 2)])
def test_columns_compete_with_pairs(epsilon, order, begin):
    """Where noise hides all pairs the budget goes to the columns, else to the chain."""
    look, run, state = begin(epsilon=epsilon)
    state, candidates = score_candidates(run, state, look.pairs)
    together = add_columns(run, state, candidates, candidates)
    shares = allocate_budget(together, run.power)
    assert set(shares) == {*look.pairs, *((name,) for name in run.sizes)}
    same = sum(share.part for r, share in shares.items() if len(r) == order)
    assert same > 0.9
