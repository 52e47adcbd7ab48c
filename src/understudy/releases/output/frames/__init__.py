"""Codes → values → frames: the kind of frame that came in goes out again, types
included.

A kind is one of `FRAME_KINDS`. Nothing here is needed at install: a library is imported
when a frame of its kind is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from numpy.random import Generator

from understudy.errors import Refused
from understudy.releases.output.frames import arrow, duckdb, pandas, polars
from understudy.releases.output.frames.cells import (
    CodeBatches,
    ColumnCells,
    PinnedPoints,
    Spreads,
    cells_of,
    decode_chunks,
)
from understudy.releases.output.frames.compact import decode_all
from understudy.schema import Schema

FRAME_KINDS = ("polars", "pandas", "pyarrow", "duckdb", "numpy")
"""The kinds of frame, in the order in which one is chosen where nobody asked for one.
"""

__all__ = [
    "FRAME_KINDS",
    "ColumnCells",
    "cells_of",
    "decode_all",
    "decode_chunks",
    "default_kind",
    "to_frame",
]


def default_kind(remembered: str | None = None) -> str:
    """The kind that came in, or the first whose library is installed; a dict of numpy
    arrays where none is.
    """
    if remembered is not None and _is_installed(remembered):
        return remembered
    return next(
        (kind for kind in ("polars", "pandas", "pyarrow") if _is_installed(kind)),
        "numpy",
    )


def to_frame(
    schema: Schema,
    codes: CodeBatches,
    *,
    kind: str,
    rng: Generator,
    pins: PinnedPoints | None = None,
    spreads: Spreads | None = None,
) -> Any:
    """Rows of codes as a frame of that kind, columns in schema order.

    >>> import numpy as np
    >>> from understudy.schema import Integer
    >>> schema = Schema(columns=(Integer(name="age", min=0, max=9),))
    >>> to_frame(schema, {"age": np.array([3, 10])}, kind="duckdb", rng=np.random.default_rng(0)).fetchall()
    [(3,), (None,)]
    """
    if kind not in FRAME_KINDS:
        raise Refused(
            f"A frame is one of {', '.join(FRAME_KINDS)}. Nothing was sampled."
        )
    if not _is_installed(kind):
        raise Refused(
            f'{kind} is not installed. Install it, or ask for kind="numpy". Nothing was'
            " sampled."
        )
    columns = decode_all(schema, codes, rng, pins, spreads)
    match kind:
        case "pandas":
            return pandas.pandas_frame(columns)
        case "polars":
            return polars.polars_frame(columns)
        case "pyarrow":
            return arrow.pyarrow_table(columns)
        case "duckdb":
            return duckdb.duckdb_relation(columns)
        case _:
            return dict(zip(columns, _numpy_arrays(columns), strict=True))


def _numpy_arrays(columns: Mapping[str, ColumnCells]) -> list[Any]:
    """numpy arrays, masked where cells are missing."""
    plain = duckdb.natural_relation(
        {f"c{i}": cells for i, cells in enumerate(columns.values())}
    ).fetchnumpy()
    return [plain[f"c{i}"] for i in range(len(columns))]


def _is_installed(kind: str) -> bool:
    return kind in {"numpy", "duckdb"} or (
        kind in FRAME_KINDS and find_spec(kind) is not None
    )
