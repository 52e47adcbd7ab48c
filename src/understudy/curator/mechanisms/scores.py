"""Scores: how good a choice would be, as integers on a grid, each with the most that
one unit can move it.

A score is the curator's because it reads exact counts. It is a plain function of one
marginal and a public estimate of it, in units of 1/SCORE_GRID rows. `l1` compares the two, and
rounding happens to the estimate, on the public side, before any row is looked at. `R`,
`I` and `F` ask how much the first column of a clique depends on the others, and look at
the counts alone; they are defined on shares of the rows, so their sensitivity holds
where every neighbour has the same number n of rows, and n is public.

Zhang, Cormode, Procopiuc, Srivastava, Xiao, "PrivBayes: private data release via
Bayesian networks", 2017, §4 and §5. All three are given here n-fold: in rows (R, F) and
in rows times bits (I).

`check_score` brute-forces a score's sensitivity over every small dataset; every entry
of SCORES is checked in tests/curator/mechanisms/test_scores.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused

SCORE_GRID = 2**10
"""Estimates are rounded to multiples of 1/GRID rows."""

MAX_ESTIMATE_ROWS = 2.0**40
"""Rows that an estimate may have. Larger ones could wrap a 64-bit integer around, and
then no sensitivity would hold.
"""

MAX_SCORE_ROWS = 2**31
"""Rows up to which products of two counts fit 64 bits, and sums of c·log₂c are off by
less than 1/8 of a grid step.
"""

TableShape = tuple[int, ...]

SensitivityClaim = int | Callable[[int, TableShape], int]
"""The most that one row moves a score, in grid units: a number, or a function of the
public number of rows and the marginal's shape.
"""


@dataclass(frozen=True)
class Score:
    """A score of one marginal, in units of 1/GRID rows.

    `of(counts, estimate)` takes integer counts and the estimate in grid units;
    `add_remove` and `replace` are the most that one row moves it under each neighbour
    relation. One without a claim for add/remove has a bounded sensitivity only for a
    public number of rows. A `binary` score needs a first column with two codes.
    """

    name: str
    of: Callable[[NDArray[np.int64], NDArray[np.int64]], int]
    add_remove: int | None
    replace: SensitivityClaim
    binary: bool = False

    def sensitivity(
        self,
        neighbours: Neighbours,
        max_rows: int,
        *,
        rows: int | None = None,
        shape: TableShape | None = None,
    ) -> int:
        """The most that one unit moves the score, in grid units: its rows move it one
        after the other.

        `rows` is the number of rows where all neighbours agree on it, `shape` that of
        the candidate's marginal.

        >>> score, shape = CHOICE_SCORES["R"], (2, 5)
        >>> score.sensitivity(Neighbours.REPLACE, 1, rows=1000, shape=shape) / SCORE_GRID
        3.0029296875
        """
        if neighbours is Neighbours.ADD_REMOVE and self.add_remove is not None:
            return max_rows * self.add_remove
        if isinstance(self.replace, int):
            return max_rows * self.replace
        if neighbours is Neighbours.ADD_REMOVE or rows is None:
            raise Refused(
                f"{self.name}: how far one row moves this score is known only where the"
                " number of rows is public. Choose by l1, or use replace neighbours"
                " with one row to the unit. Nothing was spent"
            )
        if shape is None:
            raise TypeError(f"{self.name}: its sensitivity depends on the shape")
        self._refuse_unscored(rows, shape)
        return self.replace(rows, shape)

    def _refuse_unscored(self, rows: int, shape: TableShape) -> None:
        """Refuse tables that the score, or the bound on its moves, is not made for."""
        if rows >= MAX_SCORE_ROWS:
            raise Refused(
                f"{self.name}: this score takes fewer than {MAX_SCORE_ROWS:,} rows."
                " Choose by l1. Nothing was spent"
            )
        if self.binary and (not shape or shape[0] != 2):
            raise Refused(
                f"{self.name}: this score needs columns with two codes each. Choose by"
                " R, I or l1. Nothing was spent"
            )


def to_grid(estimate: NDArray[np.float64]) -> NDArray[np.int64]:
    """A public estimate, rounded to the grid.

    >>> to_grid(np.array([0.5, 1.0])).tolist()
    [512, 1024]
    """
    numbers = np.asarray(estimate, np.float64)
    # Written so that NaN is refused too: it compares as false.
    if not np.abs(numbers).sum() < MAX_ESTIMATE_ROWS:
        raise Refused(
            "An estimate must be numbers that add up to less than"
            f" {MAX_ESTIMATE_ROWS:.0e} rows. Nothing was spent"
        )
    return np.rint(numbers * SCORE_GRID).astype(np.int64)


def l1_distance(counts: NDArray[np.int64], estimate: NDArray[np.int64]) -> int:
    """‖counts − estimate‖₁. One row more moves one cell by GRID, so the distance by at
    most GRID; a replaced row moves two.
    """
    # numpy would broadcast one of them, and the sensitivity would not hold.
    if counts.shape != estimate.shape:
        raise Refused(
            "An estimate has another shape than its marginal. No answer was given"
        )
    return int(np.abs(counts * SCORE_GRID - estimate).sum())


def score_dependence(
    counts: NDArray[np.int64],
    estimate: NDArray[np.int64] | None = None,  # noqa: ARG001
) -> int:
    """R: n·½‖Pr[X,P] − Pr[X]·Pr[P]‖₁, rounded down to the grid; X is the first column,
    P all others.

    Sensitivity (replace). 2n²·R = Σ|n·c_xp − c_x·c_p| is an integer, computed exactly.
    A replaced row moves two cells of c_xp by 1: half of their L1 distance is 1. It
    moves c_x by a vector d and c_p by e, each of L1 norm at most 2, so c_x·c_p/n by
    (d·c_p + c_x·e + d·e)/n, of norm at most 2 + 2 + 4/n: half is 2 + 2/n. Together 3 +
    2/n rows. Rounding down moves a distance of at most k grid steps to one of at most
    ⌈k⌉.
    """
    table = _child_first(counts)
    rows = int(table.sum())
    if rows == 0:
        return 0
    product = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    gaps = np.abs(rows * table - product)
    # Each sum is below 2n² < 2⁶³; what follows is a product of three, in Python's
    # integers.
    return SCORE_GRID * int(gaps.sum()) // (2 * rows)


def dependence_sensitivity(rows: int, shape: TableShape) -> int:  # noqa: ARG001
    """⌈GRID · (3 + 2/n)⌉."""
    return 3 * SCORE_GRID + -(-2 * SCORE_GRID // max(rows, 1))


def score_information(
    counts: NDArray[np.int64],
    estimate: NDArray[np.int64] | None = None,  # noqa: ARG001
) -> int:
    """I: n times the mutual information of X and P in bits, rounded to the grid; X is
    the first column, P all others.

    Sensitivity (replace). With f(c) = c·log₂c, n·I = f(n) + Σ f(c_xp) − Σ f(c_x) − Σ
    f(c_p). Let g(c) = f(c) − f(c − 1), which is rising, concave and 0 at 1. A row that
    leaves (x, p) for (y, q) moves n·I by
        D = g(c_x) + g(c_p) − g(c_xp) + g(c_yq + 1) − g(c_y + 1) − g(c_q + 1)       (x ≠ y, p ≠ q)
    and g(c_yq + 1) is at most either of the terms behind it.
      * In general D ≤ g(c_x) + g(c_p) − g(c_xp) with c_x + c_p − c_xp ≤ n. By concavity
        it is largest at c_xp = 1 and c_x = c_p: at most 2g((n + 1)/2) = 2·log₂((n +
        1)/2) + (n − 1)·log₂((n + 1)/(n − 1)).
      * If X has two values, c_p ≤ c_xp + c_y, and g(c_xp + c_y) + g(1) ≤ g(c_xp) +
        g(c_y + 1) by concavity, so D ≤ g(c_x) ≤ g(n) = log₂n + (n − 1)·log₂(n/(n − 1)).
        The same if P has two cells.
      * If only one of x, p changes, D ≤ g(c_p) or g(c_x), at most g(n), which is not
        above 2g((n + 1)/2).
    Neighbours are symmetric, so −D obeys the same bounds. Rounding to the grid adds at
    most one step to a difference, and floats less than one: logarithms are off by at
    most four units in the last place, sums are exact (`math.fsum`).
    """
    table = _child_first(counts)
    rows = int(table.sum())
    if rows == 0:
        return 0
    gains = [*_c_log_c(table.ravel()), *_c_log_c(np.array([rows]))]
    losses = [*_c_log_c(table.sum(axis=1)), *_c_log_c(table.sum(axis=0))]
    return round(SCORE_GRID * math.fsum([*gains, *(-x for x in losses)]))


def information_sensitivity(rows: int, shape: TableShape) -> int:
    """The bound of `score_information` for this shape, in grid units: two steps and a
    billionth more, for rounding.
    """
    if rows <= 1:
        return 2
    least = min(shape[0], math.prod(shape[1:])) if shape else 1
    if least <= 2:
        bound = math.log2(rows) - (rows - 1) * math.log1p(-1 / rows) / math.log(2)
    else:
        bound = 2 * math.log2((rows + 1) / 2) + (rows - 1) * math.log1p(
            2 / (rows - 1)
        ) / math.log(2)
    return math.ceil(SCORE_GRID * bound * (1 + 1e-9)) + 2


def score_determination(
    counts: NDArray[np.int64],
    estimate: NDArray[np.int64] | None = None,  # noqa: ARG001
) -> int:
    """F: minus n times half the L1 distance from Pr[X,P] to the nearest distribution in
    which P determines a fair coin X.

    In such a distribution every cell of P belongs to one value of X, and each value has
    half of the mass. Give each cell of P to a side; K₀ and K₁ are the rows that agree.
    The distance is (n/2 − K₀)⁺ + (n/2 − K₁)⁺, and F is minus the smallest over all ways
    to give. Found by dynamic programming: for every K₀ up to n/2 the largest K₁.

    Sensitivity (replace). For one way to give, a replaced row takes at most 1 from one
    K and adds at most 1 to one: the distance moves by at most 1, and so does the
    smallest of them. The doubled distance is an integer and GRID is even: nothing is
    rounded.
    """
    table = _child_first(counts)
    if table.shape[0] != 2:
        raise Refused(
            "F: this score needs columns with two codes each. No answer was given"
        )
    rows = int(table.sum())
    # K₀ beyond this gains nothing.
    enough = -(-rows // 2)
    best = np.full(enough + 1, -1, np.int64)
    best[0] = 0
    for zero, one in table.T.tolist():
        # best[k] is the largest K₁ with K₀ = k; each cell of P adds to one of the two.
        give_one = np.where(best >= 0, best + one, -1)
        give_zero = np.full_like(best, -1)
        shift = min(zero, enough)
        give_zero[shift:] = best[: enough + 1 - shift]
        give_zero[enough] = best[enough - shift :].max()
        best = np.maximum(give_one, give_zero)
    reached = np.flatnonzero(best >= 0)
    short_of_zero = np.maximum(rows - 2 * reached, 0)
    short_of_one = np.maximum(rows - 2 * best[reached], 0)
    doubled = short_of_zero + short_of_one
    return -int(doubled.min()) * (SCORE_GRID // 2)


def determination_sensitivity(rows: int, shape: TableShape) -> int:  # noqa: ARG001
    """One row."""
    return SCORE_GRID


def _child_first(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """X by P: the first axis, and all others as one."""
    return counts.reshape(counts.shape[0], -1) if counts.ndim else counts.reshape(1, 1)


def _c_log_c(counts: NDArray[np.int64]) -> list[float]:
    """c·log₂c of the cells that hold anything."""
    occupied = counts[counts > 0].astype(np.float64)
    products: list[float] = (occupied * np.log2(occupied)).tolist()
    return products


CHOICE_SCORES = {
    s.name: s
    for s in (
        Score("l1", l1_distance, add_remove=SCORE_GRID, replace=2 * SCORE_GRID),
        Score("R", score_dependence, add_remove=None, replace=dependence_sensitivity),
        Score("I", score_information, add_remove=None, replace=information_sensitivity),
        Score(
            "F",
            score_determination,
            add_remove=None,
            replace=determination_sensitivity,
            binary=True,
        ),
    )
}
"""Every score the curator will choose by."""


def check_score(score: Score, *, shape: TableShape = (3,), rows: int = 6) -> None:
    """Try every dataset of at most `rows` rows over a shape, every neighbour, and
    several estimates; raise where a claim is broken.

    >>> check_score(CHOICE_SCORES["l1"])
    """
    cells = math.prod(shape)
    rng = np.random.default_rng(0)
    estimates = [
        np.zeros(cells, np.int64),
        np.full(cells, SCORE_GRID),
        *rng.integers(-SCORE_GRID, rows * SCORE_GRID, (6, cells)),
    ]
    if score.add_remove is None:
        # Scores of the counts alone are the same whatever the estimate.
        estimates = estimates[:1]
    for estimate in estimates:
        values = _score_datasets(score, estimate.reshape(shape), rows)
        for dataset in values:
            _check_neighbours(score, values, dataset, shape)


Dataset = tuple[int, ...]
"""The cell of each row, in rising order."""


def _score_datasets(
    score: Score,
    estimate: NDArray[np.int64],
    rows: int,
) -> dict[Dataset, int]:
    """The score of every dataset of at most this many rows."""
    values = {}
    for size in range(rows + 1):
        for dataset in combinations_with_replacement(range(estimate.size), size):
            counts = np.bincount(np.array(dataset, np.int64), minlength=estimate.size)
            values[dataset] = score.of(counts.reshape(estimate.shape), estimate)
    return values


def _check_neighbours(
    score: Score,
    values: dict[Dataset, int],
    dataset: Dataset,
    shape: TableShape,
) -> None:
    """Check the claims between one dataset and those with a row less or another."""
    here = values[dataset]
    for at in range(len(dataset)):
        fewer = dataset[:at] + dataset[at + 1 :]
        if score.add_remove is not None:
            moved = abs(values[fewer] - here)
            _check_claim(score, "add_remove", moved, score.add_remove)
        claim = score.sensitivity(Neighbours.REPLACE, 1, rows=len(dataset), shape=shape)
        for entering in range(math.prod(shape)):
            other = tuple(sorted((*fewer, entering)))
            _check_claim(score, "replace", abs(values[other] - here), claim)


def _check_claim(score: Score, relation: str, moved: int, claim: int) -> None:
    if moved > claim:
        raise AssertionError(
            f"score {score.name}: one row moves it by {moved} under {relation}, {claim}"
            " is claimed"
        )
