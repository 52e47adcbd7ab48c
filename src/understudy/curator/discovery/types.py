"""The vote on types: what a column without a declared type holds, decided by all its
cells rather than by whether every one of them parses.

Each cell votes for exactly one candidate, the most specific type it can be read as
(`tables.TYPE_CANDIDATES`). The noisy votes then elect the most specific type that can
hold every kind of cell that stands out, so that one odd cell neither flips a type nor
shows. The same votes say how dates, moments, times and decimals are spelled.

Where words stand beside numbers, dates or times ("N" among incomes), the column is a
list of labels at first, and what the other cells would make is kept. Once its labels
are learned, a few words that account for all the votes of words are missing codes; and
where far fewer words than values would be lost, the values are kept too
(`ElectedColumn.with_missing_codes`). That is post-processing of noisy answers.

Why it is private. A row has one vote in each of d columns: it moves d counts by 1, and a
unit of m rows the votes by d·m in L1 and √d·m in L2 at most; replaced, by twice and √2
times that. Every count is noised, the empty ones too.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from math import hypot, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.pricing import price
from understudy.curator.context import MechanismContext
from understudy.curator.discovery.bounded_column import FINEST_REAL_STEP
from understudy.curator.discovery.point_spelling import spell_points_alike
from understudy.curator.discovery.vote_noise import VOTE_NOISE_SIGMAS, VoteNoise
from understudy.curator.discovery.vote_spelling import spell_as_voted
from understudy.curator.discovery.vote_steps import (
    elect_beyond_bits,
    find_hidden_steps,
    with_unseen_rows,
)
from understudy.schema import (
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Integer,
    Lattice,
    Real,
    Time,
    UndeclaredColumn,
)
from understudy.tables import (
    AMBIGUOUS_KINDS,
    ELECTED_TYPES,
    EMPTY_CANDIDATE,
    LARGE_CANDIDATE,
    LOCAL_KINDS,
    NUMBER_CANDIDATES,
    PLAIN_STEPS,
    STEP_CANDIDATES,
    TEXT_CANDIDATE,
    TYPE_CANDIDATES,
    ZERO_LED_CANDIDATE,
    is_readable_as,
    kind_of_vote,
)

MAX_VOTE_ODD_SHARE = Fraction(1, 500)
"""Part of the non-empty cells that may be something else."""

MAX_MISSING_CODES = 8
"""Words beside numbers that may be missing codes; a column with more of them is a list
of labels.
"""

MIN_LOSS_RATIO = 3
"""How many times fewer words must be lost in one reading than values in the other,
where some are lost in both.
"""

ZERO_LED_CODE = re.compile(r"0[0-9]+", re.ASCII)

LATTICE_FAMILIES: tuple[tuple[str, ...], ...] = (
    NUMBER_CANDIDATES,
    ("date", "instant", "datetime"),
    ("time",),
    *(
        (kind, *(either for either, kinds in AMBIGUOUS_KINDS.items() if kind in kinds))
        for kind in LOCAL_KINDS
    ),
)
"""Kinds of votes whose cells lie on one lattice."""


@dataclass(frozen=True)
class ElectedColumn:
    """A column with the type its cells elected; where it has labels only because of
    words beside values, what the values would make.

    `words` is the noisy number of cells that are none of these values, `noise` its
    standard deviation; `values` that of those which are.
    """

    column: Column
    beside: Lattice | None = None
    words: float = 0.0
    noise: float = 0.0
    values: float = 0.0

    def with_missing_codes(
        self,
        labels: Sequence[str],
        counts: Sequence[int],
        noise: float,
    ) -> Lattice | None:
        """The column of values with the words among its labels as missing codes, if
        that is the better reading; else nothing.

        It is where these words account for the cells that are no values, or where the
        words they leave out are far fewer than the values that a list of labels would.
        `labels` and their `counts` were measured, each count with noise of this
        deviation.
        """
        if self.beside is None:
            return None
        words = {
            label: count
            for label, count in zip(labels, counts, strict=True)
            if not _is_value(self.beside, label)
        }
        # 90210 beside 00501 is a code as well, and no number.
        if any(map(ZERO_LED_CODE.fullmatch, words)):
            return None
        listed_words = sum(words.values())
        left_out = self.words - listed_words
        unlisted = self.values - (sum(counts) - listed_words)
        # Both the vote and the sum of the words' counts are noisy.
        error = hypot(self.noise, noise * sqrt(len(words)))
        accounted = bool(words) and left_out <= VOTE_NOISE_SIGMAS * error
        better = accounted or MIN_LOSS_RATIO * left_out < unlisted
        if len(words) > MAX_MISSING_CODES or not better:
            return None
        return _add_missing_codes(self.beside, tuple(words))


def _add_missing_codes(column: Lattice, codes: tuple[str, ...]) -> Lattice:
    if not codes:
        return column
    return replace(
        column,
        missing=(*column.missing, *codes),
        learned=(*column.learned, "missing codes"),
    )


def _is_value(column: Lattice, label: str) -> bool:
    # A number with zeros before it is a code: as a value it would lose them.
    if ZERO_LED_CODE.fullmatch(label):
        return False
    value = column.parse(label)
    try:
        return value is not None and column.index_of(value) is not None
    except (ValueError, OverflowError):
        return False


def learn_types(
    context: MechanismContext,
    columns: Sequence[UndeclaredColumn],
    *,
    amount: Fraction,
) -> list[ElectedColumn]:
    """Each column with the type its cells elected."""
    sensitivity = context.unit_vector(histograms=len(columns))
    scale = context.scale(amount, sensitivity)
    names = [c.name for c in columns]
    request = {
        "mechanism": "types",
        "columns": names,
        "candidates": list(TYPE_CANDIDATES),
        "law": context.law,
        "scale": scale,
    }
    answer = context.payments.pay(
        request,
        price(context.law, scale, sensitivity, context.accounting),
        lambda: context.table.votes(names),
        lambda exact: {"votes": context.add_noise(exact, scale)},
    )
    votes: NDArray[np.int64] = answer["votes"].astype(np.int64)
    noise = VoteNoise.of(context.law, scale)
    elected = [
        _elect_column(column, ballots, noise)
        for column, ballots in zip(columns, votes, strict=True)
    ]
    alike = spell_points_alike(
        [each.column for each in elected],
        list(votes),
        noise,
        point=all(column.points_wholes for column in columns),
    )
    return [
        replace(each, column=column)
        for each, column in zip(elected, alike, strict=True)
    ]


def _elect_column(
    column: UndeclaredColumn, ballots: NDArray[np.int64], noise: VoteNoise
) -> ElectedColumn:
    elected = elect_type(ballots, noise)
    lattice_type = elect_lattice_type(ballots, noise)
    standing = _standing_candidates(ballots, noise)
    typed = spell_as_voted(
        _with_type(column, elected), elected, standing, ballots, noise
    )
    typed = with_unseen_rows(typed, elected, ballots, noise)
    if elected != TEXT_CANDIDATE or lattice_type is None:
        return ElectedColumn(typed)
    beside = _with_type(column, lattice_type)
    beside = spell_as_voted(beside, lattice_type, standing, ballots, noise)
    assert isinstance(beside, Lattice)
    family = next(family for family in LATTICE_FAMILIES if lattice_type in family)
    words: list[int] = []
    values: list[int] = []
    for candidate in standing:
        place = TYPE_CANDIDATES.index(candidate)
        is_value = kind_of_vote(candidate) in family
        (values if is_value else words).append(place)
    return ElectedColumn(
        typed,
        beside,
        words=float(ballots[words].sum()),
        noise=noise.deviation * sqrt(len(words)),
        values=float(ballots[values].sum()),
    )


def elect_type(ballots: NDArray[np.int64], noise: VoteNoise) -> str:
    """The most specific candidate that can hold every kind of cell that stands out of
    the noise; text where none does.

    >>> ballots = np.zeros(len(TYPE_CANDIDATES), np.int64)
    >>> ballots[TYPE_CANDIDATES.index("integer")], ballots[TYPE_CANDIDATES.index("text")] = 1000, 1
    >>> elect_type(ballots, VoteNoise(1.0))
    'integer'
    """
    standing = _standing_candidates(ballots, noise)
    if not standing:
        return TEXT_CANDIDATE
    if set(map(kind_of_vote, standing)) <= {"zero", "bit"}:
        return elect_beyond_bits(ballots, noise)
    return next(
        name
        for name in ELECTED_TYPES
        if all(is_readable_as(vote, name) for vote in standing)
    )


def elect_lattice_type(ballots: NDArray[np.int64], noise: VoteNoise) -> str | None:
    """The most specific candidate for the cells that are numbers, dates or times,
    whichever stand out most; None where none do.

    >>> ballots = np.zeros(len(TYPE_CANDIDATES), np.int64)
    >>> ballots[TYPE_CANDIDATES.index("integer")], ballots[TYPE_CANDIDATES.index("text")] = 700, 300
    >>> elect_type(ballots, VoteNoise(1.0)), elect_lattice_type(ballots, VoteNoise(1.0))
    ('text', 'integer')
    """
    votes = dict(zip(TYPE_CANDIDATES, ballots.tolist(), strict=True))
    standing = {name: votes[name] for name in _standing_candidates(ballots, noise)}
    family = max(LATTICE_FAMILIES, key=lambda kinds: _sum_votes(standing, kinds))
    inside = [name for name in standing if kind_of_vote(name) in family]
    kinds = set(map(kind_of_vote, inside))
    # Of no votes, too, all kinds are ambiguous.
    if kinds <= AMBIGUOUS_KINDS.keys():
        return None
    # Among numbers 0606 would be 606.
    if ZERO_LED_CANDIDATE in standing and family == NUMBER_CANDIDATES:
        return None
    if kinds <= {"zero", "bit"}:
        return elect_beyond_bits(ballots, noise)
    return next(
        name
        for name in family
        if name not in ("zero", "bit")
        and all(is_readable_as(vote, name) for vote in inside)
    )


def _sum_votes(votes: Mapping[str, int], kinds: Container[str]) -> int:
    """The votes for candidates of some kinds."""
    return sum(count for name, count in votes.items() if kind_of_vote(name) in kinds)


def _standing_candidates(ballots: NDArray[np.int64], noise: VoteNoise) -> list[str]:
    """The candidates whose votes stand out."""
    filled = {
        name: int(votes)
        for name, votes in zip(TYPE_CANDIDATES, ballots, strict=True)
        if name != EMPTY_CANDIDATE
    }
    total = sum(filled.values())
    counts_added = dict.fromkeys(filled, 1)
    # Too few rows to tell a step: votes for coarse ones count for what they are spelled
    # as.
    hidden = find_hidden_steps(ballots, noise)
    for plain in dict.fromkeys(PLAIN_STEPS[coarse] for coarse in hidden):
        own = [name for name in filled if name in hidden and PLAIN_STEPS[name] == plain]
        votes = [filled[plain], *(filled.pop(coarse) for coarse in reversed(own))]
        filled[plain], counts_added[plain] = _join_votes(votes, noise)
    odd = float(MAX_VOTE_ODD_SHARE) * total
    return [
        name
        for name, votes in filled.items()
        if votes > max(noise.bar(counts_added[name]), odd)
    ]


def _join_votes(votes: Sequence[int], noise: VoteNoise) -> tuple[int, int]:
    """The sum of the first few votes that stands out most, and how many these are: few
    numbers are multiples of a thousand, and the noise of those votes would hide others.

    >>> _join_votes([300, 320, 10, -20, 5], VoteNoise(60.0))
    (620, 2)
    """
    sums = [sum(votes[:count]) for count in range(1, len(votes) + 1)]
    counts = range(1, len(votes) + 1)
    return max(
        zip(sums, counts, strict=True), key=lambda pair: pair[0] / noise.bar(pair[1])
    )


def _with_type(column: UndeclaredColumn, elected: str) -> Column:
    common: dict[str, Any] = {
        field.name: getattr(column, field.name) for field in fields(column)
    }
    common["learned"] = (*column.learned, "type")
    decimal = common.pop("decimal")
    thousands = common.pop("thousands")
    del common["points_wholes"]
    step = STEP_CANDIDATES.get(elected)
    if step is not None and step < 1:
        return Real(**common, step=step, decimal=decimal, thousands=thousands)
    if step is not None:
        return Integer(**common, step=int(step), thousands=thousands)
    if elected == "real":
        # Fine for now: bounds are learned first, and say which decimals matter.
        fine = {**common, "step": FINEST_REAL_STEP}
        return Real(**fine, decimal=decimal, thousands=thousands)
    if elected == LARGE_CANDIDATE:
        return Real(**common, decimal=decimal, thousands=thousands)
    # A bit is 0 or 1: the vote decides its bounds too.
    if elected == "bit":
        common["learned"] += ("bounds",)
        return Integer(**common, min=0, max=1)
    if elected == "truth":
        return Boolean(**common)
    elected = LOCAL_KINDS.get(elected, elected)
    # An offset from UTC does not say which place's clocks are meant.
    if elected == "instant":
        return Datetime(**common, zone="UTC")
    # Other words for yes and no stay labels, so that a release spells them as the file
    # does.
    kinds: dict[str, type[Column]] = {
        kind.type: kind for kind in (Integer, Real, Date, Datetime, Time)
    }
    return kinds.get(elected, Categorical)(**common)
