"""The table of units: one row for each privacy unit, with derived columns. PRIVATE.

Rows are those that remain after every unit is bounded, so a unit adds up at most
`max_rows` of them. Conditions are decided by cells, never by the engine.
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import numpy as np
from numpy.typing import NDArray

from understudy.queries.features import FeaturePlan
from understudy.queries.query import FeatureKind, UnitFeature
from understudy.schema.columns.codec import Codec
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.predicates.ast import Predicate
from understudy.tables.cell_sums import CellSumQuery
from understudy.tables.sources.open_table import open_table
from understudy.tables.sources.source import TableSource
from understudy.tables.sql.quoting import quoted_identifier

Integers = NDArray[np.int64]


def derive_unit_source(
    plan: FeaturePlan, codecs: Mapping[str, Codec], source: TableSource, relation: str
) -> TableSource:
    """The derived columns of the bounded rows in a relation of a source."""
    described = CellSumQuery(plan.cells.schema, codecs, source)
    query = described.unit_rows_sql(relation, plan.columns)
    arrays = source.engine.arrays(query, doing="reading units")
    *fetched, units = (array.astype(np.int64) for array in arrays)
    places = np.zeros(len(units), np.int64)
    for code, codec in zip(fetched[: len(codecs)], codecs.values(), strict=True):
        places = places * codec.size + code
    numbers = dict(zip(plan.columns, fetched[len(codecs) :], strict=True))
    return make_unit_source(plan, units, places, numbers)


def make_unit_source(
    plan: FeaturePlan, units: Integers, places: Integers, numbers: dict[str, Integers]
) -> TableSource:
    """The derived columns as a table. `units` numbers the unit of each row from 0,
    `places` is its cell, `numbers` are lattice indices clipped to the column's bounds,
    one below the least where a row has no value.
    """
    size = int(units.max(initial=-1)) + 1
    arrays: dict[str, NDArray[np.generic]] = {"unit": np.arange(size)}
    cells = []
    for i, feature in enumerate(plan.features):
        kept = np.ones(len(units), np.bool_)
        if isinstance(feature.condition, Predicate):
            # Decided once for each cell, not for each row.
            kept = plan.cells.holds_on_cells(feature.condition)[places]
        values, is_there = _derive_values(plan, feature, units, kept, numbers, size)
        arrays[f"v{i}"], arrays[f"h{i}"] = values, is_there
        cells.append(_cell_sql(plan, feature, i))
    connection = duckdb.connect()
    connection.register("units", arrays)
    return open_table(connection.sql(f"SELECT {', '.join(cells)} FROM units"))


def _derive_values(
    plan: FeaturePlan,
    feature: UnitFeature,
    units: Integers,
    kept: NDArray[np.bool_],
    numbers: dict[str, Integers],
    size: int,
) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
    """A value for each unit, and whether it has one."""
    everywhere = np.ones(size, np.bool_)
    if feature.column is None:
        rows = np.bincount(units[kept], minlength=size)
        if feature.kind is FeatureKind.ANY:
            return rows > 0, everywhere
        return rows, everywhere
    low = plan.source_schema[feature.column].low  # type: ignore[attr-defined]
    given = numbers[feature.column]
    # One below the least value marks a row without one.
    kept = kept & (given >= low)
    values = given[kept]
    found = np.zeros(size, np.int64)
    is_there = np.bincount(units[kept], minlength=size) > 0
    match feature.kind:
        case FeatureKind.SUM:
            # Unbuffered: plain indexing would add only one of a unit's rows.
            np.add.at(found, units[kept], values)
        case FeatureKind.LEAST:
            found[:] = np.iinfo(np.int64).max
            np.minimum.at(found, units[kept], values)
        case _:
            found[:] = np.iinfo(np.int64).min
            np.maximum.at(found, units[kept], values)
    # The marker of an empty minimum must not reach arithmetic in SQL.
    found[~is_there] = 0
    return found, is_there


def _cell_sql(plan: FeaturePlan, feature: UnitFeature, number: int) -> str:
    """A derived cell as the table reads it: a value, not an index."""
    column = plan.schema[feature.name]
    value = f"v{number}"
    if isinstance(column, Real):
        step = float(column.step)
        value = f"CAST({value} AS DOUBLE) * {step!r}"
    elif isinstance(column, Integer):
        value = f"{value} * {column.step}"
    return f"CASE WHEN h{number} THEN {value} END AS {quoted_identifier(feature.name)}"
