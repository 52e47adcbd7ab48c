"""Private choice of one counting query: which cell of which marginal an estimate serves
worst.

The exponential mechanism (McSherry, Talwar 2007) over every cell of a public list of
cliques, sampled exactly: P ∝ exp(ε·|count − estimate|/2Δ).

Why it is private. A candidate's score is |q(D) − a| with a public number a, and q
counts the rows of one cell. One row more changes q by at most 1; so does one row
replaced, which may leave the cell or enter it but not both at once. A unit of at most k
rows changes it by k. So Δ = k under either relation, in whole rows; the estimate is
rounded to the grid on the public side, before any row is looked at. Structural zeros
are declared, not observed, and are no candidates: a row that lies in one touches no
candidate at all.

Sensitivity checked by brute force in tests/curator/mechanisms/test_select_cell.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.pricing import choice_epsilon_for, price_choice
from understudy.curator.context import MechanismContext
from understudy.curator.mechanisms.scores import SCORE_GRID, to_grid
from understudy.curator.payment import NoisyAnswer, fingerprint_array
from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.noise import exponential_mechanism
from understudy.schema import Schema


def cell_distances(
    counts: NDArray[np.int64], estimate: NDArray[np.int64]
) -> NDArray[np.int64]:
    """|count − estimate| of every cell, in grid units; one row moves each by at most
    SCORE_GRID.

    >>> cell_distances(np.array([3, 0]), np.array([SCORE_GRID, SCORE_GRID])).tolist()
    [2048, 1024]
    """
    return np.asarray(np.abs(counts * SCORE_GRID - estimate), np.int64)


def choose_cell(
    context: MechanismContext,
    schema: Schema,
    estimates: Mapping[Clique, NDArray[np.float64]],
    *,
    amount: Fraction,
) -> tuple[Clique, tuple[int, ...]]:
    """One cell of one of the cliques, with probability rising in how far its count is
    from its estimate.
    """
    cliques = list(estimates)
    rounded = [to_grid(estimates[c]) for c in cliques]
    open_cells = [
        _candidate_cells(schema, c, e.size)
        for c, e in zip(cliques, rounded, strict=True)
    ]
    # The candidates of all cliques in one row: where those of each end.
    ends = np.cumsum([cells.size for cells in open_cells])
    if not cliques or ends[-1] == 0:
        raise Refused(
            "There is nothing to choose from: the list of candidates is empty. Nothing"
            " was spent"
        )
    epsilon = choice_epsilon_for(amount, context.accounting)
    request = {
        "mechanism": "choice",
        "score": "cell",
        "epsilon": epsilon,
        "candidates": [
            [c, fingerprint_array(e)] for c, e in zip(cliques, rounded, strict=True)
        ],
    }

    def compute_scores() -> NDArray[np.int64]:
        tables = context.table.counts(cliques)
        scores = [
            cell_distances(counts, estimate).ravel()[cells]
            for counts, estimate, cells in zip(tables, rounded, open_cells, strict=True)
        ]
        return np.concatenate(scores)

    def draw_choice(scores: NDArray[np.int64]) -> NoisyAnswer:
        sensitivity = Fraction(context.max_rows * SCORE_GRID)
        index = exponential_mechanism(scores, epsilon=epsilon, sensitivity=sensitivity)
        return {"index": np.array(index)}

    cost = price_choice(epsilon, context.accounting)
    answer = context.payments.pay(request, cost, compute_scores, draw_choice)
    index = int(answer["index"])
    at = int(np.searchsorted(ends, index, side="right"))
    start = int(ends[at - 1]) if at else 0
    cell = int(open_cells[at][index - start])
    codes = np.unravel_index(cell, rounded[at].shape)
    return cliques[at], tuple(int(code) for code in codes)


def _candidate_cells(schema: Schema, clique: Clique, size: int) -> NDArray[np.int64]:
    zeros = schema.zeros(clique)
    return np.arange(size) if zeros is None else np.flatnonzero(~zeros)
