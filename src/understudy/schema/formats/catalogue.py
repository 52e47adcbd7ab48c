"""The catalogue of formats: which there are, how each is told from the others, and the way in and out.

What a file states becomes public by being used, whoever wrote it. A file that was made by looking at the rows (its smallest and largest
values, its list of categories) tells about the rows: replace such words by `learn` before you use it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import SchemaError
from understudy.schema.formats import csvw, dpsynth, frictionless, nist, sdv, smartnoise
from understudy.schema.formats.document import dump, plain_tree, read_tree
from understudy.schema.formats.draft import Draft
from understudy.schema.schema import Schema
from understudy.schema.yaml.commented import dump_schema
from understudy.schema.yaml.file import write_whole
from understudy.schema.yaml.nodes import Node, Source
from understudy.schema.yaml.reader import read_schema
from understudy.schema.yaml.writer import schema_to_dict

OWN = "understudy"
"""The name of this program's own schema files."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """One tool's way to describe a table. `write` is None where it is only read."""

    name: str
    title: str
    yaml: bool
    matches: Callable[[Node], bool]
    read: Callable[[Node, Draft], None]
    write: Callable[[dict[str, Any], list[str]], dict[str, Any]] | None = None
    tables: Callable[[Node], list[tuple[str, Node]]] | None = None


FORMATS = {
    known.name: known
    for known in (
        Format(
            name="csvw", title="CSV on the Web, with csvw-eo's words", yaml=False,
            matches=csvw.matches, read=csvw.read, write=csvw.write, tables=csvw.tables,
        ),
        Format(
            name="frictionless", title="Frictionless Table Schema", yaml=False,
            matches=frictionless.matches, read=frictionless.read, write=frictionless.write, tables=frictionless.tables,
        ),
        Format(
            name="sdv", title="SDV metadata", yaml=False,
            matches=sdv.matches, read=sdv.read, write=sdv.write, tables=sdv.tables,
        ),
        Format(
            name="dpsynth", title="dpsynth domain", yaml=True,
            matches=dpsynth.matches, read=dpsynth.read, write=dpsynth.write,
        ),
        Format(name="nist", title="NIST data dictionary", yaml=False, matches=nist.matches, read=nist.read),
        Format(
            name="smartnoise", title="SmartNoise SQL metadata", yaml=True,
            matches=smartnoise.matches, read=smartnoise.read, write=smartnoise.write, tables=smartnoise.tables,
        ),
    )
}  # fmt: skip
"""The formats of other tools, in the order in which a file is tried against them."""


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A schema that came from another tool's file, and what to know about it: what was left out, what was assumed."""

    schema: Schema
    format: str
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Exported:
    """A schema in another tool's words, and what those words cannot say."""

    document: dict[str, Any]
    notes: tuple[str, ...]


def read_format(document: object, format: str | None = None, *, table: str | None = None) -> Imported:
    """The schema that another tool's metadata describe, given as what a JSON or YAML reader makes of them.

    >>> found = read_format({"age": {"min_value": 18, "max_value": 90, "dtype": "int"}})
    >>> found.format, found.schema["age"].max
    ('dpsynth', 90)
    """
    source = Source("schema")
    return _imported(plain_tree(document, source), source, format, table)


def write_format(schema: Schema, format: str) -> Exported:
    """A schema as another tool's metadata, ready for a JSON or YAML writer.

    >>> from understudy.schema import Integer
    >>> out = write_format(Schema(columns=(Integer(name="age", min=18, max=90, missing=("-7",)),)), "sdv")
    >>> out.document["tables"]["table"]["columns"]["age"]
    {'sdtype': 'numerical', 'range_min': 18, 'range_max': 90, 'decimal_places': 0}
    >>> out.notes
    ('column "age": `missing` cannot be said in this format and is left out',)
    """
    known = _known(format)
    if known.write is None:
        written = ", ".join(name for name, one in FORMATS.items() if one.write is not None)
        raise SchemaError(f"{known.title}: is only read here, not written. Choose one of {written}")
    notes: list[str] = []
    document = known.write(schema_to_dict(schema), notes)
    return Exported(document=document, notes=tuple(notes))


def load_format(path: str | os.PathLike[str], format: str | None = None, *, table: str | None = None) -> Imported:
    """Read a schema from another tool's file (or from one of our own)."""
    tree, source = read_tree(Path(path))
    return _imported(tree, source, format, table)


def save_format(schema: Schema, path: str | os.PathLike[str], format: str) -> tuple[str, ...]:
    """Write a schema as another tool's file, whole or not at all; what that format cannot say."""
    if format == OWN:
        write_whole(dump_schema(schema), Path(path))
        return ()
    out = write_format(schema, format)
    write_whole(dump(out.document, as_yaml=_known(format).yaml), Path(path))
    return out.notes


def detect(tree: Node) -> str | None:
    """Whose words a tree speaks; None where nobody's."""
    if tree.entries is None:
        return None
    found = next((known.name for known in FORMATS.values() if known.matches(tree)), None)
    columns = any(entry.key == "columns" for entry in tree.entries)
    return OWN if found is None and columns else found


def _known(format: str) -> Format:
    if format not in FORMATS:
        raise SchemaError(f"the format must be one of {', '.join((OWN, *FORMATS))}")
    return FORMATS[format]


def _imported(tree: Node, source: Source, format: str | None, table: str | None) -> Imported:
    chosen = format or detect(tree)
    if chosen is None:
        raise source.error(None, f"no known format. Name one of {', '.join((OWN, *FORMATS))}")
    if chosen == OWN:
        return Imported(schema=read_schema(tree, source), format=OWN, notes=())
    known = _known(chosen)
    if tree.entries is None:
        raise source.error(tree.line, f"must be a mapping of keys to values, not {tree.kind}")
    draft = Draft(source)
    known.read(_chosen(tree, source, known, table), draft)
    if not draft.columns:
        raise source.error(None, f"no columns were found. Is it {known.title}?")
    return Imported(schema=draft.schema(), format=chosen, notes=tuple(draft.notes))


def _chosen(tree: Node, source: Source, known: Format, table: str | None) -> Node:
    """The one table of a file, or the one that was asked for."""
    if known.tables is None:
        return tree
    found = known.tables(tree)
    if table is not None:
        found = [(name, node) for name, node in found if name == table]
        if len(found) != 1:
            raise source.error(None, "it describes no table, or several, of that name")
    if not found:
        raise source.error(None, f"no table was found. Is it {known.title}?")
    if len(found) > 1:
        raise source.error(None, f"it describes {len(found)} tables. Name one with --table")
    return found[0][1]
