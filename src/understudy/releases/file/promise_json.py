"""What a release promises and what it cost, as JSON and back."""

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


def cost_to_json(cost: Cost) -> dict[str, object]:
    """A price as JSON."""
    return {
        "currency": cost.accounting.value,
        "amount": fraction_to_json(cost.amount),
        "delta": fraction_to_json(cost.delta),
    }


def cost_from_json(found: object, where: str) -> Cost:
    """A price, checked."""
    fields = JsonFields(found, where, {"currency", "amount", "delta"})
    return Cost(
        fields.choice("currency", Accounting),
        fields.fraction("amount"),
        fields.fraction("delta"),
    )


def guarantee_to_json(guarantee: Guarantee) -> dict[str, object]:
    """A promise as JSON, its sentence included."""
    return {
        "kind": guarantee.kind.value,
        "sentence": guarantee.sentence(),
        "epsilon": fraction_to_json(guarantee.epsilon),
        "delta": fraction_to_json(guarantee.delta),
        "currency": (
            None if guarantee.accounting is None else guarantee.accounting.value
        ),
        "amount": fraction_to_json(guarantee.amount),
        "neighbours": guarantee.neighbours.value,
        "unit": guarantee.unit,
        "max_rows": guarantee.max_rows,
        "invariants": list(guarantee.invariants),
        "public": list(guarantee.public),
        "learned": list(guarantee.learned),
    }


def guarantee_from_json(found: object) -> Guarantee:
    """A promise, checked; its sentence must say what its numbers say."""
    names = {
        "kind",
        "sentence",
        "epsilon",
        "delta",
        "currency",
        "amount",
        "neighbours",
        "unit",
        "max_rows",
    }
    fields = JsonFields(found, "guarantee", names | {"invariants", "public", "learned"})
    guarantee = Guarantee(
        kind=fields.choice("kind", GuaranteeKind),
        epsilon=fields.fraction("epsilon"),
        delta=fields.fraction("delta"),
        accounting=(
            None
            if fields["currency"] is None
            else fields.choice("currency", Accounting)
        ),
        amount=fields.fraction("amount"),
        neighbours=fields.choice("neighbours", Neighbours),
        unit=fields.text("unit", limit=1000),
        max_rows=fields.whole("max_rows", low=1),
        invariants=fields.texts("invariants"),
        public=fields.texts("public"),
        learned=fields.texts("learned"),
    )
    if fields["sentence"] != guarantee.sentence():
        raise field_error("guarantee.sentence", "what the numbers beside it say")
    return guarantee


def statement_to_json(statement: BudgetStatement) -> dict[str, object]:
    """An account as JSON."""
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


def statement_from_json(found: object) -> BudgetStatement:
    """An account, checked."""
    fields = JsonFields(
        found,
        "statement",
        {"dataset", "epsilon", "delta", "steps", "ledger", "run", "day"},
    )
    return BudgetStatement(
        dataset=fields.text("dataset", limit=1000),
        epsilon=fields.fraction("epsilon"),
        delta=fields.fraction("delta"),
        steps=tuple(
            _step_from_json(step, f"statement.steps[{i}]")
            for i, step in enumerate(fields.items("steps"))
        ),
        ledger=fields.text("ledger", limit=1000),
        run=fields.text("run", limit=1000),
        day=fields.optional("day", day_from_json),
    )


def _step_from_json(found: object, where: str) -> BudgetStep:
    fields = JsonFields(found, where, {"asked", "cost", "share"})
    cost = cost_from_json(fields["cost"], fields.path("cost"))
    return BudgetStep(
        asked=fields.text("asked"), cost=cost, share=fields.fraction("share")
    )
