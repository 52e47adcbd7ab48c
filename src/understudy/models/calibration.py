"""Calibration: from log-potentials of cliques to the marginals of all of them, exactly, in one pass over a junction tree.

The distribution is P(row) = exp(Σ θ_c(row_c)) / Z. `Calibration` looks at the cliques once; every `run` after that is arithmetic on arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.models.junction_tree import JunctionTree
from understudy.models.logspace import log_beliefs, log_marginals

Array = NDArray[np.float64]


class Calibration:
    """A pass over a junction tree, made ready for these cliques.

    >>> sizes = {"a": 2, "b": 2}
    >>> cliques = [("a",), ("a", "b")]
    >>> ready = Calibration(JunctionTree.of(cliques, sizes), cliques, sizes)
    >>> marginals, log_z = ready.run({("a",): np.log(np.array([1.0, 3.0]))})
    >>> marginals["a",].round(9).tolist(), round(float(np.exp(log_z)), 9)
    ([0.25, 0.75], 8.0)
    """

    def __init__(self, tree: JunctionTree, cliques: Iterable[Clique], sizes: Mapping[str, int]) -> None:
        self.tree = tree
        self.cliques = tuple(dict.fromkeys(cliques))
        self.sizes = {name: sizes[name] for name in tree.sizes}
        self.homes: dict[Clique, int] = {}
        for clique in self.cliques:
            home = tree.home(clique)
            if home is None and clique:
                raise ValueError(f"{', '.join(clique)}: no node of the tree holds this clique")
            self.homes[clique] = 0 if home is None else home

    def run(self, potentials: Mapping[Clique, Array]) -> tuple[dict[Clique, Array], float]:
        """The marginal of every clique, each summing to one, and log Z. A clique without a potential has none; -inf says impossible."""
        found, log_z = log_marginals(self.tree, self.homes, self._placed(potentials))
        _possible(log_z)
        return found, log_z

    def beliefs(self, potentials: Mapping[Clique, Array]) -> list[Array]:
        """The marginal of every node of the tree, each summing to one."""
        logs = log_beliefs(self.tree, self._placed(potentials))
        found = []
        for log in logs:
            top = float(log.max(initial=-np.inf))
            _possible(top)
            share = np.exp(log - top)
            found.append(np.asarray(share / share.sum(), np.float64))
        return found

    def _placed(self, potentials: Mapping[Clique, Array]) -> list[tuple[int, Clique, Array]]:
        placed = []
        for clique, values in potentials.items():
            if clique not in self.homes:
                raise ValueError(f"{', '.join(clique)}: this clique was not named when the calibration was made ready")
            values = np.asarray(values, np.float64)
            if values.shape != tuple(self.sizes[name] for name in clique):
                raise ValueError(f"{', '.join(clique)}: its potential has another shape than its columns")
            placed.append((self.homes[clique], clique, values))
        return placed


def _possible(log_z: float) -> None:
    if not np.isfinite(log_z):
        raise Refused("What is declared impossible leaves no row possible. Loosen it in the schema")
