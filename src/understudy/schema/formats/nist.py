"""Data dictionaries as NIST publishes them beside its excerpts of census data: for each
column a description and its codes.

    {"AGEP": {"description": "Person's age", "values": {"min": 0, "max": 99}},
     "MSP": {"description": "Marital status", "values": {"N": "N/A (less than 15
     years)", "1": "Now married", "6": "Never married"}}}

`min` and `max` make a column of numbers. Codes beside them that are whole numbers next
to the range belong to it (501 above 500); all others mean missing, each kept apart.
Without `min` and `max` the codes are the values. A column without `values` is learned.
Where no code is blank, no cell is empty: such a column is not nullable.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from understudy.schema.formats.draft import SchemaDraft, TrackedSection, real_column
from understudy.schema.yaml.keys import LEARN_WORD, fraction_text, parse_fraction
from understudy.schema.yaml.nodes import DocumentEntry, DocumentNode

_NIST_COLUMN_KEYS = {"description", "values", "details", "link"}


def matches_tree(root: DocumentNode) -> bool:
    """Every column has a description or codes, and nothing else."""
    entries = root.entries or ()
    keys = [{entry.key for entry in column.node.entries or ()} for column in entries]
    return (
        bool(entries)
        and all(found and found <= _NIST_COLUMN_KEYS for found in keys)
        and any("values" in k for k in keys)
    )


def read_table(node: DocumentNode, draft: SchemaDraft) -> None:
    """Read the columns in the order of the dictionary."""
    for entry in node.entries or ():
        _read_column(entry, draft)


def _read_column(entry: DocumentEntry, draft: SchemaDraft) -> None:
    with TrackedSection(entry.node, draft, f'column "{entry.key}": ', "it") as words:
        note = words.text("description")
        words.skip_keys("details", "link")
        codes = words.within("values")
        if codes is None:
            words.note("no codes are listed, so its values are learned at a price")
            said: dict[str, Any] = {"type": "categorical", "values": LEARN_WORD}
        elif "min" in codes.entries or "max" in codes.entries:
            said = _read_range(codes)
        else:
            said = {
                "type": "categorical",
                "values": [key for key in codes.entries if key != ""],
            }
        if codes is not None and "" not in codes.entries:
            said["nullable"] = False
        draft.column(entry.key, entry.line, **said, note=note)


def _read_range(codes: TrackedSection) -> dict[str, Any]:
    low, high = codes.number("min"), codes.number("max")
    if low is None or high is None:
        raise codes.error(
            "min", "codes with `min` need `max` too, and the other way round"
        )
    beside = {
        key: parse_fraction(key)
        for key in codes.entries
        if key not in ("min", "max", "")
    }
    coded = sorted((code, key) for key, code in beside.items() if code is not None)
    for (
        code,
        key,
    ) in (
        coded
    ):  # a code next to the range widens it, and the next one may be next to that
        if low - 1 <= code <= high + 1:
            low, high = min(low, code), max(high, code)
            del beside[key]
    for code, key in reversed(coded):
        if key in beside and low - 1 <= code < low:
            low = code
            del beside[key]
    missing = list(beside) or None
    if Fraction(low).denominator == Fraction(high).denominator == 1:
        return {
            "type": "integer",
            "min": int(low),
            "max": int(high),
            "missing": missing,
        }
    texts = fraction_text(low), fraction_text(high)
    most = max(len(text.partition(".")[2]) for text in texts)
    return real_column(codes, *texts, decimals=most) | {"missing": missing}
