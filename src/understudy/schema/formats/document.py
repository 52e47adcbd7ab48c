"""JSON and YAML files of other tools, read into document trees and written as text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import yaml

from understudy.errors import SchemaError
from understudy.schema.formats.jsontree import from_json
from understudy.schema.yaml.nodes import (
    MAX_SCHEMA_FILE_BYTES,
    DocumentNode,
    DocumentSource,
    from_plain,
    from_yaml,
)

# Deeper than any tree may be, so that the tree's own limit reports it.
_MAX_PLAIN_DEPTH = 20


def read_tree(path: Path) -> tuple[DocumentNode, DocumentSource]:
    """The tree of a file: JSON if it begins as JSON does, else YAML."""
    source = DocumentSource(os.fspath(path))
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SCHEMA_FILE_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise SchemaError(
            f"{source.name}: cannot be read ({error.strerror}). Nothing was written"
        ) from None
    except UnicodeDecodeError:
        raise SchemaError(f"{source.name}: not UTF-8 text. Save it as UTF-8") from None
    if len(content) > MAX_SCHEMA_FILE_BYTES:
        raise source.error(
            None,
            f"larger than {MAX_SCHEMA_FILE_BYTES // 2**20} MB, which no schema is. It"
            " was not read",
        )
    return parse_tree(text, source), source


def parse_tree(text: str, source: DocumentSource) -> DocumentNode:
    """The tree of a text. Numbers stay as they are written, so that 0.10 is one tenth."""
    # YAML may begin with a bracket too, so only a .json file must be JSON.
    if text.lstrip()[:1] in ("{", "["):
        try:
            return from_json(text, source)
        except json.JSONDecodeError as error:
            if Path(source.name).suffix.lower() == ".json":
                raise source.error(
                    error.lineno, f"not valid JSON: {error.msg}", error.colno
                ) from None
    return from_yaml(text, source)


def plain_tree(document: object, source: DocumentSource) -> DocumentNode:
    """The tree of what a JSON or YAML reader gave; dates become texts again."""
    return from_plain(_dates_to_texts(document, 0), source)


def _dates_to_texts(value: object, depth: int) -> object:
    if depth > _MAX_PLAIN_DEPTH:
        return value
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: _dates_to_texts(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_dates_to_texts(inner, depth + 1) for inner in value]
    return value


def dump_document(document: Mapping[str, Any], *, as_yaml: bool) -> str:
    """A document as text.

    >>> print(dump_document({"age": {"min_value": 0}}, as_yaml=True), end="")
    age:
      min_value: 0
    """
    if as_yaml:
        text: str = yaml.safe_dump(
            dict(document), sort_keys=False, allow_unicode=True, width=120
        )
        return text
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
