"""From a section of a document to a column: the keys every column has, and those of
labels. The keys of numbers, dates and times are in lattice_reader.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from understudy.schema.columns.base import Column, Role
from understudy.schema.columns.lattice import Lattice
from understudy.schema.yaml.keys import (
    COLUMN_CLASSES,
    COLUMN_KEYS,
    COLUMN_KEYS_BY_TYPE,
    COMMON_COLUMN_KEYS,
    LEARN_WORD,
)
from understudy.schema.yaml.lattice_reader import (
    read_bins,
    read_grain,
    read_lattice_fields,
)
from understudy.schema.yaml.nodes import (
    MAX_SCHEMA_FILE_NODES,
    DocumentEntry,
    DocumentNode,
    DocumentSource,
)
from understudy.schema.yaml.section import Section

# All columns together may have as many bins as a file could list one by one. Without
# this limit a single word (`bins: day`) per column would make 100,000 each.
MAX_SCHEMA_BINS = MAX_SCHEMA_FILE_NODES

# A weight of more digits is no weight that `Categorical` accepts (2^53).
_MAX_UNFOLD_WEIGHT_DIGITS = 16


def read_columns(file: Section) -> list[Column]:
    """The columns of a file; refused as soon as they have more bins than a schema may."""
    columns = []
    bins = 0
    for name, section in _column_sections(file):
        column = _read_column(name, section)
        columns.append(column)
        if isinstance(column, Lattice) and column.bins is not None:
            bins += len(column.bins) - 1
        if bins > MAX_SCHEMA_BINS:
            raise section.error(
                "bins",
                f"with it the columns have more than {MAX_SCHEMA_BINS:,} bins. Use"
                " fewer bins",
            )
    return columns


def _column_sections(file: Section) -> list[tuple[str, Section]]:
    """Each column with its name, from a mapping of names to columns, or from a list of
    columns with a `name` each (as release files have them).
    """
    node = file.get("columns")
    assert node is not None
    if node.entries is not None:
        return [
            (entry.key, _column_section(entry, file.source)) for entry in node.entries
        ]
    if node.items is None:
        raise file.error(
            "columns",
            f"`columns` must be a mapping of names to columns, not {node.kind}",
        )
    sections = []
    for item in node.items:
        section = Section(item, file.source, "", "a column")
        name = section.text("name")
        if not name:
            raise section.error(
                "name", "a column has no name. Give every column a name"
            )
        entries = tuple(entry for entry in item.entries or () if entry.key != "name")
        entry = DocumentEntry(name, item.line, DocumentNode(item.line, entries=entries))
        sections.append((name, _column_section(entry, file.source)))
    return sections


def _column_section(entry: DocumentEntry, source: DocumentSource) -> Section:
    """A column's mapping. `age: integer` is short for `age: {type: integer}`; a name
    with nothing behind it leaves everything to learn.
    """
    node = entry.node
    if node.kind == "nothing":
        node = DocumentNode(entry.line, entries=())
    elif node.text is not None:
        kind = DocumentEntry("type", node.line, node)
        node = DocumentNode(entry.line, entries=(kind,))
    return Section(node, source, f'column "{entry.key}": ', "it")


def _read_column(name: str, section: Section) -> Column:
    section.check_keys(COLUMN_KEYS)
    kind = section.choice("type", tuple(COLUMN_CLASSES)) or LEARN_WORD
    _check_keys_of_type(section, kind)
    column_class = COLUMN_CLASSES[kind]
    fields = _read_common_fields(section) | _read_type_fields(kind, section)
    stated = {key: value for key, value in fields.items() if value is not None}
    # None would mean "not stated"; the column itself says "learn" by None.
    if stated.get("weekdays") == LEARN_WORD:
        stated["weekdays"] = None
    with section.locate_errors():
        column = column_class(name=name, **stated)
    bins = section.get("bins")
    if isinstance(column, Lattice) and bins is not None:
        edges = read_bins(column, bins, section)
        grain = read_grain(edges[0], section)
        with section.locate_errors():
            column = replace(column, bins=edges, grain=grain)
    elif section.get("grain") is not None:
        raise section.error(
            "grain", "`grain` goes with `bins`, as a run writes them. Leave it out"
        )
    return column


def _check_keys_of_type(section: Section, kind: str) -> None:
    """Refuse a key that belongs to columns of another type."""
    for key in section.entries:
        if key in COMMON_COLUMN_KEYS or key in COLUMN_KEYS_BY_TYPE[kind]:
            continue
        types = [t for t, keys in COLUMN_KEYS_BY_TYPE.items() if key in keys]
        needed = ", ".join(f"`{t}`" for t in types)
        if kind == LEARN_WORD:
            problem = f"`{key}` needs a `type`"
        else:
            problem = f"`{key}` does not belong to a {kind} column"
        raise section.error(key, f"{problem}. It goes with type {needed}")


def _read_common_fields(section: Section) -> dict[str, Any]:
    role = section.choice("role", tuple(Role))
    return {
        "role": None if role is None else Role(role),
        "nullable": section.flag("nullable"),
        "missing": section.texts("missing"),
        "use": section.flag("use"),
        "learned": section.texts("learned"),
        "dtype": section.text("dtype"),
        "note": section.text("note"),
        "constant": section.flag("constant"),
    }


def _read_type_fields(kind: str, section: Section) -> dict[str, Any]:
    column_class = COLUMN_CLASSES[kind]
    if issubclass(column_class, Lattice):
        return read_lattice_fields(column_class, section)
    match kind:
        case "categorical":
            return _read_categories(section)
        case "identifier":
            return {"generate": section.flag("generate")}
        case "boolean":
            return {"true": section.texts("true"), "false": section.texts("false")}
    return {}


def _read_categories(section: Section) -> dict[str, Any]:
    values = section.texts("values")
    node = section.get("values")
    if node is not None and node.text == LEARN_WORD:
        values = None
    elif node is not None and node.items is None:
        raise section.error(
            "values", "`values` must be a list such as [F, M], or the word learn"
        )
    return {
        "values": values,
        "ordered": section.flag("ordered"),
        "other": section.text("other"),
        "levels": _read_levels(section, values or ()),
        "unfold": _read_unfold(section),
    }


def _read_unfold(section: Section) -> dict[str, int] | None:
    """A public list of values, or a mapping of values to whole weights."""
    node = section.get("unfold")
    if node is None:
        return None
    if node.entries is None:
        labels = section.texts("unfold") or ()
        if len(set(labels)) != len(labels):
            raise section.error("unfold", "a value is listed twice in `unfold`")
        return dict.fromkeys(labels, 1)
    weights = Section(node, section.source, section.where, "`unfold`")
    return {
        label: weights.weight(
            label,
            "weights in `unfold` must be whole numbers, as in {Basel: 178, Chur: 39}",
            max_digits=_MAX_UNFOLD_WEIGHT_DIGITS,
        )
        for label in weights.entries
    }


def _read_levels(
    section: Section, values: tuple[str, ...]
) -> dict[str, tuple[str, ...]] | None:
    node = section.get("levels")
    if node is None:
        return None
    levels = Section(node, section.source, section.where, "`levels`")
    # A file may list a hundred thousand values, so they are looked up in a set.
    listed = frozenset(values)
    return {
        level: _read_level(entry, section, values, listed)
        for level, entry in levels.entries.items()
    }


def _read_level(
    entry: DocumentEntry,
    section: Section,
    values: tuple[str, ...],
    listed: frozenset[str],
) -> tuple[str, ...]:
    """The group of each value on one level, from the list of each group's values."""
    what = f'level "{entry.key}"'
    groups = Section(entry.node, section.source, section.where, what)
    group_of: dict[str, str] = {}
    for group in groups.entries:
        for value in groups.texts(group) or ():
            if value not in listed:
                raise groups.error(
                    group, f"{what} groups a value that is not listed in `values`"
                )
            if value in group_of:
                raise groups.error(group, f"{what} puts a value into two groups")
            group_of[value] = group
    if len(group_of) != len(values):
        raise section.source.error(
            entry.line, f"{section.where}{what} leaves a value without a group"
        )
    return tuple(group_of[value] for value in values)
