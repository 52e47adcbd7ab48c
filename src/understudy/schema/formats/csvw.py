"""CSV on the Web: a JSON file of tables and columns with datatypes, with the words of csvw-eo about privacy where they are used.

W3C, "Metadata Vocabulary for Tabular Data", 2015; csvw-eo adds `privacyUnit`, `privacyId`, `maxContributions`, `publicLength`, `keyValues`,
`exhaustiveKeys`, `partitions` and `rowDependencies`.
"""

from __future__ import annotations

from typing import Any

from understudy.schema.formats import moments
from understudy.schema.formats.csvw_rules import dependencies, dependencies_of, groups
from understudy.schema.formats.draft import Draft, Page, Words, columns_of, number, open_labels, real
from understudy.schema.yaml.keys import parse_fraction
from understudy.schema.yaml.nodes import Node

CONTEXT = "http://www.w3.org/ns/csvw"
_WHOLE = {
    "integer": None, "long": None, "int": None, "short": None, "byte": None, "gYear": None,
    "nonNegativeInteger": "0", "unsignedLong": "0", "unsignedInt": "0", "unsignedShort": "0", "unsignedByte": "0",
    "positiveInteger": "1", "nonPositiveInteger": None, "negativeInteger": None,
}  # fmt: skip
"""The types of whole numbers, and the least that each can hold where there is one."""

_REAL = {"decimal", "number", "double", "float"}
_ISO = (
    "yyyy-MM-dd",
    "yyyy-MM-ddTHH:mm:ss",
    "yyyy-MM-dd HH:mm:ss",
    "yyyy-MM-ddTHH:mm",
    "yyyy-MM-dd HH:mm",
    "HH:mm:ss",
    "HH:mm",
)
"""Patterns of texts that are read as they are."""

_MOMENTS = {"date": "date", "datetime": "datetime", "dateTime": "datetime", "dateTimeStamp": "datetime", "time": "time"}
_TEXT = {"string", "normalizedString", "token", "language", "Name", "NMTOKEN"}
_ANY = {"any", "anyAtomicType"}
_WRITTEN = {
    "integer": "integer", "real": "decimal", "boolean": "boolean", "date": "date", "datetime": "dateTime", "time": "time",
    "learn": "any",
}  # fmt: skip


def _child(node: Node, key: str) -> Node | None:
    return next((entry.node for entry in node.entries or () if entry.key == key), None)


def matches(root: Node) -> bool:
    """It has a `tableSchema`, or tables that have one."""
    return any(_child(table, "tableSchema") is not None for _, table in tables(root))


def tables(root: Node) -> list[tuple[str, Node]]:
    """The tables of a group by their address; a table stands for itself."""
    inside = _child(root, "tables")
    if inside is None or inside.items is None:
        return [("table", root)]
    found = []
    for at, table in enumerate(inside.items):
        url = _child(table, "url")
        found.append(((url.text if url is not None else None) or str(at), table))
    return found


def read(node: Node, draft: Draft) -> None:
    """Read one table."""
    with Words(node, draft, what="the table") as table:
        table.skip("@context", "@type", "@id", "url", "tables")
        null = table.texts("null") or ()
        schema = table.within("tableSchema")
        if schema is None:
            raise table.error(None, "the table has no `tableSchema`")
        unit, most = table.text("privacyUnit"), table.whole("maxContributions")
        draft.rows = table.whole("publicLength")
        with schema:
            schema.skip("@type", "@id", "aboutUrl")
            keys = set(schema.texts("primaryKey") or ())
            for column in schema.listed("columns"):
                _column(column, draft, null, keys | ({unit} if unit else set()))
        marked = [name for name, _, words in draft.columns if words.pop("privacyId", False)]
        if unit is None and len(marked) == 1:
            unit = marked[0]
        if len(marked) > 1:
            raise draft.source.error(node.line, "two columns are marked `privacyId`. A unit has one id; mark one")
        _settle_constants(draft, unit)
        if unit is not None:
            draft.unit = {"id": unit, "max_rows": 1 if most is None else most}
        elif most not in (None, 1):
            raise table.error(
                "maxContributions", "`maxContributions` needs `privacyUnit`, the column that says whose a row is"
            )
        groups(table.listed("additionalInformation"), draft)
        if table.get("maxLength") is not None:
            table.note("`maxLength` bounds the number of rows, which needs no bound here, and is left out")


def _settle_constants(draft: Draft, unit: str | None) -> None:
    """A column that is fixed for each unit is constant; what else it is fixed for has no counterpart."""
    for name, _, words in draft.columns:
        for on in words.pop("fixedFor", ()):
            if on == unit:
                words["constant"] = True
            else:
                draft.note(f'column "{name}": it is fixed for each "{on}", which is not the unit; that is left out')


def _column(node: Node, draft: Draft, null: tuple[str, ...], keys: set[str]) -> None:
    found = Words(node, draft, what="a column")
    title = found.get("titles")
    if title is not None and title.items:
        title = title.items[0]
    name = (title.text if title is not None else None) or found.text("name")
    if not name:
        raise found.error("name", "a column has no name. Give every column a `name`")
    with Words(node, draft, f'column "{name}": ', "it") as words:
        words.skip("@type", "name", "titles", "propertyUrl", "suppressOutput", "default", "nullableProportion")
        if words.entries.get("nullableProportion"):
            words.note("`nullableProportion` is a share of the rows and is left out: how many are missing is measured")
        note = words.text("dc:description") or words.text("rdfs:comment")
        own = words.texts("null")
        codes = [code for code in (null if own is None else own) if code != ""]
        said = _said(words, name)
        is_key = words.flag("privacyId") or name in keys or (words.text("name") or name) in keys
        nullable = False if words.flag("required") else None
        fixed = dependencies(words, name, draft)
        if is_key:
            mark = True if words.flag("privacyId") else None
            draft.column(name, node.line, type="identifier", note=note, privacyId=mark)
            return
        if isinstance(said.get("values"), list):
            said["values"] = [value for value in said["values"] if value not in codes]
        draft.column(
            name, node.line, **said, nullable=nullable, missing=codes or None, note=note, fixedFor=fixed or None
        )


def _said(words: Words, name: str) -> dict[str, Any]:
    node = words.get("datatype")
    if node is None or node.entries is None:
        return _typed(words, words, name, "string" if node is None else words.text("datatype") or "string", None)
    with Words(node, words.draft, words.where, "`datatype`") as inner:
        inner.skip("@id", "@type", "dc:title", "dc:description")
        return _typed(words, inner, name, inner.text("base") or "string", inner.text("format"))


def _typed(words: Words, inner: Words, name: str, base: str, pattern: str | None) -> dict[str, Any]:
    if pattern is not None and base != "boolean" and base not in _MOMENTS:
        words.note("the `format` of its datatype has no counterpart and is left out")
    least, most = (_limit(words, inner, *keys) for keys in (("minimum", "minInclusive"), ("maximum", "maxInclusive")))
    values = _keys(words)
    words.skip("maxLength", "maxGroupsPerUnit", "maxContributions", "maxNumPartitions", "invariantPublicKeys")
    if base == "boolean":
        yes, _, no = (pattern or "").partition("|")
        return {"type": "boolean", "true": [yes] if no else None, "false": [no] if no else None}
    if values is not None:
        return values
    if base in _WHOLE:
        least = least or _WHOLE[base]
        return {"type": "integer", "min": least, "max": most, "bins": _bins(words, least, most)}
    if base in _REAL:
        return real(words, least, most) | {"bins": _bins(words, least, most)}
    if base in _MOMENTS:
        kind = _MOMENTS[base]
        if pattern is not None and pattern not in _ISO:
            words.note("its texts have a `format` of their own; only texts such as 2024-12-31 13:45 are read as dates")
        for bound in (least, most):
            if bound is not None and moments.plain(bound, kind, None) is None:
                raise words.error("minimum", f"`minimum` and `maximum` must be a {kind} such as 2024-12-31")
        return {"type": kind, "min": least, "max": most, "bins": _bins(words, least, most, kind)}
    if base in _ANY:
        return {}
    if base not in _TEXT:
        words.note(f"datatype {base[:40]} cannot be released, so it is left out")
        return {"type": "text"}
    return open_labels(words, name)


def _limit(words: Words, inner: Words, *keys: str) -> str | None:
    found = [text for section in (words, inner) for key in keys if (text := section.text(key)) is not None]
    return found[0] if found else None


def _keys(words: Words) -> dict[str, Any] | None:
    """Public values: a list of keys, or partitions that hold one value each. Where they are not all, the rest has a place of its own."""
    listed = words.texts("keyValues")
    closed = words.flag("exhaustiveKeys")
    found = None if listed is None else list(listed)
    if found is None:
        texts = [text for _, text in _predicates(words, "partitionValue")]
        found = [text for text in texts if text is not None] or None
        closed = words.flag("exhaustivePartitions") if closed is None else closed
    if found is None:
        return None
    if closed is False:
        words.note("its keys are not all there are, so the others go to a place called other")
        return {"type": "categorical", "values": found, "other": "other" if "other" not in found else "(other)"}
    return {"type": "categorical", "values": found}


def _predicates(words: Words, key: str) -> list[tuple[Words, str | None]]:
    found = []
    for node in words.listed("partitions"):
        part = Words(node, words.draft, words.where, "a partition").within("predicate")
        if part is not None:
            found.append((part, part.text(key)))
    return found


def _bins(words: Words, least: str | None, most: str | None, kind: str | None = None) -> list[str] | None:
    """Partitions that are ranges are bins; where each begins counts, and the first begins at the least value."""
    texts = {text for _, text in _predicates(words, "lowerBound") if text is not None}
    if not texts:
        return None
    if least is None or most is None:
        words.note("`partitions` that are ranges need `minimum` and `maximum`, and are left out")
        return None
    low, high = _place(least, kind), _place(most, kind)
    if low is None or high is None:  # what is wrong with a bound is said of the bound
        return None
    starts = sorted((place, text) for text in texts if (place := _place(text, kind)) is not None)
    return [least, *(text for place, text in starts if low < place <= high)]


def _place(text: str, kind: str | None) -> Any:
    """What numbers, or moments, are ordered by."""
    if kind is None:
        return parse_fraction(text)
    return None if moments.plain(text, kind, None) is None else text.replace("T", " ")


def write(plain: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """A schema as a CSVW table with csvw-eo's words."""
    file, pages = columns_of(plain, notes)
    unit = Page(file.take("unit") or {}, notes, "unit: ")
    key = unit.take("id")
    table: dict[str, Any] = {"@context": [CONTEXT], "@type": "Table"}
    if key is not None:
        table |= {"privacyUnit": key, "maxContributions": unit.take("max_rows", 1)}
    rows = file.take("rows")
    if rows is not None:
        table["publicLength"] = rows
    rules = dependencies_of(file)
    columns = []
    for name, kind, page in pages:
        column = {"@type": "Column", "name": name, **_column_words(kind, page, is_key=name == key)}
        if page.take("constant"):
            rules.setdefault(name, []).append({"dependsOn": key, "dependencyType": "fixedPerEntity"})
        if name in rules:
            column["rowDependencies"] = rules[name]
        columns.append(column)
        page.close()
    unit.close()
    file.close()
    return table | {"tableSchema": {"columns": columns}}


def _column_words(kind: str, page: Page, *, is_key: bool) -> dict[str, Any]:
    words: dict[str, Any] = {"datatype": _WRITTEN.get(kind, "string"), "required": page.take("nullable") is False}
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
                words[theirs] = number(bound) if kind in ("integer", "real") else str(bound)
        page.take("bounds")
    elif kind in ("text", "identifier"):
        page.note(f"type {kind} becomes a string, and that it is never released is left out")
    missing = page.take("missing")
    if missing:
        words["null"] = ["", *missing]
    return words
