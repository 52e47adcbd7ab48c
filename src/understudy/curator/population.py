"""An imagined population, to rehearse a run on: as many rows as the owner says, spread as surveys often are, known in closed form.

Four kinds of people, unequally many; within a kind, columns are independent. Each column has a few common values and many rare ones, and
the kinds differ in which values they lean to, in some columns more than in others. So some pairs of columns depend much on each other and
some less, which is what a synthesizer that looks for dependence has to sort out. A table of very many columns is about several things:
its columns belong to topics, each with kinds of its own, and those of two topics have nothing to do with each other. Nothing here comes
from data: it follows from the schema.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import Clique
from understudy.schema import Schema

KINDS = np.array([0.4, 0.3, 0.2, 0.1])
"""How many of each kind of people there are."""

LEANS = (1.0, 1.4, 0.9, 1.8)
"""How much the kinds differ in a column of four codes, in turn; in a column of more codes they differ more, as `_lean` has it. With less,
fewer and smaller marginals are worth their noise than in surveys and registers, with more, too many are at a small ε: `benchmarks/plan.py`
holds what a rehearsal chooses against what real tables lead to."""

TOPIC = 32
"""Columns that one topic has at most."""


@dataclass(frozen=True, eq=False)
class Population:
    """So many imagined rows under a schema.

    >>> from understudy.schema import Boolean
    >>> people = Population(Schema(columns=tuple(Boolean(name=n, nullable=False) for n in "ab")), 1000)
    >>> int(people.counts(("a", "b")).sum()), people.counts(()).tolist()
    (1000, 1000)
    """

    schema: Schema
    rows: int

    @cached_property
    def _shares(self) -> dict[str, NDArray[np.float64]]:
        """For every column, the distribution of its codes in each kind."""
        found = {}
        for place, name in enumerate(self.schema):
            n = self.schema.codecs[name].size
            code = np.arange(n)
            common = (1 + (code + 3 * place) % n) ** -0.5
            lean = _lean(place, n)
            turn = 2 * math.pi * (code[None, :] / n - np.arange(len(KINDS))[:, None] / len(KINDS)) + place
            weights = common * np.exp(lean * np.cos(turn))
            found[name] = weights / weights.sum(axis=1, keepdims=True)
        return found

    @cached_property
    def _topics(self) -> dict[str, int]:
        """What every column is about; as many columns, side by side, are about each."""
        many = -(-len(self.schema) // TOPIC)
        return {name: place * many // len(self.schema) for place, name in enumerate(self.schema)}

    def counts(self, clique: Clique) -> NDArray[np.int64]:
        """The marginal over a clique, to the nearest whole row."""
        expected = np.full([1] * len(clique), float(self.rows))
        for topic in {self._topics[name] for name in clique}:
            share = KINDS.reshape(-1, *[1] * len(clique))
            for axis, name in enumerate(clique):
                if self._topics[name] == topic:
                    shape = [-1 if other == axis else 1 for other in range(len(clique))]
                    share = share * self._shares[name].reshape(len(KINDS), *shape)
            expected = expected * share.sum(axis=0)
        zeros = self.schema.zeros(clique) if clique else None
        if zeros is not None:
            expected = np.where(zeros, 0.0, expected)
        # Rounding each cell on its own would lose all the rare ones: round the running sum, and none is lost but by chance.
        steps = np.rint(np.cumsum(expected.ravel())).astype(np.int64)
        return np.asarray(np.diff(steps, prepend=0).reshape(expected.shape), np.int64)


def _lean(place: int, size: int) -> float:
    """How much the kinds differ in a column: those of many codes, such as an age or a trade, tell more of a person."""
    return LEANS[place % len(LEANS)] * (0.5 + math.log2(max(size, 1)) / 4)
