"""Matching: an intruder knows somebody's quasi-identifiers and looks for rows that
agree, numbers within a radius.

Reiter, Mitra, "Estimating risks of identification disclosure in partially synthetic
data", 2009. In copy m the s rows that match record i's true values are equally likely
to be i; averaged over M copies this gives P_ij. If row j of every copy stands for
record j (partial synthesis), I_i = P_ii; c_i is the number of rows with the largest
P_ij and T_i whether i is among them. Then

    expected match risk   Σ T_i/c_i
    true match rate       Σ 1[c_i = 1, T_i = 1]/n
    false match rate      Σ 1[c_i = 1, T_i = 0]/Σ 1[c_i = 1]

A record that nothing matches adds nothing. If rows stand for nobody (full synthesis),
1/s is the intruder's belief, right or wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from understudy.findings import BetterDirection, Finding, FindingPart, Unavailable
from understudy.schema import Lattice, Schema
from understudy.tables import Records

MAX_TIE_DIFFERENCE = 1e-9
"""Two probabilities closer than this are a tie."""

DEFAULT_RADIUS_SHARE = 0.025
"""Default radius of a number, as a share of its declared range."""

ALIGNED_MATCH_NOTE = "Mean chance of picking the right row."
UNALIGNED_MATCH_NOTE = (
    "Mean of 1/s over the s rows that match; rows stand for nobody, so a match is no"
    " person."
)


@dataclass(frozen=True, eq=False)
class QuasiIdentifiers:
    """What an intruder compares: labels that must be equal, and numbers that must be
    near.
    """

    labels: NDArray[np.int64]
    numbers: NDArray[np.float64]

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.labels)

    @classmethod
    def of(cls, records: Records, columns: Sequence[str]) -> QuasiIdentifiers:
        """The quasi-identifiers of some rows."""
        numbers = [
            name for name in columns if isinstance(records.schema[name], Lattice)
        ]
        labels = [name for name in columns if name not in numbers]
        codes = [records.codes[name].astype(np.int64) for name in labels]
        values = [records.numbers(name) for name in numbers]
        # `stack` takes no empty list.
        no_labels = np.zeros((records.rows, 0), np.int64)
        no_numbers = np.zeros((records.rows, 0))
        return cls(
            np.stack(codes, axis=1) if codes else no_labels,
            np.stack(values, axis=1) if values else no_numbers,
        )


def match_radii(
    schema: Schema, columns: Sequence[str], given: Mapping[str, float] | None = None
) -> NDArray[np.float64]:
    """The radius of every number among the columns: as given, or a fortieth of its
    declared range.
    """
    radii = []
    for name in columns:
        if not isinstance(schema[name], Lattice):
            continue
        if given is not None and name in given:
            radii.append(float(given[name]))
        else:
            width = Records(schema, {}, {}).width(name)
            radii.append(width * DEFAULT_RADIUS_SHARE)
    return np.array(radii)


class RadiusFinder:
    """Rows within a radius, found by the labels they must share."""

    def __init__(self, rows: QuasiIdentifiers, radius: NDArray[np.float64]) -> None:
        self._rows, self._radius = rows, radius
        # Rows are sorted by their labels once, so a search looks at one block alone.
        if rows.labels.shape[1]:
            kinds, kind = np.unique(rows.labels, axis=0, return_inverse=True)
        else:
            kinds, kind = rows.labels[:1], np.zeros(rows.rows, np.int64)
        order = np.argsort(kind.reshape(-1), kind="stable").astype(np.int64)
        ends = np.cumsum(np.bincount(kind.reshape(-1), minlength=len(kinds)))[:-1]
        self._blocks = {
            np.ascontiguousarray(label).tobytes(): members
            for label, members in zip(kinds, np.split(order, ends), strict=True)
        }

    def rows_within(
        self, labels: NDArray[np.int64], numbers: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """The rows that match these values; a missing number matches a missing one
        alone.
        """
        block = self._blocks.get(np.ascontiguousarray(labels).tobytes())
        if block is None:
            return np.zeros(0, np.int64)
        if not len(numbers):
            return block
        there = self._rows.numbers[block]
        # A radius is inclusive; what rounding takes from it is given back.
        rounding = 1e-9 * np.maximum(1.0, np.abs(numbers))
        with np.errstate(invalid="ignore"):
            close = np.abs(there - numbers) <= self._radius + rounding
        close |= np.isnan(there) & np.isnan(numbers)
        return block[close.all(axis=1)]


@dataclass(frozen=True, eq=False)
class Matches:
    """What an intruder believes of each target: `own` is I_i, `ties` c_i (0 if nothing
    matches) and `right` T_i; `belief` is the mean of 1/s.
    """

    own: NDArray[np.float64]
    ties: NDArray[np.int64]
    right: NDArray[np.bool_]
    belief: NDArray[np.float64]

    @property
    def expected_count(self) -> float:
        """Expected number of records found, Σ T_i/c_i."""
        return float(np.sum(np.where(self.right, 1 / np.maximum(self.ties, 1), 0.0)))

    @property
    def true_rate(self) -> float:
        """Share of records matched alone and rightly."""
        return float(np.mean((self.ties == 1) & self.right)) if len(self.ties) else 0.0

    @property
    def false_rate(self) -> float | None:
        """Of those matched alone, the share matched wrongly; None if there are none."""
        alone = self.ties == 1
        return float(np.mean(~self.right[alone])) if alone.any() else None


def match_targets(
    targets: QuasiIdentifiers,
    copies: Sequence[QuasiIdentifiers],
    radius: NDArray[np.float64],
    *,
    aligned: bool = True,
) -> Matches:
    """Every target against every copy. `aligned`: row i of every copy stands for target
    i.
    """
    finders = [RadiusFinder(copy, radius) for copy in copies]
    n = targets.rows
    own, belief = np.zeros(n), np.zeros(n)
    ties, right = np.zeros(n, np.int64), np.zeros(n, bool)
    for i in range(n):
        chances: dict[int, float] = {}
        for finder in finders:
            rows = finder.rows_within(targets.labels[i], targets.numbers[i])
            if not len(rows):
                continue
            # Each of the s rows that match is as likely as the others, in each copy.
            share = 1 / len(rows) / len(finders)
            belief[i] += share
            if aligned:
                for j in rows.tolist():
                    chances[j] = chances.get(j, 0.0) + share
        if chances:
            top = max(chances.values()) - MAX_TIE_DIFFERENCE
            best = [j for j, chance in chances.items() if chance >= top]
            own[i], ties[i], right[i] = chances.get(i, 0.0), len(best), i in best
    return Matches(own, ties, right, belief)


class RiskLevel(IntEnum):
    """How exposed a record is by how many others look like it."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2


def assign_risk_groups(
    targets: QuasiIdentifiers,
    radius: NDArray[np.float64],
    *,
    least: int = 5,
    population: QuasiIdentifiers | None = None,
) -> NDArray[np.int64]:
    """Low: at least `least` others match in labels and numbers. Medium: in labels only.
    High: not even that.

    The others are those of the `population`, in which every target is too; by default,
    the targets themselves.
    """
    people = targets if population is None else population
    no_numbers = np.zeros((people.rows, 0))
    near = RadiusFinder(people, radius)
    alike = RadiusFinder(QuasiIdentifiers(people.labels, no_numbers), np.zeros(0))
    levels = np.empty(targets.rows, np.int64)
    for i in range(targets.rows):
        labels, numbers = targets.labels[i], targets.numbers[i]
        # Everybody matches themselves, and does not count.
        if len(near.rows_within(labels, numbers)) - 1 >= least:
            levels[i] = RiskLevel.LOW
        elif len(alike.rows_within(labels, np.zeros(0))) - 1 >= least:
            levels[i] = RiskLevel.MEDIUM
        else:
            levels[i] = RiskLevel.HIGH
    return levels


def average_copies(copies: Sequence[QuasiIdentifiers]) -> QuasiIdentifiers:
    """One table out of aligned copies: the mean of each number, the most frequent of
    each label (the first of equals).

    >>> one, two = (
    ...     QuasiIdentifiers(np.array([[label]]), np.array([[number]]))
    ...     for label, number in ((1, 30.0), (1, 40.0))
    ... )
    >>> average_copies([one, two]).numbers.tolist()
    [[35.0]]
    """
    labels = np.stack([copy.labels for copy in copies])
    votes = (labels[:, None] == labels[None, :]).sum(axis=0)
    best = np.take_along_axis(labels, votes.argmax(axis=0)[None], axis=0)[0]
    numbers = np.stack([copy.numbers for copy in copies])
    # Missing numbers are left out of the mean; if all are missing, so is the mean.
    known = ~np.isnan(numbers)
    total = np.where(known, numbers, 0.0).sum(axis=0)
    mean = total / np.maximum(known.sum(axis=0), 1)
    return QuasiIdentifiers(best, np.where(known.any(axis=0), mean, np.nan))


def assess_reidentification(
    real: Records,
    copies: Sequence[Records],
    quasi: Sequence[str],
    *,
    radius: Mapping[str, float] | None = None,
    least: int = 5,
    population: Records | None = None,
) -> Finding:
    """Match risk over the copies, with the parts for low-, medium- and high-risk
    records among the `population`.

    Copies whose keys are the real table's are aligned by them; then the value is the
    mean of I_i. Otherwise it is the mean belief 1/s.
    """
    if not quasi:
        raise Unavailable(
            "no column is a quasi-identifier; give one the role “quasi_identifier”"
        )
    if not real.rows or any(not copy.rows for copy in copies):
        raise Unavailable("one of the tables has no rows")
    used, aligned = _align_copies(real, copies)
    radii = match_radii(real.schema, quasi, radius)
    targets = QuasiIdentifiers.of(real, quasi)
    tables = [QuasiIdentifiers.of(copy, quasi) for copy in used]
    matches = match_targets(targets, tables, radii, aligned=aligned)
    risk = matches.own if aligned else matches.belief
    others = None if population is None else QuasiIdentifiers.of(population, quasi)
    levels = assign_risk_groups(targets, radii, least=least, population=others)
    parts = [_risk_level_part(level, risk, levels) for level in reversed(RiskLevel)]
    title, note = "Match risk on quasi-identifiers", ALIGNED_MATCH_NOTE
    if not aligned:
        title, note = f"{title}: an intruder's belief", UNALIGNED_MATCH_NOTE
    numbers = [name for name in quasi if isinstance(real.schema[name], Lattice)]
    return Finding(
        name="match_risk",
        title=title,
        family="identity",
        value=float(risk.mean()),
        better=BetterDirection.LOWER,
        best=0.0,
        worst=1.0,
        note=note,
        parts=tuple(parts),
        facts={
            "aligned": aligned,
            "copies": len(copies),
            "matched": float(np.mean(matches.belief > 0)),
            **_aligned_match_facts(targets, tables, radii, matches, aligned=aligned),
            "quasi_identifiers": list(quasi),
            "radius": dict(zip(numbers, radii.tolist(), strict=True)),
            "least": least,
        },
    )


def _align_copies(
    real: Records, copies: Sequence[Records]
) -> tuple[list[Records], bool]:
    """The copies in the order of the real rows, if all of them can be; else as they
    are.
    """
    aligned = [align_rows(real, copy) for copy in copies]
    in_order = [copy for copy in aligned if copy is not None]
    if len(in_order) == len(copies):
        return in_order, True
    return list(copies), False


def _risk_level_part(
    level: RiskLevel, risk: NDArray[np.float64], levels: NDArray[np.int64]
) -> FindingPart:
    """The mean match risk of the records at one level."""
    inside = levels == level
    name, count = f"{level.name.lower()} risk", int(inside.sum())
    if not count:
        return FindingPart(name=name, value=0.0, facts={"records": 0})
    return FindingPart(
        name=name,
        value=float(risk[inside].mean()),
        facts={"records": count, "share": float(inside.mean())},
    )


def _aligned_match_facts(
    targets: QuasiIdentifiers,
    tables: Sequence[QuasiIdentifiers],
    radii: NDArray[np.float64],
    matches: Matches,
    *,
    aligned: bool,
) -> dict[str, float | None]:
    """Expected matches and match rates, which only aligned copies have."""
    facts: dict[str, float | None] = dict.fromkeys(
        (
            "expected_matches",
            "true_match_rate",
            "false_match_rate",
            "averaged_true_match_rate",
            "averaged_expected_matches",
        )
    )
    if aligned:
        facts["expected_matches"] = matches.expected_count
        facts["true_match_rate"] = matches.true_rate
        facts["false_match_rate"] = matches.false_rate
    if aligned and len(tables) > 1:
        # A second attack on several copies takes their mean, which moves less from the
        # truth than any of them.
        joint = match_targets(targets, [average_copies(tables)], radii)
        facts["averaged_true_match_rate"] = joint.true_rate
        facts["averaged_expected_matches"] = joint.expected_count
    return facts


def align_rows(real: Records, copy: Records) -> Records | None:
    """The copy's rows in the order of the real ones, by key; None if the keys are not
    the same.
    """
    if real.keys is None or copy.keys is None or len(real.keys) != len(copy.keys):
        return None
    here, there = np.argsort(real.keys), np.argsort(copy.keys)
    if not np.array_equal(real.keys[here], copy.keys[there]):
        return None
    # A key that occurs twice says not which of its rows stands for whom.
    if np.any(np.diff(real.keys[here]) == 0):
        return None
    order = np.empty(len(here), np.int64)
    order[here] = there
    return copy.take(order)
