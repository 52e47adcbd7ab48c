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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.schema import Lattice, Schema
from understudy.tables import Records
from understudy.text import join_words

MAX_TIE_DIFFERENCE = 1e-9
"""Two probabilities closer than this are a tie."""

MAX_MATCH_CELLS = 2_000_000
"""Pairs of a target and a row that are compared at once: sixteen megabytes."""

DEFAULT_RADIUS_SHARE = 0.025
"""Default radius of a number, as a share of its declared range."""


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
    numbers = [name for name in columns if isinstance(schema[name], Lattice)]
    for name in given or {}:
        if name not in numbers:
            raise Refused(
                f'radius: column "{name}" is no number that an intruder knows.'
                f" {f'Such are {join_words(numbers)}' if numbers else 'None is'}"
            )
    radii = []
    for name in numbers:
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
        block = self.rows_with(labels)
        near: NDArray[np.int64] = block[self.near_rows(block, numbers[None, :])[0]]
        return near

    def rows_with(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows that have these labels."""
        key = np.ascontiguousarray(labels).tobytes()
        return self._blocks.get(key, np.zeros(0, np.int64))

    def label_blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Each combination of labels that occurs, with its rows."""
        for members in self._blocks.values():
            yield self._rows.labels[members[0]], members

    def near_rows(
        self, rows: NDArray[np.int64], numbers: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Which of these rows (second axis) are near each row of numbers (first)."""
        near = np.ones((len(numbers), len(rows)), bool)
        for column in range(numbers.shape[1]):
            here = numbers[:, column, None]
            there = self._rows.numbers[rows, column]
            # A radius is inclusive; what rounding takes from it is given back.
            rounding = 1e-9 * np.maximum(1.0, np.abs(here))
            with np.errstate(invalid="ignore"):
                is_near = np.abs(there - here) <= self._radius[column] + rounding
            near &= is_near | (np.isnan(there) & np.isnan(here))
        return near


@dataclass(frozen=True, eq=False)
class Matches:
    """What an intruder believes of each target: `own` is I_i, `ties` c_i (0 if nothing
    matches) and `right` T_i; `belief` is the mean of 1/s.
    """

    own: NDArray[np.float64]
    ties: NDArray[np.int64]
    right: NDArray[np.bool_]
    belief: NDArray[np.float64]

    def take(self, rows: NDArray[np.bool_]) -> Matches:
        """What is believed of some of the targets."""
        return Matches(
            self.own[rows], self.ties[rows], self.right[rows], self.belief[rows]
        )

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
    found = Matches(np.zeros(n), np.zeros(n, np.int64), np.zeros(n, bool), np.zeros(n))
    # People with the same labels look among the same rows, so they search together.
    for label, members in RadiusFinder(targets, radius).label_blocks():
        blocks = [finder.rows_with(label) for finder in finders]
        union = np.unique(np.concatenate([members, *blocks]))
        step = max(MAX_MATCH_CELLS // len(union), 1)
        for start in range(0, len(members), step):
            some = members[start : start + step]
            chances, belief = _sum_chances(
                targets.numbers[some], finders, blocks, union
            )
            found.belief[some] = belief
            if aligned:
                _judge_chances(chances, some, union, found)
    return found


def _sum_chances(
    numbers: NDArray[np.float64],
    finders: Sequence[RadiusFinder],
    blocks: Sequence[NDArray[np.int64]],
    union: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P_ij for some targets with the same labels and the rows of the union; and the
    mean of 1/s.
    """
    chances = np.zeros((len(numbers), len(union)))
    belief = np.zeros(len(numbers))
    for finder, block in zip(finders, blocks, strict=True):
        near = finder.near_rows(block, numbers)
        # Each of the s rows that match is as likely as the others, in each copy.
        matches = near.sum(axis=1)
        share = np.where(matches > 0, 1 / np.maximum(matches, 1) / len(finders), 0.0)
        chances[:, np.searchsorted(union, block)] += near * share[:, None]
        belief += share
    return chances, belief


def _judge_chances(
    chances: NDArray[np.float64],
    targets: NDArray[np.int64],
    union: NDArray[np.int64],
    found: Matches,
) -> None:
    """Put down what is believed of these targets."""
    top = chances.max(axis=1)
    is_best = chances >= (top - MAX_TIE_DIFFERENCE)[:, None]
    own = np.arange(len(targets)), np.searchsorted(union, targets)
    is_matched = top > 0
    found.own[targets] = chances[own]
    found.ties[targets] = np.where(is_matched, is_best.sum(axis=1), 0)
    found.right[targets] = is_best[own] & is_matched


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
