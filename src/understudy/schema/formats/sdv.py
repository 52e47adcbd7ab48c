"""SDV metadata: a JSON file of tables with an `sdtype` for each column, versions V1, V2
and the single-table forms.

SDV documentation, "Metadata JSON".
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from understudy.schema.formats import moments
from understudy.schema.formats.draft import (
    MAX_QUOTED_CHARACTERS,
    ExportSection,
    SchemaDraft,
    TrackedSection,
    export_bounds,
    label_column,
    real_column,
    split_sections,
)
from understudy.schema.yaml.keys import LEARN_WORD
from understudy.schema.yaml.nodes import DocumentEntry, DocumentNode

_SDV_DATETIME_PATTERNS = {
    "date": "%Y-%m-%d",
    "datetime": "%Y-%m-%d %H:%M:%S",
    "time": "%H:%M:%S",
}
# SDV's moments have no offset and no fraction of a second.
_SDV_MOMENT_CHARACTERS = len("2024-12-31 13:45:59")

_SDV_SKIPPED_KEYS = ("relationships", "METADATA_SPEC_VERSION")


def matches_tree(root: DocumentNode) -> bool:
    """It says its version, or a column has an `sdtype`."""
    if root.child("METADATA_SPEC_VERSION") is not None:
        return True
    tables = [table for _, table in list_tables(root)]
    columns = chain.from_iterable(map(_column_entries, tables))
    return any(column.node.child("sdtype") is not None for column in columns)


def _column_entries(table: DocumentNode) -> tuple[DocumentEntry, ...]:
    columns = table.child("columns")
    return () if columns is None else columns.entries or ()


def list_tables(root: DocumentNode) -> list[tuple[str, DocumentNode]]:
    """The tables of a file by name; a single-table file is its own table."""
    tables = root.child("tables")
    if tables is None or tables.entries is None:
        return [("table", root)]
    return [(entry.key, entry.node) for entry in tables.entries]


def read_table(node: DocumentNode, draft: SchemaDraft) -> None:
    """Read one table."""
    with TrackedSection(node, draft, what="the table") as table:
        table.skip_keys("columns", *_SDV_SKIPPED_KEYS)
        keys = {*(table.texts("primary_key") or ()), *_read_alternate_keys(table)}
        entity = table.text("sequence_key")
        for entry in _column_entries(node):
            _read_column(entry, draft, key=entry.key in keys or entry.key == entity)
        if entity is not None:
            table.note(
                f'`sequence_key`: rows of one "{entity}" belong together. The guarantee'
                " protects single rows unless you add `unit` with that id and"
                " `max_rows`"
            )


def _read_alternate_keys(table: TrackedSection) -> list[str]:
    """Columns that are keys by themselves; several that make one together need not be."""
    items = table.items_of("alternate_keys")
    if any(item.items is not None for item in items):
        table.note(
            "`alternate_keys` of several columns have no counterpart and are left out"
        )
    return [item.written for item in items if item.text is not None]


def _read_column(entry: DocumentEntry, draft: SchemaDraft, *, key: bool) -> None:
    with TrackedSection(entry.node, draft, f'column "{entry.key}": ', "it") as words:
        kind = words.text("sdtype")
        if kind is None:
            raise words.error(None, "it has no `sdtype`")
        nullable = None if words.flag("range_is_nullable") is not False else False
        fields = _column_of_sdtype(words, entry.key, kind)
        # A key tells rows apart, whatever its type.
        if key and fields["type"] != "identifier":
            words.note("it is a key, so it is left out of releases")
            fields = {"type": "identifier"}
        if fields["type"] == "identifier":
            nullable = None
        draft.column(entry.key, entry.line, **fields, nullable=nullable)


def _column_of_sdtype(words: TrackedSection, name: str, kind: str) -> dict[str, Any]:
    match kind:
        case "numerical":
            return _read_numerical(words)
        case "datetime":
            return _read_datetime(words)
        case "categorical" | "ordinal":
            return _read_categories(words, ordered=kind == "ordinal")
        case "boolean":
            return {"type": "boolean"}
        case "id":
            return {"type": "identifier"}
    return _read_personal(words, name, kind)


def _read_numerical(words: TrackedSection) -> dict[str, Any]:
    low = words.exact("range_min")
    high = words.exact("range_max")
    decimals = words.whole("decimal_places")
    form = (words.text("computer_representation") or "").lower()
    is_stored_whole = form.startswith(("int", "uint"))
    if decimals == 0 or (decimals is None and is_stored_whole):
        return {"type": "integer", "min": low, "max": high}
    return real_column(words, low, high, decimals)


def _read_datetime(words: TrackedSection) -> dict[str, Any]:
    pattern = words.text("datetime_format")
    kind = "datetime" if pattern is None else moments.kind_of_pattern(pattern)
    if kind is None:
        raise words.error(
            "datetime_format", "`datetime_format` writes neither days nor hours"
        )
    format = moments.format_of_pattern(words, kind, pattern)
    fields: dict[str, Any] = {"type": kind, "format": format}
    if pattern is not None and kind != "date":
        fields["resolution"] = moments.resolution_of_pattern(pattern)
    low = moments.read_bound(words, "range_min", kind, pattern)
    high = moments.read_bound(words, "range_max", kind, pattern)
    return fields | {"min": low, "max": high}


def _read_categories(words: TrackedSection, *, ordered: bool) -> dict[str, Any]:
    values = words.texts("range_values")
    has_many = words.flag("high_cardinality")
    if values is not None and has_many:
        raise words.error(
            "high_cardinality",
            "`high_cardinality` contradicts `range_values`. Remove one of them",
        )
    if words.text("order_by") == "numerical_value":
        ordered = True
    # `order` lists the same values again, in their order.
    order = words.texts("order")
    listed = values if order is None else order
    return {
        "type": "categorical",
        "values": LEARN_WORD if listed is None else list(listed),
        "ordered": ordered or None,
    }


def _read_personal(words: TrackedSection, name: str, kind: str) -> dict[str, Any]:
    """A column of a kind that describes people (`email`), or `unknown`: left out unless
    it is declared not to be personal.
    """
    if words.flag("pii") is False:
        return label_column(words, name)
    if kind == "unknown":
        words.note(
            "its `sdtype` is unknown, so it is left out of releases. State its `type`"
            " to release it"
        )
        return {"type": "text"}
    shown = kind[:MAX_QUOTED_CHARACTERS]
    words.note(f"sdtype {shown} counts as personal, so it is left out of releases")
    return {"type": "identifier"}


def export_schema(plain: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """A schema in SDV's words, version V2."""
    file, pages = split_sections(plain, notes)
    columns: dict[str, Any] = {}
    for name, kind, page in pages:
        columns[name] = _export_column(kind, page)
        if page.take("nullable") is False:
            columns[name]["range_is_nullable"] = False
        page.close()
    file.close()
    return {
        "tables": {"table": {"columns": columns}},
        "relationships": [],
        "METADATA_SPEC_VERSION": "V2",
    }


def _export_column(kind: str, page: ExportSection) -> dict[str, Any]:
    match kind:
        case "integer" | "real":
            words: dict[str, Any] = {"sdtype": "numerical"}
            words |= export_bounds(kind, page, "range_min", "range_max")
            decimals = 0 if kind == "integer" else page.take("decimals")
            return words if decimals is None else words | {"decimal_places": decimals}
        case "date" | "datetime" | "time":
            return _export_moment(kind, page)
        case "categorical":
            words = {"sdtype": "ordinal" if page.take("ordered") else "categorical"}
            values = page.take("values")
            return words if not values else words | {"range_values": values}
        case "boolean":
            return {"sdtype": "boolean"}
        case "identifier":
            return {"sdtype": "id"}
        case "text":
            # Marked as personal, so that no reader releases it.
            return {"sdtype": "unknown", "pii": True}
    page.note("its type is not stated, so it is unknown here too")
    return {"sdtype": "unknown", "pii": False}


def _export_moment(kind: str, page: ExportSection) -> dict[str, Any]:
    pattern = _SDV_DATETIME_PATTERNS[kind]
    if page.words.get("resolution") == "1s":
        page.take("resolution")
    bounds = export_bounds(kind, page, "range_min", "range_max")
    words: dict[str, Any] = {"sdtype": "datetime", "datetime_format": pattern}
    for key, bound in bounds.items():
        words[key] = bound[:_SDV_MOMENT_CHARACTERS]
    return words
