"""SmartNoise SQL metadata: a YAML file of collections, schemas and tables, with bounds
and the key of the privacy unit.

SmartNoise SQL documentation, "Metadata"; earlier files say `is_key`, `min` and `max`.
"""

from __future__ import annotations

from typing import Any

from understudy.errors import SchemaError
from understudy.schema.formats.draft import (
    ExportSection,
    SchemaDraft,
    TrackedSection,
    json_number,
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


def matches_tree(root: DocumentNode) -> bool:
    """Collections hold schemas, schemas hold tables, tables hold columns with a `type`."""
    return any(
        any(
            entry.node.entries is not None and _has_key(entry.node, "type")
            for entry in table.node.entries or ()
        )
        for table in _table_entries(root)
    )


def _has_key(node: DocumentNode, key: str) -> bool:
    return any(entry.key == key for entry in node.entries or ())


def _table_entries(root: DocumentNode) -> list[DocumentEntry]:
    collections = [entry for entry in root.entries or () if entry.key != "engine"]
    schemas = [
        schema for collection in collections for schema in collection.node.entries or ()
    ]
    return [table for schema in schemas for table in schema.node.entries or ()]


def list_tables(root: DocumentNode) -> list[tuple[str, DocumentNode]]:
    """The tables of a file by name."""
    return [(entry.key, entry.node) for entry in _table_entries(root)]


def read_table(node: DocumentNode, draft: SchemaDraft) -> None:
    """Read one table."""
    with TrackedSection(node, draft, what="the table") as table:
        keys: list[str] = []
        for entry in table.node.entries or ():
            if entry.key not in SMARTNOISE_TABLE_KEYS or entry.node.entries is not None:
                table.skip_keys(entry.key)
                _read_column(entry, draft, keys)
        draft.rows = table.whole("rows_exact")
        if draft.rows is None and table.get("rows") is not None:
            table.note(
                "`rows` is an estimate, so it is left out. Declare `rows` yourself if"
                " the number is public"
            )
        by_row, most = table.flag("row_privacy"), table.whole("max_ids")
        if len(keys) > 1:
            raise draft.source.error(
                node.line,
                "two columns are marked `private_id`. A unit has one id; mark one",
            )
        if keys and by_row:
            table.note(
                f'`row_privacy` is set, so the unit is the row and not "{keys[0]}"'
            )
        elif keys:
            draft.unit = {"id": keys[0], "max_rows": 1 if most is None else most}
        elif most not in (None, 1) and not by_row:
            table.note(
                "`max_ids` needs a column marked `private_id`, and there is none: the"
                " unit is the row"
            )


def _read_column(entry: DocumentEntry, draft: SchemaDraft, keys: list[str]) -> None:
    with TrackedSection(entry.node, draft, f'column "{entry.key}": ', "it") as words:
        kind = words.choice(
            "type",
            (
                "int",
                "integer",
                "float",
                "real",
                "string",
                "boolean",
                "datetime",
                "unknown",
            ),
        )
        if kind is None:
            raise words.error(None, "it has no `type`")
        words.skip_keys("name")
        nullable = None if words.flag("nullable") is not False else False
        if words.flag("private_id") or words.flag("is_key"):
            keys.append(entry.key)
            words.skip_keys("lower", "upper", "min", "max", "cardinality")
            draft.column(entry.key, entry.line, type="identifier")
            return
        low, high = (
            words.exact(new) or words.exact(old)
            for new, old in (("lower", "min"), ("upper", "max"))
        )
        match kind:
            case "int" | "integer":
                said: dict[str, Any] = {"type": "integer", "min": low, "max": high}
            case "float" | "real":
                said = real_column(words, low, high)
            case "boolean" | "datetime":
                said = {"type": kind}
            case "string":
                said = label_column(words, entry.key)
            case _:
                said = {}
        if kind not in ("int", "integer", "float", "real") and (low, high) != (
            None,
            None,
        ):
            words.note("`lower` and `upper` bound numbers only, and are left out")
        draft.column(entry.key, entry.line, **said, nullable=nullable)


def export_schema(plain: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """A schema in SmartNoise's words."""
    file, pages = split_sections(plain, notes)
    unit = ExportSection(file.take("unit") or {}, notes, "unit: ")
    key = unit.take("id")
    table: dict[str, Any] = (
        {"row_privacy": True} if key is None else {"max_ids": unit.take("max_rows", 1)}
    )
    rows = file.take("rows")
    if rows is not None:
        table |= {"rows": rows, "rows_exact": rows}
    for name, kind, page in pages:
        if name in SMARTNOISE_TABLE_KEYS:
            raise SchemaError(
                f'column "{name}": SmartNoise keeps this word for the table. Rename the'
                " column"
            )
        table[name] = _export_column(kind, page, is_key=name == key)
        page.close()
    unit.close()
    file.close()
    return {"": {"data": {"table": table}}}


def _export_column(kind: str, page: ExportSection, *, is_key: bool) -> dict[str, Any]:
    if is_key:
        return {"type": "string", "private_id": True}
    words: dict[str, Any] = {"type": _SMARTNOISE_TYPE_NAMES.get(kind, "string")}
    if kind in ("integer", "real"):
        for ours, theirs in (("min", "lower"), ("max", "upper")):
            bound = json_number(page.take(ours))
            if bound is not None:
                words[theirs] = bound
        page.take("bounds")
    elif kind == "categorical":
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
