"""Whether several questions are measured together or one by one: by their prices and
noise alone, which are public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.accounting.budget import Number
from understudy.accounting.cost import Cost
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import default_law
from understudy.accounting.questions.question_run import QuestionRun
from understudy.curator.questions import is_drawable
from understudy.queries.batch_answers import largest_squares
from understudy.queries.batches import (
    AtomPlan,
    is_joinable,
    plan_atoms,
    share_of,
)
from understudy.queries.estimates import ANSWER_DOUBT
from understudy.queries.noise_intervals import scale_for_sum
from understudy.queries.offers import Offer
from understudy.queries.plan import QueryPlan
from understudy.queries.precision import grid_scale_below
from understudy.queries.query import AggregateKind
from understudy.releases.release import Release
from understudy.workflow.asking.question_price import (
    find_released,
    offer_amount_on_run,
    offer_on_run,
    read_amount_asked,
)


@dataclass(frozen=True)
class BatchOffer:
    """Offers for several questions: one for those that are measured together, and one
    for each of the others, by their places.
    """

    together: Offer | None
    places: tuple[int, ...]
    alone: dict[int, Offer]

    @property
    def offers(self) -> list[Offer]:
        """All of them."""
        first = [] if self.together is None else [self.together]
        return [*first, *self.alone.values()]

    @property
    def cost(self) -> Cost:
        """What all of them cost."""
        first, *others = [offer.cost for offer in self.offers]
        return sum(others, first)


@dataclass(frozen=True)
class BatchTerms:
    """The run of several questions, who asks them, and the release that they may use."""

    run: QuestionRun
    neighbours: Neighbours
    analyst: str
    release: Release | None

    @property
    def law(self) -> Law:
        """The law of the noise."""
        return default_law(self.run.filter.accounting)

    def offer_amount(self, plan: QueryPlan, amount: Fraction) -> Offer:
        """The offer for an amount of the run's accounting."""
        is_batch = isinstance(plan, AtomPlan)
        return offer_amount_on_run(
            plan,
            self.run,
            self.neighbours,
            amount=amount,
            analyst=self.analyst,
            released=() if is_batch else find_released(plan, self.release),
        )


def offer_questions(
    plans: Sequence[QueryPlan],
    terms: BatchTerms,
    *,
    within: float | None,
    epsilon: Number | None,
) -> BatchOffer:
    """The offers for several questions: together where that is more exact for an ε, or
    costs less for a ±, than one by one.
    """
    run = terms.run
    amount = read_amount_asked(
        within, epsilon, run.composed_budget, run.filter.accounting
    )
    if amount is not None:
        found = _offer_together(plans, terms, amount)
        if found is not None:
            return found
    alone = [
        offer_on_run(
            plan,
            run,
            terms.neighbours,
            within,
            epsilon,
            terms.analyst,
            len(plans),
            terms.release,
        )
        for plan in plans
    ]
    if within is not None:
        found = _offer_counts_within(plans, alone, terms, within)
        if found is not None:
            return found
    return BatchOffer(None, (), dict(enumerate(alone)))


def _offer_together(
    plans: Sequence[QueryPlan], terms: BatchTerms, amount: Fraction
) -> BatchOffer | None:
    """The offers for an amount of all questions together; None if one by one is as
    good.
    """
    atoms, places = _plan_joinable(plans, terms.law)
    if atoms is None:
        return None
    roots = sum(atoms.price_roots)
    others = [place for place in range(len(plans)) if place not in places]
    # Every question by itself counts 1, as it does with an equal part of the amount.
    whole = roots + len(others)
    if whole >= len(plans):
        return None
    together = terms.offer_amount(atoms, amount * share_of(roots / whole))
    if not is_drawable(together):
        return None
    part = amount * share_of(1 / whole)
    alone = {place: terms.offer_amount(plans[place], part) for place in others}
    return BatchOffer(together, tuple(places), alone)


def _offer_counts_within(
    plans: Sequence[QueryPlan],
    alone: Sequence[Offer],
    terms: BatchTerms,
    within: float,
) -> BatchOffer | None:
    """The offer for counts that are all within a ±; None if one by one costs as much,
    or if there are other numbers.
    """
    law = terms.law
    atoms, places = _plan_joinable(plans, law)
    is_whole = len(places) == len(plans) and all(map(_is_counting, plans))
    if atoms is None or not is_whole:
        return None
    squares = largest_squares(atoms)
    scale = grid_scale_below(scale_for_sum(law, within, squares, ANSWER_DOUBT))
    if not scale:
        return None
    moved = atoms.sensitivity(atoms.statistics[0], terms.neighbours).l2_squared
    # ρ is half of μ²; what is asked for here is the amount of the run's accounting.
    mu_squared = moved / scale**2
    amount = mu_squared / 2 if law is Law.DISCRETE_GAUSSIAN else mu_squared
    if amount >= sum((each.cost.amount for each in alone), Fraction(0)):
        return None
    return BatchOffer(terms.offer_amount(atoms, amount), tuple(places), {})


def _plan_joinable(
    plans: Sequence[QueryPlan], law: Law
) -> tuple[AtomPlan | None, list[int]]:
    """The atoms of the questions that add up rows, and the places of these."""
    # Sums of Laplace noise have no such intervals.
    if law is Law.DISCRETE_LAPLACE:
        return None, []
    places = [place for place, plan in enumerate(plans) if is_joinable(plan)]
    return plan_atoms([plans[place] for place in places]), places


def _is_counting(plan: QueryPlan) -> bool:
    kinds = {aggregate.kind for aggregate in plan.query.aggregates}
    return kinds == {AggregateKind.COUNT}
