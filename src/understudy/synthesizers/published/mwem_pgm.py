"""MWEM+PGM: round by round the marginal that the model serves worst, measured and
fitted.

Hardt, Ligett, McSherry, "A simple and practical algorithm for differentially private
data release", 2012; with a graphical model in place of the whole domain: McKenna,
Sheldon, Miklau, "Graphical-model based estimation and inference for differential
privacy", 2019.

  0. One-way marginals, for as much as a round: a model to start from, and the number of
     rows where that is private. (`start=False` is the paper: the uniform distribution,
     and only the number of rows for a tenth of a round.)
  1. In each of T rounds (the number of columns, at most 16): a private choice among the
     workload's marginals that keep the model small enough, by ‖M_r(D) − M_r(p)‖₁ −
     n_r·E|noise|. The cap on the model's size grows with the rounds.
  2. Measure it with nine tenths of the round's share, and fit the model again, starting
     from the last one.

Why it is private: every round is two questions to the curator, priced one by one. The
model p is made of answers already paid for, and the penalty n_r·E|noise| of sizes and
budgets, so one row moves a score by 1 (2 under replace), up or down. Candidates depend
on sizes and on earlier choices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from numpy.random import Generator

from understudy.errors import Refused
from understudy.measurements import Clique, Measurements
from understudy.models.fitting.estimate import estimate_tree, fit_measurements
from understudy.models.rules.structural_zeros import impossible_masks
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
    DEFAULT_TREE_CELLS,
    TreeGrowth,
    cell_count,
    mean_noise,
    scale_at,
    size_weights,
    too_large_notice,
    uncounted_columns,
    varying_columns,
)
from understudy.synthesizers.shared.held_workload import weigh_cliques

MAX_MWEM_PGM_ROUNDS = 16
"""Rounds where nobody says, however many columns there are: each one fits a model."""

MAX_WORKLOAD_CANDIDATES = 1_000
"""Candidates of a workload that are all considered in every round."""


@dataclass(frozen=True, kw_only=True)
class MWEMPGM(Synthesizer):
    """Rounds of choosing and measuring what the model serves worst."""

    name: ClassVar[str] = "mwem_pgm"
    aware: ClassVar[Awareness] = Awareness(
        workload=True, data=True, budget=False, efficiency=True
    )
    about: ClassVar[About] = About(
        use="some time may pass, and the workload has triples",
        avoid="a second must do",
        cost=(
            "in each round a private choice over the whole workload, a measurement and"
            " a fit"
        ),
        paper=(
            'McKenna, Sheldon, Miklau, "Graphical-model based estimation and inference'
            ' for differential privacy", ICML 2019'
        ),
    )

    rounds: int | None = option(
        None, "marginals chosen and measured; none: the number of columns, at most 16"
    )
    selection: Fraction = option(Fraction(1, 10), "part of a round for its choice")
    start: bool = option(
        True,
        "begin with single columns; false: the uniform distribution, as in the paper",
    )
    limit: int = option(
        DEFAULT_TREE_CELLS,
        "cells of the last round's model; round i of T may use i/T of it",
    )

    def __post_init__(self) -> None:
        if self.rounds is not None and self.rounds < 1:
            raise Refused("mwem_pgm: `rounds` must be at least 1. Nothing was spent")
        if not 0 < self.selection < 1:
            raise Refused(
                "mwem_pgm: `selection` is a part above 0 and below 1. Nothing was spent"
            )
        if self.limit < 1:
            raise Refused("mwem_pgm: `limit` must be at least 1. Nothing was spent")

    def measure(
        self, curator: CuratorProtocol, workload: Workload, progress: Progress
    ) -> Measurements:
        """One-ways, then round after round."""
        schema = curator.schema
        names = varying_columns(schema)
        wanted = workload_candidates(schema, workload, self.limit)
        growth = TreeGrowth(schema.column_sizes, impossible_masks(schema))
        rounds = self.rounds or min(len(names), MAX_MWEM_PGM_ROUNDS)
        progress("measuring", 0.0)
        found = curator.discovered_measurements + public_total(curator)
        if not wanted:
            return found + self._measure_one_ways(curator, names, Fraction(1))
        # The uniform start needs the number of rows alone, a tenth of what a round
        # gets.
        share = Fraction(1, rounds + 1) if self.start else Fraction(10, 10 * rounds + 1)
        paid = share if self.start else share / 10
        first = (
            self._measure_one_ways(curator, names, paid)
            if self.start
            else curator.measure([()], share=paid)
        )
        found += first
        fit = fit_measurements(schema, found, limit_cells=self.limit)
        for done in range(rounds):
            # The last round takes all that rounding of prices has left.
            last = done == rounds - 1
            part = curator.share_left if last else share
            choosing, measuring = (
                part * Fraction(self.selection),
                part * (1 - Fraction(self.selection)),
            )
            # What measuring a cell will cost in accuracy is charged to the score of a
            # choice.
            noise = mean_noise(
                curator.accounting, scale_at(curator.accounting, first, measuring, paid)
            )
            open_now = candidates_within_cap(
                growth, wanted, self.limit * (done + 1) // rounds, self.limit
            )
            clique = curator.choose(
                fit.model.marginals(open_now),
                share=choosing,
                weights=[wanted[c] for c in open_now],
                penalties=[noise * cell_count(schema, c) for c in open_now],
            )
            growth.add(clique)
            found += curator.measure(
                [clique], share=curator.share_left if last else measuring
            )
            progress(f"measuring round {done + 1}", (done + 1) / rounds)
            # After the last round `estimate` fits anyway.
            if not last:
                fit = fit_measurements(schema, found, limit_cells=self.limit, warm=fit)
        return found

    def estimate(
        self,
        schema: Schema,
        measurements: Measurements,
        rng: Generator,
    ) -> TreeModel:
        """The maximum-entropy model of everything measured."""
        return estimate_tree(schema, measurements, limit_cells=self.limit)

    @staticmethod
    def _measure_one_ways(
        curator: CuratorProtocol, names: list[str], share: Fraction
    ) -> Measurements:
        wanted = uncounted_columns(curator, names) or [(name,) for name in names]
        weights = size_weights(
            [cell_count(curator.schema, c) for c in wanted], curator.accounting
        )
        return curator.measure(wanted, share=share, weights=weights)


def workload_candidates(
    schema: Schema, workload: Workload, limit: int
) -> dict[Clique, float]:
    """The workload's cliques of several columns that a model can hold, with weights;
    all pairs where it has more than MOST.

    Columns with a single code tell nothing and are dropped from every clique.
    """
    names = varying_columns(schema)
    wanted = weigh_cliques(
        (
            workload
            if len(workload.cliques) <= MAX_WORKLOAD_CANDIDATES
            else Workload.of_order(schema, 2)
        ),
        names,
    )
    # Structural zeros couple columns, so they occupy the tree before any marginal.
    empty = TreeGrowth(schema.column_sizes, impossible_masks(schema))
    fits = {
        clique: weight
        for clique, weight in wanted.items()
        if empty.cells + empty.cost(clique) <= limit
    }
    if len(fits) < len(wanted):
        post_notice(too_large_notice(limit, [c for c in wanted if c not in fits]))
    return {clique: weight for clique, weight in fits.items() if len(clique) > 1}


def candidates_within_cap(
    growth: TreeGrowth, wanted: Mapping[Clique, float], cap: int, limit: int
) -> list[Clique]:
    """Candidates with which the model stays below the cap, or below the limit where the
    cap leaves none.
    """
    # The cap grows with the rounds: a large marginal early would leave no room.
    after = {clique: growth.cells + growth.cost(clique) for clique in wanted}
    fits = [clique for clique, size in after.items() if size <= cap]
    return fits or [clique for clique, size in after.items() if size <= limit]
