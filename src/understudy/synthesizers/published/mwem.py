"""MWEM: a distribution over the whole domain, corrected where it is worst, again and
again.

Hardt, Ligett, McSherry, "A simple and practical algorithm for differentially private
data release", NIPS 2012.

`MWEM.figure()` is the algorithm of the paper's Figure 1, for the cells of the
workload's marginals as counting queries. A₀ is uniform. In each of T rounds
  1. the exponential mechanism at ε/2T picks the query with (about) the largest |q(A) −
     q(D)|, sensitivity 1;
  2. it is measured, with discrete Laplace noise of scale 2T/ε: the answer m;
  3. multiplicative weights: A(x) ∝ A(x)·exp(q(x)·(m − q(A))/2n).
The result is the mean of A₀ … A_{T−1}, the distributions that queries were picked
against (so the last answer is paid for and not used, as in the paper). With
probability 1 − 2T/|Q| its largest error is at most 2n·√(ln|D|/T) + 10·T·ln|Q|/ε
(Theorem 2.2; `error_bound`).

Cells are small, so each step is, and a table of a few hundred rows would take thousands
of rounds. The paper's own improvements (§2.3) are the options, and on by default:
  * `whole`: a marginal at a time. A row lies in one of its cells, so all of them cost
    what one of them costs; picked by L1 distance.
  * `passes`: after each round, all answers so far are used again so many times.
  * `average=False`: the last distribution instead of the mean.
  * `start="histogram"` (off): a part of the budget buys a noisy count of every cell of
    the domain, to start from.

Why it is private: the rounds, the start and the number of rows are questions to the
curator, priced one by one. Where the number of rows is private and not declared, a
small part of the budget (`total_share`) buys it first; where it is declared and δ = 0,
the prices are exactly those above. In a Gaussian run every round costs 1/T of the
budget too, half for the choice and half for the answer. A cell is measured as the table
"in the cell or not, in each of its columns", whose other entries are not used: that
costs the same under add/remove, and twice the noise under replace, where a row moves
two entries of it.

It holds every cell of the domain, so large domains are refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.measurements import Clique, Measurement, Measurements, Partition
from understudy.models.dense import DenseModel
from understudy.models.estimates.consistency import project_simplex
from understudy.models.estimates.pooling import pool_marginal, pool_total
from understudy.models.sampling.unmeasured import uniform_shares
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

DEFAULT_DOMAIN_CELLS = 1_000_000
"""Cells of the domain that are still held one by one."""

UNIFORM_START_PART = 0.1
"""The part of a start from a histogram that stays uniform: weights that are zero could
never grow again.
"""

ROUND_SHARE_DENOMINATOR = 2**20
"""What is left of a share is rounded down to this grid, so that exact prices stay
short.
"""

StartDistribution = Literal["uniform", "histogram"]


@dataclass(frozen=True, kw_only=True)
class MWEM(Synthesizer):
    """The whole domain, corrected where it is worst.

    `MWEM.figure()` is the algorithm as first published; `whole`, `passes`, `average`
    and `start` are its improvements.
    """

    name: ClassVar[str] = "mwem"
    aware: ClassVar[Awareness] = Awareness(
        workload=True, data=True, budget=False, efficiency=False
    )
    about: ClassVar[About] = About(
        use=(
            "few columns, few combinations of values, and a list of marginals that"
            " matter"
        ),
        avoid="the domain is large: it is refused",
        cost=(
            "a private choice and a measurement in each round; computing grows with"
            " every combination of values"
        ),
        paper=(
            'Hardt, Ligett, McSherry, "A simple and practical algorithm for'
            ' differentially private data release", NIPS 2012'
        ),
    )

    rounds: int = option(10, "choices and answers")
    whole: bool = option(
        True,
        "measure a whole marginal a round; false: one of its cells, as in the paper's"
        " figure",
    )
    passes: int = option(
        10, "times that all answers so far are used again after each round"
    )
    average: bool = option(
        False, "the mean of all rounds, as in the paper's figure, instead of the last"
    )
    start: StartDistribution = option(
        "uniform",
        "begin with the uniform distribution, or with a noisy count of every"
        " combination",
    )
    start_share: Fraction = option(
        Fraction(1, 2), "part of the budget for that noisy count"
    )
    total_share: Fraction = option(
        Fraction(1, 20),
        "part of the budget for the number of rows, where it is private",
    )
    limit: int = option(
        DEFAULT_DOMAIN_CELLS,
        "combinations of values; more are refused before anything is spent",
    )

    def __post_init__(self) -> None:
        if min(self.rounds, self.limit) < 1 or self.passes < 0:
            raise Refused(
                "mwem: `rounds` and `limit` must be at least 1, `passes` not below 0."
                " Change them. Nothing was spent"
            )
        if self.start not in get_args(StartDistribution):
            raise Refused(
                "mwem: `start` must be one of"
                f" {', '.join(get_args(StartDistribution))}. Nothing was spent"
            )
        if (
            min(self.start_share, self.total_share) <= 0
            or self.start_share + self.total_share >= 1
        ):
            raise Refused(
                "mwem: `start_share` and `total_share` are parts above 0 that leave"
                " something to measure. Nothing was spent"
            )

    @classmethod
    def figure(cls, rounds: int = 10) -> MWEM:
        """The algorithm as first published: one cell a round, one update for it, the
        mean of all rounds.
        """
        return cls(rounds=rounds, whole=False, passes=0, average=True)

    def check(self, schema: Schema, *, delta: Fraction) -> None:
        """Refuse a domain with more cells than the limit."""
        super().check(schema, delta=delta)
        self._refuse_large_domain(schema, "Nothing was spent")

    def measure(
        self, curator: CuratorProtocol, workload: Workload, progress: Progress
    ) -> Measurements:
        """The number of rows where it is private, the start where one is measured, and
        the rounds.
        """
        schema = curator.schema
        self._refuse_large_domain(schema, "Nothing was spent after discovery")
        found = curator.discovered_measurements + public_total(curator)
        if curator.rows is None and schema.rows is None:
            found += curator.measure([()], share=Fraction(self.total_share))
        if self.start == "histogram":
            found += curator.measure([tuple(schema)], share=Fraction(self.start_share))
        share = curator.share_left / self.rounds
        state = self._initial_weights(schema, found)
        for done in range(self.rounds):
            progress(f"measuring round {done + 1}", done / self.rounds)
            answer = self._measure_round(curator, workload, state, share)
            found += answer
            state.update_weights(answer[0], self.passes)
        progress("measuring", 1.0)
        return found

    def estimate(
        self,
        schema: Schema,
        measurements: Measurements,
        rng: Generator,
    ) -> DenseModel:
        """The rounds once more, from what was measured in them."""
        first = len(measurements) - self.rounds
        state = self._initial_weights(schema, measurements[:first])
        mean = np.zeros_like(state.shares)
        for answer in measurements[first:]:
            mean += state.shares / self.rounds
            state.update_weights(answer, self.passes)
        shares = mean if self.average else state.shares
        return DenseModel(
            schema, max(state.total, 0.0), state.columns, shares / shares.sum()
        )

    def _initial_weights(
        self, schema: Schema, found: Measurements
    ) -> MultiplicativeWeights:
        """The weights before the first round."""
        total, _ = pool_total(schema, found.of(()))
        shares = uniform_shares(schema, tuple(schema))
        if self.start == "histogram" and total > 0:
            counts = found.of(tuple(schema))[-1].values.astype(np.float64)
            near = project_simplex(counts, total, allowed=shares > 0) / total
            shares = UNIFORM_START_PART * shares + (1 - UNIFORM_START_PART) * near
        elif self.start == "uniform":
            shares = _known_columns(schema, found, shares)
        return MultiplicativeWeights(tuple(schema), shares, total)

    def _measure_round(
        self,
        curator: CuratorProtocol,
        workload: Workload,
        state: MultiplicativeWeights,
        share: Fraction,
    ) -> Measurements:
        """Choose, then measure; with a single candidate there is nothing to choose."""
        cliques = list(dict.fromkeys(workload.cliques))
        estimates = {clique: state.marginal(clique) for clique in cliques}
        before = curator.share_left
        if self.whole:
            weights = dict(zip(workload.cliques, workload.weights, strict=True))
            worth = [weights[clique] for clique in cliques]
            clique = cliques[0]
            if len(cliques) > 1:
                clique = curator.choose(estimates, share=share / 2, weights=worth)
            return curator.measure(
                [clique], share=_measuring_share(share, before - curator.share_left)
            )
        clique, cell = curator.choose_cell(estimates, share=share / 2)
        maps = tuple(
            _indicator_partition(code, size)
            for code, size in zip(cell, curator.schema.sizes(clique), strict=True)
        )
        return curator.measure(
            [clique],
            share=_measuring_share(share, before - curator.share_left),
            maps=[maps],
        )

    def _refuse_large_domain(self, schema: Schema, spent: str) -> None:
        # Columns that are still open count as one cell: the domain is judged again
        # once discovery has closed them.
        closed = [schema[name] for name in schema if schema[name].is_closed]
        cells = math.prod(codec_of(column).size for column in closed)
        if cells > self.limit:
            about = f"{cells:,}" if cells < 10**12 else f"10^{len(str(cells)) - 1}"
            raise Refused(
                f"mwem: the {len(schema)} columns together have {about} cells, more"
                f" than {self.limit:,}. Use `privsyn` or `independent`, which do not"
                f" hold the whole domain, or fewer columns or bins. {spent}"
            )


class MultiplicativeWeights:
    """Multiplicative weights over the cells of a domain, kept as logarithms: no step
    can overflow, and none is lost.
    """

    def __init__(
        self, columns: Clique, shares: NDArray[np.float64], total: float
    ) -> None:
        self.columns = columns
        self.shares = shares
        self.total = total
        self._log = np.log(shares, where=shares > 0, out=np.full(shares.shape, -np.inf))
        self._answers: list[Measurement] = []

    def marginal(self, clique: Clique) -> NDArray[np.float64]:
        """Expected counts over a clique."""
        rest = tuple(i for i, name in enumerate(self.columns) if name not in clique)
        kept = [name for name in self.columns if name in clique]
        summed: NDArray[np.float64] = np.asarray(
            self.shares.sum(axis=rest) * self.total
        )
        return summed.transpose([kept.index(name) for name in clique])

    def update_weights(self, answer: Measurement, passes: int) -> None:
        """One step for a new answer, then so many passes over all answers so far."""
        self._answers.append(answer)
        self._step(answer)
        for _ in range(passes):
            for earlier in self._answers:
                self._step(earlier)

    def _step(self, answer: Measurement) -> None:
        """A(x) ∝ A(x)·exp(q(x)·(m − q(A))/2n), for one cell or for all cells of a
        marginal, which no two share a row.
        """
        places = [self.columns.index(name) for name in answer.clique]
        # The 2n of the update rule; n may be estimated as 0, which would divide by it.
        half = 2 * max(self.total, 1.0)
        if answer.plain:
            lacking = (answer.values - self.marginal(answer.clique)) / half
            order = np.argsort(places)
            shape = [n if i in places else 1 for i, n in enumerate(self.shares.shape)]
            self._log = self._log + lacking.transpose(order).reshape(shape)
        else:
            where: list[slice | int] = [slice(None)] * len(self.columns)
            for place, map_ in zip(places, answer.maps, strict=True):
                where[place] = _indicated_code(map_)
            inside = tuple(where)
            count = float(answer.values[(-1,) * len(places)])
            self._log[inside] += (
                count - float(self.shares[inside].sum()) * self.total
            ) / half
        # The largest logarithm becomes 0, so that exp cannot overflow.
        self._log -= self._log.max()
        weights = np.exp(self._log)
        self.shares = weights / weights.sum()


def error_bound(
    *,
    rows: int,
    cells: int,
    queries: int,
    rounds: int,
    epsilon: float,
    failure: float | None = None,
) -> float:
    """The largest error of any query that the figure's algorithm has with probability 1
    − failure, for a known number of rows.

    Theorem 2.2 has failure 2T/|Q|. Its proof holds for any: with t = ln(2T/failure),
    every choice is within 4T(ln|Q| + t)/ε of the best and every answer within 2T·t/ε of
    the truth, so the error is at most 2n·√(ln|D|/T) + T·(4·ln|Q| + 6·t)/ε.

    >>> round(error_bound(rows=10_000, cells=16, queries=80, rounds=20, epsilon=1.0))
    8323
    """
    unlikely = 2 * rounds / queries if failure is None else failure
    t = math.log(2 * rounds / unlikely)
    return (
        2 * rows * math.sqrt(math.log(cells) / rounds)
        + rounds * (4 * math.log(queries) + 6 * t) / epsilon
    )


def _indicator_partition(code: int, size: int) -> Partition:
    """One code in the last bin, all others in the first."""
    if size == 1:
        return Partition((0,))
    return Partition(tuple(int(c == code) for c in range(size)))


def _indicated_code(map_: object) -> int:
    assert isinstance(map_, Partition), "a cell is measured as a partition"
    return map_.bins.index(max(map_.bins))


def _known_columns(
    schema: Schema, found: Measurements, shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Even weights, but for the columns that discovery has counted already: those start
    as they were found.
    """
    for axis, name in enumerate(schema):
        pooled = pool_marginal((name,), found.of((name,)))
        if pooled is not None and float(pooled.values.sum()) > 0:
            near = project_simplex(pooled.values, float(pooled.values.sum()))
            kept = (
                UNIFORM_START_PART / len(near)
                + (1 - UNIFORM_START_PART) * near / near.sum()
            )
            shares = shares * kept.reshape(
                [-1 if i == axis else 1 for i in range(shares.ndim)]
            )
    return np.asarray(shares / shares.sum(), np.float64)


def _measuring_share(share: Fraction, spent: Fraction) -> Fraction:
    """Half of a round's share, or more where the choice could not use its half."""
    # A choice rounds its noise to what can be drawn exactly and may use a little less
    # than its half; only a real saving is worth a new price.
    if spent >= share * Fraction(49, 100):
        return share / 2
    return share / 2 + Fraction(
        math.floor((share / 2 - spent) * ROUND_SHARE_DENOMINATOR),
        ROUND_SHARE_DENOMINATOR,
    )
