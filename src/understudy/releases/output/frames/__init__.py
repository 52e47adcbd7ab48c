"""Codes → values → frames: the kind of frame that came in goes out again, types
included.

A kind is one of `FRAME_KINDS`. No frame library is needed at install: each is imported
when a frame of its kind is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from numpy.random import Generator

from understudy.errors import Refused
from understudy.releases.output.frames import arrow, duckdb, pandas, polars
from understudy.releases.output.frames.cells import ColumnCells
from understudy.releases.output.frames.compact import decode_all
from understudy.releases.output.frames.decoding import (
    BinDensities,
    CodeBatches,
    PinnedPoints,
    decode_chunks,
)
from understudy.schema import Schema

FRAME_KINDS = ("polars", "pandas", "pyarrow", "duckdb", "numpy")
"""The kinds of frame; the first that is installed is the default."""

__all__ = [
    "FRAME_KINDS",
    "ColumnCells",
    "decode_all",
    "decode_chunks",
    "default_kind",
    "to_frame",
]


def default_kind(remembered: str | None = None) -> str:
    """The kind that came in, or the first whose library is installed; a dict of numpy
    arrays if none is.
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
    densities: BinDensities | None = None,
) -> Any:
    """Rows of codes as a frame of that kind, columns in schema order.

    >>> import numpy as np
    >>> from understudy.schema import Integer
    >>> schema = Schema(columns=(Integer(name="age", min=0, max=9),))
    >>> codes, rng = {"age": np.array([3, 10])}, np.random.default_rng(0)
    >>> to_frame(schema, codes, kind="duckdb", rng=rng).fetchall()
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
    columns = decode_all(schema, codes, rng, pins, densities)
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
