"""Frictionless Table Schema: a JSON file of fields with types and constraints, alone,
in a resource or in a data package.

The Data Package standard, "Table Schema".
"""

from __future__ import annotations

from typing import Any

from understudy.schema.formats import moments
from understudy.schema.formats.draft import (
    ExportSection,
    SchemaDraft,
    TrackedSection,
    json_number,
    label_column,
    real_column,
    split_sections,
)
from understudy.schema.yaml.keys import LEARN_WORD
from understudy.schema.yaml.nodes import DocumentNode

_FRICTIONLESS_TYPE_NAMES = {
    "categorical": "string", "boolean": "boolean", "integer": "integer", "real": "number", "date": "date",
    "datetime": "datetime", "time": "time", "text": "string", "identifier": "string",
}  # fmt: skip
_FRICTIONLESS_OPAQUE_TYPES = (
    "object",
    "list",
    "array",
    "duration",
    "geopoint",
    "geojson",
    "yearmonth",
)
_FRICTIONLESS_TYPES = (
    "string",
    "number",
    "integer",
    "boolean",
    "date",
    "time",
    "datetime",
    "year",
    "any",
    *_FRICTIONLESS_OPAQUE_TYPES,
)


def matches_tree(root: DocumentNode) -> bool:
    """It has fields, or resources that have a schema."""
    return any(table.child("fields") is not None for _, table in list_tables(root))


def list_tables(root: DocumentNode) -> list[tuple[str, DocumentNode]]:
    """The tables of a data package by name; a schema or a resource is its own table."""
    resources = root.child("resources")
    if resources is None or resources.items is None:
        inner = root.child("schema")
        return [("table", root if inner is None else inner)]
    found = []
    for at, resource in enumerate(resources.items):
        name, schema = resource.child("name"), resource.child("schema")
        if schema is not None:
            found.append(((name.text if name is not None else None) or str(at), schema))
    return found


def read_table(node: DocumentNode, draft: SchemaDraft) -> None:
    """Read the fields of one schema."""
    with TrackedSection(node, draft, what="the schema") as schema:
        schema.skip_keys("$schema", "fieldsMatch")
        missing = _read_missing_codes(schema) or ()
        keys = set(schema.texts("primaryKey") or ())
        for field in schema.items_of("fields"):
            _read_field(field, draft, missing, keys)


def _read_field(
    node: DocumentNode, draft: SchemaDraft, missing: tuple[str, ...], keys: set[str]
) -> None:
    found = TrackedSection(node, draft, what="a field")
    name = found.text("name")
    if not name:
        raise found.error("name", "a field has no name. Give every field a name")
    with TrackedSection(node, draft, f'column "{name}": ', "it") as words:
        words.skip_keys("name", "example", "rdfType")
        note = words.text("description") or words.text("title")
        words.skip_keys("title")
        kind = words.choice("type", _FRICTIONLESS_TYPES) or "any"
        limits = words.within("constraints") or TrackedSection(
            DocumentNode(None, entries=()), draft
        )
        with limits:
            said = _column_of_field(words, limits, name, kind)
            if limits.flag("required"):
                said["nullable"] = False
            unique = limits.flag("unique")
        if (name in keys or unique) and said.get("type") != "identifier":
            words.note("it is a key, so it is left out of releases")
            said = {"type": "identifier"}
        own = _read_missing_codes(words)
        codes = [code for code in (missing if own is None else own) if code != ""]
        if "values" in said and said["values"] != LEARN_WORD:
            said["values"] = [value for value in said["values"] if value not in codes]
        if said.get("type") == "identifier":
            said.pop("nullable", None)
        draft.column(name, node.line, **said, missing=codes or None, note=note)


def _column_of_field(
    words: TrackedSection, limits: TrackedSection, name: str, kind: str
) -> dict[str, Any]:
    listed = limits.texts("enum")
    categories = words.get("categories")
    if listed is None and categories is not None:
        listed = _read_labelled_values(words, "categories", categories)
    ordered = words.flag("categoriesOrdered")
    pattern = words.text("format")
    if pattern == "default":
        pattern = None
    if kind == "boolean":
        words.skip_keys("format")
        true, false = words.texts("trueValues"), words.texts("falseValues")
        return {
            "type": "boolean",
            "true": true and list(true),
            "false": false and list(false),
        }
    if listed is not None:
        for key in ("minimum", "maximum"):
            limits.skip_keys(key)
        return {"type": "categorical", "values": list(listed), "ordered": ordered}
    if kind in ("date", "datetime", "time"):
        pattern = None if pattern is None else pattern.removeprefix("fmt:")
        moments.warn_of_pattern(words, pattern)
        low, high = (
            moments.read_bound(limits, key, kind, pattern)
            for key in ("minimum", "maximum")
        )
        return {"type": kind, "min": low, "max": high}
    if kind in ("integer", "year", "number"):
        for key in ("decimalChar", "groupChar", "bareNumber"):
            if words.get(key) is not None:
                words.note(
                    f"`{key}`: only plain numbers such as 1234.5 are read; other"
                    " spellings count as missing"
                )
        low, high = limits.exact("minimum"), limits.exact("maximum")
        return (
            real_column(words, low, high)
            if kind == "number"
            else {"type": "integer", "min": low, "max": high}
        )
    if kind in _FRICTIONLESS_OPAQUE_TYPES:
        words.note(f"type {kind} cannot be released, so it is left out")
        return {"type": "text"}
    if pattern in ("email", "uri", "uuid", "binary"):
        words.note(f"texts of format {pattern} are left out of releases")
        return {"type": "identifier"}
    return {} if kind == "any" else label_column(words, name)


def _read_missing_codes(words: TrackedSection) -> tuple[str, ...] | None:
    """Texts that mean missing; none are said where the key is not there."""
    node = words.get("missingValues")
    return None if node is None else _read_labelled_values(words, "missingValues", node)


def _read_labelled_values(
    words: TrackedSection, key: str, node: DocumentNode
) -> tuple[str, ...]:
    """A list of values, or of mappings with a value and a label; the value is what a
    cell holds.
    """
    if node.items is None:
        raise words.error(key, f"`{key}` must be a list")
    found = []
    for item in node.items:
        value = item if item.entries is None else item.child("value")
        if value is None or value.text is None:
            raise words.error(
                key, f"`{key}` must list single values, or mappings with a `value` each"
            )
        found.append(value.written)
    if any(item.entries is not None for item in node.items):
        words.note(
            f"the labels of `{key}` are left out; its values are what cells hold"
        )
    return tuple(found)


def export_schema(plain: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """A schema as a Table Schema."""
    file, pages = split_sections(plain, notes)
    fields = []
    for name, kind, page in pages:
        fields.append({"name": name, **_export_field(kind, page)})
        page.close()
    file.close()
    return {"fields": fields}


def _export_field(kind: str, page: ExportSection) -> dict[str, Any]:
    words: dict[str, Any] = {"type": _FRICTIONLESS_TYPE_NAMES.get(kind, "any")}
    limits: dict[str, Any] = {}
    note = page.take("note")
    if note is not None:
        words["description"] = note
    if kind == "categorical":
        values = page.take("values")
        if values is not None:
            limits["enum"] = values
        if page.take("ordered") and values is not None:
            words |= {"categories": values, "categoriesOrdered": True}
    elif kind == "boolean":
        for side in ("true", "false"):
            spelled = page.take(side)
            if spelled is not None:
                words[f"{side}Values"] = spelled
    elif kind in ("integer", "real", "date", "datetime", "time"):
        for ours, theirs in (("min", "minimum"), ("max", "maximum")):
            bound = page.take(ours)
            if bound is not None:
                limits[theirs] = (
                    json_number(bound) if kind in ("integer", "real") else str(bound)
                )
        page.take("bounds")
    elif kind in ("text", "identifier"):
        page.note(
            f"type {kind} becomes a string, and that it is never released is left out"
        )
    if page.take("nullable") is False:
        limits["required"] = True
    missing = page.take("missing")
    if missing:
        words["missingValues"] = ["", *missing]
    return words | ({"constraints": limits} if limits else {})
