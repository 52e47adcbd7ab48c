"""A table whose rows come as Arrow batches, opened: its header now, its rows later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from understudy.tables.carriers.carrier import Carrier
from understudy.tables.sources.frame import check_names
from understudy.tables.sources.source import TableSource
from understudy.tables.sql.engine import Engine
from understudy.tables.streams.database_stream import DatabaseStream
from understudy.tables.streams.spool import SPOOL_RELATION, ArrowSpool

BatchReader = Callable[[], Iterator[Any]]
"""Gives the rows of a table as pyarrow tables."""


def open_stream(
    read_batches: BatchReader,
    empty: Any,
    *,
    kind: str,
    title: str,
    path: Path | None,
    ledger_path: Path,
    release: Callable[[], None],
    engine: Engine | None = None,
    carrier: Carrier | None = None,
) -> TableSource:
    """A table whose rows come as pyarrow tables; `empty` is one without rows."""
    names = check_names(list(empty.column_names), title)
    engine = engine or Engine()
    engine.seal([])
    spool = ArrowSpool(engine, empty)
    return TableSource(
        names=names,
        types=spool.types,
        kind=kind,
        dtypes={},
        zones=spool.zones,
        title=title,
        path=path,
        ledger_path=ledger_path,
        engine=engine,
        _view=SPOOL_RELATION,
        _stored_types=spool.stored_types,
        _stream=DatabaseStream(read_batches, spool, title=title, release=release),
        _carrier=carrier,
    )
