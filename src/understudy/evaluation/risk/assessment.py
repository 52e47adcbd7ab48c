"""Everything about risk that applies, one measure after the other. Internal, not
private.

Identity disclosure (somebody's row is found), attribute disclosure (something is learned
about them) and membership (they were in the table) are kept apart. Measures of the real
table itself come last; they protect nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from understudy.evaluation.risk.classes import (
    assess_k_anonymity,
    assess_l_diversity,
    assess_uniqueness,
)
from understudy.evaluation.risk.groups import assess_risk_groups
from understudy.evaluation.risk.inference import (
    assess_attribute_inference,
    assess_disco,
)
from understudy.evaluation.risk.linkage import assess_linkage
from understudy.evaluation.risk.matching import assess_reidentification
from understudy.evaluation.risk.membership import (
    attack_by_density,
    attack_by_measurements,
)
from understudy.evaluation.risk.rates import MembershipBound
from understudy.evaluation.risk.scoreboard import assess_scoreboard
from understudy.evaluation.risk.singling import assess_linkability, assess_singling_out
from understudy.findings import (
    Assessment,
    Fact,
    Finding,
    Measure,
    Progress,
    Unavailable,
    compute_findings,
    ignore_progress,
)
from understudy.measurements import Measurement
from understudy.schema import Role, Schema
from understudy.tables import Records, Table

MAX_ATTACK_TARGETS = 2000
"""People attacked, of members and of the control each."""

MAX_SEARCHED_SYNTHETIC_ROWS = 20_000
"""Synthetic rows searched."""

MAX_RISK_GROUP_ROWS = 20_000
"""Real rows of which each is put in a risk group; of more, those that are attacked."""

MAX_UNIQUENESS_ROWS = 100_000
"""Rows of each table among which unique ones are counted."""

DEFAULT_QUASI_COLUMNS, DEFAULT_SENSITIVE_COLUMNS = 5, 3


class MeasuredRelease(Protocol):
    """The part of a release that an attack on its measurements needs."""

    @property
    def schema(self) -> Schema:
        """What it is about."""

    @property
    def measurements(self) -> Sequence[Measurement]:
        """What was measured."""


def resolve_roles(
    schema: Schema,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
) -> tuple[list[str], list[str], bool]:
    """Quasi-identifiers and secrets: as named, or by role, or else guessed; and whether
    they were guessed.

    >>> from understudy.schema import Boolean
    >>> resolve_roles(Schema(columns=(Boolean(name="a", role=Role.QUASI_IDENTIFIER), Boolean(name="b", role=Role.SENSITIVE))))
    (['a'], ['b'], False)
    """
    names = list(schema)

    def with_role(role: Role) -> list[str]:
        return [name for name in names if schema[name].role is role]

    chosen = with_role(Role.QUASI_IDENTIFIER) if quasi is None else list(quasi)
    secrets = with_role(Role.SENSITIVE) if sensitive is None else list(sensitive)
    guessed = not chosen or not secrets
    if not chosen:
        free = [name for name in names if name not in secrets]
        # One column is kept back to be the secret, if there is none yet.
        spare = len(free) - (0 if secrets else 1)
        chosen = free[: min(DEFAULT_QUASI_COLUMNS, max(1, spare))]
    if not secrets:
        secrets = [name for name in names if name not in chosen]
        secrets = secrets[-DEFAULT_SENSITIVE_COLUMNS:]
    return chosen, secrets, guessed


def assess_risk(
    real: Table,
    synthetic: Table | Sequence[Table],
    schema: Schema,
    *,
    holdout: Table | None = None,
    release: MeasuredRelease | None = None,
    guarantee: MembershipBound | None = None,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    radius: Mapping[str, float] | None = None,
    named: Table | None = None,
    on: Sequence[str] | None = None,
    key: str | None = None,
    shadowed: Callable[[np.random.Generator], Finding] | None = None,
    targets: int = MAX_ATTACK_TARGETS,
    seed: int = 0,
    progress: Progress = ignore_progress,
) -> Assessment:
    """Who could be found in a release, and what could be learned about them, attack by
    attack.

    `synthetic` may be several copies of one release. `holdout` holds rows of the same
    kind that the release was not made from; without it, what needs a control is not
    computed. `release` brings the noisy measurements, `guarantee` what it allows a
    membership attack. `named` is a file with names in it, linked `on` the columns in
    common; `key` names the column that says who is who, in the real table and in every
    other that has it. `shadowed` attacks by shadow releases, which takes as long as
    making them.
    """
    copies = list(synthetic) if isinstance(synthetic, Sequence) else [synthetic]
    chosen, secrets, guessed = resolve_roles(schema, quasi, sensitive)
    subject = _AttackedRelease(
        real=real,
        copies=copies,
        schema=schema,
        holdout=holdout,
        release=release,
        guarantee=guarantee,
        quasi=chosen,
        secrets=secrets,
        radius=radius,
        named=named,
        on=on,
        key=key,
        shadowed=shadowed,
        targets=targets,
        rng=np.random.default_rng(seed),
    )
    has_declared_quasi = any(c.role is Role.QUASI_IDENTIFIER for c in schema.columns)
    facts: dict[str, Fact] = {
        "quasi_identifiers": list(chosen),
        "sensitive": list(secrets),
        "roles_guessed": guessed,
        "quasi_guessed": quasi is None and not has_declared_quasi,
        "targets": targets,
        "holdout": holdout is not None,
        "copies": len(copies),
        "seed": seed,
    }
    findings = compute_findings(subject.measures(), progress)
    return Assessment(subject="risk", findings=findings, facts=facts)


@dataclass(frozen=True, kw_only=True)
class _AttackedRelease:
    """The tables of one assessment, and every attack on them as a method.

    Samples of rows are drawn once and shared by the attacks; all draws come from one
    generator, in the order in which the attacks run.
    """

    real: Table
    copies: Sequence[Table]
    schema: Schema
    holdout: Table | None
    release: MeasuredRelease | None
    guarantee: MembershipBound | None
    quasi: Sequence[str]
    secrets: Sequence[str]
    radius: Mapping[str, float] | None
    named: Table | None
    on: Sequence[str] | None
    key: str | None
    shadowed: Callable[[np.random.Generator], Finding] | None
    targets: int
    rng: np.random.Generator

    def measures(self) -> list[Measure]:
        """What is computed, in the order in which a page shows it."""
        return [
            *self._identity_measures(),
            *self._attribute_measures(),
            *self._membership_measures(),
            *self._table_measures(),
        ]

    def _identity_measures(self) -> list[Measure]:
        family = "identity"
        columns, rng = list(self.schema), self.rng
        return [
            Measure(
                "match_risk",
                "Match risk on quasi-identifiers",
                family,
                self._match_records,
            ),
            Measure(
                "risk_groups", "Real records at high risk", family, self._group_records
            ),
            Measure(
                "uniqueness", "Real rows that are unique", family, self._find_unique
            ),
            Measure("linkage", "Linkage to a named file", family, self._link_names),
            Measure(
                "scoreboard",
                "Scoreboard",
                family,
                lambda: assess_scoreboard(*self._three_samples(), columns, rng=rng),
            ),
            Measure(
                "singling_out",
                "Singling out",
                family,
                lambda: assess_singling_out(*self._three_samples(), columns, rng=rng),
            ),
            Measure(
                "linkability",
                "Linkability",
                family,
                lambda: assess_linkability(*self._three_samples(), columns, rng=rng),
            ),
        ]

    def _attribute_measures(self) -> list[Measure]:
        return [
            Measure(
                "attribute_inference",
                "Attribute inference",
                "attribute",
                lambda: assess_attribute_inference(
                    *self._three_samples(), self.secrets
                ),
            ),
            Measure(
                "disco",
                "Secrets told for certain (DiSCO)",
                "attribute",
                lambda: assess_disco(
                    self.member_rows,
                    self.control_rows,
                    self.copies[0].records([*self.quasi, *self.secrets]),
                    self.quasi,
                    self.secrets,
                ),
            ),
        ]

    def _membership_measures(self) -> list[Measure]:
        family = "membership"
        return [
            Measure(
                "membership_measurements",
                "Membership from the noisy measurements",
                family,
                self._attack_measurements,
            ),
            Measure(
                "membership_density",
                "Membership by density ratio",
                family,
                self._attack_density,
            ),
            Measure(
                "membership_shadows",
                "Membership by shadow releases",
                family,
                self._attack_shadows,
            ),
        ]

    def _table_measures(self) -> list[Measure]:
        quasi = self.quasi
        return [
            Measure(
                "k_anonymity",
                "k-anonymity of the real table",
                "measures",
                lambda: assess_k_anonymity(
                    self.real.records(quasi), self.copies[0].records(quasi), quasi
                ),
            ),
            Measure(
                "l_diversity",
                "ℓ-diversity of the real table",
                "measures",
                lambda: assess_l_diversity(
                    self.real.records(self._with_secrets(quasi)), quasi, self.secrets
                ),
            ),
        ]

    @cached_property
    def member_rows(self) -> Records:
        """A sample of the rows that the release was made from."""
        return self.real.records(most=self.targets, rng=self.rng)

    @cached_property
    def control_rows(self) -> Records:
        """A sample of rows that the release never saw."""
        if self.holdout is None:
            raise Unavailable(
                "it needs a holdout: rows of the same kind that the release was not"
                " made from"
            )
        return self.holdout.records(most=self.targets, rng=self.rng)

    @cached_property
    def synthetic_rows(self) -> Records:
        """A sample of the first synthetic table."""
        return self.copies[0].records(most=MAX_SEARCHED_SYNTHETIC_ROWS, rng=self.rng)

    def _three_samples(self) -> tuple[Records, Records, Records]:
        return self.member_rows, self.control_rows, self.synthetic_rows

    def _with_secrets(self, columns: Sequence[str]) -> list[str]:
        """These columns and the secret ones, each once."""
        return list(dict.fromkeys([*columns, *self.secrets]))

    def _match_records(self) -> Finding:
        tables = (self.real, *self.copies)
        if self.key is not None and all(table.holds(self.key) for table in tables):
            # Every synthetic row stands for a person, so a match can be right or wrong.
            own, *copies = (table.records(self.quasi, key=self.key) for table in tables)
            return assess_reidentification(own, copies, self.quasi, radius=self.radius)
        everybody = self.real.records(self.quasi)
        return assess_reidentification(
            self.member_rows,
            [copy.records(self.quasi) for copy in self.copies],
            self.quasi,
            radius=self.radius,
            population=everybody,
        )

    def _group_records(self) -> Finding:
        everybody = self.real.records(self.quasi)
        is_small = everybody.rows <= MAX_RISK_GROUP_ROWS
        targets = everybody if is_small else self.member_rows
        return assess_risk_groups(
            targets, self.quasi, population=everybody, radius=self.radius
        )

    def _find_unique(self) -> Finding:
        real, synthetic = (
            table.records(most=MAX_UNIQUENESS_ROWS, rng=self.rng)
            for table in (self.real, self.copies[0])
        )
        return assess_uniqueness(real, synthetic, list(self.schema), rng=self.rng)

    def _link_names(self) -> Finding:
        if self.named is None:
            raise Unavailable("no file with names was given")
        shared = self.on
        if shared is None:
            shared = [name for name in self.quasi if name in self.named.schema]
        if not shared:
            raise Unavailable(
                f"the file with names has none of the columns {', '.join(self.quasi)}"
            )
        compared = self._with_secrets(shared)
        holds_key = self.key is not None and self.named.holds(self.key)
        key = self.key if holds_key else None
        # Only a key says whose row was really linked.
        original = None if key is None else self.real.records(compared, key=key)
        people = self.named.records(shared, key=key)
        return assess_linkage(
            people,
            self.copies[0].records(compared),
            shared,
            original=original,
            secrets=self.secrets,
        )

    def _attack_measurements(self) -> Finding:
        if self.release is None:
            raise Unavailable("no release was given, so its measurements are not known")
        if self.release.schema.unit.id is not None:
            raise Unavailable(
                "rows were bounded per unit by a secret draw, so what was counted is"
                " not known any more"
            )
        return attack_by_measurements(
            self.real,
            _measurements_within(self.release, self.schema),
            self.member_rows,
            rng=self.rng,
            guarantee=self.guarantee,
        )

    def _attack_density(self) -> Finding:
        cliques = None
        if self.release is not None:
            measured = _measurements_within(self.release, self.schema)
            cliques = [measurement.clique for measurement in measured]
        return attack_by_density(
            self.schema,
            self.synthetic_rows,
            self.member_rows,
            self.control_rows,
            cliques=cliques,
            rng=self.rng,
            guarantee=self.guarantee,
        )

    def _attack_shadows(self) -> Finding:
        if self.shadowed is None:
            raise Unavailable(
                "it makes the release anew many times, so it is run when asked for"
                " (--shadows 20)"
            )
        return self.shadowed(self.rng)


def _measurements_within(release: MeasuredRelease, schema: Schema) -> list[Measurement]:
    """What was measured of the columns that are compared."""
    return [m for m in release.measurements if all(name in schema for name in m.clique)]
