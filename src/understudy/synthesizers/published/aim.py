"""AIM: measure, round by round, the marginal of the workload that the model so far
serves worst.

McKenna, Mullins, Sheldon, Miklau, "AIM: an adaptive and iterative mechanism for
differentially private synthetic data", VLDB 2022.

  1. One-way marginals, for what d of T = 16·d rounds would pay.
  2. Each round: candidates are the subsets r of the workload's marginals whose model
     stays below the size limit, which grows with the part of the budget that is spent.
     One is chosen privately by
         q_r = w_r · (‖M_r(D) − M_r(p)‖₁ − E|noise|·n_r),   w_r = Σ_s c_s·|r ∩ s|,
     s over the workload's marginals, of weight c_s:
     what measuring it should gain, weighted by what it has in common with the workload.
     It is measured, and the model is fitted again.
  3. Annealing: where a measurement moved the model by less than its own noise, rounds
     have become too cheap to learn from. The noise is halved from then on.
  4. The last round takes what is left.

Why it is private: every choice is the exponential mechanism and every measurement has
noise on every cell, each priced by the curator before it is answered. Estimates,
weights, sizes and penalties come from answers already paid for. One row moves ‖M_r(D) −
M_r(p)‖₁ by 1 (a replaced one by 2), so q_r by w_r times that: the curator divides by
the largest.

What is done here for speed: models are exact junction trees, fitted anew from where the
last fit ended; a marginal whose penalty exceeds anything it could gain is not asked
about; marginals of three columns and more are judged once the tree brings their columns
together, so that no estimate is ever sampled; and several marginals may be picked per
fit (`picks`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.measurements import Clique, Measurements
from understudy.models.fitting.constants import MAX_FIT_CELLS
from understudy.models.fitting.estimate import fit_measurements
from understudy.models.inference.junction_tree import JunctionTree
from understudy.models.tree import TreeModel
from understudy.notices import post_notice
from understudy.schema import Schema
from understudy.synthesizers.base import (
    About,
    Awareness,
    CuratorProtocol,
    Progress,
    Synthesizer,
    Workload,
    option,
    public_total,
)
from understudy.synthesizers.budget_split import (
    split_by_cells,
    too_large_notice,
    varying_columns,
)
from understudy.synthesizers.shared.candidate_pool import (
    MAX_ROUND_FORECASTS,
    CandidatePool,
)
from understudy.synthesizers.shared.noise_units import noise_power, unit_noise
from understudy.synthesizers.shared.one_ways import one_ways

ROUND_FIT_TOLERANCE = 0.1
"""How far a fit between two rounds goes: its gap as a share of the loss that noise
alone leaves.
"""


@dataclass(frozen=True, kw_only=True)
class AIM(Synthesizer):
    """Adaptive: measures what the model serves worst, weighted by the workload."""

    name: ClassVar[str] = "aim"
    aware: ClassVar[Awareness] = Awareness(
        workload=True, data=True, budget=True, efficiency=True
    )
    about: ClassVar[About] = About(
        use=(
            "accuracy matters more than a minute, and some marginals matter more than"
            " others"
        ),
        avoid="a second must do: mst and privmrf measure in one or few steps",
        cost="30 to 150 rounds, each a private choice, a measurement and a fit",
        paper=(
            'McKenna, Mullins, Sheldon, Miklau, "AIM: an adaptive and iterative'
            ' mechanism for differentially private synthetic data", VLDB 2022'
        ),
    )

    rounds: int = option(
        16,
        "rounds per column that the budget would last for if noise were never halved",
    )
    selection: Fraction = option(
        Fraction(1, 10), "the part of each round that pays for choosing"
    )
    cells: int = option(1_000_000, "cells of the largest model")
    largest: int = option(100_000, "cells of the largest marginal")
    picks: int | None = option(
        None,
        "marginals measured between two fits; none: 1, and from 24 columns on (columns"
        " / 12)²",
    )
    candidates: int = option(1_000, "marginals compared in a round, at most")

    def __post_init__(self) -> None:
        if not isinstance(self.selection, Fraction) or not 0 < self.selection < 1:
            raise Refused(
                "aim: `selection` must be an exact fraction between 0 and 1. Nothing"
                " was spent"
            )
        if (
            min(self.rounds, self.cells, self.largest, self.candidates, self.picks or 1)
            < 1
        ):
            raise Refused(
                "aim: `rounds`, `cells`, `largest`, `candidates` and `picks` must be at"
                " least 1. Nothing was spent"
            )

    def measure(
        self, curator: CuratorProtocol, workload: Workload, progress: Progress
    ) -> Measurements:
        """One-ways, then round by round what is worst, until the budget is spent."""
        schema, power = curator.schema, noise_power(curator.accounting)
        pool = CandidatePool.of(schema, workload, self.largest)
        progress("measuring", 0.0)
        _post_large_pairs(schema, workload, self.largest)
        found = curator.discovered_measurements + public_total(curator)
        singles = one_ways(curator)
        weights = [
            math.prod(schema.sizes(single)) ** (1 / (1 + power)) for single in singles
        ]
        # Without a pair among the candidates there is nothing to choose by rounds.
        if all(len(r) < 2 for r in pool.weights):
            return found + curator.measure(singles, share=1, weights=weights)
        share = Fraction(1, self.rounds * len(schema))
        first = curator.measure(
            singles, share=share * (1 - self.selection) * len(singles), weights=weights
        )
        found += first
        unit = unit_noise(first, 1 - curator.share_left, power)
        state = fit_measurements(schema, found, tolerance=ROUND_FIT_TOLERANCE)
        picks = self.picks or max(1, len(schema) // 12) ** 2
        # The last round takes what is left, so that no budget stays unspent.
        last, turn = False, 0
        while not last:
            turn += 1
            now = max(1, min(picks, int(curator.share_left / share)))
            last = curator.share_left < (now + 1) * share
            part = curator.share_left / now if last else share
            noise = unit * float(part * (1 - self.selection)) ** -power
            # The size limit grows with the budget spent (the paper's equation 5): large
            # models early would leave no room for later findings.
            room = self.cells * float(1 - curator.share_left + now * part)
            candidates = pool.candidates(
                state.model, room=room, noise=noise, most=self.candidates
            )
            estimates = _model_marginals(state.model, candidates)
            measured = self._measure_round(
                curator,
                pool,
                estimates,
                part=part,
                noise=noise,
                picks=now,
                room=room,
                last=last,
            )
            found += measured
            state = fit_measurements(
                schema,
                found,
                warm=state,
                tolerance=ROUND_FIT_TOLERANCE,
                limit_cells=self._max_fit_cells,
            )
            progress(f"measuring round {turn}", float(1 - curator.share_left))
            # Annealing: a measurement that moved the model by less than its own noise
            # taught nothing. If half of them did, rounds are too cheap from now on.
            idle = _count_idle(measured, state.model, estimates, noise)
            if 2 * idle >= len(measured):
                share *= round(2 ** (1 / power))  # halves the noise
        self._post_unaffordable_pairs(pool, state.model.beliefs.tree)
        return found

    def _post_unaffordable_pairs(self, pool: CandidatePool, tree: JunctionTree) -> None:
        """Name the pairs that no round could afford, so that a reader knows of them."""
        apart = [r for r in pool.weights if len(r) == 2 and tree.home(r) is None]
        beyond = set(apart) - set(pool.affordable_cliques(apart, self.cells))
        if beyond:
            post_notice(too_large_notice(self.cells, sorted(beyond)))

    def estimate(
        self,
        schema: Schema,
        measurements: Measurements,
        rng: Generator,
    ) -> TreeModel:
        """The maximum-entropy model of everything measured, fitted until it has
        converged.
        """
        return fit_measurements(
            schema, measurements, limit_cells=self._max_fit_cells
        ).model

    @property
    def _max_fit_cells(self) -> int:
        """What a fit may need at most: a marginal inside the tree is always affordable,
        and may turn it a little.
        """
        return max(MAX_FIT_CELLS, 4 * self.cells)

    def _measure_round(
        self,
        curator: CuratorProtocol,
        pool: CandidatePool,
        estimates: dict[Clique, NDArray[np.float64]],
        *,
        part: Fraction,
        noise: float,
        picks: int,
        room: float,
        last: bool,
    ) -> Measurements:
        """Choose and measure, once or several times, by one set of estimates."""
        measured = Measurements()
        left = list(estimates)
        for pick in range(picks):
            # A choice among one would cost and tell nothing.
            chosen, share = left[0], part
            if len(left) > 1:
                weights, penalties = (
                    [pool.weights[r] for r in left],
                    [noise * pool.size(r) for r in left],
                )
                among = {r: estimates[r] for r in left}
                chosen = curator.choose(
                    among,
                    share=part * self.selection,
                    weights=weights,
                    penalties=penalties,
                )
                share = part * (1 - self.selection)
            measured += curator.measure(
                [chosen],
                share=curator.share_left if last and pick == picks - 1 else share,
            )
            pool.held.append(chosen)
            left = [r for r in left if r != chosen]
            left = (
                pool.affordable_cliques(left, room, MAX_ROUND_FORECASTS // picks)
                if pick < picks - 1
                else left
            ) or [chosen]
        return measured


def _post_large_pairs(schema: Schema, workload: Workload, largest: int) -> None:
    """Name the pairs of the workload that have too many cells to be candidates."""
    pairs = combinations(varying_columns(schema), 2)
    _, huge = split_by_cells(schema, pairs, largest)
    asked = [set(clique) for clique in workload.cliques]
    wanted = []
    for pair in huge:
        if any(set(pair) <= columns for columns in asked):
            wanted.append(pair)
    if wanted:
        post_notice(too_large_notice(largest, wanted))


def _count_idle(
    measured: Measurements,
    model: TreeModel,
    before: dict[Clique, NDArray[np.float64]],
    noise: float,
) -> int:
    """The measurements that moved the model by less than their own noise."""
    idle = 0
    for m in measured:
        moved = np.abs(model.marginal(m.clique) - before[m.clique])
        idle += bool(moved.sum() <= noise * m.values.size)
    return idle


def _model_marginals(
    model: TreeModel, cliques: Sequence[Clique]
) -> dict[Clique, NDArray[np.float64]]:
    """The model's marginals; pairs too far apart in a wide tree to be brought together
    are left out.
    """
    try:
        return model.marginals(cliques)
    except Refused:
        tree = model.beliefs.tree
        return model.marginals([r for r in cliques if tree.home(r) is not None])
