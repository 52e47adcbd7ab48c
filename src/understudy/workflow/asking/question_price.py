"""What a question would cost, before it is asked: from the schema, and from the ledger
what was answered before. No rows are read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from understudy.accounting.budget import Budget, Number, spell_value
from understudy.accounting.conversion import epsilon_of
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.filter import ACCOUNTING_SYMBOLS
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.questions.analyst import OWNER_NAME
from understudy.accounting.questions.composition import (
    QuestionComposition,
    compose_question,
)
from understudy.accounting.questions.question_run import (
    QuestionRun,
)
from understudy.curator.key_search import KeyOffer, RunTerms, close_key_column
from understudy.errors import Refused
from understudy.queries.lookups import PublicTable, resolve_lookups
from understudy.queries.offers import (
    Offer,
    amount_for_epsilon,
    offer_answer,
)
from understudy.queries.plan import QueryPlan, plan_query
from understudy.queries.precision import NoisyValues
from understudy.queries.query import Query
from understudy.queries.released import ReleasedStatistic
from understudy.queries.resolving import find_open_keys, refuse_open_uses
from understudy.queries.results import AnswerTable
from understudy.queries.sql.reader import read_sql
from understudy.releases.answers.statistic_estimates import estimate_statistics
from understudy.releases.release import Release
from understudy.schema import Schema
from understudy.workflow.asking.keys import KEY_PARTS, KeyedOffer, offer_keyed


@dataclass(frozen=True)
class Price:
    """What a question would cost, and how exact its answer would be."""

    offer: Offer
    epsilon: Fraction
    """The ε of this question by itself, at the δ of its run."""
    amount_left: Fraction | None
    """What is left of the run in its accounting; None if there is no run yet."""
    recalled: tuple[Cost, ...] = ()
    """What stored answers that the analyst has not seen take from their limit."""
    keys: tuple[KeyOffer, ...] = ()
    """The columns whose labels are learned for it; the offer's cost has theirs."""
    composition: QuestionComposition | None = None
    """How many such questions the whole run is worth; None if there is no run yet."""
    released: AnswerTable | None = None
    """What a release answers, within the ±: it is given for nothing."""
    source: str = ""
    """Which release that is."""

    @property
    def question(self) -> str:
        """What would be asked."""
        return str(self.offer.plan.query)

    @property
    def half_widths(self) -> dict[str, float | None]:
        """The ± of each number at 95 %; None if it depends on the rows."""
        if self.released is None:
            return self.offer.half_widths
        rows = [row.numbers for row in self.released.rows]
        return {
            title: max((numbers[i].half_width for numbers in rows), default=0.0)
            for i, title in enumerate(self.released.number_titles)
        }

    @property
    def is_free(self) -> bool:
        """Whether everything it needs was answered before, and to this analyst."""
        return self.offer.cost.amount == 0 and not self.recalled

    @property
    def amount_from_limit(self) -> Fraction:
        """What it takes from the analyst's limit, in the run's accounting: what is
        measured now, and stored answers that they have not seen.
        """
        cost = self.offer.cost
        same = [c.amount for c in self.recalled if c.accounting is cost.accounting]
        return sum(same, cost.amount)

    def lines(self) -> list[str]:
        """It in words."""
        cost = self.offer.cost
        symbol = ACCOUNTING_SYMBOLS[cost.accounting]
        lines = [
            f"privacy cost: ε = {spell_value(self.epsilon)} by itself"
            f" ({symbol} = {spell_value(cost.amount)})"
        ]
        if self.is_free:
            known = "it was answered before"
            lines.append(f"free: {self.source or known}")
        derived = [column.title for column in self.offer.plan.query.derived]
        for title, width in self.half_widths.items():
            shown = "depends on the number of rows"
            if title in derived:
                shown = "computed of the others"
            if width is not None:
                where = self._spell_groups()
                shown = f"±{width:,.4g}{where}, 95 %"
            lines.append(f"{title}: {shown}")
        for key in self.keys:
            lines.append(
                f"groups of {key.column}: those of about {key.people:,} people or more"
                f" show (δ = {spell_value(key.cost.delta)})"
            )
        if self.recalled:
            taken = spell_value(self.amount_from_limit)
            lines.append(
                f"from the analyst's limit: {symbol} = {taken}, with stored answers that"
                " are new to them"
            )
        if self.amount_left is not None:
            lines.append(f"left of the run: {symbol} = {spell_value(self.amount_left)}")
            if cost.amount:
                times = math.floor(self.amount_left / cost.amount)
                lines.append(f"as many such questions as are left: {times:,}")
        if self.composition is not None:
            lines.append(str(self.composition))
        return lines

    def _spell_groups(self) -> str:
        if self.keys:
            return " in each group"
        groups = self.offer.plan.cells.groups
        return f" in each of {groups:,} groups" if groups > 1 else ""

    def to_dict(self) -> dict[str, object]:
        """It for a program."""
        cost = self.offer.cost
        left = None if self.amount_left is None else float(self.amount_left)
        return {
            "question": self.question,
            "epsilon": float(self.epsilon),
            "accounting": str(cost.accounting),
            "amount": float(cost.amount),
            "within": self.half_widths,
            "groups": self.offer.plan.cells.groups,
            "amount_left": left,
            "amount_from_limit": float(self.amount_from_limit),
            "free": self.source or ("stored" if self.is_free else None),
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())


def plan_question(
    question: str | Query, schema: Schema, public: Sequence[PublicTable] = ()
) -> QueryPlan:
    """The plan of a question as SQL or as a query; with one label in place of those that
    are learned for it, on which its cost does not depend.
    """
    asked = question
    if not isinstance(asked, Query):
        asked = read_sql(asked, schema, public)
    query = resolve_lookups(asked, schema, public)
    columns = find_open_keys(query, schema)
    for column in columns:
        schema = close_key_column(schema, column, ("key",))
    plan = plan_query(query, schema)
    refuse_open_uses(plan.query, columns)
    return plan


def read_amount_asked(
    within: float | None,
    epsilon: Number | None,
    budget: Budget,
    accounting: Accounting | None = None,
) -> Fraction | None:
    """The amount that a question may cost in a run of this budget; None if it is to be
    within a ±.
    """
    if (within is None) == (epsilon is None):
        raise Refused(
            "Say either how exact the answer must be (within) or what it may cost"
            " (epsilon). Nothing was spent"
        )
    if epsilon is None:
        return None
    own = Budget.of(epsilon, budget.delta)
    return amount_for_epsilon(own, accounting or budget.accounting)


def offer_on_run(
    plan: QueryPlan,
    run: QuestionRun,
    neighbours: Neighbours,
    within: float | None,
    epsilon: Number | None,
    analyst: str,
    parts: int = 1,
    release: Release | None = None,
) -> Offer:
    """The offer for a plan, after what the run and those before it answered and what a
    release tells; for one of several equal parts of an ε.
    """
    amount = read_amount_asked(
        within, epsilon, run.composed_budget, run.filter.accounting
    )
    own = None if amount is None else amount / parts
    return offer_amount_on_run(
        plan,
        run,
        neighbours,
        within=within,
        amount=own,
        analyst=analyst,
        released=find_released(plan, release),
    )


def find_released(
    plan: QueryPlan, release: Release | None
) -> tuple[ReleasedStatistic | None, ...]:
    """What a release tells of each statistic of a plan: numbers that were paid for."""
    return () if release is None else estimate_statistics(release.evidence, plan)


def offer_amount_on_run(
    plan: QueryPlan,
    run: QuestionRun,
    neighbours: Neighbours,
    *,
    within: float | None = None,
    amount: Fraction | None = None,
    analyst: str = OWNER_NAME,
    released: Sequence[ReleasedStatistic | None] = (),
    uses_unseen: bool = True,
) -> Offer:
    """The same for an amount of the run's accounting; without `uses_unseen`, after what
    the analyst was answered alone.
    """

    def find_earlier(digest: str) -> list[NoisyValues]:
        stored = run.find_answers(digest)
        return [NoisyValues.of_bytes(answer.payload) for answer in stored]

    def find_seen(digest: str) -> list[NoisyValues]:
        stored = run.find_seen_answers(digest, analyst=analyst)
        return [NoisyValues.of_bytes(answer.payload) for answer in stored]

    return offer_answer(
        plan,
        neighbours=neighbours,
        accounting=run.filter.accounting,
        within=within,
        amount=amount,
        table=run.table,
        find_earlier=find_earlier if uses_unseen else find_seen,
        find_seen=find_seen,
        released=released,
    )


def offer_keyed_on_run(
    plan: QueryPlan,
    schema: Schema,
    run: QuestionRun,
    neighbours: Neighbours,
    within: float | None,
    epsilon: Number | None,
    analyst: str,
    release: Release | None = None,
) -> KeyedOffer:
    """The offer for a plan and for its keys, where `schema` leaves some open."""
    accounting = run.filter.accounting
    is_keyed = bool(find_open_keys(plan.query, schema))
    parts = KEY_PARTS if is_keyed else 1
    # Which labels a release has says nothing of those that the threshold will show.
    usable = None if is_keyed else release
    offer = offer_on_run(plan, run, neighbours, within, epsilon, analyst, parts, usable)
    amount = read_amount_asked(within, epsilon, run.composed_budget, accounting)

    def find_earlier(digest: str) -> list[bytes]:
        return [stored.payload for stored in run.find_answers(digest)]

    return offer_keyed(
        offer,
        schema,
        RunTerms(accounting, run.budget.epsilon, run.filter.delta, neighbours),
        within=within,
        amount=None if amount is None else amount / parts,
        table=run.table,
        find_earlier=find_earlier,
    )


def make_price(keyed: KeyedOffer, run: QuestionRun, analyst: str) -> Price:
    """The price of an offer on a run, with what is left of it."""
    whole = replace(keyed.offer, cost=keyed.cost)
    epsilon = find_own_epsilon(whole, run.budget.delta)
    recalled = run.price_recall(keyed.recalled_digests, analyst=analyst)
    composition = compose_question(run.budget, run.filter.total, whole.cost, epsilon)
    left = run.filter.amount_left
    return Price(whole, epsilon, left, recalled, keyed.keys, composition)


def price_recalled(
    run: QuestionRun, digests: Sequence[str], analyst: str
) -> Cost | None:
    """What stored answers take from an analyst's limit; None if nothing."""
    costs = run.price_recall(digests, analyst=analyst)
    same = [cost for cost in costs if cost.accounting is run.filter.accounting]
    return sum(same[1:], same[0]) if same else None


def find_own_epsilon(offer: Offer, delta: Fraction) -> Fraction:
    """The ε of a question by itself, at the δ of its run."""
    if offer.cost.amount == 0:
        return Fraction(0)
    return epsilon_of(offer.cost.accounting, offer.cost.amount, delta)
