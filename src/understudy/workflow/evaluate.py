"""Evaluate a synthetic table: what it keeps of the original, and who could be found in
it. Reads the real rows, and says so in the ledger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.evaluation.risk import Intruder
from understudy.evaluation.risk import assess_risk as assess_risk
from understudy.evaluation.risk.assessment import resolve_roles
from understudy.evaluation.risk.intruder import UNINFORMED_INTRUDER
from understudy.evaluation.risk.rates import MembershipBound
from understudy.evaluation.utility import assess_utility as assess_utility
from understudy.findings import Finding, Progress, Unavailable, ignore_progress
from understudy.inference.copies import find_copy_files
from understudy.releases import Release
from understudy.releases.guarantee import GuaranteeKind
from understudy.releases.release import load_release
from understudy.schema import BrokenRowPolicy, Lattice, Schema
from understudy.tables import Table, TableSource
from understudy.workflow.column_summary import summarise_columns
from understudy.workflow.compare import common_schema, note_comparison
from understudy.workflow.evaluation import Evaluation, count_columns
from understudy.workflow.notebook_progress import choose_progress
from understudy.workflow.open import TableLike, open_source
from understudy.workflow.shadows import attack_by_shadow_releases


def evaluate(
    real: TableLike,
    synthetic: TableLike | Release | None = None,
    *,
    release: Release | str | Path | None = None,
    schema: Schema | str | Path | None = None,
    holdout: TableLike | None = None,
    copies: Sequence[TableLike] = (),
    targets: Sequence[str] | None = None,
    formulas: Mapping[str, str] | Sequence[str] = (),
    enumeration: float | None = None,
    group: str | None = None,
    intruder: Intruder = UNINFORMED_INTRUDER,
    risk: bool = True,
    ledger: str | Path | None = None,
    seed: int = 0,
    progress: Progress = ignore_progress,
) -> Evaluation:
    """What a synthetic table keeps of the original, and what it risks. Internal, not
    private: it reads the real rows without noise.

    Give the `synthetic` table, or a release in its place to sample one from; with a
    table and its `release`, the release's measurements are attacked too. A folder of
    masked copies is read as all of them, and their estimates are combined. The columns
    are described by the release, by a `schema`, or by a draft of one from the real
    table. `holdout` holds real rows that the release was not made from: attacks need it
    as a control. `copies` are further copies of the same release. Utility predicts the
    `targets` and fits the `formulas`; a formula is code to statsmodels: take none from
    a stranger. `enumeration` is the error of the real counts themselves, as a share of
    each. With a `group`, tables and the groups of that column are scored as NIST's
    SDNist does. Risk is that of an `intruder`. With a `ledger` (or one beside the file)
    the comparison is recorded before it is made.

    >>> import duckdb
    >>> real = duckdb.sql("SELECT i % 90 AS age, i % 3 AS kind FROM range(900) t(i)")
    >>> fake = duckdb.sql("SELECT 30 AS age, i % 3 AS kind FROM range(900) t(i)")
    >>> evaluate(real, fake, risk=False).utility["tvd_1"].worst_parts(1)[0].name
    'age'
    """
    if isinstance(synthetic, Release):
        if release is not None:
            raise Refused("Give one release. Nothing was read.")
        synthetic, release = None, synthetic
    made = load_release(release) if isinstance(release, str | Path) else release
    progress = choose_progress(progress)
    if synthetic is None:
        synthetic = _sample_release(made, seed)
    # A folder of masked copies says by which rule they are combined.
    folder = find_copy_files(synthetic)
    first, *further = [synthetic, *copies] if folder is None else folder.files
    with ExitStack() as stack:
        # The release's schema has what a run learned; the owner's may be open.
        given = schema if made is None else made.schema
        sources = _Sources.open(stack, real, [first, *further], holdout, given)
        described, left_out = common_schema(
            sources.real, sources.synthetic[0], holdout=sources.holdout, schema=given
        )
        _check_columns(targets, described)
        _check_columns(None if group is None else [group], described)
        _check_intruder(intruder, described, sources.real)
        sources.check_complete(described)
        # From here on real rows are read.
        recorded = note_comparison(ledger, sources.real)
        tables = _Tables.of(sources, described)
        utility = assess_utility(
            tables.compared_real,
            tables.compared_synthetic,
            described,
            targets=targets,
            formulas=formulas,
            holdout=tables.holdout,
            enumeration=enumeration,
            group=group,
            copies=tables.attacked_synthetic[1:],
            rule=None if folder is None else folder.rule,
            seed=seed,
            progress=progress,
        )
        risk_found = None
        if risk:
            risk_found = assess_risk(
                tables.attacked_real,
                tables.attacked_synthetic,
                described,
                holdout=tables.holdout,
                release=made,
                guarantee=_membership_bound(made),
                intruder=intruder,
                named=_open_named(stack, intruder, described),
                shadowed=_shadow_attack(sources.real, made, intruder.shadows, progress),
                seed=seed,
                progress=progress,
            )
        return Evaluation(
            utility=utility,
            risk=risk_found,
            schema=described,
            distributions=count_columns(
                tables.compared_real, tables.compared_synthetic, described
            ),
            summaries=summarise_columns(
                tables.compared_real, tables.compared_synthetic, described
            ),
            left_out=left_out,
            release=made,
            title=sources.real.title,
            noted=recorded,
            facts={
                "rows_real": tables.compared_real.rows(),
                "rows_synthetic": tables.compared_synthetic.rows(),
                "seed": seed,
            },
        )


def _sample_release(release: Release | None, seed: int) -> TableLike:
    if release is None:
        raise Refused(
            "Give a synthetic table, or a release to sample one from. Nothing was read."
        )
    sampled: TableLike = release.sample(kind="duckdb", seed=seed)
    return sampled


def _open_in(
    stack: ExitStack, data: TableLike, schema: Schema | str | Path | None = None
) -> TableSource:
    """The table behind a path or frame, closed with the stack unless it was open."""
    source = open_source(data, schema=schema)
    if source is not data:
        stack.callback(source.close)
    return source


def _open_named(stack: ExitStack, intruder: Intruder, schema: Schema) -> Table | None:
    """The intruder's table with names, with the columns that it shares."""
    if intruder.named is None:
        return None
    source = _open_in(stack, intruder.named)
    return Table(source, _shared_columns(schema, source))


@dataclass(frozen=True)
class _Sources:
    """The files or frames of an evaluation."""

    real: TableSource
    synthetic: Sequence[TableSource]
    holdout: TableSource | None

    @classmethod
    def open(
        cls,
        stack: ExitStack,
        real: TableLike,
        synthetic: Sequence[TableLike],
        holdout: TableLike | None,
        schema: Schema | str | Path | None,
    ) -> _Sources:
        original = _open_in(stack, real, schema)
        # Our CSV files put an apostrophe before what a spreadsheet would run.
        unguarded = [
            _open_in(stack, table).without_formula_guards(original.names)
            for table in synthetic
        ]
        control = None if holdout is None else _open_in(stack, holdout, schema)
        return cls(original, unguarded, control)

    def check_complete(self, schema: Schema) -> None:
        """Refuse a copy or holdout that lacks a column of the comparison."""
        others = list(self.synthetic[1:])
        if self.holdout is not None:
            others.append(self.holdout)
        for source in others:
            for name in schema:
                if name not in source.names:
                    raise Refused(
                        f'{source.title}: column "{name}" of the other tables is'
                        " missing. Nothing was compared."
                    )


@dataclass(frozen=True)
class _Tables:
    """The tables as each part of an evaluation reads them.

    Utility compares rows that break a rule as they are; attacks see the rows as the
    curator did, who may have dropped or changed them.
    """

    compared_real: Table
    compared_synthetic: Table
    attacked_real: Table
    attacked_synthetic: Sequence[Table]
    holdout: Table | None

    @classmethod
    def of(cls, sources: _Sources, schema: Schema) -> _Tables:
        as_is = replace(schema, broken=BrokenRowPolicy.KEEP)
        # A rule about a column that could not be compared cannot be applied.
        applies = all(p.columns <= set(schema) for _, p in schema.named_breaches)
        ruled = schema if applies else as_is
        attacked = Table(sources.real, ruled)
        copies = [Table(source, ruled) for source in sources.synthetic]
        compared = (attacked, copies[0])
        if ruled.broken is not BrokenRowPolicy.KEEP:
            compared = Table(sources.real, as_is), Table(sources.synthetic[0], as_is)
        holdout = None if sources.holdout is None else Table(sources.holdout, ruled)
        return cls(*compared, attacked, copies, holdout)


def _membership_bound(release: Release | None) -> MembershipBound | None:
    """What a guarantee about one row being there or not allows a membership attack."""
    if release is None or release.guarantee.kind is not GuaranteeKind.PRIVATE:
        return None
    promise = release.guarantee
    # Only where one row more or less is what the guarantee is about.
    is_per_row = release.schema.unit.id is None
    if promise.neighbours is not Neighbours.ADD_REMOVE or not is_per_row:
        return None
    # μ gives a tighter bound on membership attacks than its conversion to (ε, δ).
    mu = None
    if promise.accounting is Accounting.GDP and promise.amount > 0:
        mu = math.sqrt(promise.amount)
    return MembershipBound(float(promise.epsilon), float(promise.delta), mu)


def _shadow_attack(
    source: TableSource, release: Release | None, shadows: int, progress: Progress
) -> Callable[[np.random.Generator], Finding] | None:
    """The attack by shadow releases, where it was asked for."""
    if not shadows:
        return None

    # Made by the assessment, which reports the reason where it is not possible.
    def attack_release(rng: np.random.Generator) -> Finding:
        if release is None:
            raise Unavailable("no release was given, so how it was made is not known")
        return attack_by_shadow_releases(
            source,
            release,
            shadows=shadows,
            guarantee=_membership_bound(release),
            rng=rng,
            progress=progress,
        )

    return attack_release


def _check_intruder(intruder: Intruder, schema: Schema, real: TableSource) -> None:
    """Refuse columns that are not compared, and a key that the real table lacks."""
    for names in (intruder.quasi, intruder.sensitive, intruder.on):
        _check_columns(names, schema)
    quasi, _, _ = resolve_roles(schema, intruder.quasi, intruder.sensitive)
    _check_radius(intruder.radius, schema, quasi)
    if intruder.key is not None and intruder.key not in real.names:
        raise Refused(
            f'column "{intruder.key}" is not in {real.title}, so it cannot say who is'
            " who. Nothing was compared."
        )


def _check_columns(names: Sequence[str] | None, schema: Schema) -> None:
    for name in names or ():
        if name not in schema:
            raise Refused(
                f'column "{name}" is not among those that can be compared. Nothing was'
                " compared."
            )


def _check_radius(
    radius: Mapping[str, float] | None, schema: Schema, quasi: Sequence[str]
) -> None:
    """Refuse a radius that would be passed over."""
    _check_columns(list(radius or ()), schema)
    for name in radius or ():
        if not isinstance(schema[name], Lattice):
            raise Refused(
                f'column "{name}" has no numbers, so there is no radius around them.'
                " Nothing was compared."
            )
        if name not in quasi:
            raise Refused(
                f'column "{name}" has a radius and is no quasi-identifier: name it as'
                " one (quasi). Nothing was compared."
            )


def _shared_columns(schema: Schema, source: TableSource) -> Schema:
    """The columns that a named file has too."""
    columns = tuple(
        replace(c, use=c.use and c.name in source.names) for c in schema.columns
    )
    return replace(
        # Rules may be about columns that the named file lacks.
        schema,
        columns=columns,
        impossible=(),
        rules=(),
        broken=BrokenRowPolicy.KEEP,
    )
