"""How whole numbers among decimals are spelled in a file, by the votes of all its columns
of decimals. Post-processing: no row is read and nothing is paid.

Few latitudes are whole, so that a column's own votes for 47.0 and for 47 are noise. One
program wrote all columns of a file: those whose votes are clear, and all others
together, say which it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.curator.discovery.vote_noise import VoteNoise
from understudy.schema import Column, Real
from understudy.tables import TYPE_CANDIDATES, weigh_point


def spell_points_alike(
    columns: Sequence[Column],
    votes: Sequence[NDArray[np.int64]],
    noise: VoteNoise,
    *,
    point: bool,
) -> list[Column]:
    """The columns, those of decimals whose votes are noise spelled as the others are:
    with a point or without, as the program that wrote the file is expected to, unless
    the votes for the other exceed it.
    """
    weights = [
        weigh_point(dict(zip(TYPE_CANDIDATES, ballots.tolist(), strict=True)))
        for ballots in votes
    ]
    pairs = list(zip(columns, weights, strict=True))
    together = sum(weight for column, weight in pairs if isinstance(column, Real))
    clear = noise.bar() ** 2
    spelled: list[Column] = []
    for column, weight in pairs:
        if isinstance(column, Real):
            expected = clear if point else -clear
            decides = weight if abs(weight) > clear else together + expected
            column = column.with_whole_point(decides > 0)
        spelled.append(column)
    return spelled
