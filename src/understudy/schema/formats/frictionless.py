"""Frictionless Table Schema: a JSON file of fields with types and constraints, alone,
in a resource or in a data package.

The Data Package standard, "Table Schema".
"""

from __future__ import annotations

from typing import Any

from understudy.schema.columns.number_spelling import NumberSpelling
from understudy.schema.formats import moments
from understudy.schema.formats.draft import (
    ExportSection,
    SchemaDraft,
    TrackedSection,
    drop_empty_codes,
    drop_missing_values,
    export_bounds,
    label_column,
    real_column,
    split_sections,
)
from understudy.schema.yaml.nodes import DocumentNode

_FRICTIONLESS_SPELLING_KEYS = {
    "format": "format",
    "decimal": "decimalChar",
    "thousands": "groupChar",
}

_FRICTIONLESS_TYPE_NAMES = {
    "categorical": "string",
    "boolean": "boolean",
    "integer": "integer",
    "real": "number",
    "date": "date",
    "datetime": "datetime",
    "time": "time",
    "text": "string",
    "identifier": "string",
}
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


# Texts in these formats identify something, or are no text at all.
_FRICTIONLESS_PERSONAL_FORMATS = ("email", "uri", "uuid", "binary")


def matches_tree(root: DocumentNode) -> bool:
    """It has fields, or resources that have a schema."""
    tables = [table for _, table in list_tables(root)]
    return any(table.child("fields") is not None for table in tables)


def list_tables(root: DocumentNode) -> list[tuple[str, DocumentNode]]:
    """The tables of a data package by name; a schema or a resource is its own table."""
    resources = root.child("resources")
    if resources is None or resources.items is None:
        schema = root.child("schema")
        return [("table", root if schema is None else schema)]
    tables = []
    for number, resource in enumerate(resources.items):
        name = resource.child("name")
        schema = resource.child("schema")
        if schema is not None:
            title = None if name is None else name.text
            tables.append((title or str(number), schema))
    return tables


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
    """Read one field; `missing` are the table's missing codes, `keys` its keys."""
    field = TrackedSection(node, draft, what="a field")
    name = field.text("name")
    if not name:
        raise field.error("name", "a field has no name. Give every field a name")
    with TrackedSection(node, draft, f'column "{name}": ', "it") as words:
        words.skip_keys("name", "example", "rdfType", "title")
        note = words.text("description") or words.text("title")
        kind = words.choice("type", _FRICTIONLESS_TYPES) or "any"
        no_limits = TrackedSection(DocumentNode(None, entries=()), draft)
        with words.within("constraints") or no_limits as limits:
            fields = _column_of_field(words, limits, name, kind)
            required = limits.flag("required")
            # Read inside the section, or it would be noted as unknown when that closes.
            unique = limits.flag("unique")
        # Values that are all different tell rows apart, so they identify.
        if (name in keys or unique) and fields.get("type") != "identifier":
            words.note("it is a key, so it is left out of releases")
            fields = {"type": "identifier"}
        own_missing = _read_missing_codes(words)
        codes = drop_empty_codes(missing if own_missing is None else own_missing)
        drop_missing_values(fields, codes)
        if required and fields.get("type") != "identifier":
            fields["nullable"] = False
        draft.column(name, node.line, **fields, missing=codes or None, note=note)


def _column_of_field(
    words: TrackedSection, limits: TrackedSection, name: str, kind: str
) -> dict[str, Any]:
    """The fields of the column that a type with its constraints describes."""
    values = _read_values(words, limits)
    ordered = words.flag("categoriesOrdered")
    pattern = words.text("format")
    if pattern == "default":
        pattern = None
    if kind == "boolean":
        true = words.texts("trueValues")
        false = words.texts("falseValues")
        return {
            "type": "boolean",
            "true": true and list(true),
            "false": false and list(false),
        }
    if values is not None:
        # Bounds beside a list of values say nothing more.
        limits.skip_keys("minimum", "maximum")
        return {"type": "categorical", "values": list(values), "ordered": ordered}
    if kind in ("date", "datetime", "time"):
        return _moment_column(words, limits, kind, pattern)
    if kind in ("integer", "year", "number"):
        return _number_column(words, limits, kind)
    if kind in _FRICTIONLESS_OPAQUE_TYPES:
        words.note(f"type {kind} cannot be released, so it is left out")
        return {"type": "text"}
    if pattern in _FRICTIONLESS_PERSONAL_FORMATS:
        words.note(f"texts of format {pattern} are left out of releases")
        return {"type": "identifier"}
    return {} if kind == "any" else label_column(words, name)


def _read_values(
    words: TrackedSection, limits: TrackedSection
) -> tuple[str, ...] | None:
    """The listed values: constraints before categories."""
    listed = limits.texts("enum")
    categories = words.get("categories")
    if listed is not None or categories is None:
        return listed
    return _read_labelled_values(words, "categories", categories)


def _moment_column(
    words: TrackedSection, limits: TrackedSection, kind: str, pattern: str | None
) -> dict[str, Any]:
    if pattern is not None:
        pattern = pattern.removeprefix("fmt:")
    format = moments.format_of_pattern(words, kind, pattern)
    low = moments.read_bound(limits, "minimum", kind, pattern)
    high = moments.read_bound(limits, "maximum", kind, pattern)
    return {"type": kind, "min": low, "max": high, "format": format}


def _number_column(
    words: TrackedSection, limits: TrackedSection, kind: str
) -> dict[str, Any]:
    if words.get("bareNumber") is not None:
        words.note(
            "`bareNumber`: only plain numbers such as 1234.5 are read; those with other"
            " signs count as missing"
        )
    low = limits.exact("minimum")
    high = limits.exact("maximum")
    if kind == "number":
        return real_column(words, low, high) | _read_marks(words)
    thousands = _read_marks(words)["thousands"]
    return {"type": "integer", "min": low, "max": high, "thousands": thousands}


def _read_marks(words: TrackedSection) -> dict[str, str | None]:
    """The marks in the texts of numbers; none, with a note, if they are not read here."""
    decimal = words.text("decimalChar")
    thousands = words.text("groupChar")
    spelling = NumberSpelling(decimal or ".", thousands or "")
    if spelling.find_problem() is None:
        return {"decimal": decimal, "thousands": thousands}
    words.note(
        "`decimalChar` and `groupChar`: only plain numbers such as 1234.5 are read;"
        " other spellings count as missing"
    )
    return {"decimal": None, "thousands": None}


def _read_missing_codes(words: TrackedSection) -> tuple[str, ...] | None:
    """Texts that mean missing; None if the key is not there."""
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
    values = []
    for item in node.items:
        value = item if item.entries is None else item.child("value")
        if value is None or value.text is None:
            raise words.error(
                key, f"`{key}` must list single values, or mappings with a `value` each"
            )
        values.append(value.written)
    if any(item.entries is not None for item in node.items):
        words.note(
            f"the labels of `{key}` are left out; its values are what cells hold"
        )
    return tuple(values)


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
    match kind:
        case "categorical":
            _export_categories(page, words, limits)
        case "boolean":
            for side in ("true", "false"):
                spellings = page.take(side)
                if spellings is not None:
                    words[f"{side}Values"] = spellings
        case "integer" | "real" | "date" | "datetime" | "time":
            limits |= export_bounds(kind, page, "minimum", "maximum")
            words |= _export_spelling(page)
        case "text" | "identifier":
            page.note(
                f"type {kind} becomes a string, and that it is never released is left"
                " out"
            )
    if page.take("nullable") is False:
        limits["required"] = True
    missing = page.take("missing")
    if missing:
        # A list replaces the default, which is the empty text.
        words["missingValues"] = ["", *missing]
    return words | ({"constraints": limits} if limits else {})


def _export_spelling(page: ExportSection) -> dict[str, Any]:
    """The format of dates and times, and the marks in numbers."""
    words = {}
    for key, foreign in _FRICTIONLESS_SPELLING_KEYS.items():
        stated = page.take(key)
        if stated is not None:
            # Its patterns read numbers with and without a leading zero alike.
            words[foreign] = stated.replace("%-", "%")
    return words


def _export_categories(
    page: ExportSection, words: dict[str, Any], limits: dict[str, Any]
) -> None:
    values = page.take("values")
    ordered = page.take("ordered")
    if values is None:
        return
    limits["enum"] = values
    if ordered:
        words |= {"categories": values, "categoriesOrdered": True}
