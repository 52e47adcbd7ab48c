"""What a release guarantees and what it cost, as JSON and back."""

from __future__ import annotations

from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.neighbours import Neighbours
from understudy.releases.account import BudgetStatement, BudgetStep
from understudy.releases.file.json_fields import (
    JsonFields,
    day_from_json,
    field_error,
    fraction_to_json,
)
from understudy.releases.guarantee import Guarantee, GuaranteeKind

_GUARANTEE_FIELDS = {
    "kind",
    "sentence",
    "epsilon",
    "delta",
    "currency",
    "amount",
    "neighbours",
    "unit",
    "max_rows",
    "invariants",
    "public",
    "learned",
}
_STATEMENT_FIELDS = {"dataset", "epsilon", "delta", "steps", "ledger", "run", "day"}

_MAX_WORD_CHARACTERS = 1000
"""Characters of a name: of a unit, a dataset, a run."""


def cost_to_json(cost: Cost) -> dict[str, object]:
    """A privacy cost as JSON."""
    # The format's word for the accounting is older than the package's.
    return {
        "currency": cost.accounting.value,
        "amount": fraction_to_json(cost.amount),
        "delta": fraction_to_json(cost.delta),
    }


def cost_from_json(value: object, where: str) -> Cost:
    """A privacy cost, checked."""
    fields = JsonFields(value, where, {"currency", "amount", "delta"})
    return Cost(
        fields.choice("currency", Accounting),
        fields.fraction("amount"),
        fields.fraction("delta"),
    )


def guarantee_to_json(guarantee: Guarantee) -> dict[str, object]:
    """A guarantee as JSON, its sentence included."""
    accounting = guarantee.accounting
    return {
        "kind": guarantee.kind.value,
        "sentence": guarantee.sentence(),
        "epsilon": fraction_to_json(guarantee.epsilon),
        "delta": fraction_to_json(guarantee.delta),
        "currency": None if accounting is None else accounting.value,
        "amount": fraction_to_json(guarantee.amount),
        "neighbours": guarantee.neighbours.value,
        "unit": guarantee.unit,
        "max_rows": guarantee.max_rows,
        "invariants": list(guarantee.invariants),
        "public": list(guarantee.public),
        "learned": list(guarantee.learned),
    }


def guarantee_from_json(value: object) -> Guarantee:
    """A guarantee, checked; its sentence must say what its numbers say."""
    fields = JsonFields(value, "guarantee", _GUARANTEE_FIELDS)
    accounting = None
    if fields["currency"] is not None:
        accounting = fields.choice("currency", Accounting)
    guarantee = Guarantee(
        kind=fields.choice("kind", GuaranteeKind),
        epsilon=fields.fraction("epsilon"),
        delta=fields.fraction("delta"),
        accounting=accounting,
        amount=fields.fraction("amount"),
        neighbours=fields.choice("neighbours", Neighbours),
        unit=fields.text("unit", limit=_MAX_WORD_CHARACTERS),
        max_rows=fields.whole("max_rows", low=1),
        invariants=fields.texts("invariants"),
        public=fields.texts("public"),
        learned=fields.texts("learned"),
    )
    # People read the sentence and programs the numbers: a file may not tell them
    # different things.
    if fields["sentence"] != guarantee.sentence():
        raise field_error("guarantee.sentence", "what the numbers beside it say")
    return guarantee


def statement_to_json(statement: BudgetStatement) -> dict[str, object]:
    """A budget statement as JSON."""
    return {
        "dataset": statement.dataset,
        "epsilon": fraction_to_json(statement.epsilon),
        "delta": fraction_to_json(statement.delta),
        "steps": [
            {
                "asked": s.asked,
                "cost": cost_to_json(s.cost),
                "share": fraction_to_json(s.share),
            }
            for s in statement.steps
        ],
        "ledger": statement.ledger,
        "run": statement.run,
        "day": None if statement.day is None else statement.day.isoformat(),
    }


def statement_from_json(value: object) -> BudgetStatement:
    """A budget statement, checked."""
    fields = JsonFields(value, "statement", _STATEMENT_FIELDS)
    return BudgetStatement(
        dataset=fields.text("dataset", limit=_MAX_WORD_CHARACTERS),
        epsilon=fields.fraction("epsilon"),
        delta=fields.fraction("delta"),
        steps=tuple(
            _step_from_json(step, f"statement.steps[{i}]")
            for i, step in enumerate(fields.items("steps"))
        ),
        ledger=fields.text("ledger", limit=_MAX_WORD_CHARACTERS),
        run=fields.text("run", limit=_MAX_WORD_CHARACTERS),
        day=fields.optional("day", day_from_json),
    )


def _step_from_json(value: object, where: str) -> BudgetStep:
    fields = JsonFields(value, where, {"asked", "cost", "share"})
    cost = cost_from_json(fields["cost"], fields.path("cost"))
    return BudgetStep(
        asked=fields.text("asked"), cost=cost, share=fields.fraction("share")
    )
