"""The measurements as tables anybody can use: unbiased estimates with their variances,
before any model touched them.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import (
    AxisMap,
    Centring,
    Measurement,
    Measurements,
    Partition,
    SparseMeasurement,
)
from understudy.models.estimates.noise_moments import noise_variance
from understudy.releases.output.frames.duckdb import DuckdbSession
from understudy.schema import Schema

TidyTable = dict[str, NDArray[Any]]
"""A tidy table: arrays of one length by name."""


def tidy_tables(schema: Schema, measurements: Measurements) -> dict[str, TidyTable]:
    """One tidy table per measurement: its columns' labels, then `estimate`, `variance`
    and `sd`.

    Nothing is clamped, rounded or made consistent: an estimate may be negative, and
    averages of many are right on average. Sparse ones are shown only above their
    threshold, so they are too high on average; their name says so.
    """
    tables: dict[str, TidyTable] = {}
    for measurement in measurements:
        tables[_unused_name(_clique_title(measurement.clique), tables)] = (
            tidy_measurement(schema, measurement)
        )
    for sparse in measurements.sparse:
        tables[
            _unused_name(
                f"{_clique_title(sparse.clique)}, shown above {sparse.threshold}",
                tables,
            )
        ] = tidy_sparse(schema, sparse)
    return tables


def tidy_measurement(schema: Schema, measurement: Measurement) -> TidyTable:
    """One dense measurement, one row per cell."""
    labels = [
        _axis_labels(schema.codecs[n].labels(), m)
        for n, m in zip(measurement.clique, measurement.maps, strict=True)
    ]
    shape = measurement.values.shape
    grids = np.unravel_index(np.arange(measurement.values.size), shape) if shape else ()
    columns = {
        name: words[grid]
        for name, words, grid in zip(measurement.clique, labels, grids, strict=True)
    }
    variance = np.full(shape, noise_variance(measurement.law, measurement.scale))
    zeros = schema.zeros(measurement.clique) if measurement.plain else None
    if zeros is not None:
        variance[zeros] = 0.0  # declared impossible, so neither counted nor noised
    return _with_estimates(columns, measurement.values.ravel(), variance.ravel())


def tidy_sparse(schema: Schema, sparse: SparseMeasurement) -> TidyTable:
    """One sparse measurement, one row per shown cell."""
    words = [np.array(schema.codecs[name].labels(), object) for name in sparse.clique]
    columns = {
        name: words[i][sparse.codes[:, i]] for i, name in enumerate(sparse.clique)
    }
    return _with_estimates(
        columns,
        sparse.values,
        np.full(len(sparse.values), noise_variance(sparse.law, sparse.scale)),
    )


def _with_estimates(
    columns: TidyTable, values: NDArray[np.int64], variance: NDArray[np.float64]
) -> TidyTable:
    added = {"estimate": values, "variance": variance, "sd": np.sqrt(variance)}
    return columns | {
        _unused_name(name, columns, "_"): array for name, array in added.items()
    }


def _axis_labels(labels: tuple[str, ...], axis: AxisMap) -> NDArray[np.object_]:
    """One label for each entry of a mapped axis."""
    match axis:
        case Partition():
            members: list[list[str]] = [[] for _ in range(axis.out)]
            for code, bin_ in enumerate(axis.bins):
                members[bin_].append(labels[code])
            words = [
                (
                    group[0]
                    if len(group) == 1
                    else f"{group[0]} … {group[-1]} ({len(group)})"
                )
                for group in members
            ]
        case Centring():
            words = [f"{axis.size} × ({label}) - sum" for label in labels]
        case _:
            words = list(labels)
    return np.array(words, object)


def _clique_title(clique: tuple[str, ...]) -> str:
    return " × ".join(clique) or "total"


def _unused_name(name: str, taken: dict[str, Any], mark: str = "") -> str:
    """The name, or one like it that is not taken."""
    count, fresh = 2, name
    while fresh in taken:
        fresh = f"{name}{mark}" if mark else f"{name} ({count})"
        name, count = (fresh, count) if mark else (name, count + 1)
    return fresh


def tidy_table_to_frame(columns: TidyTable, kind: str) -> Any:
    """A tidy table as a frame of some kind."""
    if kind == "duckdb":
        return _tidy_relation(columns)
    if kind == "numpy":
        return columns
    library: Any = import_module(kind)
    if kind == "pyarrow":
        return library.table(
            {name: _object_array_to_list(array) for name, array in columns.items()}
        )
    return library.DataFrame(
        {
            name: _object_array_to_list(array) if kind == "polars" else array
            for name, array in columns.items()
        }
    )


def _object_array_to_list(array: NDArray[Any]) -> Any:
    return array.tolist() if array.dtype == object else array


def _tidy_relation(columns: TidyTable) -> Any:
    session = DuckdbSession()
    expressions: dict[str, str] = {}
    for name, array in columns.items():
        if array.dtype == object:
            words, index = np.unique(array.astype(str), return_inverse=True)
            expressions[name] = session.label_sql(
                tuple(words.tolist()), index.astype(np.int64)
            )
        else:
            expressions[name] = session.add_array(array)
    session.connection.execute(
        f"CREATE TABLE measurement AS {session.select_sql(expressions)}"
    )
    session.connection.unregister("cells")
    return session.connection.table("measurement")


def count_noisy_cells(measurements: Measurements) -> int:
    """How many noisy numbers there are in all."""
    return sum(math.prod(m.values.shape) for m in measurements) + sum(
        len(s.values) for s in measurements.sparse
    )
