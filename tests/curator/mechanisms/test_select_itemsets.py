"""Frequent itemsets: the law of what is chosen, on all neighbours of small tables, and an
audit of what is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product
from math import log
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kit.curator.listed import Listed, Row
from kit.plans import neighbouring_tables
from kit.privacy.audit import pure
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.curator.mechanisms.select_itemsets import ItemsetChoice
from understudy.noise import exponential_mechanism
from understudy.schema import Schema
from understudy.toolbox.itemsets import plan_itemsets

SCHEMA = Schema.parse(
    """
columns:
  a: {type: boolean, nullable: false}
  b: boolean
  c: {type: categorical, values: [u, v], nullable: false}
"""
)
ROWS: list[Row] = [
    {"a": a, "b": b, "c": c}
    for a, b, c in product((True, False), (True, False, None), "uv")
]


def make_choice(
    relation: Neighbours, top: int = 2, epsilon: int = 1, **keywords: Any
) -> ItemsetChoice:
    space = plan_itemsets(["a", "b", "c"], SCHEMA, top=top, most_items=2)
    return ItemsetChoice(
        space=space,
        top=top,
        amount=Fraction(epsilon),
        accounting=Accounting.PURE,
        neighbours=relation,
        **keywords,
    )


def law_of(choice: ItemsetChoice, rows: Sequence[Row]) -> dict[tuple[int, ...], float]:
    """The exact probability of every sequence of chosen itemsets."""
    supports = choice.count_supports(Listed(rows, SCHEMA))
    rate = float(choice.epsilon) / (1 if choice.is_monotone else 2)
    weights = np.exp(rate * (supports - supports.max()) / choice.sensitivity)
    law = {}
    for chosen in permutations(range(len(weights)), choice.top):
        left, chance = weights.sum(), 1.0
        for place in chosen:
            chance *= weights[place] / left
            left -= weights[place]
        law[chosen] = chance
    return law


@pytest.mark.parametrize("relation", Neighbours)
def test_no_choice_is_likelier_than_the_charge_allows(relation: Neighbours) -> None:
    choice = make_choice(relation)
    laws: dict[str, dict[tuple[int, ...], float]] = {}
    largest = 0.0
    for pair in neighbouring_tables(ROWS, relation, most_rows=1):
        one, other = (laws.setdefault(str(t), law_of(choice, t)) for t in pair)
        largest = max(largest, *(abs(log(one[k] / other[k])) for k in one))
    assert largest <= float(choice.cost.amount) + 1e-9
    # Most of what is paid for can happen.
    assert largest > 0.5


def test_supports_are_those_of_the_rows() -> None:
    choice = make_choice(Neighbours.ADD_REMOVE)
    supports = choice.count_supports(Listed(ROWS, SCHEMA))
    named = {
        ", ".join(map(str, itemset)): int(support)
        for itemset, support in zip(choice.space.itemsets, supports, strict=True)
    }
    assert named["a"] == named["c=u"] == 6
    assert named["b"] == 4
    assert named["a, c=u"] == 3
    assert named["a, b"] == 2
    assert "c=u, c=v" not in named


def choose_with_half_sensitivity(scores: NDArray[np.int64], **keywords: Any) -> int:
    """A broken twin: it takes a row to move a support by a third."""
    keywords["sensitivity"] = keywords["sensitivity"] / 3
    return exponential_mechanism(scores, **keywords)


def audit_choice(choice: ItemsetChoice, trials: int) -> tuple[float, bool]:
    """Whether two neighbours tell apart by whether the first choice is one of the sets
    that only the added row has.
    """
    added: Row = {"a": True, "b": True, "c": "u"}
    tables = Listed([], SCHEMA), Listed([added], SCHEMA)
    has_set = choice.count_supports(tables[1]) > 0
    scores = [
        np.array(
            [
                float(has_set[json.loads(choice.draw(table))].sum())
                for _ in range(trials)
            ]
        )
        for table in tables
    ]
    found = pure(*scores, float(choice.cost.amount), at=0.5, alpha=1e-7)
    return found.share, found.violated


def test_an_audit_passes_the_choice_and_refutes_a_twin() -> None:
    honest = make_choice(Neighbours.ADD_REMOVE, top=1, epsilon=1)
    assert not audit_choice(honest, 1_200)[1]
    broken = make_choice(
        Neighbours.ADD_REMOVE, top=1, epsilon=1, choose=choose_with_half_sensitivity
    )
    assert audit_choice(broken, 1_200)[1]


def test_the_law_of_the_first_choice_is_the_drawn_one() -> None:
    choice = make_choice(Neighbours.ADD_REMOVE, top=1, epsilon=2)
    rows = [ROWS[0], ROWS[0], ROWS[4]]
    table = Listed(rows, SCHEMA)
    trials = 2_000
    drawn = np.bincount(
        [json.loads(choice.draw(table))[0] for _ in range(trials)],
        minlength=len(choice.space.itemsets),
    )
    for (place,), chance in law_of(choice, rows).items():
        spread = 5.5 * (trials * chance * (1 - chance)) ** 0.5
        assert abs(drawn[place] - trials * chance) < spread + 1
