"""Shadow releases: the release made anew, many times, with one person and without, by
the same synthesizer at the same budget.

For the custodian's own attack on membership. The curator is the real one, its noise
too; answers charge nothing and are thrown away. The schema is the release's, closed:
what it cost to learn it is not spent again, so shadows reveal a little more than the
release itself does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from understudy.accounting.budget import Budget
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator, MechanismContext, Payments, TableProtocol
from understudy.curator.simulation.canaries import EncodedRows
from understudy.errors import Refused
from understudy.evaluation.risk.membership import (
    Codes,
    attack_by_shadows,
    codes_of_table,
    find_rarest_row,
)
from understudy.evaluation.risk.rates import MembershipBound
from understudy.findings import Finding, Progress, Unavailable, ignore_progress
from understudy.releases import Release
from understudy.releases.guarantee import GuaranteeKind
from understudy.synthesizers import Synthesizer, make
from understudy.synthesizers import ignore_progress as ignore_stage
from understudy.synthesizers.workload import (
    WorkloadTarget,
    check_targets,
    parse_targets,
)
from understudy.tables import Table, TableSource
from understudy.workflow.auditing.audit_harness import UnchargedRun
from understudy.workflow.measure import filter_for, measure_closed_schema


def shadow_release_maker(
    release: Release, rows: int, rng: np.random.Generator
) -> Callable[[Codes], Codes]:
    """A function that makes a shadow release of `rows` synthetic rows from real ones,
    both as codes, as the release was made. It charges nothing.
    """
    promise, schema = release.guarantee, release.schema
    if promise.kind is not GuaranteeKind.PRIVATE or promise.accounting is None:
        raise Unavailable(
            "the release was made without a budget, so there is none to make it anew"
            " with"
        )
    if schema.unit.id is not None:
        raise Unavailable(
            "rows were bounded per unit by a secret draw, which shadow releases do not"
            " repeat"
        )
    if promise.neighbours is not Neighbours.ADD_REMOVE:
        raise Unavailable(
            "the release hides whose row it is, not that there is one; shadows are told"
            " apart by a row more"
        )
    method, targets = configured_synthesizer(release)
    budget = Budget.of(promise.epsilon, promise.delta)

    def make_shadow(codes: Codes) -> Codes:
        privacy_filter = filter_for(budget, schema, method, promise.accounting)
        table = EncodedRows(
            schema, {name: np.asarray(codes[name], np.int64) for name in schema}
        )
        context = MechanismContext(
            table=cast(TableProtocol, table),
            payments=Payments(UnchargedRun(), privacy_filter),
            neighbours=promise.neighbours,
            accounting=privacy_filter.accounting,
            epsilon=budget.epsilon,
            max_rows=1,
        )
        measured = measure_closed_schema(
            Curator(context, schema), method, ignore_stage, targets=targets
        )
        # The same number of rows with and without the person: it alone must not tell
        # the two apart.
        return cast(Codes, method.estimate(schema, measured, rng).sample(rows, rng))

    return make_shadow


def configured_synthesizer(
    release: Release,
) -> tuple[Synthesizer, tuple[WorkloadTarget, ...]]:
    """The synthesizer with its options, and the targets of its workload; unavailable
    where the release does not hold all of it.
    """
    options = dict(release.options)
    if options.pop("public_table", None) is not None:
        raise Unavailable(
            "the release was made with the help of a public table, which it does not"
            " hold"
        )
    workload = options.pop("workload", None)
    try:
        targets = () if workload is None else parse_targets(str(workload).split("; "))
        check_targets(targets, release.schema)
        return make(release.synthesizer, **options), targets
    except Refused:
        raise Unavailable(
            "the options of its synthesizer cannot be read back from the release"
        ) from None


def attack_by_shadow_releases(
    source: TableSource,
    release: Release,
    *,
    shadows: int,
    guarantee: MembershipBound | None,
    rng: np.random.Generator,
    progress: Progress = ignore_progress,
) -> Finding:
    """Shadow releases with and without the person whose values are rarest."""
    missing = [name for name in release.schema if name not in source.names]
    if missing:
        raise Unavailable(
            f'column "{missing[0]}" of the release is not in the real table'
        )
    rows = codes_of_table(Table(source, release.schema))
    make_one = shadow_release_maker(release, len(next(iter(rows.values()))), rng)
    done = 0

    def make_with_progress(codes: Codes) -> Codes:
        nonlocal done
        progress("Membership by shadow releases", done / (2 * shadows))
        done += 1
        return make_one(codes)

    return attack_by_shadows(
        rows,
        # Its membership shows most.
        find_rarest_row(rows),
        make_with_progress,
        schema=release.schema,
        rng=rng,
        shadows=shadows,
        guarantee=guarantee,
    )
