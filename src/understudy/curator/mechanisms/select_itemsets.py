"""Private choice of the most frequent itemsets, one after another.

Bhaskar et al., "Discovering frequent patterns in sensitive data", 2010: the exponential
mechanism, repeated without replacement, with the support as the score.

Why it is private. A row has an itemset or does not, so adding or removing it moves every
support by at most 1, all one way: P(y) ∝ exp(ε₁·support(y)) is ε₁-private. Replacing it
moves supports by at most 1, some up and some down: P(y) ∝ exp(ε₁·support(y)/2). A unit
of k rows moves them k times as far. Each choice is among the itemsets that were not
chosen before, which is public then, so k choices compose. The itemsets that are compared
follow from the schema; those that no row has are among them.

The whole law is compared with e^ε on all small tables in
tests/curator/mechanisms/test_select_itemsets.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import choice_epsilon_for, price_choice
from understudy.curator.context import TableProtocol
from understudy.noise import exponential_mechanism
from understudy.schema import Schema, describe_counted_rows, schema_to_dict
from understudy.toolbox.itemsets import ItemsetSpace


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemsetChoice:
    """So many itemsets of a space, for an amount of an accounting."""

    space: ItemsetSpace
    top: int
    amount: Fraction
    accounting: Accounting
    neighbours: Neighbours
    choose: Callable[..., int] = exponential_mechanism
    """Replaced by tests alone."""

    @property
    def epsilon(self) -> Fraction:
        """That of each choice."""
        return choice_epsilon_for(self.amount / self.top, self.accounting)

    @property
    def cost(self) -> Cost:
        """That of all of them."""
        one = price_choice(self.epsilon, self.accounting)
        return Cost(self.accounting, one.amount * self.top)

    @property
    def sensitivity(self) -> int:
        """How far one unit moves a support."""
        return self.space.schema.unit.max_rows

    @property
    def is_monotone(self) -> bool:
        """Whether a neighbour moves all supports one way."""
        return self.neighbours is Neighbours.ADD_REMOVE

    @property
    def noise_scales(self) -> Sequence[Fraction]:
        """None: nothing but a choice is drawn."""
        return ()

    def describe(self) -> dict[str, object]:
        """What the answer depends on but the rows and the noise."""
        schema = self.space.schema
        used = {name for clique in self.space.cliques for name in clique}
        columns = [
            replace(column, constant=False, note="")
            for column in schema.columns
            if column.name in used
        ]
        return {
            "mechanism": "itemsets",
            "columns": schema_to_dict(Schema(columns=tuple(columns))),
            "unit": describe_counted_rows(schema),
            "itemsets": [[str(i) for i in each] for each in self.space.itemsets],
            "top": self.top,
            "epsilon": str(self.epsilon),
        }

    def count_supports(self, table: TableProtocol) -> NDArray[np.int64]:
        """The exact support of every itemset."""
        cliques = self.space.cliques
        marginals = dict(zip(cliques, table.counts(cliques), strict=True))
        supports = [
            marginals[tuple(i.column for i in each)][tuple(i.code for i in each)]
            for each in self.space.itemsets
        ]
        return np.array(supports, np.int64)

    def draw(self, table: TableProtocol) -> bytes:
        """The places of chosen itemsets, as a ledger stores them."""
        supports = self.count_supports(table)
        left = np.arange(len(supports))
        chosen = []
        for _ in range(self.top):
            place = self.choose(
                supports[left],
                epsilon=self.epsilon,
                sensitivity=Fraction(self.sensitivity),
                monotone=self.is_monotone,
            )
            chosen.append(int(left[place]))
            left = np.delete(left, place)
        return json.dumps(chosen).encode()
