"""An audit harness scores what is asked: its scores are the likelihood ratios of the two
tables, whatever the question.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.filter import Filter
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator, CuratorView
from understudy.workflow.auditing.audit_harness import AuditHarness
from understudy.workflow.auditing.white_box_audit import AUDIT_SCHEMA, worst_neighbours

TIMES = 4_000
ESTIMATES = {
    ("colour",): np.array([400.0, 0.0, 500.0]),
    ("smoker",): np.array([500.0, 480.0]),
}


def ask_harness(
    ask, *, relation=Neighbours.ADD_REMOVE, accounting=Accounting.PURE, epsilon=2
) -> tuple[AuditHarness, CuratorView]:
    budget = Budget.of(epsilon, "1e-6")
    half = Fraction(0) if accounting is Accounting.PURE else budget.delta / 2
    filter = Filter.of(budget, accounting=accounting, threshold_delta=half)
    harness = AuditHarness(schema=AUDIT_SCHEMA, neighbours=relation, times=TIMES)
    view = CuratorView(
        Curator(
            harness.make_context(
                *worst_neighbours(relation), replace(filter), epsilon=budget.epsilon
            ),
            AUDIT_SCHEMA,
        )
    )
    ask(view)
    return harness, view


QUESTIONS = {
    "marginals": lambda w: w.measure([("colour",), ("smoker", "colour")], share=1),
    "errors": lambda w: w.errors(ESTIMATES, share=1),
    "choice": lambda w: w.choose(ESTIMATES, share=1),
    "cell": lambda w: w.choose_cell(ESTIMATES, share=1),
    "cells": lambda w: w.sparse(("colour", "smoker"), share=1),
}


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("name", QUESTIONS)
def test_scores_are_likelihood_ratios(name, relation):
    """E exp(score) is 1 on the first table, and E exp(-score) on the second: only a
    likelihood ratio has both.

    Twenty comparisons of six standard deviations each: false alarm 1e-6, with context for
    their skewness.
    """
    harness, _ = ask_harness(QUESTIONS[name], relation=relation)
    assert harness.questions == 1
    assert harness.not_judged == []
    for ratio in (np.exp(harness.here), np.exp(-harness.there)):
        error = ratio.std() / np.sqrt(TIMES)
        assert abs(ratio.mean() - 1) <= 6 * error + 1e-9
    # Bounded by what was paid: ε = 2.
    assert max(np.abs(harness.here).max(), np.abs(harness.there).max()) <= 2 * (
        1 + 1e-9
    )


def test_scores_of_several_questions_add_up():
    """Two independent halves of a Gaussian run have together the μ of the whole: scores
    with variance μ². False alarm 1e-6.
    """
    one, _ = ask_harness(
        lambda w: w.measure([("colour",)], share=1), accounting=Accounting.GDP
    )
    two, _ = ask_harness(
        lambda w: [w.measure([("colour",)], share=Fraction(1, 2)) for _ in range(2)],
        accounting=Accounting.GDP,
    )
    assert two.questions == 2
    assert abs(one.here.var() / two.here.var() - 1) < 5 * np.sqrt(4 / TIMES)
    assert stats.ks_2samp(one.here, one.there).pvalue < 1e-6


def test_one_price_is_paid():
    _, view = ask_harness(lambda w: w.measure([("colour",)], share=Fraction(1, 4)))
    assert view.share_left == Fraction(3, 4)


def test_a_question_without_a_known_law_is_said_to_be_unjudged():
    harness = AuditHarness(
        schema=AUDIT_SCHEMA, neighbours=Neighbours.ADD_REMOVE, times=10
    )
    context = harness.make_context(
        *worst_neighbours(Neighbours.ADD_REMOVE),
        Filter(Accounting.PURE, Fraction(1)),
        epsilon=Fraction(1),
    )
    answer = context.payments.pay(
        {"mechanism": "new"},
        Cost(Accounting.PURE, Fraction(1)),
        lambda: 1,
        lambda exact: {"x": np.array(exact)},
    )
    assert int(answer["x"]) == 1
    assert harness.not_judged == ["new"]
    assert not harness.here.any()
