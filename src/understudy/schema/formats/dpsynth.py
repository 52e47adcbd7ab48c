"""dpsynth domains: a YAML file with one attribute for each column, categorical,
numerical, open-set or free text.

The attributes are those of dpsynth/domain.py.
"""

from __future__ import annotations

from typing import Any

from understudy.schema.formats.draft import (
    ExportSection,
    SchemaDraft,
    TrackedSection,
    json_number,
    real_column,
    split_sections,
)
from understudy.schema.yaml.keys import LEARN_WORD
from understudy.schema.yaml.nodes import DocumentEntry, DocumentNode

_DPSYNTH_OWN_KEYS = {
    "possible_values",
    "out_of_domain_index",
    "min_value",
    "max_value",
    "clip_to_range",
    "default_value",
    "public_possible_values",
    "max_tokens",
}
"""Keys by which a file is known to be dpsynth's."""

# The first that is no value of the column stands for missing cells.
_DPSYNTH_UNKNOWN_WORDS = ("Unknown", "(unknown)", "<OOD>")
_DPSYNTH_KINDS = {
    "CategoricalAttribute": "categorical",
    "NumericalAttribute": "numerical",
    "OpenSetCategoricalAttribute": "open",
    "FreeFormTextAttribute": "text",
}


def matches_tree(root: DocumentNode) -> bool:
    """Columns at the top, and at least one of them in dpsynth's words."""
    is_known = False
    for column in root.entries or ():
        if column.node.entries is None and column.node.kind != "nothing":
            return False
        keys = {entry.key for entry in column.node.entries or ()}
        kind = column.node.child("type")
        names_kind = kind is not None and kind.text in _DPSYNTH_KINDS
        if names_kind or keys & _DPSYNTH_OWN_KEYS:
            is_known = True
    return is_known


def read_table(node: DocumentNode, draft: SchemaDraft) -> None:
    """Read the attributes."""
    for entry in node.entries or ():
        _read_column(entry, draft)


def _read_column(entry: DocumentEntry, draft: SchemaDraft) -> None:
    node = entry.node
    if node.kind == "nothing":
        node = DocumentNode(entry.line, entries=())
    with TrackedSection(node, draft, f'column "{entry.key}": ', "it") as words:
        named = words.text("type")
        if named is not None and named not in _DPSYNTH_KINDS:
            raise words.error(
                "type", f"`type` must be one of {', '.join(_DPSYNTH_KINDS)}"
            )
        kind = _DPSYNTH_KINDS.get(named or "") or _guess_kind(words)
        note = words.text("description")
        match kind:
            case "categorical":
                fields = _read_categories(words)
            case "numerical":
                fields = _read_numerical(words)
            case "open":
                other = words.text("default_value")
                fields = {"type": "categorical", "values": LEARN_WORD, "other": other}
            case _:
                fields = {"type": "text"}
        draft.column(entry.key, entry.line, **fields, note=note)


def _read_numerical(words: TrackedSection) -> dict[str, Any]:
    low = words.exact("min_value")
    high = words.exact("max_value")
    if words.choice("dtype", ("int", "float")) == "int":
        fields: dict[str, Any] = {"type": "integer", "min": low, "max": high}
    else:
        fields = real_column(words, low, high)
    if words.flag("clip_to_range") is False:
        fields["outside"] = "missing"
    # How dpsynth turns its own bins into numbers again.
    words.skip_keys("interval_handling")
    return fields


def _guess_kind(words: TrackedSection) -> str:
    if "possible_values" in words.entries:
        return "categorical"
    if "min_value" in words.entries or "max_value" in words.entries:
        return "numerical"
    return "text" if "max_tokens" in words.entries else "open"


def _read_categories(words: TrackedSection) -> dict[str, Any]:
    """Listed values; the one that stands for all others becomes `other`, and a listed
    null is the missing cell.
    """
    items = words.items_of("possible_values")
    values = [item.written for item in items if item.kind != "nothing"]
    if any(map(_is_nested, items)):
        raise words.error(
            "possible_values", "`possible_values` must be a list of single values"
        )
    at = words.whole("out_of_domain_index")
    if at is not None and not 0 <= at < len(items):
        raise words.error(
            "out_of_domain_index",
            "`out_of_domain_index` points beyond `possible_values`",
        )
    catch_all = items[at or 0] if items else None
    has_null = len(values) < len(items)
    fields: dict[str, Any] = {
        "type": "categorical",
        "values": values,
        "nullable": None if has_null else False,
    }
    if catch_all is None or catch_all.kind == "nothing":
        return fields
    values.remove(catch_all.written)
    if at is None:
        words.note(
            "values that are not listed go to the first one, so it becomes `other`"
        )
    return fields | {"other": catch_all.written}


def _is_nested(node: DocumentNode) -> bool:
    return node.items is not None or node.entries is not None


def export_schema(plain: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """A schema in dpsynth's words."""
    file, pages = split_sections(plain, notes)
    written: dict[str, Any] = {}
    for name, kind, page in pages:
        words = _export_column(kind, page)
        if words is not None:
            note = page.take("note")
            written[name] = words if note is None else words | {"description": note}
            page.close()
    file.close()
    return written


def _export_column(kind: str, page: ExportSection) -> dict[str, Any] | None:
    match kind:
        case "integer" | "real":
            low = json_number(page.take("min"))
            high = json_number(page.take("max"))
            if low is None or high is None:
                page.note(
                    "it has no bounds, which a numerical attribute needs, so the column"
                    " is left out"
                )
                return None
            return {
                "type": "NumericalAttribute",
                "min_value": low,
                "max_value": high,
                "clip_to_range": page.take("outside") != "missing",
                "dtype": "int" if kind == "integer" else "float",
            }
        case "categorical":
            return _export_categories(page)
        case "boolean":
            page.note(
                "a boolean becomes a list of two words, and missing cells go to the"
                " first of them"
            )
            page.take("nullable")
            false = page.take_spelling("false") or "false"
            true = page.take_spelling("true") or "true"
            return {
                "type": "CategoricalAttribute",
                "possible_values": [false, true],
                "out_of_domain_index": 0,
            }
        case "text":
            return {"type": "FreeFormTextAttribute"}
    page.note(f"type {kind} cannot be said in this format, so the column is left out")
    return None


def _export_categories(page: ExportSection) -> dict[str, Any]:
    values = page.take("values")
    other = page.take("other")
    if values is None:
        words = {"type": "OpenSetCategoricalAttribute"}
        return words if other is None else words | {"default_value": other}
    # The first value takes whatever is not listed: `other`, or a word for missing cells.
    if page.take("nullable") is not False:
        if other is None:
            other = next(word for word in _DPSYNTH_UNKNOWN_WORDS if word not in values)
        page.note(f'missing cells have no place of their own, and go to "{other}"')
    first = [other] if other is not None else []
    return {
        "type": "CategoricalAttribute",
        "possible_values": [*first, *values],
        "out_of_domain_index": 0,
    }
