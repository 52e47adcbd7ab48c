"""A run on a table, and the same run on its neighbour: the same questions, answered as
they were on the table.

What a run asks depends on what it was answered, so two runs with noise cannot be
compared. Here the first is real (real noise, a real ledger), and every answer of it is
kept. On the neighbour each question is counted, charged, drawn and stored as ever, but
the answer that is handed out is the table's. From then on whatever differs between the
two runs was not paid for; and what each question would have been answered without noise
is known for both, so that its movement can be held against its price.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, inf

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import understudy.tables.bounded_rows
from kit.privacy.paths import choice_amount, rates
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.curator import MechanismContext, Payments
from understudy.curator.payment import NoisyAnswer

SHARED_SALT = "00" * 16
"""Which rows of a person are kept is drawn afresh for every opening of a table, whoever
is in it: neighbours are compared for one draw.
"""

ROUNDING = 1e-9
"""Relative error of the floats in which losses are computed; prices are exact
fractions.
"""


@dataclass
class Question:
    """One question of a run: what was stated about it, what was counted, what noise was
    added to, and what was answered.
    """

    request: Mapping[str, object]
    cost: Cost
    exact: object = None
    noised: list[tuple[NDArray[np.int64], Fraction]] = field(default_factory=list)
    """Every vector that noise was added to, and the scale of that noise."""
    rate: float = 0.0
    """Of a choice: what a score is multiplied with in the exponent."""
    epsilon: Fraction = Fraction(0)
    """The ε of the whole run, on which the price of a threshold depends."""
    answer: NoisyAnswer | None = None

    @property
    def mechanism(self) -> str:
        return str(self.request["mechanism"])


class Strayed(AssertionError):
    """The neighbour was asked something else than the table: what was asked is an
    answer that nobody paid for.
    """


@contextmanager
def keep_questions(
    replayed: Sequence[Question] | None = None,
) -> Iterator[list[Question]]:
    """Every question that is paid for while this lasts; with `replayed`, each is
    answered as it was then.
    """
    kept: list[Question] = []
    pay, noisy = Payments.pay, MechanismContext.add_noise

    def watched_noise(
        self: MechanismContext, exact: NDArray[np.int64], scale: Fraction
    ) -> NDArray[np.int64]:
        if kept:
            kept[-1].noised.append((np.array(exact), scale))
            kept[-1].epsilon = self.epsilon
        # A neighbour's noise would be thrown away.
        return noisy(self, exact, scale) if replayed is None else np.array(exact)

    def watched_pay(
        self: Payments,
        request: Mapping[str, object],
        cost: Cost,
        count: Callable[[], object],
        draw: Callable[[object], NoisyAnswer],
    ) -> NoisyAnswer:
        question = Question(request, cost)
        before = _question_before(replayed, len(kept), question)
        kept.append(question)

        def watched_draw(exact: object) -> NoisyAnswer:
            question.exact = exact
            with rates(question):  # type: ignore[arg-type]
                drawn = draw(exact)
            return drawn if before is None else before

        question.answer = pay(self, request, cost, count, watched_draw)
        return question.answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Payments, "pay", watched_pay)
        patch.setattr(MechanismContext, "add_noise", watched_noise)
        patch.setattr(understudy.tables.bounded_rows, "draw_salt", lambda: SHARED_SALT)
        yield kept


def _question_before(
    replayed: Sequence[Question] | None, at: int, question: Question
) -> NoisyAnswer | None:
    """The answer that the same question got on the table."""
    if replayed is None:
        return None
    if at >= len(replayed):
        raise Strayed(
            f"question {at} ({question.mechanism}) was asked of the neighbour alone"
        )
    before = replayed[at]
    if repr(before.request) != repr(question.request) or before.cost != question.cost:
        raise Strayed(
            f"question {at}: the table was asked {before.request} for {before.cost}, the neighbour"
            f" {question.request} for {question.cost}"
        )
    return before.answer


# How far a question moves, in the money it was paid with


@dataclass(frozen=True)
class Movement:
    """What a question loses between two tables, beside what it cost: the loss itself,
    and the chance that a new cell shows.
    """

    mechanism: str
    loss: float
    paid: float
    chance: float
    paid_delta: float

    @property
    def ratio(self) -> float:
        """The part of its price that the question lost; above 1 it was sold too
        cheaply.
        """
        return max(_share(self.loss, self.paid), _share(self.chance, self.paid_delta))


def _share(lost: float, paid: float) -> float:
    if lost == 0:
        return 0.0
    return lost / paid if paid else inf


def movement(here: Question, there: Question) -> Movement:
    """How far the exact answer to a question is on one table from that on the other,
    and what it cost.
    """
    loss, chance = _loss(here, there)
    return Movement(
        here.mechanism, loss, float(here.cost.amount), chance, float(here.cost.delta)
    )


def _loss(here: Question, there: Question) -> tuple[float, float]:
    if "threshold" in here.request:
        return _sparse_loss(here, there)
    if here.mechanism == "choice":
        return _choice_loss(here, there), 0.0
    if len(here.noised) != len(there.noised):
        return inf, 0.0
    return sum(
        _noise_loss(here.cost.accounting, *pair)
        for pair in zip(here.noised, there.noised, strict=True)
    ), 0.0


def _noise_loss(
    accounting: Accounting,
    here: tuple[NDArray[np.int64], Fraction],
    there: tuple[NDArray[np.int64], Fraction],
) -> float:
    """Of noise of one scale on every cell: by the L1 distance of the vectors it is
    added to under Laplace noise, else by their L2.
    """
    (one, scale), (other, scale_there) = here, there
    if one.shape != other.shape or scale != scale_there:
        return inf
    moved = np.abs(other.astype(np.float64) - one)
    return _distance_loss(moved, scale, accounting)


def _distance_loss(
    moved: NDArray[np.float64], scale: Fraction, accounting: Accounting
) -> float:
    if not moved.any():
        return 0.0
    if not scale:
        return inf
    if accounting is Accounting.PURE:
        return float(moved.sum()) / float(scale)
    mu_squared = float((moved**2).sum()) / float(scale) ** 2
    return mu_squared if accounting is Accounting.GDP else mu_squared / 2


def _choice_loss(here: Question, there: Question) -> float:
    """Of weights exp(rate·score): ε = 2·rate·(how far a score moves), whichever way the
    others move.
    """
    one, other = np.asarray(here.exact, np.int64), np.asarray(there.exact, np.int64)
    if one.shape != other.shape or here.rate != there.rate:
        return inf
    epsilon = 2 * here.rate * np.abs(other - one).max(initial=0)
    return float(choice_amount(epsilon, here.cost.accounting))


def _sparse_loss(here: Question, there: Question) -> tuple[float, float]:
    """Of cells that show above a threshold: all cells move as a histogram does, and
    those of one table alone hardly ever show.

    A cell that only one table has counts as empty in the other; the proof in
    curator/mechanisms/sparse_histogram.py asks less.
    """
    one, other = _cells(here.exact), _cells(there.exact)
    moved = np.array(
        [
            abs(other.get(cell, 0) - one.get(cell, 0))
            for cell in one.keys() | other.keys()
        ],
        np.float64,
    )
    scale = Fraction(str(here.request["scale"]))
    alone = [
        [count for cell, count in side.items() if cell not in opposite]
        for side, opposite in ((one, other), (other, one))
    ]
    chance = max(
        sum(_showing(here, scale, count) for count in counts) for counts in alone
    )
    if here.request["law"] is not Law.DISCRETE_LAPLACE:
        chance *= 1 + exp(float(here.epsilon))
    return _distance_loss(moved, scale, here.cost.accounting), chance


def _cells(exact: object) -> dict[object, int]:
    """What occurs and how often: labels, or the codes of cells."""
    names, counts = exact  # type: ignore[misc]
    keys = [name if isinstance(name, str) else tuple(map(int, name)) for name in names]
    return {key: int(count) for key, count in zip(keys, counts, strict=True) if count}


def _showing(question: Question, scale: Fraction, count: int) -> float:
    """The chance that a cell of this count is seen above the threshold."""
    beyond = int(str(question.request["threshold"])) - count
    match question.request["law"]:
        case Law.DISCRETE_LAPLACE:
            return float(stats.dlaplace.sf(beyond, 1 / float(scale)))
        case Law.ROUNDED_GAUSSIAN:
            return float(stats.norm.sf((beyond + 0.5) / float(scale)))
        case _:
            return _discrete_gaussian_tail(beyond, float(scale))


def _discrete_gaussian_tail(beyond: int, scale: float) -> float:
    """P(X > beyond) where P(X = k) is proportional to exp(−k²/2σ²)."""
    reach = int(40 * scale) + 2
    weights = np.exp(
        -(np.arange(-reach, reach + 1, dtype=np.float64) ** 2) / (2 * scale**2)
    )
    return float(weights[reach + beyond + 1 :].sum() / weights.sum())


def compare_movements(
    here: Sequence[Question], there: Sequence[Question]
) -> list[Movement]:
    """The movement of every question of a run that both tables were asked."""
    return [movement(one, other) for one, other in zip(here, there, strict=True)]
