"""Statistics of a graph with exact noise: edges, degrees and triangles.

Why it is private. toolbox/graphs.py bounds how far each number moves when one edge, or one
node with all its edges, is added or removed. A unit of m rows adds or removes m edges,
and 2m where it is replaced; the number of edges moves by m then too, because as many are
added as removed at most. Edges and degrees get noise of the run's law for that, triangles
Cauchy noise by their smooth sensitivity (toolbox/smooth_sensitivity.py).

Node privacy of the bounded number of edges, and of bounded degrees: noise for 2D. One
edge moves the flow by at most 2, and degrees by 2 in all, so the same answer is private
for rows as well, and the charge, which the ledger has for rows, is no less than that.
Units by an id have none of it
(workflow/toolbox/graphs.py): bounding them drops rows, so that without a node's edges
others are kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from understudy.accounting.cost import Accounting, Cost, Sensitivity
from understudy.accounting.pricing import default_law, price, scale_for
from understudy.curator.context import Draw, TableProtocol
from understudy.curator.mechanisms.smooth_median import (
    buy_pure_epsilon,
    enclose_smooth_scale,
    price_pure_epsilon,
)
from understudy.noise import draw_noise
from understudy.noise.rounded_cauchy import draw_rounded_cauchy
from understudy.schema import Schema
from understudy.toolbox.graphs import SimpleGraph, bound_triangles
from understudy.toolbox.smooth_sensitivity import SmoothBound, bound_smoothly


class GraphStatistic(StrEnum):
    """What is counted."""

    EDGES = "edges"
    DEGREES = "degrees"
    TRIANGLES = "triangles"


@dataclass(frozen=True, kw_only=True)
class GraphColumns:
    """The two columns of an edge, with one code for each node."""

    names: tuple[str, str]
    schema: Schema
    nodes: int
    changes: int
    """Edges that differ between neighbours."""
    most_added: int
    """Edges that neighbours have more or fewer than one another."""
    described: str

    def read_graph(self, table: TableProtocol) -> SimpleGraph:
        """The exact graph. Rows without a node on one side are no edges."""
        codes, _ = table.with_schema(self.schema).sparse_counts(self.names)
        inside = (codes < self.nodes).all(axis=1)
        return SimpleGraph.of(codes[inside], self.nodes)


@dataclass(frozen=True, kw_only=True)
class NoisyGraphCounts:
    """Edges or sorted degrees with noise of the run's law."""

    columns: GraphColumns
    statistic: GraphStatistic
    amount: Fraction
    accounting: Accounting
    most_edges: int | None = None
    """D, for node privacy."""
    noise: Draw = draw_noise

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one neighbour moves what is counted."""
        if self.most_edges is not None:
            # Whichever is larger: that of a node, or that of the rows of a unit.
            most = Fraction(max(self.most_edges, self.columns.changes))
            is_one = self.statistic is GraphStatistic.EDGES
            return Sensitivity(2 * most, (4 if is_one else 2) * most**2)
        if self.statistic is GraphStatistic.EDGES:
            moved = Fraction(self.columns.most_added)
            return Sensitivity(moved, moved**2)
        # Each edge moves two degrees by 1; all edges of a unit may meet in one node.
        edges = self.columns.changes
        return Sensitivity(Fraction(2 * edges), Fraction(edges * edges + edges))

    @property
    def scale(self) -> Fraction:
        """The scale of the noise."""
        law = default_law(self.accounting)
        return scale_for(law, self.amount, self.sensitivity, self.accounting)

    @property
    def cost(self) -> Cost:
        """What it costs."""
        law = default_law(self.accounting)
        return price(law, self.scale, self.sensitivity, self.accounting)

    @property
    def noise_scales(self) -> Sequence[Fraction]:
        """That of every number."""
        return (self.scale,)

    def describe(self) -> dict[str, object]:
        """What the answer depends on but the rows and the noise."""
        return {
            "mechanism": f"graph {self.statistic}",
            "columns": [self.columns.names, self.columns.described],
            "most_edges": self.most_edges,
            "scale": str(self.scale),
        }

    def count(self, graph: SimpleGraph) -> list[int]:
        """The exact numbers."""
        if self.statistic is GraphStatistic.DEGREES:
            found = graph.degrees()
            if self.most_edges is not None:
                found = graph.bounded_degrees(self.most_edges)
            return [int(degree) for degree in found]
        if self.most_edges is not None:
            return [graph.bounded_flow(self.most_edges)]
        return [graph.size]

    def draw(self, table: TableProtocol) -> bytes:
        """Noisy numbers."""
        exact = self.count(self.columns.read_graph(table))
        law = default_law(self.accounting)
        noise = self.noise(law, self.scale, (len(exact),))
        return json.dumps(
            [x + int(z) for x, z in zip(exact, noise, strict=True)]
        ).encode()


@dataclass(frozen=True, kw_only=True)
class NoisyTriangles:
    """Triangles with noise by smooth sensitivity, for one edge."""

    columns: GraphColumns
    epsilon: Fraction
    accounting: Accounting

    @classmethod
    def of_amount(
        cls, columns: GraphColumns, amount: Fraction, accounting: Accounting
    ) -> NoisyTriangles:
        """For as much as an amount pays for."""
        # A unit of several edges costs as much as that many neighbours.
        epsilon = buy_pure_epsilon(amount, accounting) / columns.changes
        return cls(columns=columns, epsilon=epsilon, accounting=accounting)

    @property
    def cost(self) -> Cost:
        """That of all edges of a unit."""
        return price_pure_epsilon(self.epsilon * self.columns.changes, self.accounting)

    @property
    def noise_scales(self) -> Sequence[Fraction]:
        """None: its own noise has no widest scale."""
        return ()

    def describe(self) -> dict[str, object]:
        """What the answer depends on but the rows and the noise."""
        return {
            "mechanism": "graph triangles",
            "columns": [self.columns.names, self.columns.described],
            "epsilon": str(self.epsilon),
        }

    def bound(self, graph: SimpleGraph) -> SmoothBound:
        """S of a graph."""
        largest = max(graph.nodes - 2, 0)
        return bound_smoothly(
            bound_triangles(graph), beta=self.epsilon / 2, largest=largest
        )

    def draw(self, table: TableProtocol) -> bytes:
        """A noisy number, from 0 up to all triples."""
        graph = self.columns.read_graph(table)
        scale = enclose_smooth_scale(self.bound(graph), self.epsilon)
        noisy = draw_rounded_cauchy(graph.count_triangles(), scale)
        n = graph.nodes
        return json.dumps(min(max(noisy, 0), n * (n - 1) * (n - 2) // 6)).encode()
