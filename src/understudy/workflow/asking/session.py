"""A session of questions: what each costs, whether it is free, and its answer.

Everything that can be refused is refused before the charge, in the same words for every
table with this schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from types import TracebackType
from typing import Self, overload

from understudy.accounting.budget import Budget, Number
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.ledger import Ledger
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.questions.question_run import (
    QuestionRun,
)
from understudy.curator.context import Draw
from understudy.curator.questions import QuestionCurator, is_drawable
from understudy.curator.single_answers import SingleMechanism, draw_single_answer
from understudy.errors import BudgetExceeded
from understudy.noise import draw_noise
from understudy.queries.batch_answers import answer_members
from understudy.queries.batches import AtomPlan
from understudy.queries.lookups import PublicTable
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.offers import Offer, list_recalled
from understudy.queries.plan import QueryPlan
from understudy.queries.precision import NoisyValues, pool_values
from understudy.queries.query import Query
from understudy.queries.results import AnswerTable, make_answer, pool_statistics
from understudy.releases.answers.query_answer import BASIS_RELEASE
from understudy.releases.release import Release
from understudy.schema import Schema
from understudy.tables import Table
from understudy.workflow.asking.batch import (
    BatchOffer,
    BatchTerms,
    offer_questions,
)
from understudy.workflow.asking.free_answers import (
    answer_from_release,
    price_from_release,
)
from understudy.workflow.asking.keys import (
    KEY_PARTS,
    KeyedOffer,
    learn_key_plan,
    plan_known_keys,
)
from understudy.workflow.asking.question_list import plan_questions, read_width
from understudy.workflow.asking.question_price import (
    Price,
    make_price,
    offer_amount_on_run,
    offer_keyed_on_run,
    plan_question,
    price_recalled,
    read_amount_asked,
)

BASIS_MEASURED_NOW = "measured"
BASIS_STORED = "stored: it was answered before"
BASIS_POOLED = ", pooled with the release"
BASIS_TOGETHER = "measured together with other questions"


class Session:
    """Questions to one table, on one run of its ledger. Made by `session`."""

    def __init__(
        self,
        *,
        table: Table,
        schema: Schema,
        ledger: Ledger,
        run: QuestionRun,
        analyst: str,
        release: Release | None = None,
        draw: Draw = draw_noise,
        public: Sequence[PublicTable] = (),
    ) -> None:
        self.schema = schema
        self.public = tuple(public)
        self._ledger = ledger
        self._run = run
        self._analyst = analyst
        self._release = release
        self._curator = QuestionCurator(table=table, run=run, draw=draw)

    @property
    def accounting(self) -> Accounting:
        """The privacy accounting in which questions are charged."""
        return self._run.filter.accounting

    @property
    def neighbours(self) -> Neighbours:
        """The relation that the ledger's account is about."""
        return self._ledger.neighbours

    @property
    def threshold_delta(self) -> Fraction:
        """The δ that the run keeps for thresholds and tests."""
        return self._run.filter.delta

    @property
    def budget(self) -> Budget:
        """The budget of the run that questions are charged to."""
        return self._run.budget

    def for_analyst(self, analyst: str) -> Session:
        """The same rows, ledger and run for questions in the name of an analyst."""
        named = copy(self)
        named._analyst = analyst
        return named

    def price(
        self,
        question: str | Query,
        *,
        within: float | None = None,
        epsilon: Number | None = None,
    ) -> Price:
        """What a question would cost and how exact it would be. Nothing is spent."""
        plan = plan_question(question, self.schema, self.public)
        within, own = read_width(within), self._run.filter
        left = own.accounting, own.amount_left
        free = price_from_release(self._release, self.schema, plan, within, *left)
        if free is not None:
            return free
        keyed = self._offer(plan, within, epsilon)
        return make_price(keyed, self._run, self._analyst)

    # A text is a sequence of texts too; the first overload is the one that counts.
    @overload
    def ask(  # type: ignore[overload-overlap]
        self,
        question: str | Query,
        *,
        within: float | None = None,
        epsilon: Number | None = None,
        purpose: str = "",
    ) -> AnswerTable: ...

    @overload
    def ask(
        self,
        question: Sequence[str | Query],
        *,
        within: float | None = None,
        epsilon: Number | None = None,
        purpose: str = "",
    ) -> list[AnswerTable]: ...

    def ask(
        self,
        question: str | Query | Sequence[str | Query],
        *,
        within: float | None = None,
        epsilon: Number | None = None,
        purpose: str = "",
    ) -> AnswerTable | list[AnswerTable]:
        """The answer to a question: within a ± at 95 %, or at an ε of its own.

        Several questions share an ε, and are measured together if that is more exact
        than one by one: counts that overlap are sums of the same cells.
        """
        within = read_width(within)
        if isinstance(question, str | Query):
            plan = plan_question(question, self.schema, self.public)
            free = answer_from_release(self._release, self.schema, plan, within)
            if free is not None:
                return free
            keyed = self._offer(plan, within, epsilon)
            if keyed.keys:
                return self._answer_keyed(keyed, within, epsilon, purpose)
            return self._answer(keyed.offer, purpose)
        plans = plan_questions(question, self.schema, self.public)
        return self._ask_batch(plans, within, epsilon, purpose)

    def _ask_batch(
        self,
        plans: Sequence[QueryPlan],
        within: float | None,
        epsilon: Number | None,
        purpose: str,
    ) -> list[AnswerTable]:
        """All answers; whatever the run would refuse is refused before the first."""
        terms = BatchTerms(
            self._run, self._ledger.neighbours, self._analyst, self._release
        )
        batch = offer_questions(plans, terms, within=within, epsilon=epsilon)
        # What the run, or a limit, would refuse at a later question is refused now.
        self._run.refuse_unaffordable(
            batch.cost, analyst=self._analyst, recalled=list_recalled(batch.offers)
        )
        answers = self._answer_together(batch, purpose)
        for place, offer in batch.alone.items():
            answers[place] = self._answer(offer, purpose)
        return [answers[place] for place in range(len(plans))]

    def _answer_together(
        self, batch: BatchOffer, purpose: str
    ) -> dict[int, AnswerTable]:
        """The answers to what is measured together, by the places of the questions."""
        if batch.together is None:
            return {}
        plan = batch.together.plan
        assert isinstance(plan, AtomPlan)
        recalled = list_recalled([batch.together])
        taken = price_recalled(self._run, recalled, self._analyst)
        measured = self._measure(batch.together, purpose)
        pooled = [pool_values(each) for each in measured]
        is_new = any(order.scale is not None for order in batch.together.orders)
        basis = BASIS_TOGETHER if is_new else BASIS_STORED
        first, *others = answer_members(plan, pooled, basis=basis)
        # What is charged for all of them stands with the first.
        cost = batch.together.cost if is_new else None
        joined = [replace(first, cost=cost, limit_cost=taken), *others]
        return dict(zip(batch.places, joined, strict=True))

    def measure_plan(
        self,
        plan: QueryPlan,
        *,
        epsilon: Number,
        share: Fraction = Fraction(1),
        purpose: str = "",
    ) -> tuple[list[tuple[list[float], NoiseScale]], Cost]:
        """The statistics of a plan of the toolbox, pooled with what was measured before,
        for a share of what an ε is in the run's accounting; and what was charged.
        """
        offer = self._offer_plan(plan, epsilon, share)
        measured = self._measure(offer, purpose)
        return [pool_values(each) for each in measured], offer.cost

    def can_measure(self, plan: QueryPlan, *, epsilon: Number, share: Fraction) -> bool:
        """Whether the noise that a plan needs for a share of an ε can be drawn."""
        return is_drawable(self._offer_plan(plan, epsilon, share))

    def _offer_plan(self, plan: QueryPlan, epsilon: Number, share: Fraction) -> Offer:
        return offer_amount_on_run(
            plan,
            self._run,
            self._ledger.neighbours,
            amount=self.amount_of(epsilon) * share,
            analyst=self._analyst,
        )

    def draw_single(
        self,
        mechanism: SingleMechanism,
        *,
        following: Cost | None = None,
        purpose: str = "",
    ) -> tuple[bytes, Cost | None]:
        """The answer of a mechanism of its own, and what was charged; if it was drawn
        before, that answer, for nothing. Refused if `following` would find no room.
        """
        return draw_single_answer(
            mechanism,
            table=self._curator.table,
            run=self._run,
            facts=self._run.table,
            following=following,
            analyst=self._analyst,
            purpose=purpose,
        )

    def refuse_unaffordable(self, epsilon: Number) -> None:
        """Raise BudgetExceeded where what an ε is in the run's accounting has no room:
        for algorithms of several charges, all of which are wanted or none.
        """
        cost = Cost(self.accounting, self.amount_of(epsilon))
        self._run.refuse_unaffordable(cost, analyst=self._analyst)

    def amount_of(self, epsilon: Number) -> Fraction:
        """What a question that is ε-private by itself costs in the run's accounting."""
        amount = read_amount_asked(
            None, epsilon, self._run.composed_budget, self.accounting
        )
        assert amount is not None
        return amount

    def _measure(
        self, offer: Offer, purpose: str, recalled: Sequence[str] = ()
    ) -> list[tuple[NoisyValues, ...]]:
        """Every statistic of an offer, charged where it is new."""
        return self._curator.answer(
            offer, analyst=self._analyst, purpose=purpose, recalled=recalled
        )

    def _answer(
        self, offer: Offer, purpose: str, recalled: Sequence[str] = ()
    ) -> AnswerTable:
        used = [*recalled, *list_recalled([offer])]
        taken = price_recalled(self._run, used, self._analyst)
        measured = self._measure(offer, purpose, recalled)
        is_new = any(order.scale is not None for order in offer.orders)
        released = [order.released for order in offer.orders]
        has_own = any(measured)
        basis = BASIS_MEASURED_NOW if is_new else BASIS_STORED
        if any(released):
            basis = basis + BASIS_POOLED if has_own else BASIS_RELEASE
        answer = make_answer(
            offer.plan,
            pool_statistics(offer.plan, measured),
            basis=basis,
            cost=offer.cost if is_new else None,
            released=released,
        )
        return replace(answer, limit_cost=taken)

    def _answer_keyed(
        self,
        keyed: KeyedOffer,
        within: float | None,
        epsilon: Number | None,
        purpose: str,
    ) -> AnswerTable:
        """Keys first, then the numbers of the groups that showed."""
        known = plan_known_keys(keyed, self.schema)
        if known is not None:
            # Everything is known before the charge: keys and numbers are one charge.
            offer = self._offer_after_keys(known, within, epsilon)
            keys = [key.digest for key in keyed.keys]
            return self._answer(offer, purpose, keys)
        plan = learn_key_plan(
            keyed, self.schema, self._curator, analyst=self._analyst, purpose=purpose
        )
        offer = self._offer_after_keys(plan, within, epsilon)
        try:
            self._run.refuse_unaffordable(
                offer.cost, analyst=self._analyst, recalled=list_recalled([offer])
            )
        except BudgetExceeded:
            # Stored answers of others may cost more than a new draw, which was found to
            # have room before the keys were charged.
            offer = self._offer_after_keys(plan, within, epsilon, uses_unseen=False)
        answer = self._answer(offer, purpose)
        costs = [key.cost for key in keyed.keys if key.scale is not None]
        costs += [] if answer.cost is None else [answer.cost]
        paid = sum(costs[1:], costs[0]) if costs else None
        return replace(answer, cost=paid)

    def _offer_after_keys(
        self,
        plan: QueryPlan,
        within: float | None,
        epsilon: Number | None,
        *,
        uses_unseen: bool = True,
    ) -> Offer:
        amount = read_amount_asked(
            within, epsilon, self._run.composed_budget, self.accounting
        )
        return offer_amount_on_run(
            plan,
            self._run,
            self._ledger.neighbours,
            within=within,
            amount=None if amount is None else amount / KEY_PARTS,
            analyst=self._analyst,
            uses_unseen=uses_unseen,
        )

    def _offer(
        self, plan: QueryPlan, within: float | None, epsilon: Number | None
    ) -> KeyedOffer:
        neighbours = self._ledger.neighbours
        return offer_keyed_on_run(
            plan,
            self.schema,
            self._run,
            neighbours,
            within,
            epsilon,
            self._analyst,
            self._release,
        )

    def close(self) -> None:
        """Let go of the ledger. The run stays open for more questions."""
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
