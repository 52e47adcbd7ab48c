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
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from numpy.random import Generator

from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.models.fitting.estimate import estimate_tree
from understudy.models.model import PortableModel
from understudy.models.network import NetworkModel
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
from understudy.synthesizers.published.privbayes_network import (
    NetworkBuilder,
    NetworkSettings,
)

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
        workload: Workload,
        progress: Progress,
    ) -> Measurements:
        """The network's tables, chosen and measured."""
        sizes = dict(
            zip(
                curator.schema, curator.schema.sizes(tuple(curator.schema)), strict=True
            )
        )
        columns = [name for name in sizes if sizes[name] > 1]
        # Of columns with one code each, any one tells the number of rows.
        if not columns and curator.rows is None:
            columns = list(sizes)[:1]
        score = self._resolve_score(curator, [sizes[name] for name in columns])
        found = curator.discovered_measurements + public_total(curator)
        if len(columns) < 2:
            return found + curator.measure([(name,) for name in columns], share=1)
        settings = NetworkSettings(self.k, self.theta, Fraction(self.beta))
        task = NetworkBuilder(curator, settings, sizes, columns, found, progress)
        return (
            # The l1 score is measured against tables already paid for, so both grow
            # together.
            task.measure_while_growing()
            if score == "l1"
            else task.measure_after_structure(score)
        )

    def estimate(
        self,
        schema: Schema,
        measurements: Measurements,
        rng: Generator,
    ) -> PortableModel:
        """Conditionals from the pooled tables, or one distribution fitted to all of
        them.
        """
        # Conditionals disagree where tables overlap; one distribution reconciles them.
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
