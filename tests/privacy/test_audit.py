"""Every mechanism audited: the loss that can be proven from its answers is never above
its price, and close to it where the price is tight.

A failure of `test_no_answer_tells_more_than_its_price` means a broken promise (or, once
in a million, bad luck). A failure of the shares means that the audit has gone blind, or
that budget is being wasted.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy import stats

from kit.privacy.audit import ALPHA, audited, delta_of, likelihood_ratio, seen
from kit.privacy.cases import (
    ADD_REMOVE,
    CASES,
    COLOURS,
    FIRST,
    GDP,
    LAST,
    PERFORMANCES,
    PURE,
    REPLACE,
    performed,
)
from kit.privacy.checks import (
    AMOUNT,
    BOTH,
    NEITHER,
    PAIRED,
    PLACES,
    POWER,
    check_case,
    check_cells,
    check_outcomes,
    chosen,
    cut,
)
from kit.privacy.world import ask_repeatedly
from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.filter import Filter
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import choice_epsilon_for
from understudy.curator.mechanisms.quantiles import choose_quantiles
from understudy.curator.mechanisms.sparse_histogram import (
    learn_labels,
    measure_sparse_cells,
)
from understudy.noise import exponential_mechanism
from understudy.noise.quantile import ScoreRuns, score_runs
from understudy.noise.tails import tails_of_law
from understudy.schema import Categorical, Integer, Schema

FAST, LONG = 8_000, 80_000
TIGHT = 0.8


@pytest.mark.parametrize("case", CASES + PERFORMANCES, ids=str)
def test_no_answer_tells_more_than_its_price(case):
    check_case(case, FAST)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES + PERFORMANCES, ids=str)
def test_no_answer_tells_more_than_its_price_at_length(case):
    check_case(case, LONG, alpha=ALPHA)


@pytest.mark.parametrize("case", PERFORMANCES, ids=str)
def test_a_synthesizer_pays_for_nearly_all_it_was_given(case):
    """So the audit above is of the run's whole budget, not of a part of it."""
    repeated = ask_repeatedly(case.ask, case.here, case.schema, times=1, **case.options)
    spent = sum(h.cost.amount for h in repeated)
    budget = Budget.of(
        case.options["epsilon"], 0 if case.accounting is PURE else "1e-6"
    )
    half = Fraction(0) if case.accounting is PURE else budget.delta / 2
    total = Filter.of(budget, accounting=case.accounting, threshold_delta=half).total
    assert total * Fraction(99, 100) <= spent <= total


# One large answer: a quarter of a million cells, half of them with one row more than
# the others


@pytest.mark.parametrize("accounting", Accounting)
def test_a_quarter_million_cells_lose_what_is_claimed(accounting):
    check_cells(accounting, 500, tight=0.9)


@pytest.mark.slow
@pytest.mark.parametrize("accounting", Accounting)
def test_four_million_cells_lose_what_is_claimed(accounting):
    check_cells(accounting, 2000, tight=0.9)


# Private choice and quantiles: outcomes instead of numbers

Outcomes = tuple[np.ndarray, np.ndarray, Cost]


def quantile_of(
    relation: Neighbours, accounting: Accounting, *, at: float, times: int
) -> Outcomes:
    """Whether the median came out low, where one row at the bottom raises the score of
    low points by Δ and lowers that of high ones by Δ.

    How many points are low sets the log-odds.
    """
    if relation is ADD_REMOVE:  # five rows at the top; the top is the high point
        low, high = round(exp(8 + at)), 1
        here = [{"x": low + 1}] * 5
        there = [*here, {"x": 0}]
    else:  # five rows in the middle, and one that goes from the top to the bottom
        low, high = round(2000 * exp(at)), 2000
        middle = [{"x": low + 1}] * 5
        here, there = [*middle, {"x": low + high + 2}], [*middle, {"x": 0}]
    schema = Schema(
        columns=(Integer(name="x", min=0, max=low + high + (relation is REPLACE) * 2),)
    )

    def ask(context, schema):
        return choose_quantiles(
            context, schema["x"], [Fraction(1, 2)], amount=AMOUNT[accounting]
        )

    options = {
        "relation": relation,
        "accounting": accounting,
        "epsilon": 4 if accounting is PURE else 40,
    }
    repeated = [
        ask_repeatedly(ask, rows, schema, times=times, **options)[0]
        for rows in (here, there)
    ]
    return *(1.0 * (h.stacked("indices")[:, 0] <= low) for h in repeated), repeated[
        0
    ].cost


def cell_chosen(
    relation: Neighbours, accounting: Accounting, *, at: float, times: int
) -> Outcomes:
    """Whether one of two cells was chosen, whose distances to their estimates move by Δ
    in opposite directions.
    """
    from understudy.curator.mechanisms import select_cell

    here, there = [NEITHER] * 10, [NEITHER] * 11
    estimates = {("a",): np.zeros(2), ("b",): np.array([21 - at / 2, 0.0])}
    if relation is REPLACE:
        here, there = [*[NEITHER] * 10, BOTH], [NEITHER] * 11

    def ask(context, schema):
        return select_cell.choose_cell(
            context, schema, estimates, amount=AMOUNT[accounting]
        )

    options = {
        "relation": relation,
        "accounting": accounting,
        "epsilon": 4 if accounting is PURE else 40,
    }
    repeated = [
        ask_repeatedly(ask, rows, PAIRED, times=times, **options)[0]
        for rows in (here, there)
    ]
    return *(1.0 * (h.stacked("index") == 0) for h in repeated), repeated[0].cost


def value_chosen(
    relation: Neighbours, accounting: Accounting, *, at: float, times: int
) -> Outcomes:
    """Whether the first of two candidates was chosen, on neighbours between which its
    score rises by Δ and the other's falls by Δ; ten other rows set the log-odds.
    """
    from understudy.curator.mechanisms import select_value

    epsilon = float(choice_epsilon_for(AMOUNT[accounting], accounting))
    others = [{"a": True, "b": False}] * 10
    here, there, delta, middle = others, [*others, NEITHER], 1000, 1
    if relation is REPLACE:
        here, there, delta, middle = [*others, BOTH], [*others, NEITHER], 2000, 0
    aside = round(delta * (2 * at / epsilon - middle) / 10)
    # Cells by (a, b), from (False, False) on.
    weights = np.array([[1000, 0, aside, -1000], [-1000, 0, 0, 1000]])

    def ask(context, schema):
        return select_value.choose_value(
            context, schema, ("a", "b"), weights, amount=AMOUNT[accounting]
        )

    options = {
        "relation": relation,
        "accounting": accounting,
        "epsilon": 4 if accounting is PURE else 40,
    }
    repeated = [
        ask_repeatedly(ask, rows, PAIRED, times=times, **options)[0]
        for rows in (here, there)
    ]
    return *(1.0 * (h.stacked("index") == 0) for h in repeated), repeated[0].cost


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("mechanism", [chosen, quantile_of, cell_chosen, value_chosen])
def test_no_outcome_of_a_choice_is_likelier_than_its_price_allows(
    mechanism, relation, monkeypatch
):
    """Exactly, from the weights that the curator hands to the sampler; that the sampler
    has those weights is shown in tests/noise.
    """
    laws = weighed(monkeypatch)
    _, _, cost = mechanism(relation, PURE, at=-3.0, times=1)
    assert len(laws) == 2
    here, there = laws
    worst = max(abs(np.log(here[point] / there[point])) for point in here)
    assert TIGHT * float(cost.amount) < worst <= float(cost.amount) * (1 + 1e-9)


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("are_scores_monotone", lambda *_: True),
        ("score_sensitivity", lambda weights, *_, **__: int(weights.max()) // 2),
    ],
)
def test_a_broken_choice_of_a_value_is_caught(name, broken, relation, monkeypatch):
    """The factor 2 saved where scores move both ways, or half of the sensitivity."""
    laws = weighed(monkeypatch)
    monkeypatch.setattr(f"understudy.curator.mechanisms.select_value.{name}", broken)
    _, _, cost = value_chosen(relation, PURE, at=-3.0, times=1)
    here, there = laws
    worst = max(abs(np.log(here[point] / there[point])) for point in here)
    assert worst > float(cost.amount) * 1.1


def weighed(patch: pytest.MonkeyPatch) -> list[dict[int, float]]:
    """Notes the law of every private choice from now on: the probability of each
    candidate, or of each lattice point.
    """
    laws: list[dict[int, float]] = []
    runs: list[ScoreRuns] = []

    def spy(
        scores,
        *,
        epsilon,
        sensitivity,
        grid=Fraction(1),
        monotone=False,
        base=None,
        **rest,
    ):
        rate = float(epsilon * grid / sensitivity / (1 if monotone else 2))
        odds = np.exp(rate * (scores - scores.max()).astype(float))
        starts = np.arange(len(odds)) if base is None else runs.pop().starts
        lengths = np.ones(len(odds), int) if base is None else base
        total = float(odds @ lengths)
        every = zip(starts, lengths, odds, strict=True)
        laws.append(
            {
                int(k): o / total
                for start, length, o in every
                for k in range(start, start + length)
            }
        )
        return exponential_mechanism(
            scores,
            epsilon=epsilon,
            sensitivity=sensitivity,
            grid=grid,
            monotone=monotone,
            base=base,
            **rest,
        )

    def note(*args, **how):
        runs.append(score_runs(*args, **how))
        return runs[-1]

    patch.setattr(sys.modules["understudy.noise.quantile"], "score_runs", note)
    for module in (
        "understudy.curator.mechanisms.select_marginal",
        "understudy.curator.mechanisms.select_cell",
        "understudy.curator.mechanisms.select_value",
        "understudy.noise.quantile",
    ):
        if module in sys.modules:
            patch.setattr(sys.modules[module], "exponential_mechanism", spy)
    return laws


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("accounting", [PURE, GDP])
@pytest.mark.parametrize("mechanism", [chosen, quantile_of, cell_chosen, value_chosen])
def test_a_choice_tells_no_more_than_its_price_at_length(
    mechanism, accounting, relation
):
    check_outcomes(mechanism, relation, accounting, 100_000)


# Thresholds: what shows must not show too often, and how often it is said to be there
# costs what a count costs

KNOWN = Schema(
    columns=(Categorical(name="place", values=("Aarhus", "Berlin", "nowhere else")),)
)


def at(*places: str):
    return [{"place": p} for p in places]


def show_labels(delta: Fraction):
    return (
        PLACES,
        "counts",
        lambda context, schema: learn_labels(
            context, "place", amount=context.payments.amount_left, delta=delta
        ),
    )


def show_cells(delta: Fraction):
    return (
        KNOWN,
        "codes",
        lambda context, schema: measure_sparse_cells(
            context, ("place",), amount=context.payments.amount_left, delta=delta
        ),
    )


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("accounting", [PURE, GDP])
@pytest.mark.parametrize("mechanism", [show_labels, show_cells])
def test_what_one_person_alone_wrote_shows_with_at_most_delta(
    mechanism, accounting, relation
):
    """Seen as often as the stated threshold and law say, at 1e-6; and that is at most
    the δ that was charged, exactly.
    """
    delta, times = Fraction(45, 1000), 5_000
    schema, name, ask = mechanism(delta)
    options = {
        "relation": relation,
        "accounting": accounting,
        "epsilon": "0.1",
        "delta": delta * (1 if accounting is PURE else 2),
    }
    (repeated,) = ask_repeatedly(
        ask, at("nowhere else"), schema, times=times, **options
    )
    beyond = tails_of_law(repeated.request["law"], repeated.request["scale"]).tail(
        repeated.request["threshold"] - 1, 128
    )
    chance = beyond[1] / 2**128
    assert repeated.cost.delta == delta
    assert chance <= delta
    seen_times = sum(len(a[name]) > 0 for a in repeated.answers)
    assert not delta_of(seen_times, times, float(delta)).violated
    assert stats.binomtest(seen_times, times, chance).pvalue > ALPHA
    if (
        accounting is PURE
    ):  # Gaussian runs pay for both directions: they show a new label less often than δ
        assert chance > TIGHT * delta


def counted(
    mechanism, relation: Neighbours, accounting: Accounting, times: int
) -> tuple[np.ndarray, np.ndarray, Cost]:
    """Likelihood ratios of the counts of labels that always show."""
    schema, _, ask = mechanism(Fraction(1, 10**6))
    here = at(*["Aarhus"] * 1000, *["Berlin"] * 1000)
    there = (
        [*here, *at("Berlin")] if relation is ADD_REMOVE else [*here[1:], *at("Berlin")]
    )
    truth = [
        np.array([sum(r["place"] == p for r in rows) for p in ("Aarhus", "Berlin")])
        for rows in (here, there)
    ]
    options = {
        "relation": relation,
        "accounting": accounting,
        "epsilon": 3 if accounting is PURE else 10,
        "delta": "1e-5",
    }
    repeated = [
        ask_repeatedly(ask, rows, schema, times=times, **options)[0]
        for rows in (here, there)
    ]
    law, scale = repeated[0].request["law"], repeated[0].request["scale"]
    return *(
        likelihood_ratio(h.stacked("counts"), *truth, law, scale) for h in repeated
    ), repeated[0].cost


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("accounting", [PURE, GDP])
@pytest.mark.parametrize("mechanism", [show_labels, show_cells])
def test_counts_above_a_threshold_cost_what_counts_cost(
    mechanism, accounting, relation
):
    here, there, cost = counted(mechanism, relation, accounting, FAST)
    assert not audited(here, there, cost, at=cut(cost)).violated
    assert seen(here, there, cost, at=cut(cost), alpha=POWER) > TIGHT


@pytest.mark.parametrize("relation", Neighbours)
def test_the_sparse_synthesizer_tells_no_more_than_its_run(relation):
    """Total and cells together, on cells that always show."""
    here = [FIRST] * 500 + [LAST] * 500
    there = [*here, LAST] if relation is ADD_REMOVE else [*here[1:], LAST]
    truth = [
        {
            "0": np.array(len(rows)),
            "counts": np.array([rows.count(FIRST), rows.count(LAST)]),
        }
        for rows in (here, there)
    ]
    scores, cost = [], None
    for rows in (here, there):
        repeated = ask_repeatedly(
            performed("stability"), rows, COLOURS, times=FAST, relation=relation
        )
        scores.append(
            sum(
                likelihood_ratio(
                    h.stacked(name),
                    truth[0][name],
                    truth[1][name],
                    h.request["law"],
                    h.scale_of(name),
                )
                for h in repeated
                for name in ("0", "counts")
                if name in h.answers[0] and h.scale_of(name)
            )
        )
        cost = sum((h.cost for h in repeated[1:]), repeated[0].cost)
    assert not audited(*scores, cost, at=cut(cost)).violated
    assert seen(*scores, cost, at=cut(cost), alpha=POWER) > TIGHT


@pytest.mark.parametrize("mechanism", ["independent", "histogram", "stability"])
def test_the_public_number_of_rows_is_the_only_exact_thing(mechanism):
    """Under replace n is public and exact. Under add/remove nothing is: no scale is
    zero.
    """
    for relation in Neighbours:
        repeated = ask_repeatedly(
            performed(mechanism), [FIRST] * 3, COLOURS, times=1, relation=relation
        )
        exact = [
            name
            for h in repeated
            for name in h.answers[0]
            if h.request["mechanism"] == "marginals" and not h.scale_of(name)
        ]
        assert len(exact) == (relation is REPLACE)
