"""The rows of a source after every unit is bounded, and after rows that break a rule
are treated as the schema says. PRIVATE.

All tables that describe the same rows differently share one of these: the random salt
that decides which rows of a unit are kept is drawn once, so that every answer of a run
is about the same rows.
"""

from __future__ import annotations

from functools import cached_property

from understudy.schema import BrokenRowPolicy, Schema
from understudy.tables.privacy_unit import bound_units, draw_salt
from understudy.tables.reading.broken_rules import query_broken_count, query_kept_rows
from understudy.tables.sources.source import TableSource
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import StoredColumn


class BoundedRows:
    """The rows of a source, bounded per unit; shared by tables that describe them
    differently.
    """

    def __init__(
        self, source: TableSource, schema: Schema, *, salt: str | None = None
    ) -> None:
        self.source = source
        self.unit = schema.unit
        self._schema = schema
        # Drawn once for all tables of these rows: they must be the same rows.
        self._salt = salt or draw_salt()

    @cached_property
    def relation(self) -> str:
        """The relation that holds them; rows that break a rule are in it as the schema
        says.
        """
        schema = self._schema
        if schema.broken is BrokenRowPolicy.KEEP or not schema.named_breaches:
            return self.bounded_relation
        query = (
            self._query_rows_alone()
            if self.unit.id is None
            else self._query_rows_with_units()
        )
        # A view, not a table: the rules are evaluated again at each query, and no second
        # copy of the rows is kept.
        self.source.engine.run(
            f"CREATE TEMP VIEW held AS {query}", doing="reading rows by the rules"
        )
        return "held"

    @cached_property
    def bounded_relation(self) -> str:
        """The relation that holds the rows of every unit, as many as each may have."""
        source = self.source
        unit = self.unit
        if unit.id is None:
            return source.relation
        described = {column.name for column in self._schema.columns}
        return bound_units(
            source.engine,
            source.relation,
            id=source.stored_column(unit.id),
            column=self._schema[unit.id],
            unit=unit,
            salt=self._salt,
            cells=[source.stored_column(name) for name in source.names],
            keep=[i for i, name in enumerate(source.names) if name in described],
        )

    @cached_property
    def broken(self) -> int:
        """How many of the bounded rows break a rule."""
        if not self._schema.named_breaches:
            return 0
        query = query_broken_count(
            QueryLayers(),
            self._schema,
            self._stored_columns,
            self.source.engine.create_enum,
            relation=self.bounded_relation,
        )
        return self._run_count(query, "counting rows by the rules")

    @cached_property
    def count(self) -> int:
        """How many there are."""
        query = f"SELECT count(*) FROM {self.relation}"
        return self._run_count(query, "counting rows")

    def _query_rows_alone(self) -> str:
        cells = self._cell_names
        return f"SELECT {', '.join(cells)} FROM ({self._query_kept(cells)})"

    def _query_rows_with_units(self) -> str:
        """Rows by the rules, each with its id. The queries of the rules know cells
        only, so the id travels under a cell's name that no column has.
        """
        cells = self._cell_names
        id_cell = f"x{len(self.source.names)}"
        renamed = (
            f"(SELECT {', '.join(cells)}, unit AS {id_cell} FROM"
            f" {self.bounded_relation})"
        )
        kept = self._query_kept([*cells, id_cell], renamed)
        return f"SELECT {', '.join(cells)}, {id_cell} AS unit FROM ({kept})"

    def _query_kept(self, cells: list[str], relation: str | None = None) -> str:
        return query_kept_rows(
            QueryLayers(),
            self._schema,
            self._stored_columns,
            self.source.engine.create_enum,
            width=cells,
            relation=relation or self.bounded_relation,
        )

    @property
    def _cell_names(self) -> list[str]:
        """The cells that rows have, by name; bounding units drops the columns that the
        schema does not describe.
        """
        names = self.source.names
        if self.unit.id is None:
            return [f"x{i}" for i in range(len(names))]
        described = {column.name for column in self._schema.columns}
        return [f"x{i}" for i, name in enumerate(names) if name in described]

    @property
    def _stored_columns(self) -> dict[str, StoredColumn]:
        """Where the columns that take part in a release are."""
        return {name: self.source.stored_column(name) for name in self._schema}

    def _run_count(self, query: str, doing: str) -> int:
        return int(self.source.engine.run(query, doing=doing)[0][0])
