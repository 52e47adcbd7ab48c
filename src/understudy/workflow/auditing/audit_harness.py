"""Audit harness: the real curator on two neighbouring tables, every question of one run
answered many times on each. For audits alone.

A claim is about one answer; to see how answers are distributed, an auditor needs many
answers to the same question for the privacy cost of one. So the payments here charge
once and let the mechanism draw many times, on either table; everything before and behind
them is the curator's own code. What the auditor keeps of an answer is its score, the
log-likelihood ratio of the two tables by the stated law, and of additive noise its
spread. Nothing of this is private: both tables are made up, or the custodian's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost
from understudy.accounting.expected_error import noise_deviation
from understudy.accounting.filter import Filter
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator.context import MechanismContext, TableProtocol
from understudy.curator.mechanisms.scores import CHOICE_SCORES, SCORE_GRID
from understudy.curator.payment import NoisyAnswer, Payments
from understudy.curator.simulation.canaries import EncodedRows
from understudy.evaluation.risk.audit import (
    Floats,
    likelihood_ratio,
    log_odds,
)
from understudy.evaluation.risk.noise_spread import NoiseSpread
from understudy.noise import draw_noise
from understudy.schema import Schema
from understudy.synthesizers import Progress, ignore_progress

ANSWERS_PER_BATCH = 4_096
"""Answers scored together."""

MAX_NOISE_POOL_DRAWS = 100_000
"""Noise drawn at a time, at the most, and handed out in order."""

CERTAIN_CELL_SCORE = 60.0
"""Score of a cell that can pass the threshold on one table only: as good as certain."""

ALWAYS_SHOWN_DEVIATIONS = 10
"""Standard deviations above a threshold from which on a cell passes it always."""

ExactAnswer = TypeVar("ExactAnswer")


class _NeighbourPair:
    """Two tables of which one answers at a time."""

    def __init__(self, here: EncodedRows, there: EncodedRows) -> None:
        self._both, self.at = (here, there), 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._both[self.at], name)


class _PooledNoise:
    """The real noise, drawn many at a time; or none, to see the exact answers."""

    def __init__(self) -> None:
        self.is_on = True
        self.answers_ahead = 1
        """Answers to this question that are still to come. Noise is drawn for all of
        them at once: exact sampling of wide noise is slow call by call.
        """
        self._pools: dict[tuple[Law, Fraction], tuple[NDArray[np.int64], int]] = {}

    def __call__(
        self, law: Law, scale: Fraction, shape: tuple[int, ...]
    ) -> NDArray[np.int64]:
        wanted = prod(shape)
        if not self.is_on:
            return np.zeros(shape, np.int64)
        # A large marginal is drawn at once anyway; a pool of many would fill memory.
        if wanted * 10 > MAX_NOISE_POOL_DRAWS:
            return draw_noise(law, scale, shape)
        pool, at = self._pools.get((law, scale), (np.zeros(0, np.int64), 0))
        if at + wanted > len(pool):
            pool, at = (
                draw_noise(
                    law,
                    scale,
                    (min(MAX_NOISE_POOL_DRAWS, wanted * self.answers_ahead),),
                ),
                0,
            )
        self._pools[law, scale] = pool, at + wanted
        return pool[at : at + wanted].reshape(shape)


class UnchargedRun:
    """A run that remembers nothing: no ledger is touched."""

    def answer(self, step: int, digest: str) -> bytes | None:  # noqa: ARG002
        """Never an old one."""
        return None

    def is_lost(self, step: int) -> bool:  # noqa: ARG002
        """Nothing was paid for before."""
        return False

    def charge(self, step: int, cost: Cost, digest: str) -> None:
        """No account is charged."""

    def store(self, step: int, digest: str, payload: bytes) -> None:
        """Nothing is kept."""


@dataclass
class AuditHarness:
    """What a run of questions gave: the summed scores of its answers on either table,
    and the spread of its noise.
    """

    schema: Schema
    neighbours: Neighbours
    times: int
    progress: Progress = ignore_progress
    here: Floats = field(init=False)
    there: Floats = field(init=False)
    spreads: list[NoiseSpread] = field(default_factory=list)
    questions: int = 0
    not_judged: list[str] = field(default_factory=list)
    """Mechanisms without a score: what their answers give away is not judged."""

    def __post_init__(self) -> None:
        self.here, self.there = np.zeros(self.times), np.zeros(self.times)

    def make_context(
        self,
        here: EncodedRows,
        there: EncodedRows,
        filter: Filter,
        *,
        epsilon: Fraction,
    ) -> MechanismContext:
        """A context in which every question is answered on both tables; the
        synthesizer gets the answer from `here`.
        """
        pair, noise = _NeighbourPair(here, there), _PooledNoise()
        return MechanismContext(
            table=cast(TableProtocol, pair),
            payments=_AuditPayments(self, pair, noise, filter),
            neighbours=self.neighbours,
            accounting=filter.accounting,
            epsilon=epsilon,
            max_rows=self.schema.unit.max_rows,
            draw=noise,
        )


class _AuditPayments(Payments):
    def __init__(
        self,
        harness: AuditHarness,
        pair: _NeighbourPair,
        noise: _PooledNoise,
        filter: Filter,
    ) -> None:
        super().__init__(UnchargedRun(), filter)
        self._harness, self._pair, self._noise = harness, pair, noise

    def pay(
        self,
        request: Mapping[str, object],
        cost: Cost,
        count: Callable[[], ExactAnswer],
        draw: Callable[[ExactAnswer], NoisyAnswer],
    ) -> NoisyAnswer:
        """Charge once, then score many answers on both tables."""
        before, times = self._spent_share, self._harness.times
        self._noise.answers_ahead = 2 * times + 1
        # The exact answer on the other table first, so that the answer that is handed
        # out comes from `here`.
        self._pair.at = 1
        other = count()
        self._pair.at = 0
        own: list[ExactAnswer] = []

        def draw_and_keep(exact: ExactAnswer) -> NoisyAnswer:
            own.append(exact)
            return draw(exact)

        answer = super().pay(request, cost, count, draw_and_keep)
        score = self._make_scorer(request, own[0], other, draw)
        worlds = ((self._harness.here, own[0]), (self._harness.there, other))
        for world, (scores, exact) in enumerate(worlds):
            for start in range(0, times, ANSWERS_PER_BATCH):
                size = min(ANSWERS_PER_BATCH, times - start)
                self._noise.answers_ahead = (2 - world) * times - start
                scores[start : start + size] += score(
                    [draw(exact) for _ in range(size)], world == 1
                )
                part = (world + start / times) / 2
                self._harness.progress(
                    "audit", before + part * (self._spent_share - before)
                )
        self._harness.questions += 1
        return answer

    @property
    def _spent_share(self) -> float:
        """The part of the run's budget that is spent."""
        return (
            float(1 - self.amount_left / self._filter.total)
            if self._filter.total
            else 1.0
        )

    def _make_scorer(
        self,
        request: Mapping[str, object],
        here: ExactAnswer,
        there: ExactAnswer,
        draw: Callable[[ExactAnswer], NoisyAnswer],
    ) -> Callable[[list[NoisyAnswer], bool], Floats]:
        if request["mechanism"] == "choice":
            odds = self._choice_log_odds(request, cast(Any, here), cast(Any, there))
            return lambda answers, _: odds[[int(a["index"]) for a in answers]]
        # A mechanism added later: say that it is not judged instead of passing it.
        if "law" not in request:
            self._harness.not_judged.append(str(request["mechanism"]))
            return lambda answers, _: np.zeros(len(answers))
        # Without noise the mechanism shows the centres that its noise is added to.
        self._noise.is_on = False
        centres = draw(here), draw(there)
        self._noise.is_on = True
        if request["mechanism"] == "cells":
            return self._threshold_scorer(request, centres)
        return self._additive_scorer(request, centres)

    def _additive_scorer(
        self, request: Mapping[str, object], centres: tuple[NoisyAnswer, NoisyAnswer]
    ) -> Callable[[list[NoisyAnswer], bool], Floats]:
        law = cast(Law, request["law"])
        parts = []
        for name in centres[0]:
            if "cliques" in request:
                asked = request["cliques"][int(name)][2]  # type: ignore[index]
            else:
                asked = request["scale"]
            scale = cast(Fraction, asked)
            if not scale:
                continue  # exact, because all neighbours agree on it
            a, b = (np.asarray(c[name]).astype(np.int64) for c in centres)
            spread = NoiseSpread(law=law, moved=b - a)
            self._harness.spreads.append(spread)
            parts.append((name, scale, a, b, spread))

        def score_answers(answers: list[NoisyAnswer], other: bool) -> Floats:
            total = np.zeros(len(answers))
            for name, scale, a, b, spread in parts:
                values = np.stack(
                    [np.asarray(answer[name]).astype(np.int64) for answer in answers]
                )
                spread.add(values - (b if other else a))
                total += likelihood_ratio(values, a, b, law, scale)
            return total

        return score_answers

    def _threshold_scorer(
        self, request: Mapping[str, object], centres: tuple[NoisyAnswer, NoisyAnswer]
    ) -> Callable[[list[NoisyAnswer], bool], Floats]:
        """Scores of cells that passed a threshold; the spread of those that always do,
        because no threshold cuts theirs off.
        """
        law, scale = cast(Law, request["law"]), cast(Fraction, request["scale"])
        far = cast(
            int, request["threshold"]
        ) + ALWAYS_SHOWN_DEVIATIONS * noise_deviation(law, scale)
        known = [
            {
                tuple(code): int(n)
                for code, n in zip(
                    c["codes"].tolist(), c["counts"].tolist(), strict=True
                )
            }
            for c in centres
        ]
        # Below the threshold noise is cut off, and its spread would look too small.
        always = [
            code
            for code in known[0]
            if code in known[1] and min(known[0][code], known[1][code]) > far
        ]
        here, there = (
            np.array([cells[code] for code in always], np.int64) for cells in known
        )
        spread = NoiseSpread(law=law, moved=there - here)
        if always:
            self._harness.spreads.append(spread)

        def score_answers(answers: list[NoisyAnswer], other: bool) -> Floats:
            total = np.zeros(len(answers))
            values = np.zeros((len(answers), len(always)), np.int64)
            for i, answer in enumerate(answers):
                shown = {
                    tuple(c): int(n)
                    for c, n in zip(
                        answer["codes"].tolist(), answer["counts"], strict=True
                    )
                }
                total[i] = sum(
                    CERTAIN_CELL_SCORE * ((code in known[1]) - (code in known[0]))
                    for code in shown
                )
                values[i] = [shown.get(code, 0) for code in always]
            if always:
                spread.add(values - (there if other else here))
                total += likelihood_ratio(values, here, there, law, scale)
            return total

        return score_answers

    def _choice_log_odds(
        self,
        request: Mapping[str, object],
        here: NDArray[np.int64],
        there: NDArray[np.int64],
    ) -> Floats:
        """Log-odds of each candidate between the two tables, by the stated ε and
        sensitivity.
        """
        harness, candidates = self._harness, cast(list[Any], request["candidates"])
        rows = harness.schema.unit.max_rows
        if request.get("score") in CHOICE_SCORES:
            rule, public = CHOICE_SCORES[str(request["score"])], self._pair.rows()
            public_rows = public if harness.neighbours is Neighbours.REPLACE else None
            moved = max(
                int(factor)
                * rule.sensitivity(
                    harness.neighbours,
                    rows,
                    rows=public_rows,
                    shape=harness.schema.sizes(tuple(clique)),
                )
                for clique, _, factor, _ in candidates
            )
        else:
            # Single cells: one row moves the score of a cell by one, on its grid.
            moved = rows * SCORE_GRID
        # The exponential mechanism: exp(ε · score / 2Δ).
        rate = float(cast(Fraction, request["epsilon"])) / (2 * moved)
        return log_odds(rate * here.astype(np.float64), rate * there.astype(np.float64))
