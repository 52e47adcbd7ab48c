"""Schema files: YAML on disk, or the same keys as plain data inside a release.

    version: 1
    columns:
      age: {type: integer, min: 0, max: 90}
      sex: {type: categorical, values: [F, M]}

Reading builds nothing but a schema, and every error names the file and the line.
"""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from understudy.atomic import write_file_atomically
from understudy.errors import SchemaError
from understudy.schema.schema import Schema
from understudy.schema.yaml.commented import dump_schema
from understudy.schema.yaml.nodes import (
    MAX_SCHEMA_FILE_BYTES,
    DocumentNode,
    DocumentSource,
    from_plain,
    from_yaml,
)
from understudy.schema.yaml.reader import read_schema


def parse_schema_text(text: str, source: str) -> Schema:
    """Read a schema from YAML text; `source` begins its errors.

    >>> text = "columns: {age: {type: integer, min: 0, max: 90}, remarks: text}"
    >>> list(parse_schema_text(text, "people"))
    ['age']
    """
    where = DocumentSource(source)
    return read_schema(from_yaml(text, where), where)


def load_schema_file(path: str | os.PathLike[str]) -> Schema:
    """Read a schema file."""
    where = DocumentSource(os.fspath(path))
    return read_schema(_load_document(path, where), where)


def load_census_part(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The part `census` of a schema file as mappings, lists and texts; None without
    one. The room of censuses reads it.
    """
    where = DocumentSource(os.fspath(path))
    node = _load_document(path, where).child("census")
    if node is None:
        return None
    if node.entries is None:
        raise where.error(node.line, "`census` must be a mapping of keys to values")
    return {entry.key: _to_plain(entry.node) for entry in node.entries}


def _to_plain(node: DocumentNode) -> Any:
    """A tree as it is written: labels stay texts, whatever they look like."""
    if node.items is not None:
        return [_to_plain(item) for item in node.items]
    if node.entries is not None:
        return {entry.key: _to_plain(entry.node) for entry in node.entries}
    return node.written


def _load_document(path: str | os.PathLike[str], where: DocumentSource) -> DocumentNode:
    try:
        # One byte more than allowed, so that a larger file is refused unread.
        with Path(path).open("rb") as file:
            content = file.read(MAX_SCHEMA_FILE_BYTES + 1)
        # Some editors begin a file with a byte order mark.
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise SchemaError(f"{where.name}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{where.name}: not UTF-8 text. Save it as UTF-8") from None
    return from_yaml(text, where)


def save_schema_file(schema: Schema, path: str | os.PathLike[str]) -> None:
    """Write a schema file, whole or not at all."""
    write_private_text(dump_schema(schema), Path(path))


def write_private_text(text: str, path: Path) -> None:
    """Write a description of a table, whole or not at all, readable by its owner only.

    A schema may have been drafted from the rows, and it is not public before its owner
    declares it so.
    """
    with write_file_atomically(path, private=True, error=SchemaError) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


def schema_from_dict(plain: object) -> Schema:
    """The schema that `schema_to_dict` wrote; anything else is refused.

    >>> schema_from_dict({"columns": [{"name": "smoker", "type": "boolean"}]})["smoker"].type
    'boolean'
    """
    where = DocumentSource("schema")
    return read_schema(from_plain(plain, where), where)


def json_schema() -> dict[str, Any]:
    """The published JSON Schema of schema files, with which editors complete and check
    as you type.

    >>> json_schema()["title"]
    'Understudy schema'
    """
    text = (
        files("understudy.schema")
        .joinpath("understudy.schema.json")
        .read_text(encoding="utf-8")
    )
    loaded: dict[str, Any] = json.loads(text)
    return loaded
