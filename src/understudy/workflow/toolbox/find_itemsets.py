"""Frequent itemsets of private rows, as a question of a session."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

from understudy.accounting.budget import Number
from understudy.accounting.cost import Cost
from understudy.curator.mechanisms.select_itemsets import ItemsetChoice
from understudy.toolbox.itemsets import (
    FrequentItemsets,
    make_itemset_table,
    plan_itemsets,
    plan_supports,
)
from understudy.workflow.asking.session import Session

CHOICE_SHARE = Fraction(1, 2)
"""Part of the budget that chooses itemsets; the rest measures their supports."""


def find_itemsets(
    session: Session,
    columns: Sequence[str],
    *,
    top: int,
    epsilon: Number,
    most_items: int = 3,
    least_items: int = 1,
    purpose: str = "",
) -> FrequentItemsets:
    """The most frequent combinations of items, with noisy supports and intervals.

    An item is a yes in a column of yes and no, or a label of a column of labels. Charged
    to the session's run, for at most `epsilon`; asked again, it costs nothing.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from understudy.schema import Boolean, Schema
    >>> from understudy.workflow.asking.questions import session
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     baskets = Path(folder, "baskets.csv")
    ...     rows = ["yes,yes,no"] * 900 + ["no,yes,yes"] * 100
    ...     _ = baskets.write_text("\\n".join(["bread,milk,tea", *rows]))
    ...     names = ("bread", "milk", "tea")
    ...     declared = Schema(columns=tuple(Boolean(name=n) for n in names))
    ...     with session(baskets, declared, budget=4) as questions:
    ...         found = find_itemsets(questions, names, top=1, least_items=2, epsilon=4)
    >>> found.rows[0].items
    ('bread', 'milk')
    """
    space = plan_itemsets(
        columns, session.schema, top=top, most_items=most_items, least_items=least_items
    )
    choice = ItemsetChoice(
        space=space,
        top=top,
        amount=session.amount_of(epsilon) * CHOICE_SHARE,
        accounting=session.accounting,
        neighbours=session.neighbours,
    )
    rest = Cost(session.accounting, session.amount_of(epsilon) * (1 - CHOICE_SHARE))
    payload, paid = session.draw_single(choice, following=rest, purpose=purpose)
    chosen = [space.itemsets[place] for place in json.loads(payload)]
    measured, cost = session.measure_plan(
        plan_supports(space, chosen),
        epsilon=epsilon,
        share=1 - CHOICE_SHARE,
        purpose=purpose,
    )
    total = cost if paid is None else cost + paid
    return make_itemset_table(chosen, measured, total if total.amount else None)
