"""Units in partitions: all rows of a unit come into one, where it is bounded. PRIVATE.

A group is a salted hash of the id's text, as privacy_unit.py reads it, so ids that read
alike come together however they are stored. Blobs travel, not rows; the salt goes to the
workers in a closure and stands in no plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Schema
from understudy.tables.bounded_rows import BoundedRows
from understudy.tables.carriers.carrier import Carrier
from understudy.tables.partitions.questions import PartReading
from understudy.tables.privacy_unit import name_id_sql
from understudy.tables.sql import quoting
from understudy.tables.sql.engine import Engine
from understudy.tables.sql.stored import StoredColumn
from understudy.tables.streams.row_blobs import pack_rows, read_rows
from understudy.tables.streams.spool import SPOOL_RELATION, ArrowSpool

GROUPS_PER_PARTITION = 4
"""Groups of units for each partition: enough that partitions are of similar size."""

ABSENT_GROUP = -1
"""The group of rows without an id, which are dropped."""


class BoundedParts(BoundedRows):
    """The rows of a source that lie in partitions, bounded per unit there."""

    @property
    def source_carrier(self) -> Carrier:
        """The partitions as they are."""
        carrier = self.source.carrier
        assert carrier is not None
        return carrier

    @cached_property
    def carrier(self) -> Carrier:
        """Partitions in which the rows of a unit lie together."""
        carrier = self.source_carrier
        if self.unit.id is None:
            return carrier
        spread = SpreadUnits(
            self._schema, self._salt, GROUPS_PER_PARTITION * carrier.parts
        )
        return carrier.change_parts(spread, regroup=True)

    def describe_reading(self, schema: Schema) -> PartReading:
        """How a partition is read as a table of a schema."""
        return PartReading(
            empty=self.source_carrier.empty,
            bounded=self._schema,
            schema=schema,
            salt=self._salt,
        )


@dataclass(frozen=True)
class SpreadUnits:
    """Blobs of one partition, cut up by groups of units."""

    schema: Schema
    salt: str
    groups: int

    def change_part(self, blobs: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """The rows of each group of units, with its number."""
        for table in read_rows(blobs):
            groups = self._find_groups(table)
            order = np.argsort(groups, kind="stable")
            numbers, starts = np.unique(groups[order], return_index=True)
            ends = [*starts[1:], len(order)]
            for group, start, end in zip(numbers, starts, ends, strict=True):
                if group != ABSENT_GROUP:
                    chosen = table.take(order[start:end])
                    for blob in pack_rows(chosen.to_batches(), table.schema):
                        yield int(group), blob

    def _find_groups(self, table: Any) -> NDArray[np.int64]:
        """The group of each row."""
        pa = import_module("pyarrow")
        name = self.schema.unit.id
        assert name is not None
        places = pa.array(np.arange(table.num_rows))
        ids = pa.table([table.column(name), places], names=["id", "row"])
        spool = ArrowSpool(Engine(threads=1), ids.schema.empty_table())
        spool.append_batch(ids)
        stored = StoredColumn("x0", spool.stored_types["id"], spool.zones.get("id"))
        unit = name_id_sql(stored, self.schema[name])
        salted = f"concat({quoting.text_literal(self.salt)}, unit)"
        query = (
            f"SELECT place, CASE WHEN unit IS NULL THEN {ABSENT_GROUP} ELSE"
            f" CAST(md5_number_lower({salted}) % {self.groups} AS BIGINT) END AS part"
            f" FROM (SELECT x1 AS place, {unit} AS unit FROM {SPOOL_RELATION})"
        )
        rows, groups = spool.engine.arrays(query, doing="finding units")
        # DuckDB keeps no order of rows.
        found = np.empty(len(rows), np.int64)
        found[rows.astype(np.int64)] = groups.astype(np.int64)
        spool.engine.close()
        return found
