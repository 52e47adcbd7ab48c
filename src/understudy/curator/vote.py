"""The vote on types: what a column of a CSV file holds, decided by all its cells rather than by whether every one of them parses.

Each cell votes for exactly one candidate, the most specific type it can be read as (`tables.CANDIDATES`). The noisy votes then elect
the most specific type that can hold every kind of cell that stands out, so that one odd cell neither flips a type nor shows.

Why it is private. A row has one cell in each of d columns, and each cell one vote: one row moves d counts by 1. A unit of m rows moves
the votes by at most d·m in L1 and √d·m in L2; replaced, by twice and √2 times that. Every count is noised, the empty ones too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Sensitivity
from understudy.accounting.preview import deviation
from understudy.accounting.pricing import price
from understudy.curator.room import Room
from understudy.schema import Categorical, Column, Date, Datetime, Integer, Real, Time, Undeclared
from understudy.tables import CANDIDATES, EMPTY, TEXT, supports

TOLERANCE = Fraction(1, 500)
"""Part of the non-empty cells that may be something else."""

SIGMAS = 4
"""Votes for a candidate that may be noise alone, in standard deviations."""


def types(room: Room, columns: Sequence[Undeclared], *, amount: Fraction) -> list[Column]:
    """Each column with the type its cells elected."""
    one = room.unit_vector()
    d = len(columns)
    sensitivity = Sensitivity(l1=d * one.l1, l2_squared=d * one.l2_squared, l0=d * one.l0, linf=one.linf)
    scale = room.scale(amount, sensitivity)
    names = [c.name for c in columns]
    request = {"mechanism": "types", "columns": names, "candidates": list(CANDIDATES), "law": room.law, "scale": scale}
    answer = room.till.pay(
        request,
        price(room.law, scale, sensitivity, room.currency),
        lambda: room.table.votes(names),
        lambda exact: {"votes": room.noisy(exact, scale)},
    )
    votes: NDArray[np.int64] = answer["votes"].astype(np.int64)
    noise = deviation(room.law, scale)
    return [_typed(column, elect(ballots, noise)) for column, ballots in zip(columns, votes, strict=True)]


def elect(ballots: NDArray[np.int64], noise: float) -> str:
    """The most specific candidate that can hold every kind of cell that stands out of the noise; text where none does.

    >>> ballots = np.zeros(len(CANDIDATES), np.int64)
    >>> ballots[CANDIDATES.index("integer")], ballots[CANDIDATES.index("text")] = 1000, 1
    >>> elect(ballots, 1.0)
    'integer'
    """
    filled = {name: int(votes) for name, votes in zip(CANDIDATES, ballots, strict=True) if name != EMPTY}
    enough = max(SIGMAS * noise, float(TOLERANCE) * sum(filled.values()))
    standing = [name for name, votes in filled.items() if votes > enough]
    if not standing or standing == ["bit"]:
        return standing[0] if standing else TEXT
    return next(name for name in filled if all(supports(vote, name) for vote in standing))


def _typed(column: Undeclared, elected: str) -> Column:
    common: dict[str, Any] = {field.name: getattr(column, field.name) for field in fields(column)}
    common["learned"] = (*column.learned, "type")
    if elected.startswith("decimal"):
        return Real(**common, step=Fraction(1, 10 ** int(elected.removeprefix("decimal"))))
    if elected == "bit":  # the only candidate that tells the bounds too
        common["learned"] += ("bounds",)
        return Integer(**common, min=0, max=1)
    # Words for yes and no stay labels, so that a release spells them as the file does.
    kinds: dict[str, type[Column]] = {kind.type: kind for kind in (Integer, Real, Date, Datetime, Time)}
    return kinds.get(elected, Categorical)(**common)
