"""The contract of every synthesizer, and the narrow view of the curator it may use.

Measuring spends and needs the curator. Estimating is pure: from the same measurements
and generator comes the same model, so it can be repeated, resumed and tested without a
single row. A synthesizer holds no row, no exact count and no path; it cannot leak by
accident.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import ClassVar, Protocol, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.measurements import AxisMap, Clique, Distance, Measurements
from understudy.models.model import PortableModel
from understudy.schema import Schema

Progress = Callable[[str, float], None]
"""Called with a stage's name and how much of it is done, from 0 to 1.

A stage may say its round ("measuring round 7"). What else a synthesizer has to say is a
notice (notices.py).
"""

Value = TypeVar("Value")
"""What an option is set to."""


def ignore_progress(stage: str, done: float) -> None:
    """Progress that nothing displays."""


def option(default: Value, help: str) -> Value:
    """A field of a synthesizer that can be set by name, with the sentence that explains
    it; `options.options_of` reads it back.

    To the dataclass it is a field, to a type checker the default.
    """
    made: Value = field(default=default, metadata={"help": help})
    return made


class CuratorProtocol(Protocol):
    """What a synthesizer may ask. Every method has a privacy cost; `share` is a fraction
    of the budget handed to the synthesizer.
    """

    @property
    def schema(self) -> Schema:
        """The closed schema."""

    @property
    def neighbours(self) -> Neighbours:
        """The relation the guarantee is about."""

    @property
    def accounting(self) -> Accounting:
        """The privacy accounting of the run: pure ε, GDP or zCDP."""

    @property
    def discovered_measurements(self) -> Measurements:
        """What discovery measured already; using it costs nothing."""

    @property
    def rows(self) -> int | None:
        """The number of rows, where it is public."""

    @property
    def share_left(self) -> Fraction:
        """The share of the synthesizer's budget that is not spent yet."""

    def measure(
        self,
        cliques: Sequence[Clique],
        *,
        share: Fraction | int,
        weights: Sequence[float] | None = None,
        maps: Sequence[tuple[AxisMap, ...]] | None = None,
    ) -> Measurements:
        """Noisy marginals, the share split by weight (equally by default)."""

    def sparse(self, clique: Clique, *, share: Fraction | int) -> Measurements:
        """The cells of a marginal too large to noise in full that are safely above
        zero, with noisy counts; needs δ.
        """

    def errors(
        self,
        estimates: Mapping[Clique, NDArray[np.float64]],
        *,
        share: Fraction | int,
        maps: Mapping[Clique, tuple[AxisMap, ...]] | None = None,
    ) -> dict[Clique, Distance]:
        """Noisy L1 distances between the true marginals and estimates of them; where a
        clique has `maps`, of coarser bins.
        """

    def choose(
        self,
        estimates: Mapping[Clique, NDArray[np.float64]],
        *,
        share: Fraction | int,
        score: str = "l1",
        weights: Sequence[float] | None = None,
        penalties: Sequence[float] | None = None,
    ) -> Clique:
        """One clique, chosen privately by weight · (score − penalty); the score lives
        in the curator's room.
        """

    def choose_cell(
        self, estimates: Mapping[Clique, NDArray[np.float64]], *, share: Fraction | int
    ) -> tuple[Clique, tuple[int, ...]]:
        """One cell of one clique (its codes), chosen privately by |count − estimate|;
        structural zeros are no candidates.
        """


def public_total(curator: CuratorProtocol) -> Measurements:
    """The number of rows as a measurement where all neighbours agree on it: exact and
    free. Nothing where it is private or declared.

    To be asked before the budget is spent: a curator with nothing left answers nothing.
    """
    # A declared number is in the schema already and needs no measurement.
    if curator.rows is None or curator.schema.rows is not None:
        return Measurements()
    return curator.measure([()], share=1)


@dataclass(frozen=True)
class Workload:
    """The marginals that matter, with weights.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(columns=tuple(Boolean(name=name) for name in "abc"))
    >>> Workload.of_order(schema, 2).cliques
    (('a', 'b'), ('a', 'c'), ('b', 'c'))
    """

    cliques: tuple[Clique, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.cliques) != len(self.weights):
            raise Refused("A workload has one weight for each clique")

    @classmethod
    def of_order(cls, schema: Schema, order: int = 3) -> Workload:
        """All marginals of that many columns (of all columns, where there are fewer),
        weighed equally.
        """
        # A table with fewer columns than the order still has one marginal: all of them.
        cliques = tuple(combinations(schema, min(order, len(schema))))
        return cls(cliques, (1.0,) * len(cliques))


@dataclass(frozen=True)
class Awareness:
    """What an algorithm adapts to: the taxonomy of McKenna, Mullins, Sheldon, Miklau,
    "AIM", 2022, Table 2.
    """

    workload: bool
    data: bool
    budget: bool
    efficiency: bool


@dataclass(frozen=True, kw_only=True)
class About:
    """What a reader wants to know before choosing: when to use it and when not, what it
    costs, and where it was published.
    """

    use: str
    avoid: str
    cost: str
    paper: str = ""


@dataclass(frozen=True, kw_only=True)
class Synthesizer(ABC):
    """Measure, then estimate. Options are the fields of the dataclass, each made by
    `option`.
    """

    name: ClassVar[str]
    aware: ClassVar[Awareness]
    about: ClassVar[About]
    reads_rows: ClassVar[bool] = True
    """Whether it asks the curator anything; one that does uses 99 % of its budget or
    more.
    """
    needs_delta: ClassVar[bool] = False
    """Whether it shows things only because they occur, which takes some δ for
    thresholds.
    """

    @abstractmethod
    def measure(
        self, curator: CuratorProtocol, workload: Workload, progress: Progress
    ) -> Measurements:
        """Spend the budget, and return everything that `estimate` needs; what was known
        already included.

        One that compares candidates may post why it measured them (decisions.py).
        """

    @abstractmethod
    def estimate(
        self, schema: Schema, measurements: Measurements, rng: Generator
    ) -> PortableModel:
        """Turn measurements into a model, without any data."""

    def check(self, schema: Schema, *, delta: Fraction) -> None:
        """Refuse, before anything is spent, what cannot work on this schema. It may
        still be open: judge by what is known of it.
        """
        if len(schema) == 0:
            raise Refused(
                "The schema has no column that may be released. Set `use: true` on at"
                " least one. Nothing was spent"
            )

    def smallest_noise(
        self,
        schema: Schema,
        budget: Budget,
        neighbours: Neighbours,
    ) -> Accounting:
        """The accounting in which a run with this budget has the least noise, for
        advice; computed from what is public alone.
        """
        return budget.accounting

    def check_neighbours(self, neighbours: Neighbours) -> None:  # noqa: B027
        """Refuse, before anything is spent, a relation it cannot work under."""

    @property
    def public_declarations(self) -> tuple[str, ...]:
        """What its options say of the table that nobody paid for, one thing a line: the
        guarantee lists it as public.
        """
        return ()
