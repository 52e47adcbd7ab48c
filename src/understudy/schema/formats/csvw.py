"""CSV on the Web: a JSON file of tables and columns with datatypes, and the words of
csvw-eo about privacy.

W3C, "Metadata Vocabulary for Tabular Data", 2015; csvw-eo adds `privacyUnit`,
`privacyId`, `maxContributions`, `publicLength`, `keyValues`, `exhaustiveKeys`,
`partitions` and `rowDependencies`. Columns are read in csvw_columns.py, rules in
csvw_rules.py.
"""

from __future__ import annotations

from typing import Any

from understudy.schema.formats.csvw_columns import read_column
from understudy.schema.formats.csvw_rules import export_dependencies, read_groups
from understudy.schema.formats.draft import (
    ExportSection,
    SchemaDraft,
    TrackedSection,
    export_bounds,
    split_sections,
)
from understudy.schema.yaml.nodes import DocumentNode

CSVW_CONTEXT = "http://www.w3.org/ns/csvw"
_CSVW_TYPE_NAMES = {
    "integer": "integer",
    "real": "decimal",
    "boolean": "boolean",
    "date": "date",
    "datetime": "dateTime",
    "time": "time",
    "learn": "any",
}


def matches_tree(root: DocumentNode) -> bool:
    """It has a `tableSchema`, or tables that have one."""
    tables = [table for _, table in list_tables(root)]
    return any(table.child("tableSchema") is not None for table in tables)


def list_tables(root: DocumentNode) -> list[tuple[str, DocumentNode]]:
    """The tables of a group by their address; a file of one table is that table."""
    group = root.child("tables")
    if group is None or group.items is None:
        return [("table", root)]
    tables = []
    for number, table in enumerate(group.items):
        url = table.child("url")
        address = None if url is None else url.text
        tables.append((address or str(number), table))
    return tables


def read_table(node: DocumentNode, draft: SchemaDraft) -> None:
    """Read one table."""
    with TrackedSection(node, draft, what="the table") as table:
        table.skip_keys("@context", "@type", "@id", "url", "tables")
        named_unit = table.text("privacyUnit")
        draft.rows = table.whole("publicLength")
        _read_table_schema(table, draft, named_unit)
        marked_unit = _take_marked_unit(node, draft)
        unit = marked_unit if named_unit is None else named_unit
        _mark_constants(draft, unit)
        _read_contributions(table, draft, unit)
        read_groups(table.items_of("additionalInformation"), draft)
        if table.get("maxLength") is not None:
            table.note(
                "`maxLength` bounds the number of rows, which needs no bound here, and"
                " is left out"
            )


def _read_table_schema(
    table: TrackedSection, draft: SchemaDraft, unit: str | None
) -> None:
    """Read the columns; the primary key and the unit are identifiers."""
    missing = table.texts("null") or ()
    schema = table.within("tableSchema")
    if schema is None:
        raise table.error(None, "the table has no `tableSchema`")
    with schema:
        schema.skip_keys("@type", "@id", "aboutUrl")
        keys = set(schema.texts("primaryKey") or ())
        if unit:
            keys.add(unit)
        for column in schema.items_of("columns"):
            read_column(column, draft, missing, keys)


def _take_marked_unit(node: DocumentNode, draft: SchemaDraft) -> str | None:
    """The column that is marked `privacyId`; the mark is no word of a schema."""
    marked = [name for name, _, words in draft.columns if words.pop("privacyId", False)]
    if len(marked) > 1:
        raise draft.source.error(
            node.line,
            "two columns are marked `privacyId`. A unit has one id; mark one",
        )
    return marked[0] if marked else None


def _read_contributions(
    table: TrackedSection, draft: SchemaDraft, unit: str | None
) -> None:
    max_rows = table.whole("maxContributions")
    if unit is not None:
        draft.unit = {"id": unit, "max_rows": 1 if max_rows is None else max_rows}
    # Without a unit the row is protected, and a bound of one row says so.
    elif max_rows not in (None, 1):
        raise table.error(
            "maxContributions",
            "`maxContributions` needs `privacyUnit`, the column that says whose a"
            " row is",
        )


def _mark_constants(draft: SchemaDraft, unit: str | None) -> None:
    """A column that is fixed for each unit is constant; what else it is fixed for has
    no counterpart.
    """
    for name, _, words in draft.columns:
        for other in words.pop("fixedFor", ()):
            if other == unit:
                words["constant"] = True
            else:
                draft.note(
                    f'column "{name}": it is fixed for each "{other}", which is not the'
                    " unit; that is left out"
                )


def export_schema(plain: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """A schema as a CSVW table with csvw-eo's words."""
    file, pages = split_sections(plain, notes)
    unit = ExportSection(file.take("unit") or {}, notes, "unit: ")
    unit_id = unit.take("id")
    rows = file.take("rows")
    table: dict[str, Any] = {"@context": [CSVW_CONTEXT], "@type": "Table"}
    if unit_id is not None:
        table |= {"privacyUnit": unit_id, "maxContributions": unit.take("max_rows", 1)}
    if rows is not None:
        table["publicLength"] = rows
    dependencies = export_dependencies(file)
    columns = []
    for name, kind, page in pages:
        column: dict[str, Any] = {"@type": "Column", "name": name}
        column |= _export_column(kind, page, is_key=name == unit_id)
        if page.take("constant"):
            fixed = {"dependsOn": unit_id, "dependencyType": "fixedPerEntity"}
            dependencies.setdefault(name, []).append(fixed)
        if name in dependencies:
            column["rowDependencies"] = dependencies[name]
        columns.append(column)
        page.close()
    # What no writer took is noted when its section is closed.
    unit.close()
    file.close()
    return table | {"tableSchema": {"columns": columns}}


def _export_column(kind: str, page: ExportSection, *, is_key: bool) -> dict[str, Any]:
    words: dict[str, Any] = {
        "datatype": _CSVW_TYPE_NAMES.get(kind, "string"),
        "required": page.take("nullable") is False,
    }
    if is_key:
        return words | {"privacyId": True}
    note = page.take("note")
    if note is not None:
        words["dc:description"] = note
    words |= _export_type(kind, page)
    missing = page.take("missing")
    if missing:
        # CSVW counts the empty text as a value unless it is listed.
        words["null"] = ["", *missing]
    return words


def _export_type(kind: str, page: ExportSection) -> dict[str, Any]:
    """The words that go with a type of column."""
    match kind:
        case "categorical":
            values = page.take("values")
            if values is None:
                return {}
            return {"keyValues": values, "exhaustiveKeys": page.take("other") is None}
        case "boolean":
            true = page.take_spelling("true")
            false = page.take_spelling("false")
            if true is None or false is None:
                return {}
            return {"datatype": {"base": "boolean", "format": f"{true}|{false}"}}
        case "integer" | "real" | "date" | "datetime" | "time":
            return export_bounds(kind, page, "minimum", "maximum")
        case "text" | "identifier":
            page.note(
                f"type {kind} becomes a string, and that it is never released is left"
                " out"
            )
    return {}
