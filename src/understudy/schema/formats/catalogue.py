"""The catalogue of formats: which there are, how each is told from the others, and the
way in and out.

What a file states becomes public by being used, whoever wrote it. A file that was made
by looking at the rows (its smallest and largest values, its list of categories) tells
about the rows: replace such words by `learn` before you use it.
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


FOREIGN_FORMATS = {
    known.name: known
    for known in (
        SchemaFormat(
            name="csvw", title="CSV on the Web, with csvw-eo's words", yaml=False,
            matches=csvw.matches_tree, read=csvw.read_table, write=csvw.export_schema, tables=csvw.list_tables,
        ),
        SchemaFormat(
            name="frictionless", title="Frictionless Table Schema", yaml=False,
            matches=frictionless.matches_tree, read=frictionless.read_table,
        write=frictionless.export_schema, tables=frictionless.list_tables,
        ),
        SchemaFormat(
            name="sdv", title="SDV metadata", yaml=False,
            matches=sdv.matches_tree, read=sdv.read_table, write=sdv.export_schema, tables=sdv.list_tables,
        ),
        SchemaFormat(
            name="dpsynth", title="dpsynth domain", yaml=True,
            matches=dpsynth.matches_tree, read=dpsynth.read_table, write=dpsynth.export_schema,
        ),
        SchemaFormat(name="nist", title="NIST data dictionary", yaml=False, matches=nist.matches_tree, read=nist.read_table),
        SchemaFormat(
            name="smartnoise", title="SmartNoise SQL metadata", yaml=True,
            matches=smartnoise.matches_tree, read=smartnoise.read_table, write=smartnoise.export_schema, tables=smartnoise.list_tables,
        ),
    )
}  # fmt: skip
"""The formats of other tools, in the order in which a file is tried against them."""


@dataclass(frozen=True, kw_only=True)
class ImportedSchema:
    """A schema that came from another tool's file, and what to know about it: what was
    left out, what was assumed.
    """

    schema: Schema
    format: str
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ExportedSchema:
    """A schema in another tool's words, and what those words cannot say."""

    document: dict[str, Any]
    notes: tuple[str, ...]


def read_format(
    document: object, format: str | None = None, *, table: str | None = None
) -> ImportedSchema:
    """The schema that another tool's metadata describe, given as what a JSON or YAML
    reader makes of them.

    >>> found = read_format({"age": {"min_value": 18, "max_value": 90, "dtype": "int"}})
    >>> found.format, found.schema["age"].max
    ('dpsynth', 90)
    """
    source = DocumentSource("schema")
    return _import_tree(plain_tree(document, source), source, format, table)


def write_format(schema: Schema, format: str) -> ExportedSchema:
    """A schema as another tool's metadata, ready for a JSON or YAML writer.

    >>> from understudy.schema import Integer
    >>> out = write_format(Schema(columns=(Integer(name="age", min=18, max=90, missing=("-7",)),)), "sdv")
    >>> out.document["tables"]["table"]["columns"]["age"]
    {'sdtype': 'numerical', 'range_min': 18, 'range_max': 90, 'decimal_places': 0}
    >>> out.notes
    ('column "age": `missing` cannot be said in this format and is left out',)
    """
    known = _require_format(format)
    if known.write is None:
        written = ", ".join(
            name for name, one in FOREIGN_FORMATS.items() if one.write is not None
        )
        raise SchemaError(
            f"{known.title}: is only read here, not written. Choose one of {written}"
        )
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
    """Write a schema as another tool's file, whole or not at all; what that format
    cannot say.
    """
    if format == OWN_FORMAT:
        write_private_text(dump_schema(schema), Path(path))
        return ()
    out = write_format(schema, format)
    write_private_text(
        dump_document(out.document, as_yaml=_require_format(format).yaml), Path(path)
    )
    return out.notes


def detect_format(tree: DocumentNode) -> str | None:
    """Whose words a tree speaks; None where nobody's."""
    if tree.entries is None:
        return None
    found = next(
        (known.name for known in FOREIGN_FORMATS.values() if known.matches(tree)), None
    )
    columns = any(entry.key == "columns" for entry in tree.entries)
    return OWN_FORMAT if found is None and columns else found


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
    found = known.tables(tree)
    if table is not None:
        found = [(name, node) for name, node in found if name == table]
        if len(found) != 1:
            raise source.error(None, "it describes no table, or several, of that name")
    if not found:
        raise source.error(None, f"no table was found. Is it {known.title}?")
    if len(found) > 1:
        raise source.error(
            None, f"it describes {len(found)} tables. Name one with --table"
        )
    return found[0][1]
