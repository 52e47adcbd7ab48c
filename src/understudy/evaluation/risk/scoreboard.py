"""The scoreboard: a row that fits roughly, on rare values above all, and stands out
from the rest.

Narayanan, Shmatikov, "Robust de-anonymization of large sparse datasets", 2008. Of
somebody a few values are known, some of them wrong. A row's score is the sum, over the
known values, of its similarity divided by the logarithm of how many rows have that
value; a label is equal or not, a number similar by exp(−distance / a tenth of its
range). The best row is named only if it beats the second by 1.5 standard deviations of
all scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.risk.holdout import require_holdout
from understudy.evaluation.risk.rates import Rate, Risk
from understudy.findings import Finding, FindingPart, Unavailable
from understudy.schema import Lattice
from understudy.tables import Records

MIN_ROW_ECCENTRICITY = 1.5
"""Standard deviations by which the best score must exceed the second."""


@dataclass(frozen=True, eq=False)
class RowScoreboard:
    """Rows that may be named, and how often each value occurs among them."""

    rows: Records

    def scores(self, target: Records, known: Sequence[str]) -> NDArray[np.float64]:
        """The score of every row against the known values of one target."""
        scores = np.zeros(self.rows.rows)
        for name in known:
            code = int(target.codes[name][0])
            support = int(np.sum(self.rows.codes[name] == code))
            # A value that few rows have says more; below two the logarithm is no use.
            weight = 1 / np.log(max(2, support))
            scores += weight * self._similarities(target, name, code)
        return scores

    def _similarities(
        self, target: Records, name: str, code: int
    ) -> NDArray[np.float64]:
        if not isinstance(self.rows.schema[name], Lattice):
            return np.asarray(self.rows.codes[name] == code, np.float64)
        here, there = target.numbers(name)[0], self.rows.numbers(name)
        if np.isnan(here):
            return np.asarray(np.isnan(there), np.float64)
        # A column of one value has no width, and every row is alike in it.
        scale = max(self.rows.width(name) / 10, 1e-12)
        alike = np.exp(-np.abs(np.nan_to_num(there) - here) / scale)
        return np.asarray(np.where(np.isnan(there), 0.0, alike))


def find_outstanding_row(
    scores: NDArray[np.float64], stands_out: float = MIN_ROW_ECCENTRICITY
) -> int | None:
    """The row that stands out; None if none does.

    >>> (
    ...     find_outstanding_row(np.array([0.0, 0.0, 0.0, 5.0])),
    ...     find_outstanding_row(np.array([1.0, 1.0, 0.0])),
    ... )
    (3, None)
    """
    if len(scores) < 2 or scores.std() == 0:
        return None
    second, best = np.partition(scores, -2)[-2:]
    if (best - second) / scores.std() <= stands_out:
        return None
    return int(scores.argmax())


def assess_scoreboard(
    members: Records,
    control: Records | None,
    synthetic: Records,
    columns: Sequence[str],
    *,
    rng: np.random.Generator,
    targets: int = 200,
    known: int = 8,
    wrong: float = 0.1,
) -> Finding:
    """Share of targets for whom a row stands out that is theirs in every column,
    members less control.
    """
    control = require_holdout(members, control, synthetic)
    if synthetic.rows < 2:
        raise Unavailable("one of the tables has too few rows")
    # A table of few columns has fewer values to know.
    known = min(known, len(columns))
    attack = _ScoreboardAttack(RowScoreboard(synthetic), columns, known, wrong)
    rates, shown = [], []
    for people in (members.sample(targets, rng), control.sample(targets, rng)):
        right, outstanding = attack.count_named(people, rng)
        rates.append(Rate(right, people.rows))
        shown.append(outstanding / people.rows)
    risk = Risk(*rates)
    return risk.to_finding(
        "scoreboard",
        f"Scoreboard: {known} values known, {wrong:.0%} of them wrong",
        family="identity",
        note=(
            "(members − control)/(1 − control): a synthetic row stands out and is"
            " theirs in every column."
        ),
        parts=(
            FindingPart(name="members for whom a row stands out", value=shown[0]),
            FindingPart(name="control for whom a row stands out", value=shown[1]),
        ),
        facts=risk.facts(),
    )


@dataclass(frozen=True, eq=False)
class _ScoreboardAttack:
    """An attacker who knows a few values of a target, a share of them wrong."""

    board: RowScoreboard
    columns: Sequence[str]
    known: int
    wrong: float

    def count_named(self, people: Records, rng: np.random.Generator) -> tuple[int, int]:
        """For how many a row stands out that is theirs in every column, and for how
        many any row does.
        """
        right = outstanding = 0
        for i in range(people.rows):
            target = people.take(slice(i, i + 1))
            places = rng.choice(len(self.columns), self.known, replace=False)
            names = [self.columns[place] for place in places]
            recalled = _replace_values(target, people, names, self.wrong, rng)
            row = find_outstanding_row(self.board.scores(recalled, names))
            if row is not None:
                outstanding += 1
                right += self._is_theirs(row, target)
        return right, outstanding

    def _is_theirs(self, row: int, target: Records) -> bool:
        codes = self.board.rows.codes
        return all(
            int(codes[name][row]) == int(target.codes[name][0]) for name in self.columns
        )


def _replace_values(
    target: Records,
    people: Records,
    names: Sequence[str],
    wrong: float,
    rng: np.random.Generator,
) -> Records:
    """The target with some known values taken from somebody else."""
    codes, places = dict(target.codes), dict(target.places)
    for name in names:
        if rng.random() < wrong:
            other = rng.integers(people.rows)
            codes[name] = people.codes[name][other : other + 1]
            if name in places:
                places[name] = people.places[name][other : other + 1]
    return Records(target.schema, codes, places)
