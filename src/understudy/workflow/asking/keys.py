"""Questions whose groups are labels that the schema does not list: keys first, by a
threshold, then the numbers of the groups that showed, as for declared ones.

Half of what a question may cost is for its keys; with a ±, units are counted by label as
exactly as the numbers are wanted. What is refused is refused before the keys are paid
for: everything but the labels themselves is known from the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.accounting.cost import Cost
from understudy.accounting.pricing import default_law
from understudy.curator.key_search import (
    KeyOffer,
    RunTerms,
    close_key_column,
    learn_keys,
    offer_keys,
)
from understudy.curator.questions import QuestionCurator
from understudy.queries.estimates import ANSWER_DOUBT
from understudy.queries.noise_intervals import scale_within
from understudy.queries.offers import Offer, list_recalled
from understudy.queries.plan import QueryPlan, plan_query
from understudy.queries.precision import grid_scale_below
from understudy.queries.resolving import find_open_keys
from understudy.schema import Schema

KEY_PARTS = 2
"""Parts of a question's amount, one of which is for its keys: fewer keys show with less,
and all numbers are less exact with more.
"""


@dataclass(frozen=True)
class KeyedOffer:
    """The keys of a question, and its numbers as they are for any keys."""

    keys: tuple[KeyOffer, ...]
    offer: Offer

    @property
    def cost(self) -> Cost:
        """Everything that is charged."""
        return sum((key.cost for key in self.keys), self.offer.cost)

    @property
    def recalled_digests(self) -> list[str]:
        """The stored answers that it uses, keys included."""
        own = [key.digest for key in self.keys if key.earlier]
        return [*own, *list_recalled([self.offer])]


def offer_keyed(
    offer: Offer,
    schema: Schema,
    terms: RunTerms,
    *,
    within: float | None,
    amount: Fraction | None,
    table: Mapping[str, str] | None = None,
    find_earlier: Callable[[str], Sequence[bytes]] | None = None,
) -> KeyedOffer:
    """An offer for numbers with one for their keys: within the same ±, or for an
    amount. `schema` is the table's, in which the labels are open.
    """
    columns = find_open_keys(offer.plan.query, schema)
    own = None if amount is None else amount / max(len(columns), 1)
    scale: Fraction | None = None
    if within is not None:
        law = default_law(terms.accounting)
        scale = grid_scale_below(scale_within(law, within, ANSWER_DOUBT))
    keys = [
        offer_keys(
            schema,
            column,
            terms,
            amount=own,
            scale=scale,
            table=table,
            find_earlier=find_earlier,
        )
        for column in columns
    ]
    return KeyedOffer(tuple(keys), offer)


def plan_known_keys(keyed: KeyedOffer, schema: Schema) -> QueryPlan | None:
    """The plan with the keys that were released before, where no new ones are drawn."""
    if any(key.scale is not None for key in keyed.keys):
        return None
    for key in keyed.keys:
        schema = close_key_column(schema, key.column, key.known_labels)
    return plan_query(keyed.offer.plan.query, schema)


def learn_key_plan(
    keyed: KeyedOffer,
    schema: Schema,
    curator: QuestionCurator,
    *,
    analyst: str,
    purpose: str,
) -> QueryPlan:
    """The plan with the keys that showed, which are charged where they are new."""
    # Together, so that no keys are paid for whose numbers would be refused.
    curator.run.refuse_unaffordable(
        keyed.cost, analyst=analyst, recalled=keyed.recalled_digests
    )
    closed = schema
    for key in keyed.keys:
        labels = learn_keys(
            key,
            table=curator.table,
            run=curator.run,
            draw=curator.draw,
            analyst=analyst,
            purpose=purpose,
        )
        closed = close_key_column(closed, key.column, labels)
    return plan_query(keyed.offer.plan.query, closed)
