"""What a release promises and what it cost, as JSON and back."""

from __future__ import annotations

from understudy.accounting.cost import Cost, Currency
from understudy.accounting.neighbours import Neighbours
from understudy.releases.account import Statement, Step
from understudy.releases.file.json_fields import Fields, as_day, ratio, wrong
from understudy.releases.guarantee import Guarantee, Promise


def cost_out(cost: Cost) -> dict[str, object]:
    """A price as JSON."""
    return {"currency": cost.currency.value, "amount": ratio(cost.amount), "delta": ratio(cost.delta)}


def cost_in(found: object, where: str) -> Cost:
    """A price, checked."""
    fields = Fields(found, where, {"currency", "amount", "delta"})
    return Cost(fields.choice("currency", Currency), fields.fraction("amount"), fields.fraction("delta"))


def guarantee_out(guarantee: Guarantee) -> dict[str, object]:
    """A promise as JSON, its sentence included."""
    return {
        "kind": guarantee.kind.value,
        "sentence": guarantee.sentence(),
        "epsilon": ratio(guarantee.epsilon),
        "delta": ratio(guarantee.delta),
        "currency": None if guarantee.currency is None else guarantee.currency.value,
        "amount": ratio(guarantee.amount),
        "neighbours": guarantee.neighbours.value,
        "unit": guarantee.unit,
        "max_rows": guarantee.max_rows,
        "invariants": list(guarantee.invariants),
        "public": list(guarantee.public),
        "learned": list(guarantee.learned),
    }


def guarantee_in(found: object) -> Guarantee:
    """A promise, checked; its sentence must say what its numbers say."""
    names = {"kind", "sentence", "epsilon", "delta", "currency", "amount", "neighbours", "unit", "max_rows"}
    fields = Fields(found, "guarantee", names | {"invariants", "public", "learned"})
    guarantee = Guarantee(
        kind=fields.choice("kind", Promise),
        epsilon=fields.fraction("epsilon"),
        delta=fields.fraction("delta"),
        currency=None if fields["currency"] is None else fields.choice("currency", Currency),
        amount=fields.fraction("amount"),
        neighbours=fields.choice("neighbours", Neighbours),
        unit=fields.text("unit", limit=1000),
        max_rows=fields.whole("max_rows", low=1),
        invariants=fields.texts("invariants"),
        public=fields.texts("public"),
        learned=fields.texts("learned"),
    )
    if fields["sentence"] != guarantee.sentence():
        raise wrong("guarantee.sentence", "what the numbers beside it say")
    return guarantee


def statement_out(statement: Statement) -> dict[str, object]:
    """An account as JSON."""
    return {
        "dataset": statement.dataset,
        "epsilon": ratio(statement.epsilon),
        "delta": ratio(statement.delta),
        "steps": [{"asked": s.asked, "cost": cost_out(s.cost), "share": ratio(s.share)} for s in statement.steps],
        "ledger": statement.ledger,
        "run": statement.run,
        "day": None if statement.day is None else statement.day.isoformat(),
    }


def statement_in(found: object) -> Statement:
    """An account, checked."""
    fields = Fields(found, "statement", {"dataset", "epsilon", "delta", "steps", "ledger", "run", "day"})
    return Statement(
        dataset=fields.text("dataset", limit=1000),
        epsilon=fields.fraction("epsilon"),
        delta=fields.fraction("delta"),
        steps=tuple(_step_in(step, f"statement.steps[{i}]") for i, step in enumerate(fields.items("steps"))),
        ledger=fields.text("ledger", limit=1000),
        run=fields.text("run", limit=1000),
        day=fields.optional("day", as_day),
    )


def _step_in(found: object, where: str) -> Step:
    fields = Fields(found, where, {"asked", "cost", "share"})
    cost = cost_in(fields["cost"], fields.path("cost"))
    return Step(asked=fields.text("asked"), cost=cost, share=fields.fraction("share"))
