"""The nodes of a Bayesian network: estimated from noisy marginals, and as a file stores
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError
from understudy.measurements import Clique, Measurements
from understudy.models.arrays import Array
from understudy.models.estimates.consistency import clamp, project_simplex
from understudy.models.estimates.pooling import pool_column
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.inference.factor import Factor, sum_factor
from understudy.models.sampling.unmeasured import uniform_shares
from understudy.models.serialization import SHARE_SUM_TOLERANCE, check_part_names
from understudy.schema import Schema


@dataclass(frozen=True, eq=False)
class NetworkNode:
    """A column, its parents, and its shares: one axis for each parent, the last one for
    the column itself.
    """

    column: str
    parents: Clique
    shares: Array


def uniform_nodes(schema: Schema) -> tuple[NetworkNode, ...]:
    """Columns without parents, every possible code equally likely."""
    return tuple(
        NetworkNode(name, (), uniform_shares(schema, (name,))) for name in schema
    )


def estimate_nodes(
    schema: Schema, measurements: Measurements, total: float, *, clip: bool
) -> tuple[NetworkNode, ...]:
    """The nodes that plain noisy marginals spell out, in the order of the marginals;
    columns in none of them have no parents (`NetworkModel.from_measurements`).
    """
    pooled = PooledResiduals.of(schema, measurements)
    nodes: dict[str, NetworkNode] = {}
    for clique in dict.fromkeys(
        m.clique for m in measurements if m.plain and len(m.clique) > 1
    ):
        if nodes.keys() >= set(clique):
            continue
        values = pooled.marginal(clique)
        table = _nonnegative_counts(schema, clique, values, total, clip=clip)
        # Parents stand behind the child in a marginal, so they are placed first.
        for column in reversed(clique):
            if column in nodes:
                continue
            parents = tuple(name for name in clique if name in nodes)
            # A first column is better known from all its measurements than from one.
            if not parents:
                nodes[column] = _root_node(
                    schema, column, measurements, total, clip=clip
                )
                continue
            nodes[column] = _child_node(schema, column, parents, Factor(clique, table))
    for name in schema:
        if name not in nodes:
            nodes[name] = _root_node(schema, name, measurements, total, clip=clip)
    return tuple(nodes.values())


def read_nodes(
    schema: Schema, listed: object, arrays: Mapping[str, NDArray[np.generic]]
) -> tuple[NetworkNode, ...]:
    """Nodes as a file has them; what does not fit the schema raises ReleaseError."""
    shape = _read_shape(listed, schema)
    check_part_names(arrays, {f"node{i}" for i in range(len(shape))}, "arrays")
    nodes = []
    for i, (column, parents) in enumerate(shape):
        sizes = schema.sizes((*parents, column))
        nodes.append(
            NetworkNode(column, parents, _read_node(arrays[f"node{i}"], i, sizes))
        )
    return tuple(nodes)


def _nonnegative_counts(
    schema: Schema, clique: Clique, values: Array, total: float, *, clip: bool
) -> Array:
    """Non-negative counts from noisy ones; nothing in structural zeros."""
    zeros = schema.zeros(clique)
    allowed = np.ones(values.shape, bool) if zeros is None else ~zeros
    if not allowed.any():
        uniform_shares(schema, clique)  # says what is wrong
    return (
        np.where(allowed, clamp(values), 0.0)
        if clip
        else project_simplex(values, total, allowed=allowed)
    )


def _conditional_shares(schema: Schema, scope: Clique, joint: Array) -> Array:
    """Shares of the last column for every combination of the others; overall shares
    where nobody is, uniform ones where that helps not.
    """
    zeros = schema.zeros(scope)
    possible = np.ones(joint.shape) if zeros is None else (~zeros).astype(np.float64)
    overall = joint.reshape(-1, joint.shape[-1]).sum(axis=0)
    shares = joint
    # From what is known least wrongly to what is always possible.
    for fallback in (overall * possible, possible, np.ones(joint.shape)):
        bare = shares.sum(axis=-1, keepdims=True) <= 0
        if not np.any(bare):
            break
        shares = np.where(bare, fallback, shares)
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True), np.float64)


def _child_node(
    schema: Schema, column: str, parents: Clique, joint: Factor
) -> NetworkNode:
    """A column given its parents, from a table that holds them all."""
    scope = (*parents, column)
    shares = _conditional_shares(schema, scope, sum_factor(joint, scope))
    return NetworkNode(column, parents, shares)


def _root_node(
    schema: Schema, name: str, measurements: Measurements, total: float, *, clip: bool
) -> NetworkNode:
    """A column without parents, from everything that was measured of it."""
    pooled = pool_column(schema, name, measurements)
    if pooled is None:
        return NetworkNode(name, (), uniform_shares(schema, (name,)))
    return NetworkNode(
        name,
        (),
        _conditional_shares(
            schema,
            (name,),
            _nonnegative_counts(schema, (name,), pooled, total, clip=clip),
        ),
    )


def _read_shape(found: object, schema: Schema) -> list[tuple[str, Clique]]:
    """Columns and parents as a file has them: every column once, after its parents."""
    damaged = (
        "model: its network is not one of the schema's columns. The file is damaged or"
        " was not written by Understudy"
    )
    shape: list[tuple[str, Clique]] = []
    placed: set[str] = set()
    if not isinstance(found, list):
        raise ReleaseError(damaged)
    for item in found:
        if not _is_column_with_parents(item):
            raise ReleaseError(damaged)
        column, parents = item
        is_new = column in schema and column not in placed
        # Parents come before their child, so a network from a file has no cycle.
        are_placed = all(parent in placed for parent in parents)
        if not (is_new and are_placed and len(set(parents)) == len(parents)):
            raise ReleaseError(damaged)
        placed.add(column)
        shape.append((column, tuple(parents)))
    if placed != set(schema):
        raise ReleaseError(damaged)
    return shape


def _is_column_with_parents(item: object) -> TypeGuard[tuple[str, list[str]]]:
    """Whether an item of a file is a name and a list of names."""
    if not isinstance(item, list) or len(item) != 2:
        return False
    column, parents = item
    if not isinstance(column, str) or not isinstance(parents, list):
        return False
    return all(isinstance(parent, str) for parent in parents)


def _read_node(found: object, at: int, shape: tuple[int, ...]) -> Array:
    """Conditional shares as a file has them."""
    if (
        not isinstance(found, np.ndarray)
        or found.dtype != np.float64
        or found.shape != shape
    ):
        raise ReleaseError(
            f'model: array "node{at}" has another type or shape than the schema says.'
            " The file is damaged"
        )
    shares = np.asarray(found, np.float64)
    fine = (
        np.all(np.isfinite(shares))
        and not np.any(shares < 0)
        and np.all(abs(shares.sum(axis=-1) - 1) <= SHARE_SUM_TOLERANCE / 2)
    )
    if not fine:
        raise ReleaseError(
            f'model: array "node{at}" is no distribution. The file is damaged'
        )
    return shares
