"""PrivBayes: a Bayesian network chosen privately, and a noisy table for each of its
nodes.

Zhang, Cormode, Procopiuc, Srivastava, Xiao, "PrivBayes: private data release via
Bayesian networks", 2014 and 2017.

  1. The first column of the schema starts the network (any public rule will do).
  2. Again and again one pair (X, P) joins it: a new column X and parents P among those
     placed. The exponential mechanism chooses it by how much X depends on P; d − 1
     choices share the part `beta` of the budget.
  3. What is left buys one noisy table for each pair; a pair inside another's table
     needs none. Conditionals are read off the tables.

How many parents? θ-usefulness: the rows of an average cell are at least `theta` times
the mean |noise| on it. On a table of two-valued columns that is the largest k with
n·ε₂/((d − k)·2^(k+2)) ≥ θ, for all nodes alike, and d − k tables (the first k nodes lie
inside the next one's). In general every X comes with each of its largest parent sets
such that the pair has at most n/(θ·E|noise|) cells, E|noise| being that of one of d
tables: n·ε₂/(2dθ) for Laplace noise under replace neighbours. With `k` the number of
parents is fixed instead. What a budget is worth is read off the first answer that is
paid for, so where k is not fixed the first column is measured first.

Scores. Where the number of rows is public: R (half the L1 distance from independence),
I (mutual information) or F (two-valued columns), with the sensitivities of
curator/mechanisms/scores.py. Where it is private those have none. R is then taken on
counts, against an estimate that is paid for: `l1` asks how far the counts of (X, P) are
from n·Pr[X]·Pr[P], with Pr[X] from one-way marginals (a third of `beta`) and Pr[P] from
the network so far, whose tables are measured as it grows. One row moves such a distance
by 1, a replaced one by 2.

Why it is private: every choice and every table is a question to the curator, priced one
by one. Which questions are asked depends on the schema, on answers already paid for,
and on n only where n is public.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.measurements import Clique, Measurement, Measurements
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.estimates.pooling import pool_total
from understudy.models.fitting.estimate import estimate_tree
from understudy.models.model import Codes, PortableModel
from understudy.models.network import NetworkModel
from understudy.models.product import ProductModel
from understudy.schema import Schema, codec_of
from understudy.synthesizers.base import (
    About,
    Awareness,
    CuratorProtocol,
    Progress,
    Synthesizer,
    Workload,
    option,
    public_total,
)

MAX_PAIR_CANDIDATES = 4_000
"""Pairs that one choice is made from, at most."""

MAX_NODE_TABLE_CELLS = 1_000_000
"""Cells of a table that is still measured."""

MAX_CHOICE_CELLS = 20_000_000
"""Cells of all pairs that one choice is made from."""

MAX_PARENT_SET_STEPS = 200_000
"""Sets looked at for one child before there are too many."""

MIN_REST_PART = Fraction(1, 1000)
"""A rest of the budget that is not worth a question."""

NETWORK_SAMPLE_ROWS = 2**16
"""Rows that stand for the network so far when parents' shares are asked of it."""

ScoreName = Literal["auto", "R", "I", "F", "l1"]


@dataclass(frozen=True, kw_only=True)
class PrivBayes(Synthesizer):
    """A Bayesian network chosen privately, with a noisy table for each node."""

    name: ClassVar[str] = "privbayes"
    aware: ClassVar[Awareness] = Awareness(
        workload=False, data=True, budget=True, efficiency=True
    )
    about: ClassVar[About] = About(
        use="the budget is a pure ε, or the network itself is of interest",
        avoid="there are very many columns, or columns with hundreds of values",
        cost=(
            "as many private choices and tables as there are columns; each choice"
            " counts every candidate"
        ),
        paper=(
            'Zhang, Cormode, Procopiuc, Srivastava, Xiao, "PrivBayes: private data'
            ' release via Bayesian networks", TODS 2017'
        ),
    )

    k: int | None = option(
        None, "parents of a column; none: as many as theta leaves useful"
    )
    theta: float = option(
        4.0, "how many times its mean noise an average cell must hold"
    )
    beta: Fraction = option(
        Fraction(3, 10), "part of the budget for the network's structure"
    )
    score: ScoreName = option(
        "auto",
        "what choices go by; auto: R where the number of rows is public, else l1",
    )
    pgm: bool = option(
        False,
        "fit one distribution to all tables instead of reading conditionals off each",
    )
    clip: bool = option(
        False, "cut negative counts at zero, as in the paper, instead of projecting"
    )

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 0:
            raise Refused(
                "privbayes: `k` cannot be negative. Leave it out to let θ decide."
                " Nothing was spent"
            )
        if not (math.isfinite(self.theta) and self.theta > 0):
            raise Refused(
                "privbayes: `theta` must be a number above 0. Nothing was spent"
            )
        if not 0 < self.beta < 1:
            raise Refused(
                "privbayes: `beta` is a part above 0 and below 1. Nothing was spent"
            )
        if self.score not in get_args(ScoreName):
            raise Refused(
                f"privbayes: `score` must be one of {', '.join(get_args(ScoreName))}."
                " Nothing was spent"
            )

    def check(self, schema: Schema, *, delta: Fraction) -> None:
        """Refuse a score that cannot be had: of shares where units have an id, F where
        a column has other than two codes.
        """
        super().check(schema, delta=delta)
        if self.score in ("R", "I", "F") and schema.unit.id is not None:
            raise Refused(
                f"privbayes: score {self.score} needs a public number of rows, and the"
                f" rows of a {schema.unit.noun} are not. Use score l1. Nothing was"
                " spent"
            )
        for name in schema if self.score == "F" else ():
            if schema[name].is_closed and codec_of(schema[name]).size > 2:
                raise Refused(
                    f"{name}: score F needs columns with two codes each. Choose by R, I"
                    " or l1, or leave the column out. Nothing was spent"
                )

    def check_neighbours(self, neighbours: Neighbours) -> None:
        """Refuse a score whose sensitivity is a function of the number of rows, where
        that is private.
        """
        if self.score in ("R", "I", "F") and neighbours is Neighbours.ADD_REMOVE:
            raise Refused(
                f"privbayes: score {self.score} needs a public number of rows: its"
                " sensitivity is a function of it. Use score l1, or replace neighbours"
                " with one row to the unit. Nothing was spent"
            )

    def measure(
        self,
        curator: CuratorProtocol,
        workload: Workload,  # noqa: ARG002
        progress: Progress,
    ) -> Measurements:
        """The network's tables, chosen and measured."""
        sizes = dict(
            zip(
                curator.schema, curator.schema.sizes(tuple(curator.schema)), strict=True
            )
        )
        columns = [name for name in sizes if sizes[name] > 1]
        if not columns and curator.rows is None:
            columns = list(sizes)[:1]
        score = self._resolve_score(curator, [sizes[name] for name in columns])
        found = curator.discovered_measurements + public_total(curator)
        if len(columns) < 2:
            return found + curator.measure([(name,) for name in columns], share=1)
        task = _NetworkBuilder(curator, self, sizes, columns, found, progress)
        return (
            task.measure_while_growing()
            if score == "l1"
            else task.measure_after_structure(score)
        )

    def estimate(
        self,
        schema: Schema,
        measurements: Measurements,
        rng: Generator,  # noqa: ARG002
    ) -> PortableModel:
        """Conditionals from the pooled tables, or one distribution fitted to all of
        them.
        """
        if self.pgm:
            return estimate_tree(schema, measurements)
        return NetworkModel.from_measurements(schema, measurements, clip=self.clip)

    def _resolve_score(self, curator: CuratorProtocol, sizes: Sequence[int]) -> str:
        """The score this run chooses by; refused where it has no bounded sensitivity or
        does not fit the columns.
        """
        if self.score == "auto":
            return "l1" if curator.rows is None else "R"
        if self.score != "l1" and curator.rows is None:
            raise Refused(
                f"privbayes: score {self.score} needs a public number of rows: its"
                " sensitivity is a function of it. Use score l1, or replace neighbours"
                " with one row to the unit. No question was asked"
            )
        if self.score == "F" and any(size != 2 for size in sizes):
            raise Refused(
                "privbayes: score F needs columns with two codes each. Use R, I or l1."
                " No question was asked"
            )
        return self.score


@dataclass
class _NetworkBuilder:
    """One run of `measure`: what is asked, of whom, and what was answered so far."""

    curator: CuratorProtocol
    options: PrivBayes
    sizes: Mapping[str, int]
    columns: Sequence[str]
    found: Measurements
    progress: Progress
    most: int | None = None
    """Parents that the last choice had to be limited to, if it had to."""
    seen: dict[Clique, NDArray[np.float64]] = field(default_factory=dict)

    def measure_after_structure(self, score: str) -> Measurements:
        """Structure first, then all tables at once: the order of the paper."""
        options, curator, d = self.options, self.curator, len(self.columns)
        tables = 1 - Fraction(options.beta)
        first: Clique = (self.columns[0],)
        k, cells = options.k, MAX_NODE_TABLE_CELLS
        if k is None:
            root = curator.measure([first], share=tables / d)
            self.found += root
            k, cells = self._useful_limits(
                root, share=tables / d, tables=tables * (d - 1) / d
            )
        pairs = [first]
        for turn in range(1, d):
            self.progress(f"choosing round {turn}", turn / d)
            candidates = self._candidate_pairs([pair[0] for pair in pairs], k, cells)
            blank = {
                clique: np.zeros([self.sizes[name] for name in clique])
                for clique in candidates
            }
            pairs.append(
                self._choose_pair(blank, score, Fraction(options.beta) / (d - 1))
            )
        wanted = _maximal_pairs(pairs)
        self.progress("measuring", 0.0)
        self.found += curator.measure(wanted, share=curator.share_left)
        self.progress("measuring", 1.0)
        return self.found

    def measure_while_growing(self) -> Measurements:
        """Each table as soon as its pair is chosen: the next choice is made against the
        network so far.
        """
        options, curator, d = self.options, self.curator, len(self.columns)
        beta = Fraction(options.beta)
        every: list[Clique] = [(name,) for name in self.columns]
        counted = {m.clique for m in curator.discovered_measurements if m.plain}
        wanted = [clique for clique in every if clique not in counted] or every
        singles = curator.measure(wanted, share=beta / 3, weights=self._weights(wanted))
        self.found += singles
        k, cells = options.k, MAX_NODE_TABLE_CELLS
        if k is None:
            k, cells = self._useful_limits(singles, share=beta / 3, tables=1 - beta)
        total = max(pool_total(curator.schema, self.found)[0], 0.0)
        shares = ProductModel.from_measurements(curator.schema, self.found).shares
        pair: Clique = (self.columns[0],)
        crowd: Codes = {}
        for turn in range(1, d):
            self.progress(f"measuring round {turn}", turn / d)
            self._sample_column(crowd, pair)
            estimates = {
                clique: (
                    total
                    * np.multiply.outer(
                        shares[clique[0]], self._seen(crowd, clique[1:])
                    )
                )
                for clique in self._candidate_pairs(list(crowd), k, cells)
            }
            pair = self._choose_pair(estimates, "l1", beta * 2 / 3 / (d - 1))
            reserved = beta * 2 / 3 * (d - 1 - turn) / (d - 1)
            if len(pair) > 1:
                self.found += curator.measure(
                    [pair], share=(curator.share_left - reserved) / (d - turn)
                )
        if curator.share_left > MIN_REST_PART:
            # Choices that were not needed leave a rest; where no pair was useful, all
            # of it sharpens the single columns.
            last = [m.clique for m in self.found if len(m.clique) > 1] or every
            self.found += curator.measure(
                last, share=curator.share_left, weights=self._weights(last)
            )
        self.progress("measuring", 1.0)
        return self.found

    def _choose_pair(
        self,
        estimates: Mapping[Clique, NDArray[np.float64]],
        score: str,
        share: Fraction,
    ) -> Clique:
        """A private choice where there is one to make."""
        cliques = list(estimates)
        if len(cliques) == 1 or all(len(clique) == 1 for clique in cliques):
            return cliques[0]
        return self.curator.choose(estimates, share=share, score=score)

    def _useful_limits(
        self, paid: Measurements, *, share: Fraction, tables: Fraction
    ) -> tuple[int | None, int]:
        """The number of parents of two-valued columns (None where they are not), and
        the most cells of a pair.

        What a budget is worth in noise is told by what `share` of it bought; `tables`
        is the share for tables.
        """
        d = len(self.columns)
        rows = max(0.0, pool_total(self.curator.schema, self.found)[0])
        handed = sum((m.cost.amount for m in paid), Fraction(0)) / share

        def max_useful_cells(count: int) -> float:
            """The most cells of one of so many tables that is useful."""
            noise = mean_noise_at_cost(
                paid[0], handed * tables / count, self.curator.accounting
            )
            return rows / (self.options.theta * noise)

        if all(self.sizes[name] == 2 for name in self.columns):
            return (
                max(
                    (k for k in range(1, d) if 2 ** (k + 1) <= max_useful_cells(d - k)),
                    default=0,
                ),
                MAX_NODE_TABLE_CELLS,
            )
        return None, int(min(max_useful_cells(d), MAX_NODE_TABLE_CELLS))

    def _candidate_pairs(
        self, placed: Sequence[str], k: int | None, cells: int
    ) -> list[Clique]:
        """Every pair that may join: child first, then its parents. Where there would be
        too many, sets of fewer columns or cells.
        """
        new = [name for name in self.columns if name not in placed]
        most = len(placed) if k is None else min(k, len(placed))
        most = min(most, self.most or most)
        while True:
            found = self._pairs_within(new, placed, most, cells)
            if found is not None:
                self.most = most if most < len(placed) else None
                return found
            most, cells = (most - 1, cells) if most > 1 else (most, cells // 2)

    def _pairs_within(
        self, new: Sequence[str], placed: Sequence[str], most: int, cells: int
    ) -> list[Clique] | None:
        """All pairs with a largest parent set; None where they are too many, or their
        tables too large together.
        """
        found: list[Clique] = []
        volume = 0
        for child in new:
            for parents in largest_sets(
                placed, self.sizes, cells // self.sizes[child], most
            ):
                if parents is None:
                    return None
                found.append((child, *parents))
                volume += math.prod(self.sizes[name] for name in found[-1])
                if (most > 1 and len(found) > MAX_PAIR_CANDIDATES) or (
                    parents and volume > MAX_CHOICE_CELLS
                ):
                    return None
        return found

    def _sample_column(self, crowd: Codes, pair: Clique) -> None:
        """Draw a new column for the crowd from what was measured of its pair. Public
        randomness, and the same in a run that is resumed.
        """
        told = Measurements(tuple(m for m in self.found if set(m.clique) <= set(pair)))
        network = NetworkModel.from_measurements(self.curator.schema, told)
        crowd[pair[0]] = network.draw_column(
            pair[0], crowd, NETWORK_SAMPLE_ROWS, np.random.default_rng(len(crowd))
        )

    def _seen(self, crowd: Codes, parents: Clique) -> NDArray[np.float64]:
        """Shares of the parents' cells in the network so far; a column that joined does
        not change any more.
        """
        if parents not in self.seen:
            sizes = [self.sizes[name] for name in parents]
            cell = np.zeros(NETWORK_SAMPLE_ROWS, np.int64)
            for name in parents:
                cell = cell * self.sizes[name] + crowd[name]
            self.seen[parents] = (
                np.bincount(cell, minlength=math.prod(sizes)).reshape(sizes)
                / NETWORK_SAMPLE_ROWS
            )
        return self.seen[parents]

    def _weights(self, cliques: Sequence[Clique]) -> list[float]:
        """Parts of the budget that make the mean L1 error of several tables smallest."""
        power = 1 / 2 if self.curator.accounting is Accounting.PURE else 2 / 3
        return [
            math.prod(self.sizes[name] for name in clique) ** power
            for clique in cliques
        ]


def largest_sets(
    columns: Sequence[str], sizes: Mapping[str, int], room: int, most: int
) -> Iterator[Clique | None]:
    """Sets of at most `most` columns and `room` cells to which no column can be added;
    ends with None where there are far too many.

    >>> list(largest_sets(["a", "b", "c"], {"a": 2, "b": 3, "c": 4}, 6, 2))
    [('a', 'b'), ('c',)]
    """
    order = sorted(columns, key=lambda name: (sizes[name], columns.index(name)))
    steps = 0
    open_sets: list[tuple[tuple[int, ...], int]] = [((), 1)]
    while open_sets:
        chosen, cells = open_sets.pop()
        steps += 1
        if steps > MAX_PARENT_SET_STEPS:
            yield None
            return
        outside = next(
            (i for i in range(len(order)) if i >= len(chosen) or chosen[i] != i), None
        )
        if (
            len(chosen) == most
            or outside is None
            or cells * sizes[order[outside]] > room
        ):
            yield tuple(order[i] for i in chosen)
        if len(chosen) < most:
            start = chosen[-1] + 1 if chosen else 0
            for i in range(len(order) - 1, start - 1, -1):
                if cells * sizes[order[i]] <= room:
                    open_sets.append(((*chosen, i), cells * sizes[order[i]]))


def mean_noise_at_cost(
    paid: Measurement, amount: Fraction, accounting: Accounting
) -> float:
    """The mean |noise| on a cell of a marginal that gets an amount, told from one that
    was paid for.

    A scale is ∝ 1/amount in a pure run and ∝ 1/√amount in a Gaussian one; a mean
    |noise| is the scale of Laplace noise and √(2/π)·σ of Gaussian noise.
    """
    part = float(amount / paid.cost.amount)
    if accounting is Accounting.PURE:
        return float(paid.scale) / part
    return float(paid.scale) / math.sqrt(part) * MEAN_ABS_NORMAL


def _maximal_pairs(pairs: Sequence[Clique]) -> list[Clique]:
    """The pairs whose columns do not all lie in another pair, in their order."""
    return [
        p
        for i, p in enumerate(pairs)
        if not any(
            set(p) < set(q) or (set(p) == set(q) and j < i) for j, q in enumerate(pairs)
        )
    ]
