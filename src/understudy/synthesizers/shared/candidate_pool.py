"""Candidate marginals of an adaptive run: the downward closure of the workload, what is
held already, and which of the rest one junction tree can still afford.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from understudy.measurements import Clique
from understudy.models.inference.growth_bounds import bound_pair_growth
from understudy.models.inference.junction_tree import JunctionTree, forecast_cells
from understudy.models.tree import TreeModel
from understudy.schema import Schema
from understudy.synthesizers.base import Workload

MAX_ROUND_FORECASTS = 100
"""Marginals whose tree is forecast between two fits, where a bound on its size is too
large to tell.
"""


@dataclass(frozen=True, eq=False)
class CandidatePool:
    """Every marginal that may be measured and its weight, and what is held already.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(columns=tuple(Boolean(name=name) for name in "abc"))
    >>> workload = Workload((("a", "b"), ("b", "c")), (1.0, 2.0))
    >>> CandidatePool.of(schema, workload, largest=100).weights["b", "c"]
    5.0
    """

    columns: Mapping[str, int]
    weights: Mapping[Clique, float]
    held: list[Clique] = field(default_factory=list)

    @classmethod
    def of(cls, schema: Schema, workload: Workload, largest: int) -> CandidatePool:
        """The downward closure of a workload. Σ_s c_s·|r ∩ s| is a sum over the columns
        of r, so columns have weights too.

        A column with a single code adds nothing to any marginal and is left out.
        """
        columns = {name: size for name, size in schema.column_sizes.items() if size > 1}
        column = dict.fromkeys(columns, 0.0)
        cliques: set[Clique] = set()
        for asked, weight in zip(workload.cliques, workload.weights, strict=True):
            ordered = [name for name in columns if name in asked]
            for name in ordered:
                column[name] += weight
            for order in range(1, len(ordered) + 1):
                cliques.update(combinations(ordered, order))
        weights: dict[Clique, float] = {}
        for clique in sorted(cliques):
            weight = sum(map(column.__getitem__, clique))
            cells = math.prod(map(columns.__getitem__, clique))
            # One-way marginals are always candidates, however large.
            if weight > 0 and (len(clique) == 1 or cells <= largest):
                weights[clique] = weight
        return cls(columns, weights)

    def size(self, clique: Clique) -> int:
        """Cells of a marginal."""
        return math.prod(self.columns[name] for name in clique)

    def affordable_cliques(
        self, cliques: Iterable[Clique], room: float, tries: int = MAX_ROUND_FORECASTS
    ) -> list[Clique]:
        """Those that the model can hold one of besides what it holds already, within
        this many cells.

        A bound decides for most. Those beyond it are forecast, the nearest first, and
        not more than `tries`.
        """
        tree = JunctionTree.of(
            [*((name,) for name in self.columns), *self.held], self.columns
        )
        widths = bound_pair_growth(tree)
        asked = list(cliques)
        fits, doubtful = set(), []
        for clique in asked:
            # What a node holds costs nothing; for three columns and more that none
            # holds, there is no bound.
            if tree.home(clique) is not None:
                wider = 0.0
            else:
                wider = widths.get(frozenset(clique), math.inf)
            if wider == 0 or tree.cells + wider <= room:
                fits.add(clique)
            else:
                doubtful.append((wider, self.size(clique), clique))
        for *_, clique in sorted(doubtful)[:tries]:
            if forecast_cells([*self.held, clique], self.columns) <= room:
                fits.add(clique)
        return [clique for clique in asked if clique in fits]

    def candidates(
        self, model: TreeModel, *, room: float, noise: float, most: int
    ) -> list[Clique]:
        """Marginals worth asking about: those the tree holds, and pairs for which it
        has room.

        One whose noise exceeds the largest distance there can be has nothing to gain.
        Where there are more than `most`, every few are left out, others in each round.
        """
        inside = self._list_node_subsets(model.beliefs.tree)
        gaining = [
            r
            for r in self.weights
            if len(r) == 1 or noise * self.size(r) < 2 * model.total
        ]
        near = {r for r in gaining if len(r) == 1 or r in inside}
        near.update(
            self.affordable_cliques(
                (r for r in gaining if len(r) == 2 and r not in near), room
            )
        )
        return self._take_turns([r for r in gaining if r in near], most)

    def _list_node_subsets(self, tree: JunctionTree) -> set[Clique]:
        """Sets of two columns and more that a node holds, in the table's order."""
        longest = max(map(len, self.weights))
        found: set[Clique] = set()
        for node in tree.nodes:
            # The tree also holds columns of a single code, which no marginal needs.
            ordered = [name for name in self.columns if name in node]
            for order in range(2, min(longest, len(node)) + 1):
                found.update(combinations(ordered, order))
        return found

    def _take_turns(self, cliques: list[Clique], most: int) -> list[Clique]:
        """Every `step`-th, from another start each round, so that all get their turn."""
        step = -(-len(cliques) // most)
        return cliques[len(self.held) % step :: step] if step > 1 else cliques
