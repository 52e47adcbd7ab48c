"""The rows of a schema as codes, made once: kept in memory where they fit, else in a
private file. PRIVATE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import count

import numpy as np
from numpy.typing import NDArray

from understudy.errors import TableError
from understudy.schema import Codec, Schema, codec_of
from understudy.tables.bounded_rows import BoundedRows
from understudy.tables.clique_cover import Clique
from understudy.tables.counting import Tally
from understudy.tables.reading.encode import code_sql
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers

MAX_CODES_BYTES = 10**9
"""Codes beyond this many bytes are not kept in memory but in a private file: to read texts
again and encode them at each count takes twice as long in all.
"""

MAX_CACHED_CELLS = 1 << 22
"""Cells of marginals that are kept once counted: what chooses among the same cliques
round after round counts them once.
"""

_FILE_NUMBERS = count()

CodesByColumn = dict[str, NDArray[np.unsignedinteger]]
Progress = Callable[[str, float], None]


class RowCodes:
    """Codes of bounded rows under one schema, and the marginals counted from them."""

    def __init__(self, rows: BoundedRows, schema: Schema) -> None:
        self._rows = rows
        self._schema = schema
        self._kept_codes: CodesByColumn | None = None
        self._kept_marginals: dict[Clique, NDArray[np.int64]] = {}
        self._free_cells = MAX_CACHED_CELLS

    def find_codecs(self, names: Sequence[str]) -> dict[str, Codec]:
        """The codecs of some columns."""
        return {name: codec_of(self._schema[name]) for name in names}

    def find_sizes(self, names: Sequence[str]) -> dict[str, int]:
        """How many codes some columns have."""
        return {name: codec.size for name, codec in self.find_codecs(names).items()}

    def encode_rows(self, progress: Progress | None = None) -> bool:
        """Encode every column of a closed schema once; whether the codes fit in memory
        and are kept.
        """
        if self._kept_codes is not None:
            return True
        names = list(self._schema)
        codecs = self.find_codecs(names)
        rows = self._rows.count
        row_bytes = sum(codec.dtype.itemsize for codec in codecs.values())
        # Known before anything is allocated, from the schema and the number of rows.
        if rows * row_bytes > MAX_CODES_BYTES:
            return False
        codes: CodesByColumn = {
            name: np.empty(rows, codec.dtype) for name, codec in codecs.items()
        }
        done = 0
        for batch in self.read_batches(names):
            length = len(next(iter(batch.values()))) if batch else 0
            for name, part in batch.items():
                codes[name][done : done + length] = part
            done += length
            if progress is not None:
                progress("encoding", done / max(rows, 1))
        # A stream that can be read once only would end early the second time.
        if names and done != rows:
            raise TableError("the source gave two different numbers of rows")
        self._kept_codes = codes
        return True

    def iter_batches(self, names: list[str]) -> Iterator[CodesByColumn]:
        """Codes of some columns: from where they are kept, else from the source."""
        if self._schema.is_closed and self.encode_rows():
            assert self._kept_codes is not None
            yield {name: self._kept_codes[name] for name in names}
        elif self._schema.is_closed and self._stored_codes is not None:
            columns = ", ".join(f"c{list(self._schema).index(name)}" for name in names)
            query = f"SELECT {columns} FROM {self._stored_codes}"
            for batch in self._rows.source.engine.stream(query, doing="reading codes"):
                yield dict(zip(names, batch, strict=True))
        else:
            yield from self.read_batches(names)

    @cached_property
    def _stored_codes(self) -> str | None:
        """The relation of a private file with the codes of every column c0, c1, …; None
        where the disk has no room for it, or where the rows lie in such a file already.
        """
        engine = self._rows.source.engine
        if self._rows.source.kind == "parquet":
            return None
        path = engine.directory / f"codes{next(_FILE_NUMBERS)}.parquet"
        quoted = quoting.text_literal(str(path))
        columns = ", ".join(f"c{place}" for place in range(len(list(self._schema))))
        query = f"FROM ({self._query_codes(list(self._schema))}) AS coded({columns})"
        written = None
        # Whatever is wrong with the rows is said by whoever reads them then.
        with suppress(TableError):
            [(written,)] = engine.run(
                f"COPY ({query}) TO {quoted} (FORMAT parquet)", doing="encoding rows"
            )
        if written is None:
            path.unlink(missing_ok=True)
            return None
        if written != self._rows.count:
            raise TableError("the source gave two different numbers of rows")
        return f"read_parquet({quoted})"

    def count_marginals(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Dense counts over each clique, read-only because they may be given again."""
        wanted = list(dict.fromkeys(map(tuple, cliques)))
        missing = [clique for clique in wanted if clique not in self._kept_marginals]
        fresh: dict[Clique, NDArray[np.int64]] = {}
        if missing:
            fresh = dict(zip(missing, self._tally_cliques(missing), strict=True))
        # Collected before the fresh ones are kept: not all of them may fit.
        counts = {**self._kept_marginals, **fresh}
        for clique, table in fresh.items():
            # A caller that changed a table would change every later answer from it.
            table.flags.writeable = False
            if table.size <= self._free_cells:
                self._free_cells -= table.size
                self._kept_marginals[clique] = table
        return [counts[tuple(clique)] for clique in cliques]

    def _tally_cliques(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        names: dict[str, None] = {}
        for clique in cliques:
            names.update(dict.fromkeys(clique))
        tally = Tally(cliques, self.find_sizes(list(names)))
        if names:
            for batch in self.iter_batches(list(names)):
                tally.add(batch)
        else:
            tally.add({}, rows=self._rows.count)
        return tally.counts()

    def read_batches(self, names: list[str]) -> Iterator[CodesByColumn]:
        """Codes of some columns, batch by batch, from the source."""
        engine = self._rows.source.engine
        for batch in engine.stream(self._query_codes(names), doing="encoding rows"):
            yield dict(zip(names, batch, strict=True))

    def _query_codes(self, names: list[str]) -> str:
        source = self._rows.source
        layers = QueryLayers()
        select = [
            code_sql(
                layers,
                codec,
                source.stored_column(name),
                source.engine.create_enum,
            )
            for name, codec in self.find_codecs(names).items()
        ]
        return layers.query(self._rows.relation, select)
