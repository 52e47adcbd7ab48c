"""What a Parquet file states beside its types: Arrow's schema and pandas' names, from
which both restore what Parquet has no type for.

Only three things are taken from there: that a column of texts is one of categories, in
which unit moments are counted and in which zone they are shown, and which of pandas'
own types a column has. A type's name is all that is kept of it, never a list of
categories. A statement that cannot be read, or that contradicts the types of the file
itself, states nothing.
"""

from __future__ import annotations

import base64
import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from understudy.errors import TableError
from understudy.tables.sources.parquet_footer import read_footer
from understudy.tables.sql.stored import INSTANT_TYPES

KEY_VALUES_FIELD = 5
"""Field of a footer: names and texts."""

MAX_STATEMENT_CHARS = 1 << 24
"""Characters of a statement that are read at most."""

_NULLABLE_STORAGE_TYPES = {
    **{
        f"Int{bits}": kind
        for bits, kind in (
            (8, "TINYINT"),
            (16, "SMALLINT"),
            (32, "INTEGER"),
            (64, "BIGINT"),
        )
    },
    **{
        f"UInt{bits}": kind
        for bits, kind in (
            (8, "UTINYINT"),
            (16, "USMALLINT"),
            (32, "UINTEGER"),
            (64, "UBIGINT"),
        )
    },
    "Float32": "FLOAT",
    "Float64": "DOUBLE",
    "boolean": "BOOLEAN",
}
"""pandas' types that hold missing cells, and what a file stores them as."""


def read_stated_types(
    path: Path, kinds: dict[str, str]
) -> tuple[dict[str, str], dict[str, str | None]]:
    """The types and the zones that a file states of its columns, given the types that
    it has; only those that add something.
    """
    try:
        texts = _read_key_values(path)
        dtypes = _pandas_types(texts.get(b"pandas"), kinds)
        found, zones = _arrow_types(texts.get(b"ARROW:schema"), kinds)
    except Exception:
        # A damaged statement states nothing: the file's own types are enough.
        return {}, {}
    return dtypes | found, zones


def _read_key_values(path: Path) -> dict[bytes, bytes]:
    try:
        fields, _ = read_footer(path)
    except TableError:
        return {}
    pairs = fields[KEY_VALUES_FIELD][1][1] if KEY_VALUES_FIELD in fields else []
    return {
        pair[1][1]: pair[2][1]
        for pair in pairs
        if 2 in pair and len(pair[2][1]) <= MAX_STATEMENT_CHARS
    }


def _arrow_types(
    text: bytes | None, kinds: dict[str, str]
) -> tuple[dict[str, str], dict[str, str | None]]:
    if text is None or find_spec("pyarrow") is None:
        return {}, {}
    pa: Any = import_module("pyarrow")
    dtypes: dict[str, str] = {}
    zones: dict[str, str | None] = {}
    for field in pa.ipc.read_schema(pa.BufferReader(base64.b64decode(text))):
        kind = kinds.get(field.name)
        is_moment = pa.types.is_timestamp(field.type)
        if kind == "VARCHAR" and _is_text_dictionary(pa, field.type):
            # Whether categories have an order is the schema's to say.
            dtypes[field.name] = "dictionary<values=string, indices=int32, ordered=0>"
        elif kind in INSTANT_TYPES and is_moment and field.type.tz is not None:
            zone = ZoneInfo(field.type.tz).key
            zones[field.name] = zone
            dtypes[field.name] = f"timestamp[{field.type.unit}, tz={zone}]"
        elif kind == "TIMESTAMP" and is_moment and field.type.unit in ("s", "ms"):
            dtypes[field.name] = f"timestamp[{field.type.unit}]"
    return dtypes, zones


def _is_text_dictionary(pa: Any, kind: Any) -> bool:
    return pa.types.is_dictionary(kind) and _is_text(pa, kind.value_type)


def _is_text(pa: Any, kind: Any) -> bool:
    return any(
        test(kind)
        for test in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
        )
    )


def _pandas_types(text: bytes | None, kinds: dict[str, str]) -> dict[str, str]:
    """pandas' nullable types, where the file stores them as such."""
    listed = json.loads(text)["columns"] if text is not None else []
    words = {column["field_name"]: column["numpy_type"] for column in listed}
    return {
        name: word
        for name, word in words.items()
        if word in _NULLABLE_STORAGE_TYPES
        and kinds.get(name) == _NULLABLE_STORAGE_TYPES[word]
    }
