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
from understudy.curator.questions import QuestionCurator
from understudy.curator.single_answers import SingleMechanism, draw_single_answer
from understudy.errors import Refused, UnderstudyError
from understudy.noise import draw_noise
from understudy.queries.batches import AtomPlan, answer_members
from understudy.queries.lookups import PublicTable
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.offers import Offer, list_recalled
from understudy.queries.plan import QueryPlan, find_open_keys
from understudy.queries.precision import NoisyValues, pool_values
from understudy.queries.query import Query
from understudy.queries.results import AnswerTable, make_answer, pool_statistics
from understudy.releases.answers.query_answer import (
    BASIS_RELEASE,
    answer_query,
    meets_precision,
)
from understudy.releases.release import Release
from understudy.schema import Schema
from understudy.tables import Table
from understudy.workflow.asking.batch import offer_together
from understudy.workflow.asking.keys import KEY_PARTS, KeyedOffer, learn_key_plan
from understudy.workflow.asking.question_price import (
    Price,
    make_price,
    offer_amount_on_run,
    offer_keyed_on_run,
    offer_on_run,
    plan_question,
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
        self._public = tuple(public)
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
        plan = plan_question(question, self.schema, self._public)
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
        if isinstance(question, str | Query):
            plan = plan_question(question, self.schema, self._public)
            free = self._answer_free(plan, within)
            if free is not None:
                return free
            keyed = self._offer(plan, within, epsilon)
            if keyed.keys:
                return self._answer_keyed(keyed, within, epsilon, purpose)
            return self._answer(keyed.offer, purpose)
        plans = [plan_question(each, self.schema, self._public) for each in question]
        if not plans:
            raise Refused("Ask at least one question. Nothing was spent")
        for plan in plans:
            for column in find_open_keys(plan.query, self.schema):
                raise Refused(
                    f"{column}: groups that are learned are asked for one question at a"
                    " time. Ask it by itself. Nothing was spent"
                )
        return self._ask_batch(plans, within, epsilon, purpose)

    def _ask_batch(
        self,
        plans: Sequence[QueryPlan],
        within: float | None,
        epsilon: Number | None,
        purpose: str,
    ) -> list[AnswerTable]:
        """All answers; whatever the run would refuse is refused before the first."""
        neighbours = self._ledger.neighbours
        offers = [
            offer_on_run(
                plan,
                self._run,
                neighbours,
                within,
                epsilon,
                self._analyst,
                len(plans),
                self._release,
            )
            for plan in plans
        ]
        together = offer_together(plans, offers, self._run, neighbours, within, epsilon)
        if together is not None:
            plan = together.plan
            assert isinstance(plan, AtomPlan)
            (measured,) = self._measure(together, purpose)
            values, noise = pool_values(measured)
            answers = answer_members(
                plan, values, noise.law, noise.scale, basis=BASIS_TOGETHER
            )
            return [replace(answers[0], cost=together.cost), *answers[1:]]
        costs = [offer.cost for offer in offers]
        # What the run, or a limit, would refuse at a later question is refused now.
        self._run.refuse_unaffordable(
            sum(costs[1:], costs[0]),
            analyst=self._analyst,
            recalled=list_recalled(offers),
        )
        return [self._answer(offer, purpose) for offer in offers]

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
        offer = offer_amount_on_run(
            plan,
            self._run,
            self._ledger.neighbours,
            amount=self.amount_of(epsilon) * share,
            analyst=self._analyst,
        )
        measured = self._measure(offer, purpose)
        return [pool_values(each) for each in measured], offer.cost

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
        amount = read_amount_asked(None, epsilon, self.budget, self.accounting)
        assert amount is not None
        return amount

    def _measure(self, offer: Offer, purpose: str) -> list[tuple[NoisyValues, ...]]:
        """Every statistic of an offer, charged where it is new."""
        return self._curator.answer(offer, analyst=self._analyst, purpose=purpose)

    def _answer(self, offer: Offer, purpose: str) -> AnswerTable:
        measured = self._measure(offer, purpose)
        is_new = any(order.scale is not None for order in offer.orders)
        released = [order.released for order in offer.orders]
        has_own = any(measured)
        basis = BASIS_MEASURED_NOW if is_new else BASIS_STORED
        if any(released):
            basis = basis + BASIS_POOLED if has_own else BASIS_RELEASE
        return make_answer(
            offer.plan,
            pool_statistics(offer.plan, measured),
            basis=basis,
            cost=offer.cost if is_new else None,
            released=released,
        )

    def _answer_keyed(
        self,
        keyed: KeyedOffer,
        within: float | None,
        epsilon: Number | None,
        purpose: str,
    ) -> AnswerTable:
        """Keys first, then the numbers of the groups that showed."""
        plan = learn_key_plan(
            keyed, self.schema, self._curator, analyst=self._analyst, purpose=purpose
        )
        neighbours = self._ledger.neighbours
        offer = offer_on_run(
            plan, self._run, neighbours, within, epsilon, self._analyst, KEY_PARTS
        )
        answer = self._answer(offer, purpose)
        costs = [key.cost for key in keyed.keys if key.scale is not None]
        costs += [] if answer.cost is None else [answer.cost]
        paid = sum(costs[1:], costs[0]) if costs else None
        return replace(answer, cost=paid)

    def _answer_free(self, plan: QueryPlan, within: float | None) -> AnswerTable | None:
        """The answer of the release, if all its numbers are exact enough. What decides
        is the release alone: no row is looked at.
        """
        has_open_keys = bool(find_open_keys(plan.query, self.schema))
        # A release has no columns of public tables.
        has_mapping = any(key.mapping for key in plan.query.keys)
        if self._release is None or within is None or has_open_keys or has_mapping:
            return None
        try:
            answer = answer_query(self._release.evidence, plan.query)
        except UnderstudyError:
            # The release has another schema, or the question is none for a release.
            return None
        return answer if meets_precision(answer, within) else None

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
