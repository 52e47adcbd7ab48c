"""PrivMRF: a graph of columns that depend on each other, then the marginals of its
cliques that are useful, worst first.

Cai, Lei, Wei, Xiao, "Data synthesis via differentially private Markov random fields",
VLDB 2021.

  1. One-way marginals, and how far every pair of columns is from independence (a tenth
     of the budget each).
  2. A triangulated graph: pairs become edges, those that depend most first, as long as
     the junction tree stays within `cells`. Several tolls for large pairs are tried,
     and the graph whose cliques hold the most dependence is kept.
  3. Candidates are the sets of columns inside a clique of the graph that are θ-useful:
     the average cell expects θ times its mean noise or more, n_r ≤ N / (θ·E|noise|).
     Some of them that together hold the graph's pairs are measured first (four tenths).
  4. Then, in a few rounds, a random set of candidates is compared with the model fitted
     so far by noisy L1 distances (a tenth of what is left), and those that gain most
     are measured; about 0.8 marginals per column in all.

Why it is private: pair scores, distances and marginals are answers of the curator, each
priced before it is given. The paper scores pairs by R, whose every term moves with a
row; here the distance is to the product of one-ways already paid for, which is public
by then, so one row moves it by 1 (a replaced one by 2). Everything else is computed
from these answers and from sizes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from understudy.errors import Refused
from understudy.measurements import Clique, Measurements, distances_with_estimates
from understudy.models.fitting.constants import MAX_FIT_CELLS
from understudy.models.fitting.estimate import TreeEstimate, fit_measurements
from understudy.models.inference.junction_tree import JunctionTree, forecast_cells
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
from understudy.synthesizers.budget_split import split_by_cells, too_large_notice
from understudy.synthesizers.published.aim import ROUND_FIT_TOLERANCE
from understudy.synthesizers.shared.noise_units import noise_power, unit_noise
from understudy.synthesizers.shared.one_ways import one_ways

MAX_CANDIDATE_COLUMNS = 4
"""Columns of the largest candidate."""

PRIVMRF_ROUNDS = 4
"""Rounds of comparing and measuring after the first marginals."""

MAX_COMPARED_CANDIDATES = 60
"""Candidates that a round compares; each one more makes the distances of all of them
noisier.
"""

MAX_EDGE_REFUSALS = 100
"""So many pairs refused one after the other, and the graph is taken to be full."""

EDGE_CELL_PENALTIES = (0.0, 0.25, 1.0)
"""What a cell of a pair costs while the graph grows, in mean noise on a cell."""


@dataclass(frozen=True, kw_only=True)
class PrivMRF(Synthesizer):
    """A graph of dependent columns and the useful marginals of its cliques."""

    name: ClassVar[str] = "privmrf"
    aware: ClassVar[Awareness] = Awareness(
        workload=False, data=True, budget=True, efficiency=True
    )
    about: ClassVar[About] = About(
        use="nearly the accuracy of aim is wanted in seconds",
        avoid="ε is very small",
        cost="a noisy distance for each pair, and two to three marginals per column",
        paper=(
            'Cai, Lei, Wei, Xiao, "Data synthesis via differentially private Markov'
            ' random fields", VLDB 2021'
        ),
    )

    singles: Fraction = option(Fraction(1, 10), "part of the budget for single columns")
    selection: Fraction = option(
        Fraction(1, 10), "part of the budget for a noisy distance of every pair"
    )
    first: Fraction = option(
        Fraction(4, 10),
        "part of the budget for what is measured before the model is asked",
    )
    theta: float = option(
        4.0,
        "how many times its mean noise an average cell must expect; the paper has 6",
    )
    extra: float = option(0.8, "marginals per column measured after the first ones")
    cells: int = option(500_000, "cells of the largest model")

    def __post_init__(self) -> None:
        parts = (self.singles, self.selection, self.first)
        if (
            not all(isinstance(part, Fraction) and part > 0 for part in parts)
            or sum(parts) >= 1
        ):
            raise Refused(
                "privmrf: `singles`, `selection` and `first` are exact fractions above"
                " 0 that leave something. Nothing was spent"
            )
        if not (self.theta > 0 and self.extra > 0 and self.cells >= 1):
            raise Refused(
                "privmrf: `theta`, `extra` and `cells` must be above 0. Nothing was"
                " spent"
            )

    def measure(
        self,
        curator: CuratorProtocol,
        workload: Workload,
        progress: Progress,
    ) -> Measurements:
        """One-ways, pair scores, the marginals that hold the graph together, and those
        the model serves worst.
        """
        schema, power = curator.schema, noise_power(curator.accounting)
        sizes = {name: n for name, n in schema.column_sizes.items() if n > 1}
        progress("measuring", 0.0)
        found = curator.discovered_measurements + public_total(curator)
        singles = one_ways(curator)
        weights = [
            math.prod(schema.sizes(single)) ** (1 / (1 + power)) for single in singles
        ]
        pairs, huge = split_by_cells(schema, combinations(sizes, 2), self.cells)
        if huge:
            post_notice(too_large_notice(self.cells, huge))
        if not pairs:
            return found + curator.measure(singles, share=1, weights=weights)
        measured = curator.measure(singles, share=self.singles, weights=weights)
        found += measured
        unit = unit_noise(measured, 1 - curator.share_left, power)
        state = fit_measurements(schema, found)
        expected = state.model.marginals(pairs)
        distances = curator.errors(expected, share=self.selection)
        found += Measurements(gaps=distances_with_estimates(distances, expected))
        # Noise of a marginal that gets an even share of the first step: what scores and
        # cells are compared with.
        noise = unit * float(self.first / len(sizes)) ** -power
        useful = state.model.total / (self.theta * noise) if noise else math.inf
        scores = {
            pair: float(distances[pair])
            for pair in pairs
            if _clique_cells(pair, sizes) <= useful
        }
        nodes = dependency_graph(scores, sizes, noise=noise, cells=self.cells)
        candidates = subsets_of_nodes(nodes, sizes, largest=useful)
        self._post_pairs_beyond(nodes, scores)
        if not candidates:
            # Nothing is worth its noise: what is left sharpens the columns.
            return found + curator.measure(
                singles, share=curator.share_left, weights=weights
            )
        chosen = cover_pairs(candidates, scores, sizes, noise=noise)
        progress("measuring", float(1 - curator.share_left))
        found += curator.measure(
            chosen,
            share=self.first,
            weights=[_clique_cells(r, sizes) ** (1 / (1 + power)) for r in chosen],
        )
        return found + self._measure_worst(
            curator, found, candidates, sizes, unit, progress
        )

    def _post_pairs_beyond(
        self, nodes: Sequence[Clique], scores: Mapping[Clique, float]
    ) -> None:
        """Name the dependent pairs that the graph has no room for."""
        held = [set(node) for node in nodes]
        beyond = []
        for pair, score in scores.items():
            if score > 0 and not any(set(pair) <= node for node in held):
                beyond.append(pair)
        if beyond:
            post_notice(too_large_notice(self.cells, beyond))

    def estimate(
        self,
        schema: Schema,
        measurements: Measurements,
        rng: Generator,
    ) -> TreeModel:
        """The maximum-entropy model of everything measured."""
        return fit_measurements(
            schema, measurements, limit_cells=max(MAX_FIT_CELLS, 4 * self.cells)
        ).model

    def _measure_worst(
        self,
        curator: CuratorProtocol,
        found: Measurements,
        candidates: Sequence[Clique],
        sizes: Mapping[str, int],
        unit: float,
        progress: Progress,
    ) -> Measurements:
        """In a few rounds, what the model so far serves worst, for all that is left."""
        power = noise_power(curator.accounting)
        picks = max(1, round(self.extra * len(sizes) / PRIVMRF_ROUNDS))
        draw = np.random.default_rng(0)  # which candidates are compared is no secret
        state: TreeEstimate | None = None
        measured = Measurements()
        for turn in range(PRIVMRF_ROUNDS):
            state = fit_measurements(
                curator.schema,
                found + measured,
                warm=state,
                tolerance=ROUND_FIT_TOLERANCE,
            )
            # A tenth of each round compares candidates, the rest measures the worst.
            share = curator.share_left / (PRIVMRF_ROUNDS - turn)
            some = [
                candidates[i]
                for i in draw.permutation(len(candidates))[:MAX_COMPARED_CANDIDATES]
            ]
            if len(some) > picks:
                distances = curator.errors(
                    state.model.marginals(some), share=share / 10
                )
                noise = unit * float(share * Fraction(9, 10) / picks) ** -power
                some.sort(
                    key=lambda r: noise * _clique_cells(r, sizes) - float(distances[r])
                )
                share -= share / 10
            worst = some[:picks]
            weights = [_clique_cells(r, sizes) ** (1 / (1 + power)) for r in worst]
            measured += curator.measure(
                worst,
                share=curator.share_left if turn == PRIVMRF_ROUNDS - 1 else share,
                weights=weights,
            )
            progress(f"measuring round {turn + 1}", float(1 - curator.share_left))
        return measured


def dependency_graph(
    scores: Mapping[Clique, float],
    sizes: Mapping[str, int],
    *,
    noise: float,
    cells: int,
) -> tuple[Clique, ...]:
    """The cliques of a triangulated graph of at most `cells` cells that hold much of
    the pairs' scores.

    >>> scores = {("a", "b"): 9.0, ("b", "c"): 5.0, ("a", "c"): 2.0}
    >>> dependency_graph(scores, {"a": 4, "b": 4, "c": 4}, noise=0.1, cells=40)
    (('a', 'b'), ('b', 'c'))
    """
    best: tuple[Clique, ...] = ()
    most = -math.inf
    # A pair's score is reduced by what its cells cost; several tolls are tried, since
    # a greedy graph may be better with fewer large cliques or with more small ones.
    for toll in EDGE_CELL_PENALTIES:
        value = {
            pair: score - toll * noise * _clique_cells(pair, sizes)
            for pair, score in scores.items()
        }
        gaining = [pair for pair in value if value[pair] > 0]
        gaining.sort(key=value.__getitem__, reverse=True)
        tree = JunctionTree.of(_admit_edges(gaining, sizes, cells), sizes)
        worth = sum(
            score
            for pair, score in scores.items()
            if score > 0 and tree.home(pair) is not None
        )
        if worth > most:
            best, most = tree.nodes, worth
    return tuple(sorted(tuple(sorted(node, key=list(sizes).index)) for node in best))


def _admit_edges(
    pairs: Sequence[Clique], sizes: Mapping[str, int], cells: int
) -> list[Clique]:
    """All columns, and the pairs that one tree of at most `cells` cells holds, admitted
    in their order.
    """
    held: list[Clique] = [(name,) for name in sizes]
    refused = 0
    for pair in pairs:
        fits = forecast_cells([*held, pair], sizes) <= cells
        held += [pair] * fits
        refused = 0 if fits else refused + 1
        # The graph is full; weaker pairs would be refused for a long time.
        if refused == MAX_EDGE_REFUSALS:
            break
    return held


def subsets_of_nodes(
    nodes: Sequence[Clique], sizes: Mapping[str, int], *, largest: float
) -> list[Clique]:
    """Sets of two to four columns inside a node with at most so many cells.

    >>> subsets_of_nodes([("a", "b", "c")], {"a": 2, "b": 3, "c": 9}, largest=20)
    [('a', 'b'), ('a', 'c')]
    """
    found = {
        r
        for node in nodes
        for order in range(2, MAX_CANDIDATE_COLUMNS + 1)
        for r in combinations(node, order)
        if _clique_cells(r, sizes) <= largest
    }
    return sorted(found, key=lambda r: (len(r), r))


def cover_pairs(
    candidates: Sequence[Clique],
    scores: Mapping[Clique, float],
    sizes: Mapping[str, int],
    *,
    noise: float,
) -> list[Clique]:
    """Candidates that together hold the pairs worth their noise, each the one that
    gains most: scores not held yet, less its noise.

    >>> candidates = [("a", "b"), ("a", "c"), ("a", "b", "c")]
    >>> scores = {("a", "b"): 9.0, ("a", "c"): 8.0}
    >>> cover_pairs(candidates, scores, {"a": 2, "b": 2, "c": 2}, noise=0.5)
    [('a', 'b', 'c')]
    """
    open_pairs = {pair: score for pair, score in scores.items() if score > 0}
    members: dict[Clique, list[Clique]] = {}
    for candidate in candidates:
        members[candidate] = [p for p in combinations(candidate, 2) if p in open_pairs]
    chosen: list[Clique] = []
    while True:
        gains = _compute_gains(members, open_pairs, sizes, noise)
        best = max(candidates, key=gains.__getitem__)
        if gains[best] <= 0 or not any(p in open_pairs for p in members[best]):
            return chosen or [best]
        chosen.append(best)
        for pair in members[best]:
            open_pairs.pop(pair, None)


def _compute_gains(
    members: Mapping[Clique, Sequence[Clique]],
    scores: Mapping[Clique, float],
    sizes: Mapping[str, int],
    noise: float,
) -> dict[Clique, float]:
    """The scores of each candidate's pairs that are still open, less its noise."""
    gains: dict[Clique, float] = {}
    for candidate, pairs in members.items():
        held = sum(scores.get(pair, 0.0) for pair in pairs)
        gains[candidate] = held - noise * _clique_cells(candidate, sizes)
    return gains


def _clique_cells(clique: Clique, sizes: Mapping[str, int]) -> int:
    return math.prod(sizes[name] for name in clique)
