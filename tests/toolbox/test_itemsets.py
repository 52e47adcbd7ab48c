"""Frequent itemsets as a question: found, measured, and refused for nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from understudy.errors import Refused
from understudy.schema import Schema
from understudy.toolbox.itemsets import plan_itemsets
from understudy.workflow.asking.questions import session
from understudy.workflow.toolbox.find_itemsets import find_itemsets

SCHEMA = Schema.parse(
    """
columns:
  bread: boolean
  milk: boolean
  tea: boolean
  shop: {type: categorical, values: [north, south]}
  age: {type: integer, min: 0, max: 99}
"""
)
ITEMS = ("bread", "milk", "tea", "shop")


def test_what_most_rows_have_is_found_within_its_interval(tmp_path: Path) -> None:
    baskets = tmp_path / "baskets.csv"
    rng = np.random.default_rng(4)
    bread = rng.random(5_000) < 0.6
    milk = np.where(bread, rng.random(5_000) < 0.9, rng.random(5_000) < 0.1)
    frame = pl.DataFrame(
        {
            "bread": bread,
            "milk": milk,
            "tea": rng.random(5_000) < 0.1,
            "shop": rng.choice(["north", "south"], 5_000),
            "age": rng.integers(0, 99, 5_000),
        }
    )
    frame.write_csv(baskets)
    with session(baskets, SCHEMA, budget=2) as questions:
        found = find_itemsets(questions, ITEMS, top=1, least_items=2, epsilon=2)
    (row,) = found.rows
    assert row.items == ("bread", "milk")
    # A 95 % interval, three times as wide: missed less than once in a million.
    true = int((bread & milk).sum())
    assert abs(true - row.support) <= 3 * (row.high - row.low) / 2


@pytest.mark.parametrize(
    ("columns", "sizes", "message"),
    [
        (("age",), {}, "items are labels"),
        (("bread", "bread"), {}, "named once"),
        (("bread",), {"top": 5}, "fewer than"),
        (ITEMS, {"most_items": 9}, "at most 5"),
        (ITEMS, {"most_items": 1, "least_items": 2}, "no fewer"),
        (ITEMS, {"top": 0}, "from 1 up"),
    ],
)
def test_bad_itemsets_cost_nothing(
    columns: tuple[str, ...], sizes: dict[str, int], message: str
) -> None:
    asked = {"top": 2, "most_items": 2, **sizes}
    with pytest.raises(Refused, match=message):
        plan_itemsets(columns, SCHEMA, **asked)
