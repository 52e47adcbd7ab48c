"""Everything about risk that applies, one measure after the other. Internal, not
private.

Identity disclosure (somebody's row is found), attribute disclosure (something is learned
about them) and membership (they were in the table) are kept apart. Measures of the real
table itself come last; they protect nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from understudy.evaluation.risk.attacked_release import AttackedRelease, MeasuredRelease
from understudy.evaluation.risk.intruder import UNINFORMED_INTRUDER, Intruder
from understudy.evaluation.risk.rates import MembershipBound
from understudy.findings import (
    Assessment,
    Fact,
    Finding,
    Progress,
    compute_findings,
    ignore_progress,
)
from understudy.schema import Role, Schema
from understudy.tables import Table

MAX_ATTACK_TARGETS = 2000
"""People attacked, of members and of the control each."""

DEFAULT_QUASI_COLUMNS, DEFAULT_SENSITIVE_COLUMNS = 5, 3


def resolve_roles(
    schema: Schema,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
) -> tuple[list[str], list[str], bool]:
    """Quasi-identifiers and secrets: as named, or by role, or else guessed; and whether
    they were guessed.

    >>> from understudy.schema import Boolean
    >>> resolve_roles(
    ...     Schema(
    ...         columns=(
    ...             Boolean(name="a", role=Role.QUASI_IDENTIFIER),
    ...             Boolean(name="b", role=Role.SENSITIVE),
    ...         )
    ...     )
    ... )
    (['a'], ['b'], False)
    """
    names = list(schema)

    def with_role(role: Role) -> list[str]:
        return [name for name in names if schema[name].role is role]

    chosen = with_role(Role.QUASI_IDENTIFIER) if quasi is None else list(quasi)
    secrets = with_role(Role.SENSITIVE) if sensitive is None else list(sensitive)
    # A guess is better than no number, but the report has to say that it is one.
    guessed = not chosen or not secrets
    if not chosen:
        chosen = _guess_quasi(names, secrets)
    if not secrets:
        secrets = [name for name in names if name not in chosen]
        secrets = secrets[-DEFAULT_SENSITIVE_COLUMNS:]
    return chosen, secrets, guessed


def _guess_quasi(names: Sequence[str], secrets: Sequence[str]) -> list[str]:
    """The first few columns that are no secrets."""
    free = [name for name in names if name not in secrets]
    # One column is kept back to be the secret, if there is none yet.
    spare = len(free) - (0 if secrets else 1)
    return free[: min(DEFAULT_QUASI_COLUMNS, max(1, spare))]


def assess_risk(
    real: Table,
    synthetic: Table | Sequence[Table],
    schema: Schema,
    *,
    holdout: Table | None = None,
    release: MeasuredRelease | None = None,
    guarantee: MembershipBound | None = None,
    intruder: Intruder = UNINFORMED_INTRUDER,
    named: Table | None = None,
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
    membership attack. `named` is the intruder's table with names, opened. `shadowed`
    attacks by shadow releases, which takes as long as making them.
    """
    copies = list(synthetic) if isinstance(synthetic, Sequence) else [synthetic]
    chosen, secrets, guessed = resolve_roles(schema, intruder.quasi, intruder.sensitive)
    subject = AttackedRelease(
        real=real,
        copies=copies,
        schema=schema,
        holdout=holdout,
        release=release,
        guarantee=guarantee,
        quasi=chosen,
        secrets=secrets,
        radius=intruder.radius,
        named=named,
        on=intruder.on,
        key=intruder.key,
        shadowed=shadowed,
        targets=targets,
        rng=np.random.default_rng(seed),
    )
    has_declared_quasi = any(c.role is Role.QUASI_IDENTIFIER for c in schema.columns)
    facts: dict[str, Fact] = {
        "quasi_identifiers": list(chosen),
        "sensitive": list(secrets),
        "roles_guessed": guessed,
        "quasi_guessed": intruder.quasi is None and not has_declared_quasi,
        "targets": targets,
        "holdout": holdout is not None,
        "copies": len(copies),
        "seed": seed,
    }
    findings = compute_findings(subject.measures(), progress)
    return Assessment(subject="risk", findings=findings, facts=facts)
