"""Calibration: from log-potentials of cliques to the marginals of all of them, exactly,
in one pass over a junction tree.

The distribution is P(row) = exp(Σ θ_c(row_c)) / Z. `Calibration` looks at the cliques
once; every `run` after that is arithmetic on arrays.

Messages go up to the root and down again (Lauritzen, Spiegelhalter 1988). Each is a sum
of products over one node, done on small tables (contraction.py): exponentials are taken
of the cliques' own cells alone, and a node is never laid out. Numbers are shares, not
logarithms: every factor is divided by its largest cell, so a node's sum is at most its
number of cells. Where such a sum falls below MIN_TRUSTED_SUM, cells that matter may
have been lost on the way, and the pass is done again in logarithms
(log_calibration.py).

Written by hand rather than taken from mbi: a fit runs thousands of passes over small
tables, for which compiling with JAX or laying out a node costs more than the sums, and
the fit needs log Z and marginals of one pass for its duality gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.inference.junction_tree import JunctionTree
from understudy.models.inference.log_calibration import log_beliefs, log_marginals
from understudy.models.inference.node_plan import NodePlan

# Potentials of at most so many cells are exponentiated together.
MAX_BATCHED_EXP_CELLS = 4096

# Cells of a longer one that are exponentiated at a time: what the fastest memory
# holds.
EXP_BLOCK_CELLS = 1 << 14

# The smallest float that is divided by.
MIN_MESSAGE_DIVISOR = float(np.finfo(np.float64).tiny)

# The smallest sum of a node that is trusted: what underflows is then less than 1e-150
# of it.
MIN_TRUSTED_SUM = 1e-150


class _UnderflowError(Exception):
    """A node's sum that floats cannot be trusted with."""


class Calibration:
    """A pass over a junction tree, made ready for these cliques.

    >>> sizes = {"a": 2, "b": 2}
    >>> cliques = [("a",), ("a", "b")]
    >>> ready = Calibration(JunctionTree.of(cliques, sizes), cliques, sizes)
    >>> marginals, log_z = ready.run({("a",): np.log(np.array([1.0, 3.0]))})
    >>> marginals["a",].round(9).tolist(), round(float(np.exp(log_z)), 9)
    ([0.25, 0.75], 8.0)
    """

    def __init__(
        self, tree: JunctionTree, cliques: Iterable[Clique], sizes: Mapping[str, int]
    ) -> None:
        self.tree = tree
        self.cliques = tuple(dict.fromkeys(cliques))
        self.sizes = {name: sizes[name] for name in tree.sizes}
        self.homes: dict[Clique, int] = {}
        residents: list[list[Clique]] = [[] for _ in tree.nodes]
        for clique in self.cliques:
            home = tree.home(clique)
            if home is None and clique:
                raise ValueError(
                    f"{', '.join(clique)}: no node of the tree holds this clique"
                )
            self.homes[clique] = 0 if home is None else home
            if home is not None:
                residents[home].append(clique)
        self._nodes = [
            NodePlan(tree, node, residents[node]) for node in range(len(tree.nodes))
        ]
        self.orders: dict[Clique, list[int] | None] = {}
        for plan in self._nodes:
            self.orders |= plan.orders
        self.shapes = {
            clique: tuple(map(sizes.__getitem__, clique)) for clique in self.cliques
        }

    def run(
        self, potentials: Mapping[Clique, Array]
    ) -> tuple[dict[Clique, Array], float]:
        """The marginal of every clique, each summing to one, and log Z. A clique
        without a potential has none; -inf says impossible.
        """
        placed = self._assign_homes(potentials)
        if self.tree.nodes:
            try:
                return _MessagePass(self, placed).pass_down()
            except _UnderflowError:
                pass
        found, log_z = log_marginals(self.tree, self.homes, placed)
        _refuse_impossible(log_z)
        return found, log_z

    def beliefs(self, potentials: Mapping[Clique, Array]) -> list[Array]:
        """The marginal of every node of the tree, each summing to one."""
        placed = self._assign_homes(potentials)
        if not self.tree.nodes:
            return []
        try:
            work = _MessagePass(self, placed)
            work.pass_down()
            return work.node_joints()
        except _UnderflowError:
            found = []
            for log in log_beliefs(self.tree, placed):
                top = float(log.max(initial=-np.inf))
                _refuse_impossible(top)
                share = np.exp(log - top)
                found.append(np.asarray(share / share.sum(), np.float64))
            return found

    def _assign_homes(
        self, potentials: Mapping[Clique, Array]
    ) -> list[tuple[int, Clique, Array]]:
        placed = []
        for clique, values in potentials.items():
            if clique not in self.homes:
                raise ValueError(
                    f"{', '.join(clique)}: this clique was not named when the"
                    " calibration was made ready"
                )
            values = np.asarray(values, np.float64)
            if values.shape != self.shapes[clique]:
                raise ValueError(
                    f"{', '.join(clique)}: its potential has another shape than its"
                    " columns"
                )
            placed.append((self.homes[clique], clique, values))
        return placed


class _MessagePass:
    """One pass: up on creation, then down."""

    def __init__(
        self, ready: Calibration, placed: list[tuple[int, Clique, Array]]
    ) -> None:
        self.ready = ready
        self.tree = ready.tree
        self.log_scale = 0.0
        weights = self._weights(placed)
        count = len(self.tree.nodes)
        self.tables: list[list[Array | None]] = [[] for _ in range(count)]
        self.seen: list[Array | None] = [
            None
        ] * count  # the sums behind each message up
        self.up: list[Array | None] = [None] * count
        self.tops = [1.0] * count  # what each message up was divided by
        for node in reversed(self.tree.order):
            parts = ready._nodes[node]
            factors = [weights.get(clique) for clique in parts.cliques]
            factors += [self.up[child] for child in parts.children]
            if parts.above:
                factors.append(None)
            tables = self.tables[node] = parts.plan.tables(factors, parts.spare)
            sums = self.seen[node] = parts.plan.marginal_table(tables, parts.top)
            if parts.above:
                (message,) = parts.plan.sums[parts.top](sums, parts.upward)
                top = _largest_cell(message)
                self.log_scale += math.log(top)
                self.tops[node] = top
                self.up[node] = message * (1 / top)

    def _weights(self, placed: list[tuple[int, Clique, Array]]) -> dict[Clique, Array]:
        """Exponentials of all potentials, each with its largest cell at one and its
        axes in the order of its node.
        """
        weights = {}
        orders = self.ready.orders
        small = []
        for _, clique, values in placed:
            order = orders[clique]
            laid = values if order is None else values.transpose(order)
            if values.size <= MAX_BATCHED_EXP_CELLS:
                small.append((clique, laid))
                continue
            top = float(values.max())
            self._account_for_top(clique, top)
            weights[clique] = _exp_below_top(laid, top)
        if small:
            # Many short arrays laid end to end: one call of each kind serves them all.
            flat = np.concatenate([laid.ravel() for _, laid in small])
            lengths = np.array([laid.size for _, laid in small])
            ends = np.cumsum(lengths)
            highest = np.maximum.reduceat(flat, ends - lengths)
            tops = highest.tolist()
            self.log_scale += sum(tops)
            if not math.isfinite(
                self.log_scale
            ):  # only then it matters which one it was
                for (clique, _), top in zip(small, tops, strict=True):
                    self._account_for_top(clique, top)
            flat -= np.repeat(highest, lengths)
            np.exp(flat, out=flat)
            start = 0
            for (clique, laid), end in zip(small, ends.tolist(), strict=True):
                weights[clique] = flat[start:end].reshape(laid.shape)
                start = end
        return weights

    def _account_for_top(self, clique: Clique, top: float) -> None:
        """Account for a potential's largest cell, which its exponentials are divided
        by.
        """
        if not top < np.inf:
            raise ValueError(
                f"{', '.join(clique)}: its potential holds something that is no number"
            )
        _refuse_impossible(top)
        self.log_scale += top

    def pass_down(self) -> tuple[dict[Clique, Array], float]:
        """From the root outwards: every clique's marginal, and log Z."""
        found: dict[Clique, Array] = {
            clique: np.ones(()) for clique in self.ready.cliques if not clique
        }
        mass = self._normalise_root()
        for node in self.tree.order:
            parts = self.ready._nodes[node]
            plan, tables = parts.plan, self.tables[node]
            for table, wanted, ranks in parts.wanted:
                sums = (
                    self.seen[node]
                    if table == parts.top
                    else plan.marginal_table(tables, table)
                )
                assert sums is not None
                for s, values in zip(
                    wanted, plan.sums[table](sums, ranks), strict=True
                ):
                    if s >= parts.own:
                        self._send_message(parts.children[s - parts.own], values)
                        continue
                    found[parts.cliques[s]] = _take_marginal(parts, s, values)
        return found, math.log(mass) + self.log_scale

    def _normalise_root(self) -> float:
        """Make the root sum to one, after which every message down makes its node sum
        to one; what it summed to before.
        """
        root = self.tree.root
        tables, seen = self.tables[root], self.seen[root]
        assert seen is not None
        mass = float(seen.sum())
        if not mass >= MIN_TRUSTED_SUM:
            raise _UnderflowError
        there = [table for table in tables if table is not None]
        if there:
            # One of the factors is enough. The sums that are known already have to
            # follow, where they are not that factor itself.
            least = min(there, key=lambda table: table.size)
            least *= 1 / mass
            if seen is not least:
                self.seen[root] = seen * (1 / mass)
        else:
            tables[0] = np.full(self.ready._nodes[root].plan.shapes[0], 1 / mass)
            self.seen[root] = seen * (1 / mass)
        return mass

    def node_joints(self) -> list[Array]:
        """After going down: every node laid out."""
        found = []
        for parts, tables in zip(self.ready._nodes, self.tables, strict=True):
            joint = parts.plan.joint(tables)
            mass = float(joint.sum())
            if not mass >= MIN_TRUSTED_SUM:
                raise _UnderflowError
            joint /= mass
            found.append(joint)
        return found

    def _send_message(self, child: int, belief: Array) -> None:
        """Tell a child what everybody else knows of the columns it shares: the belief
        without what the child itself said.
        """
        said = self.up[child]
        assert said is not None
        # Where the child said nothing, or next to nothing, the belief is nothing too.
        message = belief / np.maximum(said, MIN_MESSAGE_DIVISOR)
        message *= 1 / self.tops[child]
        if not message.item(message.argmax()) <= 1 / MIN_TRUSTED_SUM:
            raise _UnderflowError
        parts = self.ready._nodes[child]
        tables, seen = self.tables[child], self.seen[child]
        assert seen is not None
        same = seen is tables[parts.top]
        tables[parts.top] = parts.plan.multiply_into(
            tables[parts.top], parts.parent, message
        )
        self.seen[child] = (
            tables[parts.top]
            if same
            else parts.plan.multiply_into(seen, parts.parent, message)
        )


def _exp_below_top(values: Array, top: float) -> Array:
    """exp(values - top), some cells at a time, so that the difference is still at hand
    when its exponential is taken.
    """
    share = np.empty(values.shape)
    if not values.flags.c_contiguous:
        return np.exp(np.subtract(values, top, out=share), out=share)
    given, made = values.reshape(-1), share.reshape(-1)
    for start in range(0, given.size, EXP_BLOCK_CELLS):
        part = made[start : start + EXP_BLOCK_CELLS]
        np.exp(
            np.subtract(given[start : start + EXP_BLOCK_CELLS], top, out=part), out=part
        )
    return share


def _largest_cell(values: Array) -> float:
    """The largest cell of a message, which must be one to trust."""
    top: float = values.item(values.argmax())
    if not top >= MIN_TRUSTED_SUM:
        raise _UnderflowError
    return top


def _refuse_impossible(log_z: float) -> None:
    if not math.isfinite(log_z):
        raise Refused(
            "What is declared impossible leaves no row possible. Loosen it in the"
            " schema"
        )


def _take_marginal(parts: NodePlan, scope: int, values: Array) -> Array:
    """A marginal that is the caller's to keep, axes in the order of its clique."""
    # A view would hold on to, and change with, the table of the node.
    is_own = parts.alone[scope] and values.flags.writeable
    kept = values if is_own else values.copy()
    back = parts.backs[scope]
    return kept if back is None else kept.transpose(back)
