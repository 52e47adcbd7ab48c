"""An imagined population, to rehearse a run on: as many rows as the owner says, spread
as surveys often are, known in closed form.

Four kinds of people, unequally many; within a kind, columns are independent. Each
column has a few common values and many rare ones, and the kinds differ in which values
they lean to, in some columns more than in others. So some pairs of columns depend much
on each other and some less, which is what a synthesizer that looks for dependence has
to sort out. A table of very many columns is about several things: its columns belong to
topics, each with kinds of its own, and those of two topics have nothing to do with each
other. Nothing here comes from data: it follows from the schema.
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
codes they differ more, as `_kind_contrast` has it. With less, fewer and smaller
marginals are worth their noise than in surveys and registers, with more, too many are
at a small ε: `benchmarks/plan.py` holds what a rehearsal chooses against what real
tables lead to.
"""

MAX_TOPIC_COLUMNS = 32
"""Columns that one topic has at most."""

MAX_LINKED_CELLS = 1 << 18
"""Combinations of columns up to which those that impossible ones link are imagined
together.
"""


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
    def _shares_by_kind(self) -> dict[str, NDArray[np.float64]]:
        """For every column, the distribution of its codes in each kind."""
        found = {}
        for place, name in enumerate(self.schema):
            n = self.schema.codecs[name].size
            code = np.arange(n)
            common = (1 + (code + 3 * place) % n) ** -0.5
            lean = _kind_contrast(place, n)
            turn = (
                2
                * math.pi
                * (
                    code[None, :] / n
                    - np.arange(len(KIND_SHARES))[:, None] / len(KIND_SHARES)
                )
                + place
            )
            weights = common * np.exp(lean * np.cos(turn))
            found[name] = weights / weights.sum(axis=1, keepdims=True)
        return found

    @cached_property
    def _linked_columns(self) -> list[Clique]:
        """Columns that impossible combinations link with each other; every other column
        by itself.
        """
        parts = [{name} for name in self.schema]
        for rule in self.schema.forbidden_predicates:
            together = set().union(*(part for part in parts if part & rule.columns))
            rest = [part for part in parts if not part & rule.columns]
            if math.prod(self.schema.sizes(tuple(together))) <= MAX_LINKED_CELLS:
                parts = [*rest, together]
        order = {name: place for place, name in enumerate(self.schema)}
        return sorted(
            (tuple(sorted(part, key=order.__getitem__)) for part in parts),
            key=lambda part: order[part[0]],
        )

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
        """What columns are about, those that are linked about the same; as many
        columns, side by side, are about each thing.
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
                        self._joint_by_kind[part], part, clique
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
    shares: NDArray[np.float64], axis: int, axes: int
) -> NDArray[np.float64]:
    """Shares by kind and code, laid along one of so many axes."""
    return shares.reshape(
        len(KIND_SHARES), *[-1 if other == axis else 1 for other in range(axes)]
    )


def _marginal_along(
    joint: NDArray[np.float64], part: Clique, clique: Clique
) -> NDArray[np.float64]:
    """What a table of linked columns says of those in a clique, laid along the clique's
    axes.
    """
    kept = [name for name in clique if name in part]
    table: NDArray[np.float64] = joint.sum(
        axis=tuple(1 + axis for axis, name in enumerate(part) if name not in kept)
    )
    left = [name for name in part if name in kept]
    table = table.transpose([0, *(1 + left.index(name) for name in kept)])
    lengths = iter(table.shape[1:])
    return table.reshape(
        len(KIND_SHARES), *[next(lengths) if name in part else 1 for name in clique]
    )


def _kind_contrast(place: int, size: int) -> float:
    """How much the kinds differ in a column: those of many codes, such as an age or a
    trade, tell more of a person.
    """
    return KIND_CONTRASTS[place % len(KIND_CONTRASTS)] * (
        0.5 + math.log2(max(size, 1)) / 4
    )
