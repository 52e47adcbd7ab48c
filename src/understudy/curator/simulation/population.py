"""An imagined population for dry runs: as many rows as the owner says, distributed as in
many surveys, with marginals in closed form.

A mixture of four kinds of people, of unequal shares; within a kind, columns are
independent. Each column has a few common values and many rare ones, and the kinds
prefer different values, in some columns more than in others. So some pairs of columns
depend strongly on each other and others weakly, which is what a synthesizer that
selects by dependence has to sort out. In a table of very many columns, columns belong
to topics, each with kinds of its own, and columns of two topics are independent.
Nothing here comes from data: it follows from the schema.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import Clique
from understudy.schema import Schema

KIND_SHARES = np.array([0.4, 0.3, 0.2, 0.1])
"""How many of each kind of people there are."""

KIND_CONTRASTS = (1.0, 1.4, 0.9, 1.8)
"""How much the kinds differ in a column of four codes, in turn; in a column of more
codes they differ more, by `_kind_contrast`. With less, fewer and smaller marginals are
worth their noise than in surveys and registers, with more, too many are at a small ε:
`benchmarks/plan.py` compares what a dry run chooses with what real tables lead to.
"""

MAX_TOPIC_COLUMNS = 32
"""Columns that one topic has at most."""

MAX_LINKED_CELLS = 1 << 18
"""Combinations of columns up to which those that impossible ones link are imagined
together.
"""


@dataclass(frozen=True, eq=False)
class Population:
    """A number of imagined rows under a schema.

    >>> from understudy.schema import Boolean
    >>> columns = tuple(Boolean(name=name, nullable=False) for name in "ab")
    >>> people = Population(Schema(columns=columns), 1000)
    >>> int(people.counts(("a", "b")).sum()), people.counts(()).tolist()
    (1000, 1000)
    """

    schema: Schema
    rows: int

    @cached_property
    def _shares_by_kind(self) -> dict[str, NDArray[np.float64]]:
        """For every column, the distribution of its codes in each kind."""
        shares = {}
        kind_phase = np.arange(len(KIND_SHARES))[:, None] / len(KIND_SHARES)
        for place, name in enumerate(self.schema):
            n = self.schema.codecs[name].size
            code = np.arange(n)
            # Shares fall like 1/√rank; which codes are common differs by column.
            common = (1 + (code + 3 * place) % n) ** -0.5
            # Each kind prefers the codes around its own phase of a cosine.
            phase = 2 * math.pi * (code[None, :] / n - kind_phase) + place
            weights = common * np.exp(_kind_contrast(place, n) * np.cos(phase))
            shares[name] = weights / weights.sum(axis=1, keepdims=True)
        return shares

    @cached_property
    def _linked_columns(self) -> list[Clique]:
        """Columns that impossible combinations link with each other; every other column
        by itself.
        """
        parts = [{name} for name in self.schema]
        for rule in self.schema.forbidden_predicates:
            together: set[str] = set()
            rest = []
            for part in parts:
                if part & rule.columns:
                    together |= part
                else:
                    rest.append(part)
            # Too large to imagine together: the rule is left to the marginals' zeros.
            if math.prod(self.schema.sizes(tuple(together))) <= MAX_LINKED_CELLS:
                parts = [*rest, together]
        order = {name: place for place, name in enumerate(self.schema)}
        cliques = [tuple(sorted(part, key=order.__getitem__)) for part in parts]
        return sorted(cliques, key=lambda clique: order[clique[0]])

    @cached_property
    def _joint_by_kind(self) -> dict[Clique, NDArray[np.float64]]:
        """For linked columns, the distribution of their codes in each kind: nothing
        impossible, and the rest in proportion.
        """
        found = {}
        for part in self._linked_columns:
            table = np.ones([len(KIND_SHARES), *[1] * len(part)])
            for axis, name in enumerate(part):
                table = table * _along_axis(self._shares_by_kind[name], axis, len(part))
            zeros = self.schema.zeros(part)
            if zeros is not None:
                table = np.where(zeros, 0.0, table)
            sums = table.reshape(len(KIND_SHARES), -1).sum(axis=1)
            found[part] = table / np.where(sums > 0, sums, 1.0).reshape(
                -1, *[1] * len(part)
            )
        return found

    @cached_property
    def _topic_of_columns(self) -> dict[Clique, int]:
        """The topic of columns, the same for linked ones; topics have about as many
        columns each, side by side.
        """
        many = -(-len(self.schema) // MAX_TOPIC_COLUMNS)
        places = {name: place for place, name in enumerate(self.schema)}
        return {
            part: places[part[0]] * many // len(self.schema)
            for part in self._linked_columns
        }

    @cached_property
    def _home(self) -> dict[str, Clique]:
        return {name: part for part in self._linked_columns for name in part}

    def counts(self, clique: Clique) -> NDArray[np.int64]:
        """The marginal over a clique, to the nearest whole row."""
        asked = dict.fromkeys(self._home[name] for name in clique)
        expected = np.full([1] * len(clique), float(self.rows))
        for topic in {self._topic_of_columns[part] for part in asked}:
            share = KIND_SHARES.reshape(-1, *[1] * len(clique))
            for part in asked:
                if self._topic_of_columns[part] == topic:
                    share = share * _marginal_along(
                        self._joint_by_kind[part],
                        part,
                        clique,
                    )
            expected = expected * share.sum(axis=0)
        zeros = self.schema.zeros(clique) if clique else None
        if zeros is not None:
            expected = np.where(zeros, 0.0, expected)
        # Rounding each cell on its own would lose all the rare ones: round the running
        # sum, and none is lost but by chance.
        steps = np.rint(np.cumsum(expected.ravel())).astype(np.int64)
        return np.asarray(np.diff(steps, prepend=0).reshape(expected.shape), np.int64)


def _along_axis(
    shares: NDArray[np.float64],
    axis: int,
    axes: int,
) -> NDArray[np.float64]:
    """Shares by kind and code, laid along one axis of several."""
    shape = [1] * axes
    shape[axis] = -1
    return shares.reshape(len(KIND_SHARES), *shape)


def _marginal_along(
    joint: NDArray[np.float64],
    part: Clique,
    clique: Clique,
) -> NDArray[np.float64]:
    """What a table of linked columns says of those in a clique, laid along the clique's
    axes.
    """
    # Axis 0 is the kind; the axes of the columns follow it.
    summed = tuple(1 + i for i, name in enumerate(part) if name not in clique)
    table: NDArray[np.float64] = joint.sum(axis=summed)
    remaining = [name for name in part if name in clique]
    wanted = [name for name in clique if name in part]
    table = table.transpose([0, *(1 + remaining.index(name) for name in wanted)])
    length = dict(zip(wanted, table.shape[1:], strict=True))
    return table.reshape(len(KIND_SHARES), *(length.get(name, 1) for name in clique))


def _kind_contrast(place: int, size: int) -> float:
    """How much the kinds differ in a column: those of many codes, such as an age or a
    trade, tell more of a person.
    """
    return KIND_CONTRASTS[place % len(KIND_CONTRASTS)] * (
        0.5 + math.log2(max(size, 1)) / 4
    )
