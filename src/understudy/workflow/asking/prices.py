"""What a question would cost by a schema alone, or beside a ledger: `us.price`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from understudy.accounting.budget import Budget, Number
from understudy.accounting.ledger import Ledger
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.questions.analyst import OWNER_NAME
from understudy.accounting.questions.question_run import (
    QUESTIONS_EVENT,
)
from understudy.curator.key_search import RunTerms
from understudy.queries.lookups import PublicTable
from understudy.queries.offers import (
    offer_answer,
)
from understudy.queries.plan import QueryPlan
from understudy.queries.query import Query
from understudy.queries.resolving import find_open_keys
from understudy.releases.release import Release
from understudy.schema import Schema
from understudy.workflow.asking.free_answers import price_from_release
from understudy.workflow.asking.keys import KEY_PARTS, offer_keyed
from understudy.workflow.asking.question_list import read_width
from understudy.workflow.asking.question_price import (
    Price,
    find_own_epsilon,
    find_released,
    make_price,
    offer_keyed_on_run,
    plan_question,
    read_amount_asked,
)
from understudy.workflow.asking.run_of_questions import (
    open_question_run,
    refuse_foreign_release,
    set_key_delta_aside,
)
from understudy.workflow.open import member_of
from understudy.workflow.preflight import parse_budget


def price(
    schema: Schema | str | Path,
    question: str | Query,
    *,
    within: float | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    ledger: str | Path | None = None,
    analyst: str = OWNER_NAME,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    public: Sequence[PublicTable] = (),
    release: Release | None = None,
) -> Price:
    """What a question would cost and how exact it would be, from the schema alone: no
    rows are read, and nothing is spent. With the `ledger`, what was answered before is
    not charged again, and the price says what is left, and what it takes from the limit
    of an `analyst`. What a `release` of the same table tells counts too. It may join
    `public` tables.

    >>> from understudy.queries import count
    >>> from understudy.schema import Boolean
    >>> declared = Schema(columns=(Boolean(name="smoker"),))
    >>> priced = price(declared, count().by("smoker"), within=50)
    >>> round(float(priced.offer.cost.amount), 5), priced.half_widths
    (0.00151, {'count': 50.0})
    """
    relation = member_of(Neighbours, neighbours, "neighbour relation")
    known = schema if isinstance(schema, Schema) else Schema.load(schema)
    plan = plan_question(question, known, public)
    within = read_width(within)
    if ledger is None:
        whole = parse_budget(1, delta)
        free = price_from_release(release, known, plan, within, whole.accounting)
        if free is not None:
            return free
        return _price_without_run(
            plan, known, relation, whole, within, epsilon, release
        )
    with Ledger.open(ledger) as account:
        run = open_question_run(account, None, QUESTIONS_EVENT, None)
        refuse_foreign_release(release, account)
        kind, left = run.filter.accounting, run.filter.amount_left
        free = price_from_release(release, known, plan, within, kind, left)
        if free is not None:
            return free
        keyed = offer_keyed_on_run(
            plan, known, run, account.neighbours, within, epsilon, analyst, release
        )
        return make_price(keyed, run, analyst)


def _price_without_run(
    plan: QueryPlan,
    schema: Schema,
    neighbours: Neighbours,
    budget: Budget,
    within: float | None,
    epsilon: Number | None,
    release: Release | None,
) -> Price:
    """The price in a run of this budget that is not open yet."""
    columns = find_open_keys(plan.query, schema)
    delta = set_key_delta_aside(budget, bool(columns))
    composed = replace(budget, delta=budget.delta - delta)
    amount = read_amount_asked(within, epsilon, composed)
    accounting = budget.accounting
    own = amount if amount is None or not columns else amount / KEY_PARTS
    offer = offer_answer(
        plan,
        neighbours=neighbours,
        accounting=accounting,
        within=within,
        amount=own,
        released=() if columns else find_released(plan, release),
    )
    terms = RunTerms(accounting, budget.epsilon, delta, neighbours)
    keyed = offer_keyed(offer, schema, terms, within=within, amount=own)
    whole = replace(offer, cost=keyed.cost)
    return Price(whole, find_own_epsilon(whole, budget.delta), None, keys=keyed.keys)
