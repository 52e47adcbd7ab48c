"""Two mechanisms on mbi: a tree of pairs after MST, and rounds of choosing and
measuring after AIM.

McKenna, Miklau, Sheldon, "Winning the NIST contest", 2021. McKenna, Mullins, Sheldon,
Miklau, "AIM", 2022. Both are written here from the papers on what mbi offers
(measurements, mirror descent, sampling), with zero-concentrated accounting, and without
the merging of rare codes. The workload of `aim` is all pairs, its largest model 10 MB.
Noise is numpy's: nothing secret is behind it.
"""

from __future__ import annotations

import math
import warnings
from itertools import combinations

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_enable_compilation_cache", False)
warnings.simplefilter("ignore")

import mbi  # noqa: E402
import numpy as np  # noqa: E402
from job import Task, main  # noqa: E402
from mbi.junction_tree import hypothetical_model_size  # noqa: E402

Clique = tuple[str, ...]
STEPS = 1000
"""Of mirror descent at the end; fewer are enough between the rounds of `aim`."""

MEGABYTES = 10.0


class Rows:
    """The rows behind both mechanisms: noisy marginals, and choices by the exponential
    mechanism.
    """

    def __init__(self, task: Task) -> None:
        self.domain = mbi.Domain(tuple(task.sizes), tuple(task.sizes.values()))
        self._codes, self._sizes, self._draw = (
            task.codes,
            task.sizes,
            np.random.default_rng(),
        )
        self._counts: dict[Clique, np.ndarray] = {}
        self.looks: list[mbi.LinearMeasurement] = []

    def counts(self, clique: Clique) -> np.ndarray:
        """A marginal, flat, without noise."""
        if clique not in self._counts:
            shape = [self._sizes[n] for n in clique]
            cell = np.ravel_multi_index([self._codes[n] for n in clique], shape)
            self._counts[clique] = np.bincount(cell, minlength=math.prod(shape)).astype(
                float
            )
        return self._counts[clique]

    def measure(self, clique: Clique, rho: float) -> float:
        """Keep a noisy marginal for ρ; how large the noise is."""
        sigma = math.sqrt(1 / (2 * rho))
        exact = self.counts(clique)
        self.looks.append(
            mbi.LinearMeasurement(
                exact + self._draw.normal(0, sigma, exact.size), clique, sigma
            )
        )
        return sigma

    def choose(
        self, scores: dict[Clique, float], rho: float, moved: float = 1.0
    ) -> Clique:
        """One clique, likelier the larger its score; a row moves a score by at most
        `moved`.
        """
        cliques, epsilon = list(scores), math.sqrt(8 * rho)
        weight = epsilon / (2 * moved) * np.array([scores[c] for c in cliques])
        return cliques[int(np.argmax(weight + self._draw.gumbel(size=weight.size)))]

    def fit(
        self, steps: int, before: mbi.MarkovRandomField | None = None
    ) -> mbi.MarkovRandomField:
        """The model of what was measured."""
        return mbi.estimation.MirrorDescent().estimate(
            self.domain, self.looks, iters=steps, warm_start=before
        )


def marginals(
    model: mbi.MarkovRandomField, cliques: list[Clique]
) -> dict[Clique, np.ndarray]:
    """What a model expects of each clique, flat."""
    held = {c for c in cliques if model.marginals.supports(c)}
    rest = [c for c in cliques if c not in held]
    other = (
        mbi.marginal_oracles.bulk_variable_elimination(
            model.potentials, rest, float(model.total)
        )
        if rest
        else None
    )
    return {
        c: np.asarray((model if c in held else other).project(c).datavector())
        for c in cliques
    }


def sampled(model: mbi.MarkovRandomField) -> dict[str, np.ndarray]:
    """As many rows as the model's total says."""
    return {
        name: np.asarray(column)
        for name, column in model.synthetic_data().to_dict().items()
    }


def mst(task: Task) -> dict[str, np.ndarray]:
    """A third of the budget for columns, one for a spanning tree of the pairs furthest
    from independence, one for its pairs.
    """
    rows, names, third = Rows(task), list(task.sizes), task.rho / 3
    for name in names:
        rows.measure((name,), third / len(names))
    model = rows.fit(STEPS)
    pairs = list(combinations(names, 2))
    alone = {name: np.asarray(model.project(name).datavector()) for name in names}
    expected = {
        (a, b): np.outer(alone[a], alone[b]).ravel() / float(model.total)
        for a, b in pairs
    }
    scores = {
        pair: float(np.abs(rows.counts(pair) - expected[pair]).sum()) for pair in pairs
    }
    part = {
        name: name for name in names
    }  # the tree a column is in, by one of its columns
    tree: list[Clique] = []
    while len(tree) < len(names) - 1:
        apart = {pair: scores[pair] for pair in pairs if part[pair[0]] != part[pair[1]]}
        chosen = rows.choose(apart, third / (len(names) - 1))
        tree.append(chosen)
        old, new = part[chosen[0]], part[chosen[1]]
        part = {name: new if home == old else home for name, home in part.items()}
    for pair in tree:
        rows.measure(pair, third / len(tree))
    return sampled(rows.fit(STEPS))


def aim(task: Task) -> dict[str, np.ndarray]:
    """Rounds: the pair or column furthest from the model beyond what noise explains is
    measured, more exactly once that gains nothing.
    """
    rows, names, rho = Rows(task), list(task.sizes), task.rho
    pairs = list(combinations(names, 2))
    cliques: list[Clique] = [*((name,) for name in names), *pairs]
    # How much of the workload a clique serves: columns it shares with each pair.
    weights = {
        c: float(sum(len(set(c) & set(pair)) for pair in pairs)) for c in cliques
    }
    each = rho / (16 * len(names))
    spent = 0.0
    for name in names:
        rows.measure((name,), 0.9 * each)
        spent += 0.9 * each
    model = rows.fit(100)
    measured: list[Clique] = [(name,) for name in names]
    while spent < rho:
        if rho - spent < 2 * each:
            each = rho - spent
        room = MEGABYTES * (spent + each) / rho
        fitting = [
            c
            for c in cliques
            if len(c) == 1
            or c in measured
            or hypothetical_model_size(rows.domain, [*measured, c]) <= room
        ]
        before = marginals(model, fitting)
        bias = math.sqrt(2 / math.pi) * math.sqrt(1 / (2 * 0.9 * each))
        scores = {
            c: weights[c]
            * (float(np.abs(rows.counts(c) - before[c]).sum()) - bias * before[c].size)
            for c in fitting
        }
        chosen = rows.choose(scores, 0.1 * each, max(weights[c] for c in fitting))
        sigma = rows.measure(chosen, 0.9 * each)
        spent += each
        measured = list(dict.fromkeys([*measured, chosen]))
        model = rows.fit(100, model)
        after = marginals(model, [chosen])[chosen]
        if (
            np.abs(after - before[chosen]).sum()
            <= sigma * math.sqrt(2 / math.pi) * after.size
        ):
            each *= 4  # half the noise, twice the exactness of choice
    return sampled(rows.fit(STEPS, model))


if __name__ == "__main__":
    main({"mst": mst, "aim": aim})
