"""What sizes decide, and sizes are public: how a budget is split over marginals, and
which of them a model can hold.

A marginal of n cells with weight w and noise of scale s is off by w·n·s·constant in the
mean. The budget is Σ 1/s for Laplace noise and Σ 1/s² for Gaussian noise, so the sum of
errors is smallest when a marginal gets a part ∝ (w·n)^(1/2) or (w·n)^(2/3).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from understudy.accounting.cost import Accounting
from understudy.measurements import Clique, Measurements
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.inference.junction_tree import JunctionTree
from understudy.models.rules.structural_zeros import impossible_masks
from understudy.notices import Notice, NoticeKind
from understudy.schema import Schema
from understudy.synthesizers.base import CuratorProtocol

DEFAULT_TREE_CELLS = 1_000_000
"""Cells of all nodes of a junction tree together, where nobody says otherwise: 8 MB an
array, some milliseconds a pass.
"""

REQUEUE_COST_FACTOR = 4
"""A clique waits when it costs this many times what it was taken for. Exactly the
cheapest every time would cost a forecast for each.
"""

MAX_TREE_FORECASTS = 1000
"""Cliques whose size is forecast; after that many, what the tree does not hold yet is
left out. With 60 columns it is some seconds.
"""


def size_weights(
    sizes: Sequence[int],
    accounting: Accounting,
    weights: Sequence[float] | None = None,
    *,
    equal: bool = False,
) -> list[float]:
    """The parts of a budget for marginals of these sizes that make the sum of their
    mean L1 errors smallest.

    Rounded to powers of √2: that costs a fraction of a percent, and marginals of like
    size then share one scale and its table of noise.

    >>> size_weights([8, 64], Accounting.GDP)
    [1.0, 4.0]
    >>> size_weights([4, 64], Accounting.PURE)
    [1.0, 4.0]
    """
    if equal:
        return [1.0] * len(sizes)
    # Lagrange: Σ w·n·scale(b) is smallest at b ∝ (w·n)^power, with a scale ∝ 1/b for
    # Laplace noise and ∝ 1/√b for Gaussian noise.
    power = 1 / 2 if accounting is Accounting.PURE else 2 / 3
    parts = [
        (n * w) ** power
        for n, w in zip(sizes, weights or [1.0] * len(sizes), strict=True)
    ]
    return round_to_sqrt2(parts)


def round_to_sqrt2(parts: Sequence[float]) -> list[float]:
    """Parts as multiples of the smallest, rounded to powers of √2.

    >>> round_to_sqrt2([0.5, 0.7, 4.1])
    [1.0, 1.4142135623730951, 8.0]
    """
    least = min(parts, default=1.0)
    return [2.0 ** (round(2 * math.log2(part / least)) / 2) for part in parts]


def cell_count(schema: Schema, clique: Clique) -> int:
    """Cells of a clique's marginal."""
    return math.prod(schema.sizes(clique))


def varying_columns(schema: Schema) -> list[str]:
    """Columns that have more than one code; all columns where none has."""
    return [name for name, size in schema.column_sizes.items() if size > 1] or list(
        schema
    )


def uncounted_columns(curator: CuratorProtocol, names: Iterable[str]) -> list[Clique]:
    """Columns, each a clique, that discovery has not counted yet."""
    counted = {m.clique for m in curator.discovered_measurements if m.plain}
    return [(name,) for name in names if (name,) not in counted]


def split_by_cells(
    schema: Schema, cliques: Iterable[Clique], limit: int
) -> tuple[list[Clique], list[Clique]]:
    """The cliques of at most so many cells, and the others.

    >>> from understudy.schema import Integer
    >>> schema = Schema(columns=tuple(Integer(name=n, min=0, max=9, nullable=False) for n in "ab"))
    >>> split_by_cells(schema, [("a",), ("a", "b")], 50)
    ([('a',)], [('a', 'b')])
    """
    listed = list(cliques)
    fits = [cell_count(schema, clique) <= limit for clique in listed]
    return [c for c, fit in zip(listed, fits, strict=True) if fit], [
        c for c, fit in zip(listed, fits, strict=True) if not fit
    ]


class TreeGrowth:
    """A junction tree that grows clique by clique, and what one more clique would cost.

    Columns that nothing ties together lie in different parts of it, so a clique
    concerns only the parts it touches: with one column in each, it hangs between them
    and costs its own cells; otherwise those parts are forecast with it.

    >>> growth = TreeGrowth({"a": 2, "b": 3, "c": 4}, [("a", "b"), ("b", "c")])
    >>> growth.cells, growth.cost(("a", "c")), growth.holds(("c", "b"))
    (18, 6, True)
    """

    def __init__(
        self, sizes: Mapping[str, int], cliques: Iterable[Clique] = ()
    ) -> None:
        self.sizes = sizes
        self.cells = sum(sizes.values())
        self._parts: dict[str, list[Clique]] = {name: [(name,)] for name in sizes}
        # The last forecast and its nodes: often it is what is added next.
        self._forecast: tuple[Clique, list[Clique]] = (), []
        for clique in cliques:
            self.add(clique)

    def holds(self, clique: Clique) -> bool:
        """Whether a node holds the clique already."""
        return not clique or any(
            set(clique) <= set(node) for node in self._parts[clique[0]]
        )

    def cost(self, clique: Clique) -> int:
        """Cells more with this clique."""
        if self.holds(clique):
            return 0
        touched = self._touched_parts(clique)
        # One column in each part: the clique hangs between them, and the nodes of
        # lone columns are absorbed by it.
        if len(touched) == len(clique):
            return self._size(clique) - sum(
                self.sizes[part[0][0]] for part in touched if len(part[0]) == 1
            )
        nodes = [node for part in touched for node in part]
        grown = self._triangulate(nodes, clique)
        return sum(map(self._size, grown)) - sum(map(self._size, nodes))

    def add(self, clique: Clique) -> None:
        """Let the tree hold this clique too."""
        if self.holds(clique):
            return
        touched = self._touched_parts(clique)
        nodes = [node for part in touched for node in part]
        if len(touched) == len(clique):
            # It hangs between the parts, so no triangulation is needed.
            part = [*(node for node in nodes if len(node) > 1), clique]
        else:
            part = self._triangulate(nodes, clique)
        self._forecast = (), []
        self.cells += sum(map(self._size, part)) - sum(map(self._size, nodes))
        for name in {name for node in part for name in node}:
            self._parts[name] = part

    def _triangulate(self, nodes: Sequence[Clique], clique: Clique) -> list[Clique]:
        """The nodes of these parts once they hold this clique too."""
        if self._forecast[0] != clique:
            tree = JunctionTree.of([*nodes, clique], self.sizes)
            self._forecast = clique, list(tree.nodes)
        return self._forecast[1]

    def _touched_parts(self, clique: Clique) -> list[list[Clique]]:
        return list(
            {id(self._parts[name]): self._parts[name] for name in clique}.values()
        )

    def _size(self, clique: Clique) -> int:
        return math.prod(self.sizes[name] for name in clique)


def holdable_cliques(
    schema: Schema, wanted: Mapping[Clique, float], limit: int
) -> tuple[list[Clique], list[Clique]]:
    """The cliques that fit into one junction tree of at most `limit` cells, and those
    left out.

    Greedy: always the clique with the fewest new cells for its weight. One that fits
    nowhere any more is left out. What the schema ties together is in the tree from the
    start.

    >>> from understudy.schema import Integer
    >>> schema = Schema(columns=tuple(Integer(name=n, min=0, max=9, nullable=False) for n in "abc"))
    >>> holdable_cliques(schema, {("a", "b"): 1.0, ("a", "c"): 1.0, ("b", "c"): 1.0}, limit=500)
    ([('a', 'b'), ('a', 'c')], [('b', 'c')])
    """
    growth = TreeGrowth(schema.column_sizes, impossible_masks(schema))
    order = list(wanted)
    heap = [(cell_count(schema, c) / wanted[c], i) for i, c in enumerate(order)]
    heapq.heapify(heap)
    kept: set[Clique] = set()
    tries = MAX_TREE_FORECASTS
    while heap:
        guess, i = heapq.heappop(heap)
        clique = order[i]
        if growth.holds(clique):
            kept.add(clique)
            continue
        # Forecasts cost time, not budget; what the tree holds anyway is still taken.
        if not tries:
            continue
        tries -= 1
        new = growth.cost(clique)
        # A tree only grows: what does not fit now never will.
        if growth.cells + new > limit:
            continue
        cost = new / wanted[clique]
        # What it costs rises while the tree grows: one that costs much more by now
        # waits for the others.
        if heap and cost > REQUEUE_COST_FACTOR * max(guess, heap[0][0]):
            heapq.heappush(heap, (cost, i))
            continue
        growth.add(clique)
        kept.add(clique)
    return [c for c in order if c in kept], [c for c in order if c not in kept]


def scale_at(
    accounting: Accounting, measured: Measurements, share: Fraction, paid: Fraction
) -> float:
    """The scale of plain noise for `share` of the budget, from marginals `measured` for
    `paid` of it.

    A scale is ∝ 1/amount in a pure run and ∝ 1/√amount in a Gaussian one.
    """
    one = next((m for m in measured if m.scale), None)
    if one is None:
        return 0.0
    amount = float(sum(m.cost.amount for m in measured)) * float(share / paid)
    part = float(one.cost.amount) / amount
    return float(one.scale) * (
        part if accounting is Accounting.PURE else math.sqrt(part)
    )


def mean_noise(accounting: Accounting, scale: float) -> float:
    """E|noise| on one cell."""
    return scale if accounting is Accounting.PURE else scale * MEAN_ABS_NORMAL


def too_large_notice(
    limit: int, cliques: Sequence[Clique], *, besides: str = ""
) -> Notice:
    """Which columns are not modelled together, because their marginals are too large;
    `besides` ends the sentence.

    >>> str(too_large_notice(1_000_000, [("town", "job")]))
    'Not modelled together, for size (more than 1,000,000 cells): town × job.'
    """
    text = (
        f"Not modelled together, for size (more than {limit:,} cells):"
        f" {spell_cliques(cliques)}{besides}."
    )
    columns = tuple(dict.fromkeys(name for clique in cliques for name in clique))
    return Notice(NoticeKind.TOO_LARGE, text, columns)


def spell_cliques(cliques: Sequence[Clique], most: int = 5) -> str:
    """Cliques in words, the first few by name.

    >>> spell_cliques([("age", "sex"), ("age", "income")], most=1)
    'age × sex and 1 more'
    """
    named = ", ".join(" × ".join(clique) for clique in cliques[:most])
    return named if len(cliques) <= most else f"{named} and {len(cliques) - most} more"
