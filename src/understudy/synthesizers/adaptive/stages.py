"""The stages of a run: each asks, allocates, measures and refits.

A stage is a function of a run and a state that returns the next state. Their order is
in adaptive.py: forest, tree, triples, and what is left to the columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from understudy.accounting.neighbours import Neighbours
from understudy.decisions import Verdict
from understudy.measurements import Clique, Partition
from understudy.synthesizers.adaptive.candidates import (
    BudgetShare,
    Candidate,
    Candidates,
    allocate_budget,
    shares_of_parts,
)
from understudy.synthesizers.adaptive.constants import (
    FEW_COLUMNS_NOISE_SHARE,
    MAX_DISTANCE_PART,
    MAX_FOREST_PART,
    MAX_SECOND_DISTANCE_PART,
    MAX_TARGET_TRIPLES_PART,
    MAX_TRIPLE_TREE_CELLS,
    MAX_UNSELECTED_NOISE_SHARE,
    MIN_BUDGET_PART,
    MIN_SELECTION_SIGNAL_SHARE,
    MIN_TRIPLES_PART,
    SECOND_DISTANCE_NOISE_SHARE,
)
from understudy.synthesizers.adaptive.distances import (
    are_pairs_hidden,
    distance_signal_share,
    would_distances_inform,
)
from understudy.synthesizers.adaptive.few_columns import FewColumnsPlan
from understudy.synthesizers.adaptive.gains import LAPLACE_NOISE_POWER
from understudy.synthesizers.adaptive.joint_allocation import allocate_jointly
from understudy.synthesizers.adaptive.no_selection import binary_pair_parts
from understudy.synthesizers.adaptive.questions import (
    add_columns,
    are_triples_informative,
    ask_queries,
    distance_share,
    find_contrasts,
    known_column_errors,
    measure_parts,
    score_candidates,
    score_triples,
)
from understudy.synthesizers.adaptive.state import AdaptiveRun, AdaptiveState
from understudy.synthesizers.adaptive.tree_admission import (
    admit_cliques,
    clique_cells,
    rank_by_gain,
)
from understudy.synthesizers.budget_split import TreeGrowth
from understudy.synthesizers.shared.spanning import spanning_forest


def measure_few_columns(run: AdaptiveRun, state: AdaptiveState) -> AdaptiveState:
    """Everything that few columns are worth, in one request (few_columns.py); distances
    of pairs are asked first if they would inform.
    """
    pairs = [
        r
        for r in run.weights
        if len(r) == 2 and clique_cells(r, run.sizes) <= run.settings.largest
    ]
    candidates: Candidates = {}
    # One pair is measured in any case, and needs no distance.
    if len(pairs) > 1:
        target = FEW_COLUMNS_NOISE_SHARE, MAX_DISTANCE_PART
        share = distance_share(run, state, len(pairs), *target)
        noise = run.noise_with(share / len(pairs))
        if would_distances_inform(noise, state.rows):
            state, candidates = score_candidates(run, state, pairs, *target)
    model = state.estimate.model
    plan = FewColumnsPlan(
        single={name: np.asarray(model.marginal((name,))) for name in run.sizes},
        column_errors=known_column_errors(run, state),
        column_weights=run.column_weights,
        weights=run.weights,
        total=max(model.total, 1e-9),
        noise=run.remaining_noise.deviation,
        largest=run.settings.largest,
        pair_distances={r: pair.distance for r, pair in candidates.items()},
    )
    parts = plan.best_parts()
    if not parts:
        return state
    shares = shares_of_parts(candidates, parts)
    verdicts = {Verdict.MEASURED: list(parts)}
    state = state.with_decisions("few columns", candidates, shares, verdicts)
    return measure_parts(run, state, parts, run.curator.share_left)


def measure_forest(
    run: AdaptiveRun,
    state: AdaptiveState,
    pairs: Sequence[Clique],
) -> AdaptiveState:
    """The strongest pairs that form a forest, each with the part it would get if all
    pairs were measured now: they explain much of what other pairs have in common.
    """
    state, candidates = score_candidates(run, state, pairs)
    binary = _plan_binary_pairs(run, state, pairs)
    if binary:
        return _measure_binary_pairs(run, state, candidates, binary)
    if _is_second_round_due(state, candidates):
        state, candidates = score_candidates(
            run, state, pairs, SECOND_DISTANCE_NOISE_SHARE, MAX_SECOND_DISTANCE_PART
        )
    ranked = rank_by_gain(candidates, allocate_budget(candidates, run.power))
    kept, left_out = admit_cliques(ranked, TreeGrowth(run.sizes), run.settings.cells)
    # Again with the columns, which would get part of what is left: the forest gets no
    # more than it would in the allocation of everything.
    competing = add_columns(run, state, {r: candidates[r] for r in kept}, candidates)
    shares = allocate_budget(competing, run.power)
    worthwhile = [r for r in rank_by_gain(competing, shares) if len(r) > 1]
    edges = list(spanning_forest(worthwhile))
    later = [r for r in [*kept, *left_out] if r not in edges]
    if len(edges) == len(worthwhile):
        # The forest is all there is to measure: the next stage does that.
        edges, later = [], worthwhile
    verdicts = {Verdict.LATER: later, Verdict.MEASURED: edges}
    state = state.with_decisions("forest", candidates, shares, verdicts)
    if not edges:
        return state
    parts = {r: shares[r].part for r in edges}
    share = min(_as_fraction(sum(parts.values())), MAX_FOREST_PART)
    return measure_parts(run, state, parts, share * run.curator.share_left, candidates)


def measure_tree(
    run: AdaptiveRun, state: AdaptiveState, pairs: Sequence[Clique]
) -> AdaptiveState:
    """The pairs that gain most, and single columns; triples get a share reserved.

    Pairs that are worth measuring but have no room in the tree are measured as well, as
    targets of sampled rows.
    """
    state, candidates = score_candidates(run, state, pairs)
    growth = TreeGrowth(run.sizes, state.measured)
    ranked = rank_by_gain(candidates, allocate_budget(candidates, run.power))
    kept, left_out = admit_cliques(ranked, growth, run.settings.cells)
    triples = score_triples(run, state, candidates)
    if _can_allocate_jointly(run, state, candidates, triples):
        return _measure_jointly(run, state, candidates, triples)
    # Label groups only inform a tree that holds them.
    beyond = [r for r in left_out if not _is_coarse(candidates[r])]
    competing = {r: candidates[r] for r in [*kept, *beyond]}
    chosen = add_columns(run, state, competing, candidates)
    shares, reserved = _reserve_for_triples(run, state, chosen, triples, kept)
    parts = {r: shares[r].part for r in chosen if shares[r].part > MIN_BUDGET_PART}
    state = replace(
        state,
        reserved=_as_fraction(reserved) * run.curator.share_left,
        reserved_for=tuple(r for r in triples if shares[r].part > 0),
        left_out=tuple(left_out),
    )
    verdicts = {
        Verdict.NO_ROOM: [r for r in left_out if r not in parts],
        Verdict.LATER: state.reserved_for,
        Verdict.MEASURED: list(parts),
    }
    everything = {**candidates, **chosen, **triples}
    state = state.with_decisions("tree", everything, shares, verdicts)
    if not parts:
        return state
    return measure_parts(
        run, state, parts, run.curator.share_left - state.reserved, chosen
    )


def _reserve_for_triples(
    run: AdaptiveRun,
    state: AdaptiveState,
    chosen: Candidates,
    triples: Candidates,
    kept: Sequence[Clique],
) -> tuple[dict[Clique, BudgetShare], float]:
    """The shares of everything, and the part of the budget left reserved for triples."""
    together = allocate_budget({**chosen, **triples}, run.power)
    alone = {**together, **allocate_budget(chosen, run.power)}
    reserved = sum(together[r].part for r in triples if r in together)
    reserved = reserved if reserved >= MIN_TRIPLES_PART else 0.0
    modelled = [r for r in kept if together[r].part > MIN_BUDGET_PART]
    tree_cells = TreeGrowth(run.sizes, [*state.measured, *modelled]).cells
    if tree_cells > MAX_TRIPLE_TREE_CELLS:
        # Triples will be targets of sampled rows, which match only some of them: pairs
        # are measured as if there were no triples.
        return alone, min(reserved, float(MAX_TARGET_TRIPLES_PART))
    return (together if reserved else alone), reserved


def _can_allocate_jointly(
    run: AdaptiveRun, state: AdaptiveState, pairs: Candidates, triples: Candidates
) -> bool:
    """Whether one tree holds everything, and residuals can be asked with less noise."""
    saves_noise = (
        run.power != LAPLACE_NOISE_POWER
        and run.curator.neighbours is Neighbours.ADD_REMOVE
    )
    return (
        run.is_jointly_fitted
        and saves_noise
        and are_triples_informative(run, state, len(triples))
        and not any(_is_coarse(pair) for pair in pairs.values())
    )


def _measure_jointly(
    run: AdaptiveRun, state: AdaptiveState, pairs: Candidates, triples: Candidates
) -> AdaptiveState:
    """Columns, pairs and triples with all that is left (joint_allocation.py)."""
    everything = {**add_columns(run, state, pairs, pairs), **triples}
    # A triple holds three pairs: with a third of their weight, all pairs together
    # weigh as much as all triples.
    weights = {
        r: run.weights[r] / (3 if len(r) == 2 else 1) for r in everything if len(r) > 1
    }
    queries = allocate_jointly(everything, weights, run.curator.schema)
    parts = {query.clique: query.part for query in queries}
    shares = shares_of_parts(everything, parts)
    verdicts = {Verdict.MEASURED: list(parts)}
    state = state.with_decisions("joint", everything, shares, verdicts)
    return ask_queries(run, state, queries, run.curator.share_left)


def measure_triples(run: AdaptiveRun, state: AdaptiveState) -> AdaptiveState:
    """The triples that gain most, with the share that was reserved for them."""
    # A round of distances must leave something to measure with.
    if not state.reserved or run.curator.share_left <= run.settings.selection:
        return state
    state, candidates = score_candidates(run, state, state.reserved_for)
    shares = allocate_budget(candidates, run.power)
    ranked = rank_by_gain(candidates, shares)
    verdicts = {Verdict.MEASURED: ranked}
    state = state.with_decisions("triples", candidates, shares, verdicts)
    if not ranked:
        return state
    parts = {r: shares[r].part for r in ranked}
    return measure_parts(run, state, parts, run.curator.share_left, candidates)


def remeasure_columns(
    run: AdaptiveRun,
    state: AdaptiveState,
    parts: Mapping[Clique, float],
    share: Fraction,
) -> AdaptiveState:
    """Columns once more, as contrasts where they have two values: the total is known."""
    return measure_parts(run, state, parts, share)


# -- binary pairs that noise hides


def _plan_binary_pairs(
    run: AdaptiveRun, state: AdaptiveState, pairs: Sequence[Clique]
) -> dict[Clique, float]:
    """The parts of all pairs at once, if each is one number and distances do not say
    which matter (no_selection.py); none otherwise.
    """
    answers = [gap.distance for gap in state.distances.values()]
    noise = run.noise_with(MAX_DISTANCE_PART / len(pairs))
    if (
        noise > MAX_UNSELECTED_NOISE_SHARE * state.rows
        or distance_signal_share(answers) > MIN_SELECTION_SIGNAL_SHARE
    ):
        return {}
    return binary_pair_parts(
        run.curator,
        {pair: run.weights[pair] for pair in pairs},
        find_contrasts(run, pairs),
        run.settings.singles,
    )


def _measure_binary_pairs(
    run: AdaptiveRun,
    state: AdaptiveState,
    candidates: Candidates,
    parts: Mapping[Clique, float],
) -> AdaptiveState:
    shares = shares_of_parts(candidates, parts)
    verdicts = {Verdict.MEASURED: list(parts)}
    state = state.with_decisions("binary pairs", candidates, shares, verdicts)
    return measure_parts(run, state, parts, run.curator.share_left)


def _is_second_round_due(state: AdaptiveState, candidates: Candidates) -> bool:
    answers = [gap.distance for gap in state.distances.values()]
    distances = [pair.distance for pair in candidates.values()]
    clear = SECOND_DISTANCE_NOISE_SHARE * state.rows
    return are_pairs_hidden(answers, distances, clear)


def _is_coarse(candidate: Candidate) -> bool:
    return any(isinstance(axis, Partition) for axis in candidate.maps)


def _as_fraction(part: float) -> Fraction:
    return Fraction(part).limit_denominator(10_000)
