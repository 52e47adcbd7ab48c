"""Columns of CSV on the Web: names, datatypes, public values and partitions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from understudy.schema.formats import moments
from understudy.schema.formats.csvw_rules import (
    CSVW_CONTRIBUTION_KEYS,
    read_dependencies,
)
from understudy.schema.formats.draft import (
    MAX_QUOTED_CHARACTERS,
    SchemaDraft,
    TrackedSection,
    drop_empty_codes,
    drop_missing_values,
    label_column,
    real_column,
)
from understudy.schema.yaml.keys import parse_fraction
from understudy.schema.yaml.nodes import DocumentNode

_CSVW_INTEGER_MINIMA = {
    "integer": None, "long": None, "int": None, "short": None, "byte": None,
    "gYear": None, "nonPositiveInteger": None, "negativeInteger": None,
    "nonNegativeInteger": "0", "unsignedLong": "0", "unsignedInt": "0",
    "unsignedShort": "0", "unsignedByte": "0", "positiveInteger": "1",
}  # fmt: skip
"""The types of whole numbers, with the smallest number of each that has one."""

_CSVW_REAL_TYPES = {"decimal", "number", "double", "float"}
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

# Texts in these patterns are read as they are.
_CSVW_ISO_FORMATS = (
    "yyyy-MM-dd",
    "yyyy-MM-ddTHH:mm:ss",
    "yyyy-MM-dd HH:mm:ss",
    "yyyy-MM-ddTHH:mm",
    "yyyy-MM-dd HH:mm",
    "HH:mm:ss",
    "HH:mm",
)


def read_column(
    node: DocumentNode, draft: SchemaDraft, missing: tuple[str, ...], keys: set[str]
) -> None:
    """Read one column; `missing` are the table's missing codes, `keys` its keys."""
    name = _read_name(node, draft)
    with TrackedSection(node, draft, f'column "{name}": ', "it") as words:
        _skip_unused_keys(words)
        note = words.text("dc:description") or words.text("rdfs:comment")
        own_missing = words.texts("null")
        codes = drop_empty_codes(missing if own_missing is None else own_missing)
        fields = _read_datatype(words, name)
        is_unit = words.flag("privacyId")
        is_key = name in keys or (words.text("name") or name) in keys
        nullable = False if words.flag("required") else None
        fixed_for = read_dependencies(words, name, draft)
        # A key names people or rows, so its values are never released.
        if is_unit or is_key:
            mark = is_unit or None
            draft.column(name, node.line, type="identifier", note=note, privacyId=mark)
            return
        drop_missing_values(fields, codes)
        draft.column(
            name,
            node.line,
            **fields,
            nullable=nullable,
            missing=codes or None,
            note=note,
            fixedFor=fixed_for or None,
        )


def _read_name(node: DocumentNode, draft: SchemaDraft) -> str:
    """A column's first title, which is its name in the table, or else its `name`."""
    column = TrackedSection(node, draft, what="a column")
    title = column.get("titles")
    if title is not None and title.items:
        title = title.items[0]
    name = (None if title is None else title.text) or column.text("name")
    if not name:
        raise column.error("name", "a column has no name. Give every column a `name`")
    return name


def _skip_unused_keys(words: TrackedSection) -> None:
    words.skip_keys(
        "@type",
        "name",
        "titles",
        "propertyUrl",
        "suppressOutput",
        "default",
        "nullableProportion",
    )
    # A share of the rows is a statistic of the table: using it would publish it.
    if words.entries.get("nullableProportion"):
        words.note(
            "`nullableProportion` is a share of the rows and is left out: how many"
            " are missing is measured"
        )


@dataclass(frozen=True)
class _CsvwDatatype:
    """A datatype with the bounds that the column or the datatype itself states."""

    base: str
    pattern: str | None
    minimum: str | None
    maximum: str | None


def _read_datatype(words: TrackedSection, name: str) -> dict[str, Any]:
    """The fields of the column that a datatype describes."""
    node = words.get("datatype")
    if node is None or node.entries is None:
        base = "string" if node is None else words.text("datatype") or "string"
        datatype = _CsvwDatatype(base, None, *_read_bounds(words))
        return _column_of_datatype(words, name, datatype)
    with TrackedSection(node, words.draft, words.where, "`datatype`") as inner:
        inner.skip_keys("@id", "@type", "dc:title", "dc:description")
        base = inner.text("base") or "string"
        pattern = inner.text("format")
        datatype = _CsvwDatatype(base, pattern, *_read_bounds(words, inner))
        return _column_of_datatype(words, name, datatype)


def _read_bounds(*sections: TrackedSection) -> tuple[str | None, str | None]:
    return (
        _read_limit(sections, "minimum", "minInclusive"),
        _read_limit(sections, "maximum", "maxInclusive"),
    )


def _read_limit(sections: tuple[TrackedSection, ...], *keys: str) -> str | None:
    """The first limit that is stated, of the column before its datatype. All keys are
    asked for, so that none is noted as unknown.
    """
    texts = [section.text(key) for section, key in product(sections, keys)]
    return next((text for text in texts if text is not None), None)


def _column_of_datatype(
    words: TrackedSection, name: str, datatype: _CsvwDatatype
) -> dict[str, Any]:
    base, pattern = datatype.base, datatype.pattern
    uses_pattern = base == "boolean" or base in _CSVW_MOMENT_TYPES
    if pattern is not None and not uses_pattern:
        words.note("the `format` of its datatype has no counterpart and is left out")
    values = _read_public_values(words)
    words.skip_keys(*CSVW_CONTRIBUTION_KEYS)
    if base == "boolean":
        return _boolean_column(pattern or "")
    if values is not None:
        return values
    if base in _CSVW_MOMENT_TYPES:
        return _moment_column(words, datatype)
    if base in _CSVW_INTEGER_MINIMA or base in _CSVW_REAL_TYPES:
        return _number_column(words, datatype)
    if base in _CSVW_ANY_TYPES:
        return {}
    if base not in _CSVW_TEXT_TYPES:
        shown = base[:MAX_QUOTED_CHARACTERS]
        words.note(f"datatype {shown} cannot be released, so it is left out")
        return {"type": "text"}
    return label_column(words, name)


def _boolean_column(pattern: str) -> dict[str, Any]:
    # A boolean's pattern is its two spellings with a bar between, such as Y|N.
    yes, _, no = pattern.partition("|")
    spelled = {"true": [yes], "false": [no]} if no else {"true": None, "false": None}
    return {"type": "boolean", **spelled}


def _number_column(words: TrackedSection, datatype: _CsvwDatatype) -> dict[str, Any]:
    low, high = datatype.minimum, datatype.maximum
    if datatype.base in _CSVW_INTEGER_MINIMA:
        low = low or _CSVW_INTEGER_MINIMA[datatype.base]
        fields: dict[str, Any] = {"type": "integer", "min": low, "max": high}
    else:
        fields = real_column(words, low, high)
    return fields | {"bins": _read_bins(words, low, high)}


def _moment_column(words: TrackedSection, datatype: _CsvwDatatype) -> dict[str, Any]:
    kind = _CSVW_MOMENT_TYPES[datatype.base]
    low, high = datatype.minimum, datatype.maximum
    if datatype.pattern is not None and datatype.pattern not in _CSVW_ISO_FORMATS:
        words.note(
            "its texts have a `format` of their own; only texts such as 2024-12-31"
            " 13:45 are read as dates"
        )
    for bound in (low, high):
        if bound is not None and moments.to_iso_text(bound, kind, None) is None:
            raise words.error(
                "minimum",
                f"`minimum` and `maximum` must be a {kind} such as 2024-12-31",
            )
    bins = _read_bins(words, low, high, kind)
    return {"type": kind, "min": low, "max": high, "bins": bins}


def _read_public_values(words: TrackedSection) -> dict[str, Any] | None:
    """Public values: a list of keys, or partitions that hold one value each. If they
    are not all values, the rest goes to `other`.
    """
    listed = words.texts("keyValues")
    exhaustive = words.flag("exhaustiveKeys")
    values = list(listed or ())
    if listed is None:
        values = _read_partitions(words, "partitionValue")
        if exhaustive is None:
            exhaustive = words.flag("exhaustivePartitions")
        if not values:
            return None
    fields: dict[str, Any] = {"type": "categorical", "values": values}
    if exhaustive is False:
        words.note(
            "its keys are not all there are, so the others go to a place called other"
        )
        fields["other"] = "(other)" if "other" in values else "other"
    return fields


def _read_partitions(words: TrackedSection, key: str) -> list[str]:
    """What the partitions of a column state under a key of their predicates."""
    texts = []
    for node in words.items_of("partitions"):
        partition = TrackedSection(node, words.draft, words.where, "a partition")
        predicate = partition.within("predicate")
        text = None if predicate is None else predicate.text(key)
        if text is not None:
            texts.append(text)
    return texts


def _read_bins(
    words: TrackedSection, low: str | None, high: str | None, kind: str | None = None
) -> list[str] | None:
    """Partitions that are ranges are bins. Where each begins counts, and the first
    begins at the smallest value.
    """
    texts = set(_read_partitions(words, "lowerBound"))
    if not texts:
        return None
    if low is None or high is None:
        words.note(
            "`partitions` that are ranges need `minimum` and `maximum`, and are"
            " left out"
        )
        return None
    first = _order_key(low, kind)
    last = _order_key(high, kind)
    # What is wrong with a bound is reported about the bound, when the column is built.
    if first is None or last is None:
        return None
    keys = {text: _order_key(text, kind) for text in texts}
    placed = sorted((key, text) for text, key in keys.items() if key is not None)
    return [low, *(text for key, text in placed if first < key <= last)]


def _order_key(text: str, kind: str | None) -> Any:
    """What numbers, or moments, are ordered by; None if the text is neither."""
    if kind is None:
        return parse_fraction(text)
    is_moment = moments.to_iso_text(text, kind, None) is not None
    # With one separator, ISO texts sort as the moments they stand for.
    return text.replace("T", " ") if is_moment else None
