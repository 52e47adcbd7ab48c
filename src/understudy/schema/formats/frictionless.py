"""Frictionless Table Schema: a JSON file of fields with types and constraints, alone, in a resource or in a data package.

The Data Package standard, "Table Schema".
"""

from __future__ import annotations

from typing import Any

from understudy.schema.formats import moments
from understudy.schema.formats.draft import Draft, Page, Words, columns_of, number, open_labels, real
from understudy.schema.yaml.keys import LEARN
from understudy.schema.yaml.nodes import Node

_TYPES = {
    "categorical": "string", "boolean": "boolean", "integer": "integer", "real": "number", "date": "date",
    "datetime": "datetime", "time": "time", "text": "string", "identifier": "string",
}  # fmt: skip
_OPAQUE = ("object", "list", "array", "duration", "geopoint", "geojson", "yearmonth")
_KNOWN = ("string", "number", "integer", "boolean", "date", "time", "datetime", "year", "any", *_OPAQUE)


def _child(node: Node, key: str) -> Node | None:
    return next((entry.node for entry in node.entries or () if entry.key == key), None)


def matches(root: Node) -> bool:
    """It has fields, or resources that have a schema."""
    return any(_child(table, "fields") is not None for _, table in tables(root))


def tables(root: Node) -> list[tuple[str, Node]]:
    """The tables of a data package by name; a schema or a resource is its own table."""
    resources = _child(root, "resources")
    if resources is None or resources.items is None:
        inner = _child(root, "schema")
        return [("table", root if inner is None else inner)]
    found = []
    for at, resource in enumerate(resources.items):
        name, schema = _child(resource, "name"), _child(resource, "schema")
        if schema is not None:
            found.append(((name.text if name is not None else None) or str(at), schema))
    return found


def read(node: Node, draft: Draft) -> None:
    """Read the fields of one schema."""
    with Words(node, draft, what="the schema") as schema:
        schema.skip("$schema", "fieldsMatch")
        missing = _missing(schema) or ()
        keys = set(schema.texts("primaryKey") or ())
        for field in schema.listed("fields"):
            _field(field, draft, missing, keys)


def _field(node: Node, draft: Draft, missing: tuple[str, ...], keys: set[str]) -> None:
    found = Words(node, draft, what="a field")
    name = found.text("name")
    if not name:
        raise found.error("name", "a field has no name. Give every field a name")
    with Words(node, draft, f'column "{name}": ', "it") as words:
        words.skip("name", "example", "rdfType")
        note = words.text("description") or words.text("title")
        words.skip("title")
        kind = words.choice("type", _KNOWN) or "any"
        limits = words.within("constraints") or Words(Node(None, entries=()), draft)
        with limits:
            said = _said(words, limits, name, kind)
            if limits.flag("required"):
                said["nullable"] = False
            unique = limits.flag("unique")
        if (name in keys or unique) and said.get("type") != "identifier":
            words.note("it is a key, so it is left out of releases")
            said = {"type": "identifier"}
        own = _missing(words)
        codes = [code for code in (missing if own is None else own) if code != ""]
        if "values" in said and said["values"] != LEARN:
            said["values"] = [value for value in said["values"] if value not in codes]
        if said.get("type") == "identifier":
            said.pop("nullable", None)
        draft.column(name, node.line, **said, missing=codes or None, note=note)


def _said(words: Words, limits: Words, name: str, kind: str) -> dict[str, Any]:
    listed = limits.texts("enum")
    categories = words.get("categories")
    if listed is None and categories is not None:
        listed = _labelled(words, "categories", categories)
    ordered = words.flag("categoriesOrdered")
    pattern = words.text("format")
    if pattern == "default":
        pattern = None
    if kind == "boolean":
        words.skip("format")
        true, false = words.texts("trueValues"), words.texts("falseValues")
        return {"type": "boolean", "true": true and list(true), "false": false and list(false)}
    if listed is not None:
        for key in ("minimum", "maximum"):
            limits.skip(key)
        return {"type": "categorical", "values": list(listed), "ordered": ordered}
    if kind in ("date", "datetime", "time"):
        pattern = None if pattern is None else pattern.removeprefix("fmt:")
        moments.warn(words, pattern)
        low, high = (moments.bound(limits, key, kind, pattern) for key in ("minimum", "maximum"))
        return {"type": kind, "min": low, "max": high}
    if kind in ("integer", "year", "number"):
        for key in ("decimalChar", "groupChar", "bareNumber"):
            if words.get(key) is not None:
                words.note(f"`{key}`: only plain numbers such as 1234.5 are read; other spellings count as missing")
        low, high = limits.exact("minimum"), limits.exact("maximum")
        return real(words, low, high) if kind == "number" else {"type": "integer", "min": low, "max": high}
    if kind in _OPAQUE:
        words.note(f"type {kind} cannot be released, so it is left out")
        return {"type": "text"}
    if pattern in ("email", "uri", "uuid", "binary"):
        words.note(f"texts of format {pattern} are left out of releases")
        return {"type": "identifier"}
    return {} if kind == "any" else open_labels(words, name)


def _missing(words: Words) -> tuple[str, ...] | None:
    """Texts that mean missing; none are said where the key is not there."""
    node = words.get("missingValues")
    return None if node is None else _labelled(words, "missingValues", node)


def _labelled(words: Words, key: str, node: Node) -> tuple[str, ...]:
    """A list of values, or of mappings with a value and a label; the value is what a cell holds."""
    if node.items is None:
        raise words.error(key, f"`{key}` must be a list")
    found = []
    for item in node.items:
        value = item if item.entries is None else _child(item, "value")
        if value is None or value.text is None:
            raise words.error(key, f"`{key}` must list single values, or mappings with a `value` each")
        found.append(value.written)
    if any(item.entries is not None for item in node.items):
        words.note(f"the labels of `{key}` are left out; its values are what cells hold")
    return tuple(found)


def write(plain: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """A schema as a Table Schema."""
    file, pages = columns_of(plain, notes)
    fields = []
    for name, kind, page in pages:
        fields.append({"name": name, **_written(kind, page)})
        page.close()
    file.close()
    return {"fields": fields}


def _written(kind: str, page: Page) -> dict[str, Any]:
    words: dict[str, Any] = {"type": _TYPES.get(kind, "any")}
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
                limits[theirs] = number(bound) if kind in ("integer", "real") else str(bound)
        page.take("bounds")
    elif kind in ("text", "identifier"):
        page.note(f"type {kind} becomes a string, and that it is never released is left out")
    if page.take("nullable") is False:
        limits["required"] = True
    missing = page.take("missing")
    if missing:
        words["missingValues"] = ["", *missing]
    return words | ({"constraints": limits} if limits else {})
