"""CSV on the Web: a JSON file of tables and columns with datatypes, with the words of
csvw-eo about privacy where they are used.

W3C, "Metadata Vocabulary for Tabular Data", 2015; csvw-eo adds `privacyUnit`,
`privacyId`, `maxContributions`, `publicLength`, `keyValues`, `exhaustiveKeys`,
`partitions` and `rowDependencies`.
"""

from __future__ import annotations

from typing import Any

from understudy.schema.formats import moments
from understudy.schema.formats.csvw_rules import (
    export_dependencies,
    read_dependencies,
    read_groups,
)
from understudy.schema.formats.draft import (
    ExportSection,
    SchemaDraft,
    TrackedSection,
    json_number,
    label_column,
    real_column,
    split_sections,
)
from understudy.schema.yaml.keys import parse_fraction
from understudy.schema.yaml.nodes import DocumentNode

CSVW_CONTEXT = "http://www.w3.org/ns/csvw"
_CSVW_INTEGER_MINIMA = {
    "integer": None, "long": None, "int": None, "short": None, "byte": None, "gYear": None,
    "nonNegativeInteger": "0", "unsignedLong": "0", "unsignedInt": "0", "unsignedShort": "0", "unsignedByte": "0",
    "positiveInteger": "1", "nonPositiveInteger": None, "negativeInteger": None,
}  # fmt: skip
"""The types of whole numbers, and the least that each can hold where there is one."""

_CSVW_REAL_TYPES = {"decimal", "number", "double", "float"}
_CSVW_ISO_FORMATS = (
    "yyyy-MM-dd",
    "yyyy-MM-ddTHH:mm:ss",
    "yyyy-MM-dd HH:mm:ss",
    "yyyy-MM-ddTHH:mm",
    "yyyy-MM-dd HH:mm",
    "HH:mm:ss",
    "HH:mm",
)
"""Patterns of texts that are read as they are."""

_CSVW_MOMENT_TYPES = {
    "date": "date",
    "datetime": "datetime",
    "dateTime": "datetime",
    "dateTimeStamp": "datetime",
    "time": "time",
}
_CSVW_TEXT_TYPES = {
    "string",
    "normalizedString",
    "token",
    "language",
    "Name",
    "NMTOKEN",
}
_CSVW_ANY_TYPES = {"any", "anyAtomicType"}
_CSVW_TYPE_NAMES = {
    "integer": "integer", "real": "decimal", "boolean": "boolean", "date": "date", "datetime": "dateTime", "time": "time",
    "learn": "any",
}  # fmt: skip


def _child_node(node: DocumentNode, key: str) -> DocumentNode | None:
    return next((entry.node for entry in node.entries or () if entry.key == key), None)


def matches_tree(root: DocumentNode) -> bool:
    """It has a `tableSchema`, or tables that have one."""
    return any(
        _child_node(table, "tableSchema") is not None for _, table in list_tables(root)
    )


def list_tables(root: DocumentNode) -> list[tuple[str, DocumentNode]]:
    """The tables of a group by their address; a table stands for itself."""
    inside = _child_node(root, "tables")
    if inside is None or inside.items is None:
        return [("table", root)]
    found = []
    for at, table in enumerate(inside.items):
        url = _child_node(table, "url")
        found.append(((url.text if url is not None else None) or str(at), table))
    return found


def read_table(node: DocumentNode, draft: SchemaDraft) -> None:
    """Read one table."""
    with TrackedSection(node, draft, what="the table") as table:
        table.skip_keys("@context", "@type", "@id", "url", "tables")
        null = table.texts("null") or ()
        schema = table.within("tableSchema")
        if schema is None:
            raise table.error(None, "the table has no `tableSchema`")
        unit, most = table.text("privacyUnit"), table.whole("maxContributions")
        draft.rows = table.whole("publicLength")
        with schema:
            schema.skip_keys("@type", "@id", "aboutUrl")
            keys = set(schema.texts("primaryKey") or ())
            for column in schema.listed("columns"):
                _read_column(column, draft, null, keys | ({unit} if unit else set()))
        marked = [
            name for name, _, words in draft.columns if words.pop("privacyId", False)
        ]
        if unit is None and len(marked) == 1:
            unit = marked[0]
        if len(marked) > 1:
            raise draft.source.error(
                node.line,
                "two columns are marked `privacyId`. A unit has one id; mark one",
            )
        _mark_constants(draft, unit)
        if unit is not None:
            draft.unit = {"id": unit, "max_rows": 1 if most is None else most}
        elif most not in (None, 1):
            raise table.error(
                "maxContributions",
                "`maxContributions` needs `privacyUnit`, the column that says whose a"
                " row is",
            )
        read_groups(table.listed("additionalInformation"), draft)
        if table.get("maxLength") is not None:
            table.note(
                "`maxLength` bounds the number of rows, which needs no bound here, and"
                " is left out"
            )


def _mark_constants(draft: SchemaDraft, unit: str | None) -> None:
    """A column that is fixed for each unit is constant; what else it is fixed for has
    no counterpart.
    """
    for name, _, words in draft.columns:
        for on in words.pop("fixedFor", ()):
            if on == unit:
                words["constant"] = True
            else:
                draft.note(
                    f'column "{name}": it is fixed for each "{on}", which is not the'
                    " unit; that is left out"
                )


def _read_column(
    node: DocumentNode, draft: SchemaDraft, null: tuple[str, ...], keys: set[str]
) -> None:
    found = TrackedSection(node, draft, what="a column")
    title = found.get("titles")
    if title is not None and title.items:
        title = title.items[0]
    name = (title.text if title is not None else None) or found.text("name")
    if not name:
        raise found.error("name", "a column has no name. Give every column a `name`")
    with TrackedSection(node, draft, f'column "{name}": ', "it") as words:
        words.skip_keys(
            "@type",
            "name",
            "titles",
            "propertyUrl",
            "suppressOutput",
            "default",
            "nullableProportion",
        )
        if words.entries.get("nullableProportion"):
            words.note(
                "`nullableProportion` is a share of the rows and is left out: how many"
                " are missing is measured"
            )
        note = words.text("dc:description") or words.text("rdfs:comment")
        own = words.texts("null")
        codes = [code for code in (null if own is None else own) if code != ""]
        said = _read_datatype(words, name)
        is_key = (
            words.flag("privacyId")
            or name in keys
            or (words.text("name") or name) in keys
        )
        nullable = False if words.flag("required") else None
        fixed = read_dependencies(words, name, draft)
        if is_key:
            mark = True if words.flag("privacyId") else None
            draft.column(name, node.line, type="identifier", note=note, privacyId=mark)
            return
        if isinstance(said.get("values"), list):
            said["values"] = [value for value in said["values"] if value not in codes]
        draft.column(
            name,
            node.line,
            **said,
            nullable=nullable,
            missing=codes or None,
            note=note,
            fixedFor=fixed or None,
        )


def _read_datatype(words: TrackedSection, name: str) -> dict[str, Any]:
    node = words.get("datatype")
    if node is None or node.entries is None:
        return _column_of_datatype(
            words,
            words,
            name,
            "string" if node is None else words.text("datatype") or "string",
            None,
        )
    with TrackedSection(node, words.draft, words.where, "`datatype`") as inner:
        inner.skip_keys("@id", "@type", "dc:title", "dc:description")
        return _column_of_datatype(
            words, inner, name, inner.text("base") or "string", inner.text("format")
        )


def _column_of_datatype(
    words: TrackedSection,
    inner: TrackedSection,
    name: str,
    base: str,
    pattern: str | None,
) -> dict[str, Any]:
    if pattern is not None and base != "boolean" and base not in _CSVW_MOMENT_TYPES:
        words.note("the `format` of its datatype has no counterpart and is left out")
    least, most = (
        _read_limit(words, inner, *keys)
        for keys in (("minimum", "minInclusive"), ("maximum", "maxInclusive"))
    )
    values = _read_public_values(words)
    words.skip_keys(
        "maxLength",
        "maxGroupsPerUnit",
        "maxContributions",
        "maxNumPartitions",
        "invariantPublicKeys",
    )
    if base == "boolean":
        yes, _, no = (pattern or "").partition("|")
        return {
            "type": "boolean",
            "true": [yes] if no else None,
            "false": [no] if no else None,
        }
    if values is not None:
        return values
    if base in _CSVW_INTEGER_MINIMA:
        least = least or _CSVW_INTEGER_MINIMA[base]
        return {
            "type": "integer",
            "min": least,
            "max": most,
            "bins": _read_bins(words, least, most),
        }
    if base in _CSVW_REAL_TYPES:
        return real_column(words, least, most) | {
            "bins": _read_bins(words, least, most)
        }
    if base in _CSVW_MOMENT_TYPES:
        kind = _CSVW_MOMENT_TYPES[base]
        if pattern is not None and pattern not in _CSVW_ISO_FORMATS:
            words.note(
                "its texts have a `format` of their own; only texts such as 2024-12-31"
                " 13:45 are read as dates"
            )
        for bound in (least, most):
            if bound is not None and moments.to_iso_text(bound, kind, None) is None:
                raise words.error(
                    "minimum",
                    f"`minimum` and `maximum` must be a {kind} such as 2024-12-31",
                )
        return {
            "type": kind,
            "min": least,
            "max": most,
            "bins": _read_bins(words, least, most, kind),
        }
    if base in _CSVW_ANY_TYPES:
        return {}
    if base not in _CSVW_TEXT_TYPES:
        words.note(f"datatype {base[:40]} cannot be released, so it is left out")
        return {"type": "text"}
    return label_column(words, name)


def _read_limit(words: TrackedSection, inner: TrackedSection, *keys: str) -> str | None:
    found = [
        text
        for section in (words, inner)
        for key in keys
        if (text := section.text(key)) is not None
    ]
    return found[0] if found else None


def _read_public_values(words: TrackedSection) -> dict[str, Any] | None:
    """Public values: a list of keys, or partitions that hold one value each. Where they
    are not all, the rest has a place of its own.
    """
    listed = words.texts("keyValues")
    closed = words.flag("exhaustiveKeys")
    found = None if listed is None else list(listed)
    if found is None:
        texts = [text for _, text in _read_partitions(words, "partitionValue")]
        found = [text for text in texts if text is not None] or None
        closed = words.flag("exhaustivePartitions") if closed is None else closed
    if found is None:
        return None
    if closed is False:
        words.note(
            "its keys are not all there are, so the others go to a place called other"
        )
        return {
            "type": "categorical",
            "values": found,
            "other": "other" if "other" not in found else "(other)",
        }
    return {"type": "categorical", "values": found}


def _read_partitions(
    words: TrackedSection, key: str
) -> list[tuple[TrackedSection, str | None]]:
    found = []
    for node in words.listed("partitions"):
        part = TrackedSection(node, words.draft, words.where, "a partition").within(
            "predicate"
        )
        if part is not None:
            found.append((part, part.text(key)))
    return found


def _read_bins(
    words: TrackedSection, least: str | None, most: str | None, kind: str | None = None
) -> list[str] | None:
    """Partitions that are ranges are bins; where each begins counts, and the first
    begins at the least value.
    """
    texts = {
        text for _, text in _read_partitions(words, "lowerBound") if text is not None
    }
    if not texts:
        return None
    if least is None or most is None:
        words.note(
            "`partitions` that are ranges need `minimum` and `maximum`, and are"
            " left out"
        )
        return None
    low, high = _order_key(least, kind), _order_key(most, kind)
    if low is None or high is None:  # what is wrong with a bound is said of the bound
        return None
    starts = sorted(
        (place, text) for text in texts if (place := _order_key(text, kind)) is not None
    )
    return [least, *(text for place, text in starts if low < place <= high)]


def _order_key(text: str, kind: str | None) -> Any:
    """What numbers, or moments, are ordered by."""
    if kind is None:
        return parse_fraction(text)
    return (
        None
        if moments.to_iso_text(text, kind, None) is None
        else text.replace("T", " ")
    )


def export_schema(plain: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """A schema as a CSVW table with csvw-eo's words."""
    file, pages = split_sections(plain, notes)
    unit = ExportSection(file.take("unit") or {}, notes, "unit: ")
    key = unit.take("id")
    table: dict[str, Any] = {"@context": [CSVW_CONTEXT], "@type": "Table"}
    if key is not None:
        table |= {"privacyUnit": key, "maxContributions": unit.take("max_rows", 1)}
    rows = file.take("rows")
    if rows is not None:
        table["publicLength"] = rows
    rules = export_dependencies(file)
    columns = []
    for name, kind, page in pages:
        column = {
            "@type": "Column",
            "name": name,
            **_export_column(kind, page, is_key=name == key),
        }
        if page.take("constant"):
            rules.setdefault(name, []).append(
                {"dependsOn": key, "dependencyType": "fixedPerEntity"}
            )
        if name in rules:
            column["rowDependencies"] = rules[name]
        columns.append(column)
        page.close()
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
    if kind == "categorical":
        values = page.take("values")
        if values is not None:
            other = page.take("other")
            words |= {"keyValues": values, "exhaustiveKeys": other is None}
    elif kind == "boolean":
        true, false = page.take("true"), page.take("false")
        if true and false:
            words["datatype"] = {"base": "boolean", "format": f"{true[0]}|{false[0]}"}
    elif kind in ("integer", "real", "date", "datetime", "time"):
        for ours, theirs in (("min", "minimum"), ("max", "maximum")):
            bound = page.take(ours)
            if bound is not None:
                words[theirs] = (
                    json_number(bound) if kind in ("integer", "real") else str(bound)
                )
        page.take("bounds")
    elif kind in ("text", "identifier"):
        page.note(
            f"type {kind} becomes a string, and that it is never released is left out"
        )
    missing = page.take("missing")
    if missing:
        words["null"] = ["", *missing]
    return words
