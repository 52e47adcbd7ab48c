"""Everything about risk that applies, one measure after the other. Internal, not
private.

Identity and attribute disclosure are kept apart: being found is one thing, being told
on is another. Membership is a third. Measures of the real table itself come last; they
protect nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    chosen = (
        list(quasi)
        if quasi is not None
        else [n for n in names if schema[n].role is Role.QUASI_IDENTIFIER]
    )
    secrets = (
        list(sensitive)
        if sensitive is not None
        else [n for n in names if schema[n].role is Role.SENSITIVE]
    )
    guessed = not chosen or not secrets
    if not chosen:
        free = [n for n in names if n not in secrets]
        chosen = free[: min(DEFAULT_QUASI_COLUMNS, max(1, len(free) - (not secrets)))]
    if not secrets:
        secrets = [n for n in names if n not in chosen][-DEFAULT_SENSITIVE_COLUMNS:]
    return chosen, secrets, guessed


def assess_risk(
    real: Table,
    synthetic: Table | Sequence[Table],
    schema: Schema,
    *,
    holdout: Table | None = None,
    release: MeasuredRelease | None = None,
    guarantee: tuple[float, float] | None = None,
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
    computed. `release` brings the noisy measurements, `guarantee` its (ε, δ). `named`
    is a file with names in it, linked `on` the columns in common; `key` names the
    column that says who is who, in the real table and in every other that has it.
    `shadowed` attacks by shadow releases, which takes as long as making them.
    """
    rng = np.random.default_rng(seed)
    copies = list(synthetic) if isinstance(synthetic, Sequence) else [synthetic]
    chosen, secrets, guessed = resolve_roles(schema, quasi, sensitive)
    columns = list(schema)
    cache: dict[str, Records] = {}

    def sample_rows(which: str, table: Table | None, most: int) -> Records:
        if table is None:
            raise Unavailable(
                "it needs a holdout: rows of the same kind that the release was not"
                " made from"
            )
        if which not in cache:
            cache[which] = table.records(most=most, rng=rng)
        return cache[which]

    def member_rows() -> Records:
        return sample_rows("members", real, targets)

    def control_rows() -> Records:
        return sample_rows("control", holdout, targets)

    def synthetic_rows() -> Records:
        return sample_rows("rows", copies[0], MAX_SEARCHED_SYNTHETIC_ROWS)

    def run_reidentification() -> Finding:
        if key is None or not all(table.holds(key) for table in (real, *copies)):
            everybody = real.records(chosen)
            return assess_reidentification(
                member_rows(),
                [c.records(chosen) for c in copies],
                chosen,
                radius=radius,
                population=everybody,
            )
        keyed = [table.records(chosen, key=key) for table in (real, *copies)]
        return assess_reidentification(keyed[0], keyed[1:], chosen, radius=radius)

    def run_risk_groups() -> Finding:
        everybody = real.records(chosen)
        targets = everybody if everybody.rows <= MAX_RISK_GROUP_ROWS else member_rows()
        return assess_risk_groups(targets, chosen, population=everybody, radius=radius)

    def run_linkage() -> Finding:
        if named is None:
            raise Unavailable("no file with names was given")
        shared = (
            list(on)
            if on is not None
            else [name for name in chosen if name in named.schema]
        )
        if not shared:
            raise Unavailable(
                f"the file with names has none of the columns {', '.join(chosen)}"
            )
        who = key if key is not None and named.holds(key) else None
        people = named.records(shared, key=who)
        own = (
            None
            if who is None
            else real.records([*dict.fromkeys([*shared, *secrets])], key=key)
        )
        return assess_linkage(
            people,
            copies[0].records([*dict.fromkeys([*shared, *secrets])]),
            shared,
            original=own,
            secrets=secrets,
        )

    def run_measurement_attack() -> Finding:
        if release is None:
            raise Unavailable("no release was given, so its measurements are not known")
        if release.schema.unit.id is not None:
            raise Unavailable(
                "rows were bounded per unit by a secret draw, so what was counted is"
                " not known any more"
            )
        return attack_by_measurements(
            real,
            _measurements_within(release, schema),
            member_rows(),
            control_rows(),
            guarantee=guarantee,
        )

    def run_density_attack() -> Finding:
        cliques = (
            None
            if release is None
            else [m.clique for m in _measurements_within(release, schema)]
        )
        return attack_by_density(
            schema,
            synthetic_rows(),
            member_rows(),
            control_rows(),
            cliques=cliques,
            rng=rng,
            guarantee=guarantee,
        )

    def run_shadow_attack() -> Finding:
        if shadowed is None:
            raise Unavailable(
                "it makes the release anew many times, so it is run when asked for"
                " (--shadows 20)"
            )
        return shadowed(rng)

    def run_uniqueness() -> Finding:
        return assess_uniqueness(
            real.records(most=100_000, rng=rng),
            copies[0].records(most=100_000, rng=rng),
            columns,
            rng=rng,
        )

    measures = [
        Measure(
            "match_risk",
            "Match risk on quasi-identifiers",
            "identity",
            run_reidentification,
        ),
        Measure(
            "risk_groups", "Real records at high risk", "identity", run_risk_groups
        ),
        Measure("uniqueness", "Real rows that are unique", "identity", run_uniqueness),
        Measure("linkage", "Linkage to a named file", "identity", run_linkage),
        Measure(
            "scoreboard",
            "Scoreboard",
            "identity",
            lambda: assess_scoreboard(
                member_rows(), control_rows(), synthetic_rows(), columns, rng=rng
            ),
        ),
        Measure(
            "singling_out",
            "Singling out",
            "identity",
            lambda: assess_singling_out(
                member_rows(), control_rows(), synthetic_rows(), columns, rng=rng
            ),
        ),
        Measure(
            "linkability",
            "Linkability",
            "identity",
            lambda: assess_linkability(
                member_rows(), control_rows(), synthetic_rows(), columns, rng=rng
            ),
        ),
        Measure(
            "attribute_inference",
            "Attribute inference",
            "attribute",
            lambda: assess_attribute_inference(
                member_rows(), control_rows(), synthetic_rows(), secrets
            ),
        ),
        Measure(
            "disco",
            "Secrets told for certain (DiSCO)",
            "attribute",
            lambda: assess_disco(
                member_rows(),
                control_rows(),
                copies[0].records([*chosen, *secrets]),
                chosen,
                secrets,
            ),
        ),
        Measure(
            "membership_measurements",
            "Membership from the noisy measurements",
            "membership",
            run_measurement_attack,
        ),
        Measure(
            "membership_density",
            "Membership by density ratio",
            "membership",
            run_density_attack,
        ),
        Measure(
            "membership_shadows",
            "Membership by shadow releases",
            "membership",
            run_shadow_attack,
        ),
        Measure(
            "k_anonymity",
            "k-anonymity of the real table",
            "measures",
            lambda: assess_k_anonymity(
                real.records(chosen), copies[0].records(chosen), chosen
            ),
        ),
        Measure(
            "l_diversity",
            "ℓ-diversity of the real table",
            "measures",
            lambda: assess_l_diversity(
                real.records([*dict.fromkeys([*chosen, *secrets])]), chosen, secrets
            ),
        ),
    ]
    facts: dict[str, Fact] = {
        "quasi_identifiers": list(chosen),
        "sensitive": list(secrets),
        "roles_guessed": guessed,
        "quasi_guessed": (
            quasi is None
            and not any(schema[name].role is Role.QUASI_IDENTIFIER for name in columns)
        ),
        "targets": targets,
        "holdout": holdout is not None,
        "copies": len(copies),
        "seed": seed,
    }
    return Assessment(
        subject="risk", findings=compute_findings(measures, progress), facts=facts
    )


def _measurements_within(release: MeasuredRelease, schema: Schema) -> list[Measurement]:
    """What was measured of the columns that are compared."""
    return [m for m in release.measurements if all(name in schema for name in m.clique)]
