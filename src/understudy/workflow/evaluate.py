"""Evaluate a synthetic table: what it keeps of the original, and who could be found in
it. Reads the real rows, and says so in the ledger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.evaluation.risk import assess_risk as assess_risk
from understudy.evaluation.risk.assessment import resolve_roles
from understudy.evaluation.risk.rates import MembershipBound
from understudy.evaluation.utility import assess_utility as assess_utility
from understudy.findings import (
    INTERNAL_MARKING,
    Assessment,
    Fact,
    Finding,
    Progress,
    Unavailable,
    ignore_progress,
)
from understudy.releases import Release
from understudy.releases.guarantee import GuaranteeKind
from understudy.releases.release import load
from understudy.schema import BrokenRowPolicy, Lattice, Schema
from understudy.tables import Table, TableSource
from understudy.workflow.compare import common_schema, note_comparison
from understudy.workflow.open import open_source
from understudy.workflow.shadows import attack_by_shadow_releases

CHOICE_WARNING = (
    "Picking the best of several releases by these numbers is a choice the guarantee"
    " does not cover."
)
"""Stands wherever several evaluations can be compared."""


@dataclass(frozen=True, kw_only=True)
class ColumnDistribution:
    """One column in both tables: the label of each code, and how many rows have it."""

    column: str
    type: str
    labels: tuple[str, ...]
    real: tuple[int, ...]
    synthetic: tuple[int, ...]

    def to_dict(self) -> dict[str, Fact]:
        """As JSON holds it."""
        return {
            "column": self.column,
            "type": self.type,
            "labels": list(self.labels),
            "real": list(self.real),
            "synthetic": list(self.synthetic),
        }


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Utility and risk of one synthetic table, column by column and attack by attack.
    Internal, not private.

    `left_out` lists columns that could not be compared, with the reason; `noted` is the
    ledger that remembers the look, if any.

    >>> import duckdb
    >>> real = duckdb.sql("SELECT i % 90 AS age, i % 2 = 0 AS smoker FROM range(500) t(i)")
    >>> found = evaluate(real, real)
    >>> found.utility["kmarginal"].value, found.marking[:21]
    (1000.0, 'internal, not private')
    """

    utility: Assessment
    risk: Assessment | None
    schema: Schema
    distributions: tuple[ColumnDistribution, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    release: Release | None = None
    title: str = "table"
    noted: Path | None = None
    marking: str = INTERNAL_MARKING
    facts: Mapping[str, Fact] = field(default_factory=dict)

    @property
    def not_computed(self) -> tuple[tuple[str, str], ...]:
        """Everything without a number, with the reason: columns, findings, parts of
        them.
        """
        columns = tuple((f'column "{name}"', reason) for name, reason in self.left_out)
        return (
            *columns,
            *self.utility.not_computed,
            *(() if self.risk is None else self.risk.not_computed),
        )

    def to_dict(self) -> dict[str, Fact]:
        """The evaluation as JSON holds it."""
        return {
            "title": self.title,
            "marking": self.marking,
            "choice": CHOICE_WARNING,
            "noted": self.noted is not None,
            "guarantee": (
                None if self.release is None else self.release.guarantee.sentence()
            ),
            "left_out": [
                {"column": name, "reason": reason} for name, reason in self.left_out
            ],
            "distributions": [each.to_dict() for each in self.distributions],
            "utility": self.utility.to_dict(),
            "risk": None if self.risk is None else self.risk.to_dict(),
            "facts": dict(self.facts),
        }

    def __str__(self) -> str:
        parts = [str(self.utility)] + ([] if self.risk is None else [str(self.risk)])
        parts += [
            f'column "{name}" left out: {reason}' for name, reason in self.left_out
        ]
        return "\n".join([*parts, CHOICE_WARNING])


def evaluate(
    real: object,
    synthetic: object = None,
    *,
    release: Release | str | Path | None = None,
    schema: Schema | str | Path | None = None,
    holdout: object = None,
    copies: Sequence[object] = (),
    named: object = None,
    on: Sequence[str] | None = None,
    key: str | None = None,
    targets: Sequence[str] | None = None,
    formulas: Mapping[str, str] | Sequence[str] = (),
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    radius: Mapping[str, float] | None = None,
    enumeration: float | None = None,
    risk: bool = True,
    shadows: int = 0,
    ledger: str | Path | None = None,
    seed: int = 0,
    progress: Progress = ignore_progress,
) -> Evaluation:
    """What a synthetic table keeps of the original, and what it risks. Internal, not
    private: it reads the real rows without noise.

    Give the `synthetic` table, or a `release` to sample one from; with both, the
    release's measurements are attacked too. The columns are described by the release,
    by a `schema`, or by a look at the real table. `holdout` holds real rows that the
    release was not made from: attacks need it as a control. `copies` are further copies
    of the same release; `named` is a file with names to link with, `key` the column
    that says who is who. `shadows` makes the release anew so many times with one person
    and so many without, and tries to tell which is which; nothing is charged, and it
    takes as long as making them. A `formula` is code to statsmodels: take none from a
    stranger. With a `ledger` (or one beside the file) the look is noted before it is
    taken.

    >>> import duckdb
    >>> real = duckdb.sql("SELECT i % 90 AS age, i % 3 AS kind FROM range(900) t(i)")
    >>> fake = duckdb.sql("SELECT 30 AS age, i % 3 AS kind FROM range(900) t(i)")
    >>> evaluate(real, fake, risk=False).utility["tvd_1"].worst_parts(1)[0].name
    'age'
    """
    made = load(release) if isinstance(release, str | Path) else release
    if synthetic is None:
        if made is None:
            raise Refused(
                "Give a synthetic table, or a release to sample one from. Nothing was"
                " read."
            )
        synthetic = made.sample(kind="duckdb", seed=seed)
    with ExitStack() as opened:

        def source_of(data: object) -> TableSource:
            source = open_source(data)
            if source is not data:
                opened.callback(source.close)
            return source

        original = source_of(real)
        others = [
            source_of(each).without_formula_guards(original.names)
            for each in (synthetic, *copies)
        ]
        control = None if holdout is None else source_of(holdout)
        given = schema if made is None else made.schema
        described, left_out = common_schema(
            original, others[0], holdout=control, schema=given
        )
        for names in (quasi, sensitive, targets, on):
            _check_columns(names, described)
        _check_radius(radius, described, resolve_roles(described, quasi, sensitive)[0])
        if key is not None and key not in original.names:
            raise Refused(
                f'column "{key}" is not in {original.title}, so it cannot say who is'
                " who. Nothing was compared."
            )
        for source in (*others[1:], *([] if control is None else [control])):
            _check_complete(source, described)
        book = note_comparison(ledger, original)
        # Rows that break a rule are compared as they are; attacks see them as the
        # curator did.
        kept = replace(described, broken=BrokenRowPolicy.KEEP)
        ruled = (
            described
            if all(p.columns <= set(described) for _, p in described.named_breaches)
            else kept
        )
        table, stand_ins = (
            Table(original, ruled),
            [Table(other, ruled) for other in others],
        )
        same = ruled.broken is BrokenRowPolicy.KEEP
        plain = (
            [table, stand_ins[0]]
            if same
            else [Table(source, kept) for source in (original, others[0])]
        )
        apart = None if control is None else Table(control, ruled)
        utility = assess_utility(
            plain[0],
            plain[1],
            described,
            targets=targets,
            formulas=formulas,
            holdout=apart,
            enumeration=enumeration,
            seed=seed,
            progress=progress,
        )
        found = None
        if risk:
            roll = None if named is None else source_of(named)
            found = assess_risk(
                table,
                stand_ins,
                described,
                holdout=apart,
                release=made,
                guarantee=_membership_bound(made),
                quasi=quasi,
                sensitive=sensitive,
                radius=radius,
                named=(
                    None
                    if roll is None
                    else Table(roll, _shared_columns(described, roll))
                ),
                on=on,
                key=key,
                shadowed=_shadow_attack(original, made, shadows, progress),
                seed=seed,
                progress=progress,
            )
        return Evaluation(
            utility=utility,
            risk=found,
            schema=described,
            distributions=_column_distributions(plain[0], plain[1], described),
            left_out=left_out,
            release=made,
            title=original.title,
            noted=book,
            facts={
                "rows_real": plain[0].rows(),
                "rows_synthetic": plain[1].rows(),
                "seed": seed,
            },
        )


def _membership_bound(release: Release | None) -> MembershipBound | None:
    """What a guarantee about one row being there or not allows a membership attack."""
    if release is None or release.guarantee.kind is not GuaranteeKind.PRIVATE:
        return None
    promise = release.guarantee
    if (
        promise.neighbours is not Neighbours.ADD_REMOVE
        or release.schema.unit.id is not None
    ):
        return None
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


def _check_complete(source: TableSource, schema: Schema) -> None:
    for name in schema:
        if name not in source.names:
            raise Refused(
                f'{source.title}: column "{name}" of the other tables is missing.'
                " Nothing was compared."
            )


def _shared_columns(schema: Schema, source: TableSource) -> Schema:
    """The columns that a named file has too."""
    columns = tuple(
        replace(c, use=c.use and c.name in source.names) for c in schema.columns
    )
    return replace(
        schema, columns=columns, impossible=(), rules=(), broken=BrokenRowPolicy.KEEP
    )


def _column_distributions(
    real: Table, synthetic: Table, schema: Schema
) -> tuple[ColumnDistribution, ...]:
    cliques = [(name,) for name in schema]
    return tuple(
        ColumnDistribution(
            column=name,
            type=schema[name].type,
            labels=schema.codecs[name].labels(),
            real=tuple(here.tolist()),
            synthetic=tuple(there.tolist()),
        )
        for (name,), here, there in zip(
            cliques, real.counts(cliques), synthetic.counts(cliques), strict=True
        )
    )
