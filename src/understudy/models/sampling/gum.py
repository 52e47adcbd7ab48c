"""A table of rows that is pushed towards marginals, one after the other: the gradual
update method (GUM).

Zhang, Wang, Li, Honorio, Backes, He, Chen, Zhang, "PrivSyn: differentially private data
synthesis", USENIX Security 2021, §5.

A junction tree over many overlapping marginals may be too large for any memory; a table
of rows never is. The table starts with independent columns, each rounded from its own
counts. Then, in T iterations, every marginal in turn moves rows from cells that hold
too many to cells that hold too few, the worst marginal first:

  * a cell below its target t with n rows gains min(t − n, α·n) rows, an empty cell α·t;
  * cells above their targets lose as many in all, each in proportion to its surplus;
  * a row that is moved becomes a copy of a whole row of its new cell (duplicate: keeps
    what goes with the cell in all other columns) or gets only the marginal's own codes
    (replace: keeps the rest of itself). Half of the moves are copies in even
    iterations, all are in odd ones, each times the share of pairs that some marginal
    holds; a row that moves to an empty cell has nothing to copy and is always
    overwritten.

That share is not in the paper. Copies bring pairs closer that are aimed at. In all
others they are drift: a table of ever fewer ancestors, whose chance errors nothing
corrects. Where sixty columns have a hundred marginals, that is nearly all pairs.

The step α = 0.84^⌊i/20⌋ shrinks, for marginals whose noise disagrees would move rows in
circles for ever. It ends after T iterations, or when the mean error has stopped
falling; the best table seen is the one that is kept.

An iteration costs O(rows) for each marginal, in numpy throughout. All of it is
post-processing of noisy marginals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.measurements import Clique
from understudy.models.progress import progress_reporter
from understudy.models.rules.structural_zeros import (
    Masks,
    impossible_masks,
    impossible_rows,
    keep_possible,
)
from understudy.models.sampling.rounding import draw_shuffled_codes
from understudy.models.sampling.unmeasured import uniform_shares
from understudy.schema import Schema

CodeTable = NDArray[np.uint32]
"""One line per column of the schema, one entry per row."""

# The share of pairs that is taken to be held at least: some copies are needed to
# bring about strong relations at all.
MIN_COPY_SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class GumSchedule:
    """How long and how boldly rows are moved.

    `patience` iterations without an error `least` (relative) below the best one end it.
    """

    iterations: int = 100
    decay: float = 0.84
    every: int = 20
    patience: int = 20
    least: float = 1e-3

    def step(self, iteration: int) -> float:
        """The share α of a cell's rows by which it may grow.

        >>> [round(GumSchedule().step(i), 4) for i in (0, 19, 20, 40)]
        [1.0, 1.0, 0.84, 0.7056]
        """
        return float(self.decay ** (iteration // self.every))


@dataclass(frozen=True, eq=False)
class GumTable:
    """Codes by column, and the mean error after each iteration: ½·L1 distance to the
    targets, as a share of the rows.
    """

    table: dict[str, NDArray[np.unsignedinteger]]
    errors: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _MarginalTarget:
    """A marginal in numbers: its columns' places, the stride of each, and the rows
    wanted in each cell.
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    wanted: NDArray[np.float64]

    def cells(self, table: CodeTable) -> NDArray[np.uint32]:
        """The cell each row lies in."""
        found: NDArray[np.uint32] = table[self.columns[0]]
        for place, size in zip(self.columns[1:], self.sizes[1:], strict=True):
            found = found * np.uint32(size) + table[place]
        return found

    def counts(self, cells: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Rows in each cell."""
        return np.bincount(cells, minlength=self.wanted.size)


def run_gum(
    schema: Schema,
    targets: Mapping[Clique, NDArray[np.float64]],
    rows: int,
    rng: Generator,
    pace: GumSchedule | None = None,
) -> GumTable:
    """A table of that many rows whose marginals come close to the targets; no row is
    impossible.

    Targets are non-negative counts of any scale, and agree where they overlap; one over
    a single column also says how the table starts.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(
    ...     columns=(
    ...         Boolean(name="smoker", nullable=False),
    ...         Boolean(name="cough", nullable=False),
    ...     )
    ... )
    >>> grown = run_gum(
    ...     schema,
    ...     {("smoker", "cough"): np.array([[60.0, 10.0], [5.0, 25.0]])},
    ...     100,
    ...     np.random.default_rng(0),
    ... )
    >>> np.bincount(grown.table["smoker"] * 2 + grown.table["cough"]).tolist()
    [60, 10, 5, 25]
    """
    pace = pace or GumSchedule()
    masks = impossible_masks(schema)
    table = _start_table(schema, targets, rows, rng)
    goals = [
        _build_target(schema, clique, targets[clique], rows)
        for clique in _maximal_cliques(targets)
        if rows
    ]
    held = max(MIN_COPY_SHARE, _held_pair_share(goals, len(schema)))
    best, lowest, since, errors = table.copy(), math.inf, 0, []
    tell = progress_reporter(None)
    for iteration in range(pace.iterations + 1 if goals else 0):
        tell(iteration, iteration / max(pace.iterations, 1))
        away = [_target_error(goal, table) for goal in goals]
        errors.append(float(np.mean(away)) / rows)
        since = 0 if errors[-1] < lowest * (1 - pace.least) else since + 1
        # Random moves may worsen a table again, so the best one is kept.
        if errors[-1] < lowest:
            best, lowest = table.copy(), errors[-1]
        if since > pace.patience or lowest == 0 or iteration == pace.iterations:
            break
        copies = held * (0.5 if iteration % 2 == 0 else 1.0)
        for at in np.argsort(away, kind="stable")[::-1]:
            _move_rows(
                goals[at], table, pace.step(iteration), copies, rng, masks, schema
            )
    return GumTable(
        {n: best[i].astype(schema.codecs[n].dtype) for i, n in enumerate(schema)},
        tuple(errors),
    )


def _start_table(
    schema: Schema,
    targets: Mapping[Clique, NDArray[np.float64]],
    rows: int,
    rng: Generator,
) -> CodeTable:
    columns = {}
    for name, codec in schema.codecs.items():
        counts = targets.get((name,))
        shares = (
            uniform_shares(schema, (name,))
            if counts is None or counts.sum() <= 0
            else counts / counts.sum()
        )
        columns[name] = draw_shuffled_codes(shares, rows, rng, codec.dtype)
    possible = keep_possible(schema, dict(columns), rows, rng)
    return np.stack([possible[name] for name in schema]).astype(np.uint32)


def _held_pair_share(goals: Sequence[_MarginalTarget], columns: int) -> float:
    """The share of all pairs of columns that some goal holds."""
    pairs = {pair for goal in goals for pair in combinations(goal.columns, 2)}
    return len(pairs) / max(columns * (columns - 1) // 2, 1)


def _maximal_cliques(cliques: Iterable[Clique]) -> list[Clique]:
    """Those that no other one holds: targets that agree need no goal for what a larger
    one says as well.
    """
    kept: list[Clique] = []
    for clique in sorted(cliques, key=len, reverse=True):
        if clique and not any(set(clique) <= set(other) for other in kept):
            kept.append(clique)
    return kept


def _build_target(
    schema: Schema, clique: Clique, wanted: NDArray[np.float64], rows: int
) -> _MarginalTarget:
    names = list(schema)
    mass = float(wanted.sum())
    shares = wanted / mass if mass > 0 else uniform_shares(schema, clique)
    return _MarginalTarget(
        tuple(names.index(n) for n in clique),
        schema.sizes(clique),
        shares.ravel() * rows,
    )


def _target_error(goal: _MarginalTarget, table: CodeTable) -> float:
    return 0.5 * float(np.abs(goal.counts(goal.cells(table)) - goal.wanted).sum())


def _move_rows(
    goal: _MarginalTarget,
    table: CodeTable,
    step: float,
    copies: float,
    rng: Generator,
    masks: Masks,
    schema: Schema,
) -> None:
    """Move rows from the cells of one marginal that hold too many to those that hold
    too few.
    """
    cells = goal.cells(table)
    counts = goal.counts(cells)
    lacking = goal.wanted - counts
    gain = np.where(counts > 0, np.minimum(lacking, step * counts), step * lacking)
    gain = np.maximum(gain, 0.0)
    surplus = np.maximum(-lacking, 0.0)
    moved = min(float(gain.sum()), float(surplus.sum()))
    if moved < 0.5:
        return
    # Whole rows, right on average; what does not match in the end stays where it is.
    gains = np.floor(gain * (moved / gain.sum()) + rng.random(gain.size)).astype(
        np.int64
    )
    losses = np.floor(surplus * (moved / surplus.sum()) + rng.random(gain.size)).astype(
        np.int64
    )
    # Cells gain or lose, never both: one pass picks the rows that leave and the rows
    # that are copied.
    filled = counts > 0
    picked = _pick_rows(
        cells, counts, np.where(filled, np.minimum(gains, counts), 0) + losses, rng
    )
    leaves = losses[cells[picked]] > 0
    leaving, models = rng.permutation(picked[leaves]), picked[~leaves]
    copied = models[rng.random(models.size) < copies] if copies < 1 else models
    overwritten = gains.copy()
    overwritten -= np.bincount(cells[copied], minlength=overwritten.size)
    into = rng.permutation(np.repeat(np.arange(overwritten.size), overwritten))
    copied = copied[: leaving.size]
    table[:, leaving[: copied.size]] = table[:, copied]
    rest = leaving[copied.size : copied.size + into.size]
    _overwrite_rows(goal, table, rest, into[: rest.size], masks, schema)


def _pick_rows(
    cells: NDArray[np.uint32],
    counts: NDArray[np.int64],
    wanted: NDArray[np.int64],
    rng: Generator,
) -> NDArray[np.int64]:
    """So many rows of each cell, at random without repetition; now and then a few less.

    Sorting all rows by cell would cost more than everything else. So a first cut keeps
    a little more of each cell than is wanted, at random, and only that is sorted.
    """
    keep = np.minimum((wanted + 4 * np.sqrt(wanted)) / np.maximum(counts, 1), 1.0)
    keep = np.where(wanted > 0, keep, 0.0).astype(np.float32)
    cut = np.flatnonzero(rng.random(cells.size, np.float32) < keep[cells])
    there = cells[cut]
    if wanted.size <= 1 << 16:
        # Short numbers are sorted by counting.
        there = there.astype(np.uint16)
    order = np.argsort(there, kind="stable")
    cut, there = cut[order], there[order]
    starts = np.searchsorted(there, np.arange(wanted.size))
    place = np.arange(cut.size) - starts[there]
    # The first rows of a cell would always be those at the top of the table: begin at a
    # random one and go round.
    size = np.diff(np.append(starts, cut.size))
    turned = (place + rng.integers(0, np.maximum(size, 1))[there]) % np.maximum(
        size, 1
    )[there]
    return cut[turned < wanted[there]]


def _overwrite_rows(
    goal: _MarginalTarget,
    table: CodeTable,
    rows: NDArray[np.int64],
    cells: NDArray[np.int64],
    masks: Masks,
    schema: Schema,
) -> None:
    """Give rows the codes of cells; one that would become impossible stays as it is."""
    codes = np.unravel_index(cells, goal.sizes)
    if masks:
        names = list(schema)
        whole = dict(zip(names, table[:, rows], strict=True))
        whole |= {
            names[place]: code for place, code in zip(goal.columns, codes, strict=True)
        }
        fine = ~impossible_rows(masks, whole, rows.size)
        rows, codes = rows[fine], tuple(code[fine] for code in codes)
    for place, code in zip(goal.columns, codes, strict=True):
        table[place, rows] = code
