"""The questions of a run: distances from the model, and measurements that refit it.

Everything that a run of `adaptive` pays for after its first measurement of the columns is asked
here. What is asked depends on earlier answers and on the schema alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from understudy.errors import Refused
from understudy.measurements import Clique, distances_with_estimates
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.fitting.estimate import fit_measurements
from understudy.models.fitting.marginal_strength import independent_counts
from understudy.models.fitting.off_tree_targets import (
    add_target_marginals,
    expected_counts,
)
from understudy.models.tree import TreeModel
from understudy.synthesizers.adaptive.candidates import (
    Candidate,
    Candidates,
    column_candidates,
    score_marginals,
)
from understudy.synthesizers.adaptive.constants import (
    BUDGET_PART_GRID,
    DISTANCE_NOISE_SHARE,
    MAX_DISTANCE_PART,
    MAX_ROUND_PART,
    MAX_TRIPLE_DISTANCES,
    MAX_UNSPENT_PART,
    STAGE_FIT_TOLERANCE,
    TRIPLE_PRIOR_VARIANCE,
)
from understudy.synthesizers.adaptive.contrasts import AxisMaps, contrast_maps
from understudy.synthesizers.adaptive.distances import (
    column_errors,
    floor_at_chance,
    shrink_distances,
    subtract_inner_errors,
    would_distances_inform,
)
from understudy.synthesizers.adaptive.gains import Array
from understudy.synthesizers.adaptive.hierarchies import (
    apply_maps,
    cliques_better_coarse,
    coarse_maps,
)
from understudy.synthesizers.adaptive.joint_allocation import (
    MarginalQuery,
    identity_maps,
)
from understudy.synthesizers.adaptive.state import AdaptiveRun, AdaptiveState
from understudy.synthesizers.adaptive.tree_admission import (
    clique_cells,
    cliques_in_tree,
)
from understudy.synthesizers.adaptive.workload_weights import strongest_triples
from understudy.synthesizers.budget_split import round_to_sqrt2


def score_candidates(
    run: AdaptiveRun,
    state: AdaptiveState,
    cliques: Sequence[Clique],
    noise_share: float = DISTANCE_NOISE_SHARE,
    most: Fraction = MAX_DISTANCE_PART,
) -> tuple[AdaptiveState, Candidates]:
    """Ask how far these marginals are from the model: candidates for the next stage.

    The distances get as much of the budget as makes their noise this share of the rows,
    between `selection` and `most`.
    """
    model = add_target_marginals(state.estimate.model, state.measurements)
    small = [r for r in cliques if clique_cells(r, run.sizes) <= run.settings.largest]
    expected = expected_counts(model, small)
    share = distance_share(run, state, len(expected), noise_share, most)
    answers = run.curator.errors(expected, share=share)
    paid = distances_with_estimates(answers, expected)
    # A later distance of the same marginal replaces an earlier one.
    state = replace(
        state,
        distances={**state.distances, **{gap.distance.clique: gap for gap in paid}},
    )
    run.progress("selecting", float(1 - run.curator.share_left))
    inner = known_column_errors(run, state)
    distances = subtract_inner_errors(shrink_distances(answers), inner)
    fine = score_marginals(
        expected,
        _floor_unmeasured(run, state, distances, expected),
        run.weights,
        run.remaining_noise,
        find_contrasts(run, expected),
        answers,
    )
    return state, _choose_coarse(run, state, fine, cliques)


def distance_share(
    run: AdaptiveRun,
    state: AdaptiveState,
    count: int,
    noise_share: float,
    most: Fraction,
) -> Fraction:
    """The share of the budget with which `count` distances have noise of at most
    `noise_share` of all rows, between `selection` and `most`.
    """
    # Solves unit_noise·(share/count)^−power = noise_share·rows for the share.
    ratio = run.unit_noise / (noise_share * max(state.rows, 1.0))
    needed = Fraction(ratio ** (1 / run.power) * count).limit_denominator(1000)
    wanted = max(run.settings.selection, min(needed, most))
    return min(wanted, MAX_ROUND_PART * run.curator.share_left)


def selection_share(run: AdaptiveRun) -> Fraction:
    """The smallest share of a round of distances."""
    return min(run.settings.selection, MAX_ROUND_PART * run.curator.share_left)


def known_column_errors(run: AdaptiveRun, state: AdaptiveState) -> dict[str, float]:
    """The mean L1 errors of the columns that vary."""
    return column_errors(run.curator.schema, state.measurements, run.sizes)


def _floor_unmeasured(
    run: AdaptiveRun,
    state: AdaptiveState,
    distances: Mapping[Clique, float],
    expected: Mapping[Clique, Array],
) -> dict[Clique, float]:
    """Distances with a floor at chance for what was not measured yet, if one tree holds
    everything: only there can such small distances be fitted.
    """
    if not run.is_jointly_fitted:
        return dict(distances)
    known = {m.clique for m in state.measurements}
    unmeasured = {r: table for r, table in expected.items() if r not in known}
    return floor_at_chance(distances, unmeasured)


def _choose_coarse(
    run: AdaptiveRun,
    state: AdaptiveState,
    fine: Mapping[Clique, Candidate],
    cliques: Sequence[Clique],
) -> Candidates:
    """The candidates with those measured by label groups that gain more that way."""
    maps = coarse_maps(run.curator.schema, cliques)
    if not maps:
        return fine
    marginals = _model_marginals(state.estimate.model, list(maps))
    expected = {r: apply_maps(maps[r], table) for r, table in marginals.items()}
    answers = run.curator.errors(
        expected, share=selection_share(run), maps={r: maps[r] for r in expected}
    )
    noise = run.remaining_noise
    coarse = score_marginals(
        expected, shrink_distances(answers), run.weights, noise, {}, answers
    )
    # Compared at an even split: the allocation that both would get is not known yet.
    even = int(np.searchsorted(BUDGET_PART_GRID, 1 / len(cliques)))
    better = cliques_better_coarse(
        {r: candidate.gains for r, candidate in fine.items()},
        {r: candidate.gains for r, candidate in coarse.items()},
        even,
    )
    return {**fine, **{r: replace(coarse[r], maps=maps[r]) for r in better}}


def score_triples(
    run: AdaptiveRun, state: AdaptiveState, pairs: Candidates
) -> Candidates:
    """Triples of the workload as candidates: with a noisy distance where that would
    inform, else with an assumed τ² a little above chance.
    """
    distances = {r: pair.distance for r, pair in pairs.items()}
    triples = strongest_triples(
        run.targets, distances, run.sizes, run.settings.largest, MAX_TRIPLE_DISTANCES
    )
    # Hopeless distances would cost `selection` and rank the triples by chance.
    if are_triples_informative(run, state, len(triples)):
        return _ask_triples(run, state, triples, distances)
    model = state.estimate.model
    columns = {name: model.marginal((name,)) for name in run.sizes}
    rows = max(state.rows, 1e-9)
    expected = {r: independent_counts(r, columns, rows) for r in triples}
    deviation = MEAN_ABS_NORMAL * math.sqrt(TRIPLE_PRIOR_VARIANCE)
    assumed = {
        r: deviation * float(np.sqrt(table).sum()) for r, table in expected.items()
    }
    maps = find_contrasts(run, expected)
    return score_marginals(expected, assumed, run.weights, run.remaining_noise, maps)


def _ask_triples(
    run: AdaptiveRun,
    state: AdaptiveState,
    triples: Sequence[Clique],
    pairs: Mapping[Clique, float],
) -> Candidates:
    expected = expected_counts(state.estimate.model, triples)
    answers = run.curator.errors(expected, share=selection_share(run))
    inner = known_column_errors(run, state)
    distances = subtract_inner_errors(shrink_distances(answers), inner, pairs)
    return score_marginals(
        expected,
        _floor_unmeasured(run, state, distances, expected),
        run.weights,
        run.remaining_noise,
        find_contrasts(run, expected),
        answers,
    )


def are_triples_informative(run: AdaptiveRun, state: AdaptiveState, count: int) -> bool:
    """Whether noisy distances of `count` triples would say which are strong."""
    if not count:
        return False
    noise = run.noise_with(run.settings.selection / count)
    return would_distances_inform(noise, state.rows)


def add_columns(
    run: AdaptiveRun, state: AdaptiveState, competing: Candidates, pairs: Candidates
) -> Candidates:
    """The `competing` candidates and every single column; `pairs` are all that were
    scored, competing or not.
    """
    columns = column_candidates(
        competing,
        {r: pair.distance for r, pair in pairs.items()},
        known_column_errors(run, state),
        run.sizes,
        run.column_weights,
        run.order,
        run.remaining_noise,
        find_contrasts(run, [(name,) for name in run.sizes]),
    )
    return {**competing, **columns}


def find_contrasts(
    run: AdaptiveRun, cliques: Iterable[Clique]
) -> dict[Clique, AxisMaps]:
    """How to ask for those of these marginals that have a contrast."""
    curator = run.curator
    return contrast_maps(
        curator.schema, cliques, curator.neighbours, curator.accounting
    )


def measure_parts(
    run: AdaptiveRun,
    state: AdaptiveState,
    parts: Mapping[Clique, float],
    share: Fraction,
    candidates: Candidates | None = None,
) -> AdaptiveState:
    """Measure these marginals with parts of a share of the budget, each through its
    candidate's maps if it is one.
    """
    maps = find_contrasts(run, parts)
    for clique in parts.keys() & (candidates or {}).keys():
        maps[clique] = (candidates or {})[clique].maps
    schema = run.curator.schema
    queries = [
        MarginalQuery(r, maps.get(r) or identity_maps(schema, r), part)
        for r, part in parts.items()
    ]
    return ask_queries(run, state, queries, share)


def ask_queries(
    run: AdaptiveRun,
    state: AdaptiveState,
    queries: Sequence[MarginalQuery],
    share: Fraction,
) -> AdaptiveState:
    """Ask these questions, and fit the model again if any budget is left."""
    # Parts are rounded to powers of √2, which costs at most a few per cent and keeps the
    # number of different noise scales small.
    answers = run.curator.measure(
        [query.clique for query in queries],
        share=share,
        weights=round_to_sqrt2([query.part for query in queries]),
        maps=[query.maps for query in queries],
    )
    measurements = state.measurements + answers
    joint = [query.clique for query in queries if len(query.clique) > 1]
    run.progress("measuring", float(1 - run.curator.share_left))
    estimate = state.estimate
    if run.curator.share_left > MAX_UNSPENT_PART:
        estimate = fit_measurements(
            run.curator.schema,
            measurements,
            empirical=True,
            cliques=cliques_in_tree(
                measurements, run.curator.schema, run.settings.cells
            ),
            warm=state.estimate,
            tolerance=STAGE_FIT_TOLERANCE,
            limit_cells=run.settings.fit_cells,
        )
    return replace(
        state,
        measurements=measurements,
        estimate=estimate,
        measured=tuple(dict.fromkeys([*state.measured, *joint])),
    )


def _model_marginals(
    model: TreeModel, cliques: Sequence[Clique]
) -> dict[Clique, Array]:
    """The model's marginals, without pairs too far apart in a wide tree to compute."""
    try:
        return model.marginals(cliques)
    except Refused:
        tree = model.beliefs.tree
        return model.marginals([r for r in cliques if tree.home(r) is not None])
