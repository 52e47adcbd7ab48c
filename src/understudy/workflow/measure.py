"""Measuring: everything of a run that is charged, in the order in which it is charged.

First what the schema leaves open is learned, then coarser bins for ranges of the
workload and what its models need, then the distances of a public table, and then the
synthesizer measures with all that is left. A run and its dry run call the same
functions, so that a plan charges what a run charges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.curator import Curator, CuratorView, discovery_shares, needs_delta
from understudy.measurements import Measurements
from understudy.models.progress import watch_fits
from understudy.schema import Schema
from understudy.synthesizers import Progress, Synthesizer
from understudy.synthesizers.workload import (
    WorkloadTarget,
    range_partitions,
    workload_of,
)
from understudy.tables import TableSource
from understudy.workflow.model_targets import (
    measure_model_cliques,
    measure_moment_targets,
)
from understudy.workflow.public_prior import measure_public_distances

THRESHOLD_DELTA_SHARE = Fraction(1, 10)
"""Part of δ set aside for thresholds, where any are needed. The rest converts the run's
total to (ε, δ), where a tenth less of δ hardly changes the noise.
"""

RANGE_BINS_SHARE = Fraction(1, 10)
"""Part of the budget for the coarser bins of ranges in a workload of ranges alone; with
other targets, in proportion to their weights.
"""


def filter_for(
    budget: Budget, schema: Schema, method: Synthesizer, accounting: Accounting | None
) -> Filter:
    """What the run may spend; part of δ is set aside where thresholds are needed."""
    threshold_delta = Fraction(0)
    if needs_delta(schema) or method.needs_delta:
        threshold_delta = budget.delta * THRESHOLD_DELTA_SHARE
    return Filter.of(budget, accounting=accounting, threshold_delta=threshold_delta)


def discover_and_measure(
    curator: Curator,
    method: Synthesizer,
    progress: Progress,
    *,
    targets: Sequence[WorkloadTarget] = (),
    public: TableSource | None = None,
) -> Measurements:
    """All that a run charges: discovery first, then what a closed schema allows."""
    share = sum(discovery_shares(curator.schema), Fraction(0))
    delta = discovery_delta(curator, method)
    curator.discover(share=share, delta=delta, progress=progress)
    curator.hand_over()
    return measure_closed_schema(
        curator, method, progress, targets=targets, public=public
    )


def discovery_delta(curator: Curator, method: Synthesizer) -> Fraction:
    """The part of the δ for thresholds that discovery gets."""
    # Discovery and the synthesizer may both show values only because they occur: then
    # each gets half.
    return curator.delta_left / 2 if method.needs_delta else curator.delta_left


def measure_closed_schema(
    curator: Curator,
    method: Synthesizer,
    progress: Progress,
    *,
    targets: Sequence[WorkloadTarget] = (),
    public: TableSource | None = None,
) -> Measurements:
    """What is charged once nothing of the schema is left to learn."""
    measure_range_bins(curator, targets)
    measure_model_cliques(curator, targets)
    moments = measure_moment_targets(curator, targets)
    if public is not None:
        curator.keep(measure_public_distances(curator, public))
    curator.hand_over()
    progress("measuring", 0.0)
    workload = workload_of(curator.schema, targets)
    with watch_fits(progress):  # some algorithms fit after every round
        measurements = method.measure(CuratorView(curator), workload, progress)
    progress("measuring", 1.0)
    return replace(measurements, moments=moments)


def measure_range_bins(curator: Curator, targets: Sequence[WorkloadTarget]) -> None:
    """Measure the coarser bins that ranges of the workload ask for, if any do."""
    bins = range_partitions(curator.schema, targets)
    if not bins:
        return
    range_weight = sum(target.weight for target in targets if target.what == "ranges")
    weight = sum(target.weight for target in targets)
    # A fraction with a small denominator: shares of the budget are exact.
    part = Fraction(range_weight / weight).limit_denominator(100)
    measured = curator.measure(
        [clique for clique, _ in bins],
        share=RANGE_BINS_SHARE * part,
        maps=[axes for _, axes in bins],
    )
    curator.keep(measured)
