"""DuckDB relations as frames."""

from __future__ import annotations

from typing import Any

from understudy.tables.sources.frame import Frame, RepeatableStream, check_names
from understudy.tables.sql.stored import base_type

MAX_STREAMED_UHUGEINT = 10**37
"""Larger numbers become this one: beyond every domain, and inside a signed integer."""


def frame_of_relation(data: Any) -> Frame:
    """A relation, its columns in types that DuckDB can stream."""
    names = check_names(list(data.columns), "the relation")
    kinds = [str(kind) for kind in data.types]
    shown = [_streamable_cell(f"#{i}", kind) for i, kind in enumerate(kinds, start=1)]
    short = data.project(", ".join(f"{cell} AS x{i}" for i, cell in enumerate(shown)))
    kind_of = dict(zip(names, kinds, strict=True))
    hidden = {
        name: base_type(kind) for name, kind in kind_of.items() if _holds_variants(kind)
    }
    dtypes = {name: kind.split("(")[0] for name, kind in kind_of.items()}
    zones = dict.fromkeys(names)
    return Frame("duckdb", names, dtypes, zones, RepeatableStream(short), hidden)


def _streamable_cell(cell: str, kind: str) -> str:
    """A cell of a relation, of a type in which DuckDB can stream it whatever it holds."""
    if kind == "UHUGEINT":
        # Arrow has no unsigned integers as wide: they would come out as others.
        most = MAX_STREAMED_UHUGEINT
        return f"CAST(CASE WHEN {cell} > {most} THEN {most} ELSE {cell} END AS HUGEINT)"
    if kind == "INTERVAL":
        return f"epoch({cell})"  # lengths of time, in seconds
    if kind == "BIGNUM":
        # One number of 39 digits makes a column of whole numbers this type.
        return f"CAST({cell} AS VARCHAR)"
    if _holds_variants(kind):
        # A single time of day with an offset, or one of many other values, would stop
        # the stream.
        return (
            f"CASE WHEN {cell} IS NOT NULL THEN encode(COALESCE(TRY_CAST({cell} AS"
            " VARCHAR), '')) END"
        )
    return cell


def _holds_variants(kind: str) -> bool:
    # An ENUM lists labels of any kind, and one may spell this word.
    return "VARIANT" in kind and base_type(kind) != "ENUM"
