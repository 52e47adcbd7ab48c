"""Whether several questions are measured together or one by one: by their prices and
noise alone, which are public.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from understudy.accounting.budget import Number
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import default_law
from understudy.accounting.questions.question_run import QuestionRun
from understudy.queries.batches import AtomPlan, plan_atoms, scale_for_atoms
from understudy.queries.offers import Offer
from understudy.queries.plan import QueryPlan
from understudy.queries.precision import grid_scale_below
from understudy.workflow.asking.question_price import (
    offer_amount_on_run,
    read_amount_asked,
)


def offer_together(
    plans: Sequence[QueryPlan],
    offers: Sequence[Offer],
    run: QuestionRun,
    neighbours: Neighbours,
    within: float | None,
    epsilon: Number | None,
) -> Offer | None:
    """The offer for all questions at once; None if one by one is as good."""
    law = default_law(run.filter.accounting)
    # Sums of Laplace noise have no such intervals.
    atoms = None if law is Law.DISCRETE_LAPLACE else plan_atoms(plans)
    if atoms is None:
        return None
    amount = read_amount_asked(within, epsilon, run.budget, run.filter.accounting)
    if amount is not None:
        counts = sum(len(plan.statistics) for plan in plans)
        is_better = atoms.mean_variance < counts
    else:
        assert within is not None
        amount = _amount_within(atoms, neighbours, law, within)
        alone = sum((offer.cost.amount for offer in offers), Fraction(0))
        is_better = 0 < amount < alone
    if not is_better:
        return None
    return offer_amount_on_run(atoms, run, neighbours, amount=amount)


def _amount_within(
    atoms: AtomPlan, neighbours: Neighbours, law: Law, within: float
) -> Fraction:
    """What atoms cost at which all their sums are within a ±; 0 if they never are."""
    scale = grid_scale_below(scale_for_atoms(law, within, float(atoms.variances.max())))
    if not scale:
        return Fraction(0)
    moved = atoms.sensitivity(atoms.statistics[0], neighbours).l2_squared
    # ρ is half of μ²; what is asked for here is the amount of the run's accounting.
    mu_squared = moved / scale**2
    return mu_squared / 2 if law is Law.DISCRETE_GAUSSIAN else mu_squared
