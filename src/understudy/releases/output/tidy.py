"""The measurements as tidy tables: unbiased estimates with their variances, before any
model touched them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        title = _unused_title(_clique_title(measurement.clique), tables)
        tables[title] = tidy_measurement(schema, measurement)
    for sparse in measurements.sparse:
        title = f"{_clique_title(sparse.clique)}, shown above {sparse.threshold}"
        tables[_unused_title(title, tables)] = tidy_sparse(schema, sparse)
    return tables


def tidy_measurement(schema: Schema, measurement: Measurement) -> TidyTable:
    """One dense measurement, one row per cell."""
    shape = measurement.values.shape
    # numpy has no grid for a table without axes, such as the total.
    grids = np.unravel_index(np.arange(measurement.values.size), shape) if shape else ()
    columns: TidyTable = {}
    axes = zip(measurement.clique, measurement.maps, grids, strict=True)
    for name, axis, grid in axes:
        columns[name] = _axis_labels(schema.codecs[name].labels(), axis)[grid]
    variance = np.full(shape, noise_variance(measurement.law, measurement.scale))
    zeros = schema.zeros(measurement.clique) if measurement.plain else None
    if zeros is not None:
        variance[zeros] = 0.0  # declared impossible, so neither counted nor noisy
    return _with_estimates(columns, measurement.values.ravel(), variance.ravel())


def tidy_sparse(schema: Schema, sparse: SparseMeasurement) -> TidyTable:
    """One sparse measurement, one row per shown cell."""
    columns: TidyTable = {}
    for axis, name in enumerate(sparse.clique):
        labels = np.array(schema.codecs[name].labels(), object)
        columns[name] = labels[sparse.codes[:, axis]]
    variance = np.full(len(sparse.values), noise_variance(sparse.law, sparse.scale))
    return _with_estimates(columns, sparse.values, variance)


def _with_estimates(
    columns: TidyTable, values: NDArray[np.int64], variance: NDArray[np.float64]
) -> TidyTable:
    estimates = {"estimate": values, "variance": variance, "sd": np.sqrt(variance)}
    table = dict(columns)
    for name, array in estimates.items():
        while name in columns:  # a column of the schema may be called so too
            name = f"{name}_"
        table[name] = array
    return table


def _axis_labels(labels: tuple[str, ...], axis: AxisMap) -> NDArray[np.object_]:
    """One label for each entry of a mapped axis."""
    match axis:
        case Partition():
            groups: list[list[str]] = [[] for _ in range(axis.out)]
            for label, group in zip(labels, axis.bins, strict=True):
                groups[group].append(label)
            words = [_group_label(group) for group in groups]
        case Centring():
            # A centred entry is the table's size times a cell, less the sum of all.
            words = [f"{axis.size} × ({label}) - sum" for label in labels]
        case _:
            words = list(labels)
    return np.array(words, object)


def _clique_title(clique: tuple[str, ...]) -> str:
    return " × ".join(clique) or "total"


def _group_label(labels: Sequence[str]) -> str:
    if len(labels) == 1:
        return labels[0]
    return f"{labels[0]} … {labels[-1]} ({len(labels)})"


def _unused_title(title: str, taken: Mapping[str, object]) -> str:
    """The title, or one with a number: a marginal may be measured several times."""
    unused, count = title, 2
    while unused in taken:
        unused = f"{title} ({count})"
        count += 1
    return unused


def tidy_table_to_frame(columns: TidyTable, kind: str) -> Any:
    """A tidy table as a frame of some kind."""
    if kind == "duckdb":
        return _tidy_relation(columns)
    if kind == "numpy":
        return columns
    library: Any = import_module(kind)
    if kind == "pandas":
        return library.DataFrame(columns)
    # polars and pyarrow take texts from lists, not from arrays of objects.
    listed = {name: _object_array_to_list(array) for name, array in columns.items()}
    return library.table(listed) if kind == "pyarrow" else library.DataFrame(listed)


def _object_array_to_list(array: NDArray[Any]) -> Any:
    return array.tolist() if array.dtype == object else array


def _tidy_relation(columns: TidyTable) -> Any:
    session = DuckdbSession()
    expressions: dict[str, str] = {}
    for name, array in columns.items():
        if array.dtype == object:
            labels, index = np.unique(array.astype(str), return_inverse=True)
            positions = index.astype(np.int64)
            expressions[name] = session.label_sql(tuple(labels.tolist()), positions)
        else:
            expressions[name] = session.add_array(array)
    session.connection.execute(
        f"CREATE TABLE measurement AS {session.select_sql(expressions)}"
    )
    session.connection.unregister("cells")
    return session.connection.table("measurement")


def count_noisy_cells(measurements: Measurements) -> int:
    """The number of noisy counts in all."""
    return sum(m.values.size for m in (*measurements, *measurements.sparse))
