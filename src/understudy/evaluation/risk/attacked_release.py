"""The tables of one assessment of risk, and every attack on them.

Samples of rows are drawn once and shared by the attacks; all draws come from one
generator, in the order in which the attacks run, so that a seed fixes them.
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
from understudy.evaluation.risk.holdout import NO_HOLDOUT
from understudy.evaluation.risk.inference import (
    assess_attribute_inference,
    assess_disco,
)
from understudy.evaluation.risk.linkage import assess_linkage
from understudy.evaluation.risk.membership import (
    attack_by_density,
    attack_by_measurements,
)
from understudy.evaluation.risk.rates import MembershipBound
from understudy.evaluation.risk.reidentification import assess_reidentification
from understudy.evaluation.risk.scoreboard import assess_scoreboard
from understudy.evaluation.risk.singling import assess_linkability, assess_singling_out
from understudy.findings import (
    Finding,
    Measure,
    Unavailable,
)
from understudy.measurements import Measurement
from understudy.schema import Schema
from understudy.tables import Records, Table

MAX_SEARCHED_SYNTHETIC_ROWS = 20_000
"""Synthetic rows searched."""

MAX_RISK_GROUP_ROWS = 20_000
"""Real rows of which each is put in a risk group; of more, those that are attacked."""

MAX_UNIQUENESS_ROWS = 100_000
"""Rows of each table among which unique ones are counted."""


class MeasuredRelease(Protocol):
    """The part of a release that an attack on its measurements needs."""

    @property
    def schema(self) -> Schema:
        """What it is about."""

    @property
    def measurements(self) -> Sequence[Measurement]:
        """What was measured."""


@dataclass(frozen=True, kw_only=True)
class AttackedRelease:
    """The tables of one assessment, and every attack on them as a method."""

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
        # A measure is computed when its turn comes: what it lacks is then its reason.
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
                "Secrets revealed for certain (DiSCO)",
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
        # Without a control, a high rate may be what anybody would guess.
        if self.holdout is None:
            raise Unavailable(NO_HOLDOUT)
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
        # Groups are sizes within the whole table, so only the targets are a sample.
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
        # Measured cliques are what a model remembers best.
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
