"""The log-potentials of a tree model: with structural zeros, from marginals in closed
form, and as a file stores them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError
from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.inference.calibrated_tree import divide_or_zero, sum_to_clique
from understudy.models.inference.junction_tree import (
    NO_NODE,
    JunctionTree,
    forecast_cells,
)
from understudy.models.model import Arrays
from understudy.models.rules.structural_zeros import impossible_masks
from understudy.models.serialization import check_part_names
from understudy.schema import Schema

# Cells of the largest tree a model may have.
MAX_TREE_CELLS = 1 << 24

# Stands for minus infinity in a file, where every number is finite.
STORED_MINUS_INFINITY = float(np.finfo(np.float64).min)


def with_zeros(
    schema: Schema, potentials: Mapping[Clique, Array], limit: int = MAX_TREE_CELLS
) -> dict[Clique, Array]:
    """The same potentials with minus infinity in every structural zero, and those
    declared zeros besides that the tree has room for.

    >>> from understudy.schema import Boolean, parse_predicate
    >>> columns = (
    ...     Boolean(name="male", nullable=False),
    ...     Boolean(name="pregnant", nullable=False),
    ... )
    >>> schema = Schema(
    ...     columns=columns, impossible=(parse_predicate("male = true and pregnant = true"),)
    ... )
    >>> with_zeros(schema, {("male",): np.zeros(2)})["male", "pregnant"].tolist()
    [[0.0, 0.0], [0.0, -inf]]
    """
    sizes = schema.column_sizes
    made: dict[Clique, Array] = {}
    for clique, theta in potentials.items():
        zeros = schema.zeros(clique)
        values = np.asarray(theta, np.float64)
        made[clique] = values if zeros is None else np.where(zeros, -np.inf, values)
    masks = impossible_masks(schema)
    for clique in sorted(masks, key=lambda clique: masks[clique].size):
        if (
            not any(set(clique) <= set(other) for other in made)
            and forecast_cells([*made, clique], sizes) <= limit
        ):
            made[clique] = np.where(masks[clique], -np.inf, 0.0)
    return made


def marginals_to_potentials(
    schema: Schema, marginals: Mapping[Clique, Array]
) -> dict[Clique, Array]:
    """The potentials of the model that has these marginals: the logarithm of each,
    given what it shares with its parent in the tree.
    """
    tree = JunctionTree.of(marginals, schema.column_sizes)
    by_columns = {frozenset(clique): clique for clique in marginals}
    potentials = {}
    for node, names in enumerate(tree.nodes):
        clique = by_columns.get(frozenset(names))
        if clique is None:
            raise ValueError(
                f"{', '.join(names)}: these columns hang together, but no marginal"
                " holds them all"
            )
        separator = tree.separators[node] if tree.parents[node] != NO_NODE else ()
        share = _conditional_shares(schema, clique, marginals[clique], separator)
        # A cell without mass has a potential of minus infinity.
        with np.errstate(divide="ignore"):
            potentials[clique] = np.log(share)
    return potentials


def _conditional_shares(
    schema: Schema, clique: Clique, marginal: Array, separator: Clique
) -> Array:
    """A clique's distribution given the columns of a separator; even where the marginal
    has nothing to give.
    """
    zeros = schema.zeros(clique)
    possible = np.ones(schema.sizes(clique))
    if zeros is not None:
        possible[zeros] = 0.0
    share = np.asarray(marginal, np.float64) * possible
    sizes = schema.column_sizes
    shape = [sizes[name] if name in separator else 1 for name in clique]
    kept = tuple(name for name in clique if name in separator)
    bare = sum_to_clique(share, clique, kept).reshape(shape) <= 0
    share = np.where(bare, possible, share)
    return divide_or_zero(share, sum_to_clique(share, clique, kept).reshape(shape))


def store_potentials(potentials: Iterable[Array]) -> Arrays:
    """Potentials as arrays of a file, by position."""
    return {
        f"potential{i}": np.where(np.isfinite(theta), theta, STORED_MINUS_INFINITY)
        for i, theta in enumerate(potentials)
    }


def read_potentials(
    schema: Schema, listed: object, arrays: Mapping[str, NDArray[np.generic]]
) -> dict[Clique, Array]:
    """Potentials as a file has them; what does not fit the schema raises ReleaseError."""
    cliques = _read_cliques(listed, schema)
    check_part_names(arrays, {f"potential{i}" for i in range(len(cliques))}, "arrays")
    potentials = {}
    for i, clique in enumerate(cliques):
        theta = arrays[f"potential{i}"]
        if (
            not isinstance(theta, np.ndarray)
            or theta.dtype != np.float64
            or theta.shape != schema.sizes(clique)
        ):
            raise ReleaseError(
                f'model: array "potential{i}" has another type or shape than the'
                " schema says. The file is damaged"
            )
        values = np.asarray(theta, np.float64)
        if not np.all(np.isfinite(values)):
            raise ReleaseError(
                f'model: array "potential{i}" holds something that is no number.'
                " The file is damaged"
            )
        potentials[clique] = np.where(values <= STORED_MINUS_INFINITY, -np.inf, values)
    return potentials


def _read_cliques(listed: object, schema: Schema) -> list[Clique]:
    damaged = "The file is damaged or was not written by Understudy"
    if not isinstance(listed, list | tuple):
        raise ReleaseError(f"model: its cliques are no list. {damaged}")
    cliques: list[Clique] = []
    for names in listed:
        if not isinstance(names, list | tuple) or not all(
            isinstance(n, str) and n in schema for n in names
        ):
            raise ReleaseError(f"model: its columns are not the schema's. {damaged}")
        cliques.append(tuple(names))
        if len(set(names)) != len(names):
            raise ReleaseError(f"model: a column stands twice in a clique. {damaged}")
    if len(set(cliques)) != len(cliques):
        raise ReleaseError(f"model: a clique stands twice in it. {damaged}")
    return cliques
