"""One way through an adaptive run, and every question on it put to all neighbours of
the table.

What an adaptive synthesizer asks depends on what it was answered, so two runs cannot be
compared question by question. One path can: the answers so far are fixed, each question
is answered many times on the table, and worked out without noise on every neighbour.
What the run loses on a neighbour is then recomputed from outside: from the spread of
returned minus exact answers, from how far those answers lie apart, and from the weights
that were handed to the sampler of private choices. Prices and sensitivities that the
curator states are only compared with, never used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from math import inf

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from kit.curator.contexts import UnchargedRun, allowance, no_noise
from kit.curator.listed import Listed
from kit.privacy.audit import ALPHA, goodness, recomputed
from kit.privacy.world import PLENTY, Pooled, Remembered, Row
from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.filter import Filter
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator, CuratorView, MechanismContext, Payments
from understudy.curator.payment import NoisyAnswer
from understudy.noise import draw_noise, samplers
from understudy.noise.cdf_table import CdfTable, build_cdf_table
from understudy.noise.tails import tails_of_law
from understudy.schema import Boolean, Categorical, Identifier, Schema, Unit
from understudy.synthesizers import Synthesizer, Workload, ignore_progress

SCHEMA = Schema(
    columns=(
        Categorical(name="colour", values=("red", "green", "blue"), nullable=False),
        *(Boolean(name=name, nullable=False) for name in ("smoker", "cough", "tall")),
    )
)
EVERYBODY: list[Row] = [
    dict(zip(SCHEMA, cells, strict=True))
    for cells in product(("red", "green", "blue"), *[(False, True)] * 3)
]
PEOPLE: list[Row] = [EVERYBODY[i] for i in (0, 0, 0, 1, 1, 5, 7, 7, 7, 7, 12, 14)]
"""Columns that depend on each other, most cells empty, and nobody who is blue."""

BY_PERSON = replace(
    SCHEMA,
    columns=(Identifier(name="person"), *SCHEMA.columns),
    unit=Unit(id="person", max_rows=2),
)
"""The same where a person may have two rows."""

MOST = 40
"""Neighbours tried; under replace there are more."""

WIDE = 2_000
"""A scale from which on the difference to a continuous law cannot be seen."""

EPSILON = {Accounting.PURE: 3, Accounting.GDP: 10, Accounting.ZCDP: 10}


def neighbours_of(
    rows: Sequence[Row], relation: Neighbours, unit: int = 1
) -> list[list[Row]]:
    """Every table that one person more or less makes, or some of those that one person
    exchanged makes.

    Someone who has two rows takes both along: alike, which moves a count furthest, and
    two that differ.
    """
    there = [
        i
        for i, row in enumerate(rows)
        if row not in rows[:i] and rows.count(row) >= unit
    ]
    without = {
        i: [row for j, row in enumerate(rows) if j not in range(i, i + unit)]
        for i in there
    }
    newcomers = [[other] * unit for other in EVERYBODY]
    if unit > 1:
        newcomers += [[one, other] for one, other in pairwise(EVERYBODY)]
    if relation is Neighbours.ADD_REMOVE:
        return [*without.values(), *([*rows, *new] for new in newcomers)]
    exchanged = [
        [*without[i], *new] for i in there for new in newcomers if rows[i] not in new
    ]
    return exchanged[:: -(-len(exchanged) // MOST)]


class Crowd:
    """A table and its neighbours; `at` says which of them answers."""

    def __init__(self, tables: Sequence[Sequence[Row]], schema: Schema) -> None:
        self._tables = [Remembered(Listed(rows, schema)) for rows in tables]
        self.at = 0

    def __getattr__(self, name: str) -> Callable[..., object]:
        return getattr(self._tables[self.at], name)


@dataclass
class Noise:
    """The real noise, which can be held back to see what lies beneath it."""

    pooled: Pooled = field(default_factory=lambda: Pooled(1_000))
    quiet: bool = False

    def __call__(
        self, law: Law, scale: Fraction, shape: tuple[int, ...]
    ) -> NDArray[np.int64]:
        if self.quiet:
            return no_noise(law, scale, shape)
        return (
            draw_noise(law, scale, shape)
            if scale >= WIDE
            else self.pooled(law, scale, shape)
        )  # wide noise is drawn slowly


@dataclass
class Asked:
    """A question of the path: what it said it costs, its answers, and the exact answers
    on the table and its neighbours.
    """

    request: Mapping[str, object]
    cost: Cost
    answers: list[NoisyAnswer] = field(default_factory=list)
    exact: list[NoisyAnswer] = field(default_factory=list)
    rate: float = 0.0
    """Of a choice: what a score is multiplied with in the exponent."""

    @property
    def chooses(self) -> bool:
        return self.request["mechanism"] == "choice"

    def scale_of(self, name: str) -> Fraction:
        """The scale stated for an answer."""
        if "cliques" in self.request:
            return self.request["cliques"][int(name)][2]  # type: ignore[index]
        return self.request["scale"]  # type: ignore[return-value]

    def noise(self, name: str) -> NDArray[np.int64]:
        """Returned minus exact, one line for each answer."""
        returned = np.stack([a[name] for a in self.answers]).astype(np.int64)
        return (returned - self.exact[0][name]).reshape(len(returned), -1)

    def moved(self, name: str) -> NDArray[np.int64]:
        """How far the exact answer is from the table's on each neighbour."""
        there = np.stack([a[name] for a in self.exact[1:]]).astype(np.int64)
        return np.abs(there - self.exact[0][name]).reshape(len(there), -1)


class Witness(Payments):
    """The real payments, which answer as they do and note what every neighbour would
    have been answered.
    """

    def __init__(
        self, filter: Filter, crowd: Crowd, neighbours: int, noise: Noise, times: int
    ) -> None:
        super().__init__(UnchargedRun(), filter)
        self.crowd, self.neighbours, self.noise, self.times = (
            crowd,
            neighbours,
            noise,
            times,
        )
        self.path: list[Asked] = []

    def pay(
        self,
        request: Mapping[str, object],
        cost: Cost,
        count: Callable[[], object],
        draw: Callable[[object], NoisyAnswer],
    ) -> NoisyAnswer:
        asked = Asked(request, cost)

        def many(exact: object) -> NoisyAnswer:
            with rates(asked):
                asked.answers.extend(draw(exact) for _ in range(self._often(asked)))
            return asked.answers[-1]

        answer = super().pay(request, cost, count, many)
        assert asked.answers, "an answer was given that nobody drew"
        assert answer is asked.answers[-1], (
            "another answer was given than the one that was drawn"
        )
        self.noise.quiet = True
        for at in range(self.neighbours + 1):
            self.crowd.at = at
            exact = count()
            asked.exact.append(
                {"scores": np.asarray(exact)} if asked.chooses else draw(exact)
            )
        self.crowd.at, self.noise.quiet = 0, False
        self.path.append(asked)
        return answer

    def _often(self, asked: Asked) -> int:
        """Distances have a wide noise that is drawn slowly, and there are many of them
        in one answer. A choice's law is seen at once.
        """
        if asked.request["mechanism"] == "errors":
            return 1 + self.times // len(asked.request["candidates"])  # type: ignore[arg-type]
        return 1 if asked.chooses else self.times


@contextmanager
def rates(asked: Asked) -> Iterator[None]:
    """Notes what scores are multiplied with, in the last place before it is used."""
    sampler = sys.modules["understudy.noise.choice"]
    real = sampler.exponent_per_step

    def noting(*args: object) -> Fraction:
        found: Fraction = real(*args)
        asked.rate = float(found)
        return found

    sampler.exponent_per_step = noting  # type: ignore[attr-defined]
    try:
        yield
    finally:
        sampler.exponent_per_step = real  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Path:
    """All that was asked on one way through a run, what the run was allowed, and in
    which accounting.
    """

    asked: Sequence[Asked]
    allowed: Fraction
    accounting: Accounting


def walk(
    synthesizer: Synthesizer,
    relation: Neighbours,
    accounting: Accounting,
    *,
    times: int,
    schema: Schema = SCHEMA,
) -> Path:
    """One run of a synthesizer under a witness."""
    budget = Budget.of(EPSILON[accounting], PLENTY[accounting])
    filter = allowance(EPSILON[accounting], PLENTY[accounting], accounting)
    others, noise = neighbours_of(PEOPLE, relation, schema.unit.max_rows), Noise()
    crowd = Crowd([PEOPLE, *others], schema)
    payments = Witness(replace(filter), crowd, len(others), noise, times)
    context = MechanismContext(
        table=crowd,  # type: ignore[arg-type]
        payments=payments,
        neighbours=relation,
        accounting=accounting,
        epsilon=budget.epsilon,
        max_rows=schema.unit.max_rows,
        draw=noise,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samplers, "cached_cdf_table", _table)
        synthesizer.measure(
            CuratorView(Curator(context, schema)),
            Workload.of_order(schema, 2),
            ignore_progress,
        )
    return Path(payments.path, filter.total, accounting)


@lru_cache(maxsize=150)
def _table(law: Law, scale: Fraction) -> CdfTable:
    """The sampler's own tables, kept for longer than a curator would: the same runs are
    walked and broken, again and again.
    """
    return build_cdf_table(tails_of_law(law, scale))


def check_path(path: Path, *, tight: float) -> None:
    """No neighbour costs more than was paid, question by question and in all; the worst
    costs nearly as much; every cell has its noise.
    """
    low, high = zip(
        *(loss(asked, path.accounting) for asked in path.asked), strict=True
    )
    claims = [float(asked.cost.amount) for asked in path.asked]
    for asked, found, claim in zip(path.asked, low, claims, strict=True):
        assert max(found) <= claim * (1 + 1e-9), (
            f"{asked.request['mechanism']}: {max(found)} is lost, {claim} was paid"
        )
    assert sum(claims) <= path.allowed
    assert np.sum(low, axis=0).max() <= path.allowed
    assert np.sum(low, axis=0).max() >= tight * sum(claims), (
        "the audit has gone blind, or budget is wasted"
    )
    assert np.sum(high, axis=0).max() >= 0.99 * tight * float(path.allowed), (
        "much of the budget was not spent"
    )
    drawn = [
        (asked, name)
        for asked in path.asked
        if not asked.chooses
        for name in asked.answers[0]
    ]
    for asked, name in drawn:
        if not asked.scale_of(name):
            assert not asked.moved(name).any(), (
                "what all neighbours agree on is exact, and nothing else"
            )
            assert not asked.noise(name).any()
            continue
        empty = asked.exact[0][name].ravel() == 0
        for part in (empty, ~empty):
            if part.any():
                fits = fit(
                    asked.noise(name)[:, part],
                    asked.request["law"],
                    asked.scale_of(name),
                )  # type: ignore[arg-type]
                assert fits > ALPHA / len(drawn) / 2, (
                    f"{asked.request['mechanism']}: not the noise that was stated"
                )


def fit(noise: NDArray[np.int64], law: Law, scale: Fraction) -> float:
    """p-value that noise follows its law; a wide one by equally likely bins of its
    continuous limit, which is off by 1/scale there.
    """
    if scale < WIDE:
        return goodness(noise, law, scale)
    limit = stats.laplace if law is Law.DISCRETE_LAPLACE else stats.norm
    places = limit.cdf(noise.ravel() / float(scale))
    return float(
        stats.chisquare(
            np.histogram(places, bins=max(2, min(20, places.size // 25)), range=(0, 1))[
                0
            ]
        ).pvalue
    )


def loss(
    asked: Asked, accounting: Accounting
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What a question costs on each neighbour, in the run's accounting: from below and
    from above.
    """
    if asked.chooses:
        return (found := choice_loss(asked, accounting)), found
    low = high = np.zeros(len(asked.exact) - 1)
    for name in asked.answers[0]:
        if asked.scale_of(name):
            # How much a unit of distance costs, by the spread of the noise that was
            # added.
            unit = recomputed(
                asked.noise(name), asked.request["law"], l1=1, l2=1, cost=asked.cost
            )  # type: ignore[arg-type]
            moved = asked.moved(name)
            far = (
                moved.sum(axis=1)
                if accounting is Accounting.PURE
                else np.sqrt((moved**2).sum(axis=1))
            )
            low, high = (
                total + _amount(side, far, accounting)
                for total, side in ((low, unit.low), (high, unit.high))
            )
    return low, high


def _amount(
    unit: float, far: NDArray[np.float64], accounting: Accounting
) -> NDArray[np.float64]:
    if unit == inf:
        return np.where(far > 0, inf, 0.0)
    return (
        unit * far
        if accounting is Accounting.PURE
        else unit * far**2
        if accounting is Accounting.ZCDP
        else (unit * far) ** 2
    )


def choice_loss(asked: Asked, accounting: Accounting) -> NDArray[np.float64]:
    """Of a choice with weights exp(rate·score): ε = 2·rate·(how far a score moves),
    whichever way the others move.
    """
    return choice_amount(2 * asked.rate * asked.moved("scores").max(axis=1), accounting)


def choice_amount(
    epsilon: NDArray[np.float64], accounting: Accounting
) -> NDArray[np.float64]:
    """What a private choice of this ε costs in a accounting."""
    if accounting is Accounting.PURE:
        return epsilon
    return epsilon**2 * (0.393 if accounting is Accounting.GDP else 1 / 8)
