"""SmartNoise SQL metadata: a YAML file of collections, schemas and tables, with bounds
and the id of the privacy unit.

SmartNoise SQL documentation, "Metadata"; earlier files say `is_key`, `min` and `max`.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from understudy.errors import SchemaError
from understudy.schema.formats.draft import (
    ExportSection,
    SchemaDraft,
    TrackedSection,
    export_bounds,
    label_column,
    real_column,
    split_sections,
)
from understudy.schema.yaml.nodes import DocumentEntry, DocumentNode

SMARTNOISE_TABLE_KEYS = (
    "rows", "rows_exact", "row_privacy", "max_ids", "sample_max_ids",
    "clamp_counts", "clamp_columns", "use_dpsu", "censor_dims",
)  # fmt: skip
_SMARTNOISE_TYPE_NAMES = {
    "integer": "int",
    "real": "float",
    "boolean": "boolean",
    "date": "datetime",
    "datetime": "datetime",
}


_SMARTNOISE_TYPES = (
    "int", "integer", "float", "real", "string", "boolean", "datetime", "unknown",
)  # fmt: skip
_SMARTNOISE_NUMBER_TYPES = ("int", "integer", "float", "real")


def matches_tree(root: DocumentNode) -> bool:
    """Collections hold schemas, schemas hold tables, tables hold columns with a `type`."""
    tables = [table for _, table in list_tables(root)]
    columns = chain.from_iterable(table.entries or () for table in tables)
    return any(column.node.child("type") is not None for column in columns)


def list_tables(root: DocumentNode) -> list[tuple[str, DocumentNode]]:
    """The tables of a file by name."""
    tables = []
    for collection in root.entries or ():
        # The engine stands beside the collections.
        if collection.key == "engine":
            continue
        for schema in collection.node.entries or ():
            tables += [(table.key, table.node) for table in schema.node.entries or ()]
    return tables


def read_table(node: DocumentNode, draft: SchemaDraft) -> None:
    """Read one table."""
    with TrackedSection(node, draft, what="the table") as table:
        unit_ids = []
        for entry in table.node.entries or ():
            # Columns stand among the words about the table; a column is a mapping.
            if entry.key in SMARTNOISE_TABLE_KEYS and entry.node.entries is None:
                continue
            table.skip_keys(entry.key)
            if _read_column(entry, draft):
                unit_ids.append(entry.key)
        draft.rows = table.whole("rows_exact")
        if draft.rows is None and table.get("rows") is not None:
            table.note(
                "`rows` is an estimate, so it is left out. Declare `rows` yourself if"
                " the number is public"
            )
        _read_unit(table, draft, unit_ids)


def _read_unit(table: TrackedSection, draft: SchemaDraft, unit_ids: list[str]) -> None:
    by_row = table.flag("row_privacy")
    max_rows = table.whole("max_ids")
    if len(unit_ids) > 1:
        raise draft.source.error(
            table.node.line,
            "two columns are marked `private_id`. A unit has one id; mark one",
        )
    if unit_ids and by_row:
        table.note(
            f'`row_privacy` is set, so the unit is the row and not "{unit_ids[0]}"'
        )
    elif unit_ids:
        draft.unit = {
            "id": unit_ids[0],
            "max_rows": 1 if max_rows is None else max_rows,
        }
    elif max_rows not in (None, 1) and not by_row:
        table.note(
            "`max_ids` needs a column marked `private_id`, and there is none: the"
            " unit is the row"
        )


def _read_column(entry: DocumentEntry, draft: SchemaDraft) -> bool:
    """Read one column; whether it is the id of the privacy unit."""
    with TrackedSection(entry.node, draft, f'column "{entry.key}": ', "it") as words:
        kind = words.choice("type", _SMARTNOISE_TYPES)
        if kind is None:
            raise words.error(None, "it has no `type`")
        words.skip_keys("name")
        nullable = None if words.flag("nullable") is not False else False
        if words.flag("private_id") or words.flag("is_key"):
            words.skip_keys("lower", "upper", "min", "max", "cardinality")
            draft.column(entry.key, entry.line, type="identifier")
            return True
        fields = _column_of_type(words, entry.key, kind)
        draft.column(entry.key, entry.line, **fields, nullable=nullable)
        return False


def _column_of_type(words: TrackedSection, name: str, kind: str) -> dict[str, Any]:
    # Earlier files say `min` and `max`.
    low = words.exact("lower") or words.exact("min")
    high = words.exact("upper") or words.exact("max")
    has_bounds = low is not None or high is not None
    if has_bounds and kind not in _SMARTNOISE_NUMBER_TYPES:
        words.note("`lower` and `upper` bound numbers only, and are left out")
    match kind:
        case "int" | "integer":
            return {"type": "integer", "min": low, "max": high}
        case "float" | "real":
            return real_column(words, low, high)
        case "boolean" | "datetime":
            return {"type": kind}
        case "string":
            return label_column(words, name)
    return {}


def export_schema(plain: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """A schema in SmartNoise's words."""
    file, pages = split_sections(plain, notes)
    unit = ExportSection(file.take("unit") or {}, notes, "unit: ")
    unit_id = unit.take("id")
    table: dict[str, Any] = {"row_privacy": True}
    if unit_id is not None:
        table = {"max_ids": unit.take("max_rows", 1)}
    rows = file.take("rows")
    if rows is not None:
        table |= {"rows": rows, "rows_exact": rows}
    for name, kind, page in pages:
        if name in SMARTNOISE_TABLE_KEYS:
            raise SchemaError(
                f'column "{name}": SmartNoise keeps this word for the table. Rename the'
                " column"
            )
        table[name] = _export_column(kind, page, is_unit=name == unit_id)
        page.close()
    unit.close()
    file.close()
    return {"": {"data": {"table": table}}}


def _export_column(kind: str, page: ExportSection, *, is_unit: bool) -> dict[str, Any]:
    if is_unit:
        return {"type": "string", "private_id": True}
    words: dict[str, Any] = {"type": _SMARTNOISE_TYPE_NAMES.get(kind, "string")}
    if kind in ("integer", "real"):
        words |= export_bounds(kind, page, "lower", "upper")
    elif kind == "categorical":
        # Only the number of values can be said, so `values` stays and is noted.
        values = page.words.get("values")
        if isinstance(values, list):
            words["cardinality"] = len(values)
    elif kind not in _SMARTNOISE_TYPE_NAMES:
        page.note(f"type {kind} becomes a string")
    elif kind == "date":
        page.note("a date becomes a datetime")
    if page.take("nullable") is False:
        words["nullable"] = False
    return words
