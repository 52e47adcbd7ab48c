"""Tables and contexts to audit: small worlds, worst-case neighbours, and payments that
let an auditor ask one question many times.

A claim is about one answer. To see how answers are distributed, the auditor needs many
of the same question on the same table, at the price of one; that is what `RepeatedPayments` is
for. It takes payments as the real one does but for that, and everything before and
behind it is the real code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from kit.curator.contexts import UnchargedRun, no_noise
from kit.curator.listed import Listed
from kit.privacy.audit import Floats, likelihood_ratio
from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.filter import Filter
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator import MechanismContext, Payments, TableProtocol
from understudy.curator.payment import NoisyAnswer
from understudy.noise import draw_noise
from understudy.schema import Schema

Row = Mapping[str, object]
Ask = Callable[[MechanismContext, Schema], object]
"""A question put to a context."""

ALONE = 20
"""Answers that are drawn one by one, before all the others are drawn at once."""

PLENTY = {Accounting.PURE: 0, Accounting.GDP: "1e-6", Accounting.ZCDP: "1e-6"}
"""A δ for each accounting."""


class Remembered:
    """A table that works out every exact answer once: its rows do not change, and an
    audit asks thousands of times.
    """

    def __init__(self, table: TableProtocol) -> None:
        self._table, self._found = table, {}

    def __getattr__(self, name: str) -> Callable[..., object]:
        asked = getattr(self._table, name)

        def answer(*args: object) -> object:
            key = name, repr(args)
            if key not in self._found:
                self._found[key] = asked(*args)
            return self._found[key]

        return answer


class Pooled:
    """The real noise, drawn a hundred thousand at a time and handed out in order.
    `often` says for how many answers at once.
    """

    def __init__(self, size: int = 100_000) -> None:
        self._size, self._pools = size, {}
        self.often: int | None = None

    def __call__(
        self, law: Law, scale: Fraction, shape: tuple[int, ...]
    ) -> NDArray[np.int64]:
        if self.often is not None:
            return draw_noise(law, scale, (self.often, *shape))
        wanted = prod(shape)
        if wanted * 10 > self._size:
            return draw_noise(law, scale, shape)
        pool, at = self._pools.get((law, scale), (None, self._size))
        if at + wanted > self._size:
            pool, at = draw_noise(law, scale, (self._size,)), 0
        self._pools[law, scale] = pool, at + wanted
        return pool[at : at + wanted].reshape(shape)


@dataclass
class RepeatedAnswers:
    """One question, its price, and every answer that was drawn."""

    request: Mapping[str, object]
    cost: Cost
    answers: list[NoisyAnswer]

    def stacked(self, name: str) -> NDArray[np.int64]:
        """All answers of one name, as integers, along the first axis."""
        return np.stack([a[name] for a in self.answers]).astype(np.int64)

    def scale_of(self, name: str) -> Fraction:
        """The scale stated for an answer."""
        if "cliques" in self.request:
            return self.request["cliques"][int(name)][2]  # type: ignore[index]
        return self.request["scale"]  # type: ignore[return-value]


class RepeatedPayments(Payments):
    """Takes the price of one answer, and draws many."""

    def __init__(self, filter: Filter, times: int, noise: object) -> None:
        super().__init__(UnchargedRun(), filter)
        self.times, self.noise = times, noise
        self.repeated: list[RepeatedAnswers] = []

    def pay(
        self,
        request: Mapping[str, object],
        cost: Cost,
        count: Callable[[], object],
        draw: Callable[[object], NoisyAnswer],
    ) -> NoisyAnswer:
        repeated = RepeatedAnswers(request, cost, answers := [])

        def many(exact: object) -> NoisyAnswer:
            answers.extend(draw(exact) for _ in range(min(self.times, ALONE)))
            answers.extend(self._at_once(repeated, lambda: draw(exact)))
            answers.extend(draw(exact) for _ in range(self.times - len(answers)))
            return answers[-1]

        last = super().pay(request, cost, count, many)
        self.repeated.append(repeated)
        return last

    def _at_once(
        self, repeated: RepeatedAnswers, draw: Callable[[], NoisyAnswer]
    ) -> list[NoisyAnswer]:
        """The rest in one go: every cell gets as many numbers as there are answers
        left, and whatever is done to one is done to all.

        None where an answer is a choice, or its shape hangs on its noise: those are
        drawn one by one.
        """
        one, left = repeated.answers[-1], self.times - ALONE
        if (
            left <= 0
            or not isinstance(self.noise, Pooled)
            or not {"cliques", "scale"} & repeated.request.keys()
        ):
            return []
        self.noise.often = left
        try:
            found = draw()
        except (ValueError, IndexError, TypeError):
            return []
        finally:
            self.noise.often = None
        if found.keys() != one.keys() or "threshold" in repeated.request:
            return []
        for name, values in found.items():
            if not repeated.scale_of(name):  # is exact
                found[name] = np.broadcast_to(values, (left, *np.shape(values)))
            if np.shape(found[name]) != (left, *np.shape(one[name])):
                return []
        return [
            dict(zip(found, row, strict=True))
            for row in zip(*found.values(), strict=True)
        ]


def ask_repeatedly(
    ask: Ask,
    rows: Sequence[Row],
    schema: Schema,
    *,
    times: int,
    relation: Neighbours = Neighbours.ADD_REMOVE,
    accounting: Accounting = Accounting.GDP,
    epsilon: object = 10,
    delta: object | None = None,
    noise: object | None = None,
) -> list[RepeatedAnswers]:
    """Put a question to a context around these rows; every answer to it `times` times."""
    budget = Budget.of(epsilon, PLENTY[accounting] if delta is None else delta)
    noise = Pooled() if noise is None else noise
    payments = RepeatedPayments(replace(_filter(budget, accounting)), times, noise)
    context = MechanismContext(
        table=Remembered(Listed(rows, schema)),  # type: ignore[arg-type]
        payments=payments,
        neighbours=relation,
        accounting=accounting,
        epsilon=budget.epsilon,
        max_rows=schema.unit.max_rows,
        draw=noise,  # type: ignore[arg-type]
    )
    ask(context, schema)
    return payments.repeated


@cache
def _filter(budget: Budget, accounting: Accounting) -> Filter:
    """What a budget buys in a accounting, half of its δ set aside for thresholds."""
    half = Fraction(0) if accounting is Accounting.PURE else budget.delta / 2
    return Filter.of(budget, accounting=accounting, threshold_delta=half)


def additive(
    ask: Ask,
    here: Sequence[Row],
    there: Sequence[Row],
    schema: Schema,
    *,
    times: int,
    **options: object,
) -> tuple[Floats, Floats, Cost]:
    """Log-likelihood ratios of all answers to a question that is exact integers plus
    noise, on two neighbouring tables, and its price.

    What the integers are is found by asking with no noise at all. Answers to several
    questions are independent: their ratios add up.
    """
    exact = [
        ask_repeatedly(ask, rows, schema, times=1, **{**options, "noise": no_noise})
        for rows in (here, there)
    ]
    scores = []
    for rows in (here, there):
        repeated = ask_repeatedly(ask, rows, schema, times=times, **options)
        assert (
            [h.request for h in repeated]
            == [h.request for h in exact[0]]
            == [h.request for h in exact[1]]
        )
        scores.append(
            sum(
                likelihood_ratio(
                    h.stacked(name),
                    a.stacked(name)[0],
                    b.stacked(name)[0],
                    h.request["law"],
                    h.scale_of(name),
                )
                for h, a, b in zip(repeated, *exact, strict=True)
                for name in h.answers[0]
                if h.scale_of(name)
            )
        )
    cost = sum((h.cost for h in repeated[1:]), repeated[0].cost)
    return scores[0], scores[1], cost
