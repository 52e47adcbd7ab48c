"""The catalogue of formats: which there are, how each is recognised, and how schemas are
imported and exported.

What a file states becomes public by being used, whoever wrote it. A file that was made
from the rows (their smallest and largest values, their categories) reveals something
about them: replace such values by `learn` before you use it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import SchemaError
from understudy.schema.formats import csvw, dpsynth, frictionless, nist, sdv, smartnoise
from understudy.schema.formats.document import dump_document, plain_tree, read_tree
from understudy.schema.formats.draft import SchemaDraft
from understudy.schema.schema import Schema
from understudy.schema.yaml.commented import dump_schema
from understudy.schema.yaml.file import write_private_text
from understudy.schema.yaml.nodes import DocumentNode, DocumentSource
from understudy.schema.yaml.reader import read_schema
from understudy.schema.yaml.writer import schema_to_dict

OWN_FORMAT = "understudy"
"""The name of this program's own schema files."""


@dataclass(frozen=True, kw_only=True)
class SchemaFormat:
    """One tool's way to describe a table. `write` is None where it is only read."""

    name: str
    title: str
    yaml: bool
    matches: Callable[[DocumentNode], bool]
    read: Callable[[DocumentNode, SchemaDraft], None]
    write: Callable[[dict[str, Any], list[str]], dict[str, Any]] | None = None
    tables: Callable[[DocumentNode], list[tuple[str, DocumentNode]]] | None = None


_KNOWN_FORMATS = (
    SchemaFormat(
        name="csvw",
        title="CSV on the Web, with csvw-eo's words",
        yaml=False,
        matches=csvw.matches_tree,
        read=csvw.read_table,
        write=csvw.export_schema,
        tables=csvw.list_tables,
    ),
    SchemaFormat(
        name="frictionless",
        title="Frictionless Table Schema",
        yaml=False,
        matches=frictionless.matches_tree,
        read=frictionless.read_table,
        write=frictionless.export_schema,
        tables=frictionless.list_tables,
    ),
    SchemaFormat(
        name="sdv",
        title="SDV metadata",
        yaml=False,
        matches=sdv.matches_tree,
        read=sdv.read_table,
        write=sdv.export_schema,
        tables=sdv.list_tables,
    ),
    SchemaFormat(
        name="dpsynth",
        title="dpsynth domain",
        yaml=True,
        matches=dpsynth.matches_tree,
        read=dpsynth.read_table,
        write=dpsynth.export_schema,
    ),
    SchemaFormat(
        name="nist",
        title="NIST data dictionary",
        yaml=False,
        matches=nist.matches_tree,
        read=nist.read_table,
    ),
    # Last: any mapping four levels deep with a `type` looks like SmartNoise's.
    SchemaFormat(
        name="smartnoise",
        title="SmartNoise SQL metadata",
        yaml=True,
        matches=smartnoise.matches_tree,
        read=smartnoise.read_table,
        write=smartnoise.export_schema,
        tables=smartnoise.list_tables,
    ),
)

FOREIGN_FORMATS = {known.name: known for known in _KNOWN_FORMATS}
"""The formats of other tools, in the order in which a file is tried against them."""


@dataclass(frozen=True, kw_only=True)
class ImportedSchema:
    """A schema from another tool's file, with notes on what was left out or assumed."""

    schema: Schema
    format: str
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ExportedSchema:
    """A schema in another tool's format, with notes on what the format cannot express."""

    document: dict[str, Any]
    notes: tuple[str, ...]


def read_format(
    document: object, format: str | None = None, *, table: str | None = None
) -> ImportedSchema:
    """The schema that another tool's metadata describe, given as a JSON or YAML reader
    returns them.

    >>> age = {"min_value": 18, "max_value": 90, "dtype": "int"}
    >>> imported = read_format({"age": age})
    >>> imported.format, imported.schema["age"].max
    ('dpsynth', 90)
    """
    source = DocumentSource("schema")
    return _import_tree(plain_tree(document, source), source, format, table)


def write_format(schema: Schema, format: str) -> ExportedSchema:
    """A schema as another tool's metadata, ready for a JSON or YAML writer.

    >>> from understudy.schema import Integer
    >>> age = Integer(name="age", min=18, max=90, missing=("-7",))
    >>> exported = write_format(Schema(columns=(age,)), "sdv")
    >>> exported.document["tables"]["table"]["columns"]["age"]
    {'sdtype': 'numerical', 'range_min': 18, 'range_max': 90, 'decimal_places': 0}
    >>> exported.notes
    ('column "age": `missing` cannot be said in this format and is left out',)
    """
    known = _require_format(format)
    if known.write is None:
        writable = [one.name for one in FOREIGN_FORMATS.values() if one.write]
        raise SchemaError(
            f"{known.title}: is only read here, not written. Choose one of"
            f" {', '.join(writable)}"
        )
    # What a format cannot express is noted, never dropped in silence.
    notes: list[str] = []
    document = known.write(schema_to_dict(schema), notes)
    return ExportedSchema(document=document, notes=tuple(notes))


def load_format(
    path: str | os.PathLike[str], format: str | None = None, *, table: str | None = None
) -> ImportedSchema:
    """Read a schema from another tool's file (or from one of our own)."""
    tree, source = read_tree(Path(path))
    return _import_tree(tree, source, format, table)


def save_format(
    schema: Schema, path: str | os.PathLike[str], format: str
) -> tuple[str, ...]:
    """Write a schema as another tool's file, whole or not at all; the notes say what the
    format cannot express.
    """
    if format == OWN_FORMAT:
        write_private_text(dump_schema(schema), Path(path))
        return ()
    exported = write_format(schema, format)
    as_yaml = _require_format(format).yaml
    write_private_text(dump_document(exported.document, as_yaml=as_yaml), Path(path))
    return exported.notes


def detect_format(tree: DocumentNode) -> str | None:
    """The format of a tree; None if none is recognised."""
    if tree.entries is None:
        return None
    for known in FOREIGN_FORMATS.values():
        if known.matches(tree):
            return known.name
    # Last: other tools' files have `columns` too.
    return OWN_FORMAT if tree.child("columns") is not None else None


def _require_format(format: str) -> SchemaFormat:
    if format not in FOREIGN_FORMATS:
        raise SchemaError(
            f"the format must be one of {', '.join((OWN_FORMAT, *FOREIGN_FORMATS))}"
        )
    return FOREIGN_FORMATS[format]


def _import_tree(
    tree: DocumentNode, source: DocumentSource, format: str | None, table: str | None
) -> ImportedSchema:
    chosen = format or detect_format(tree)
    if chosen is None:
        raise source.error(
            None,
            f"no known format. Name one of {', '.join((OWN_FORMAT, *FOREIGN_FORMATS))}",
        )
    if chosen == OWN_FORMAT:
        return ImportedSchema(
            schema=read_schema(tree, source), format=OWN_FORMAT, notes=()
        )
    known = _require_format(chosen)
    if tree.entries is None:
        raise source.error(
            tree.line, f"must be a mapping of keys to values, not {tree.kind}"
        )
    # Every format is read into a draft, and the draft as any schema file is.
    draft = SchemaDraft(source)
    known.read(_choose_table(tree, source, known, table), draft)
    if not draft.columns:
        raise source.error(None, f"no columns were found. Is it {known.title}?")
    return ImportedSchema(
        schema=draft.schema(), format=chosen, notes=tuple(draft.notes)
    )


def _choose_table(
    tree: DocumentNode, source: DocumentSource, known: SchemaFormat, table: str | None
) -> DocumentNode:
    """The one table of a file, or the one that was asked for."""
    if known.tables is None:
        return tree
    tables = known.tables(tree)
    if table is not None:
        tables = [(name, node) for name, node in tables if name == table]
        if len(tables) != 1:
            raise source.error(None, "it describes no table, or several, of that name")
    if not tables:
        raise source.error(None, f"no table was found. Is it {known.title}?")
    if len(tables) > 1:
        raise source.error(
            None, f"it describes {len(tables)} tables. Name one with --table"
        )
    return tables[0][1]
