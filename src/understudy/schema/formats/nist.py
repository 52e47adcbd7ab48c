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
    keys_of_columns = []
    for column in root.entries or ():
        keys = {entry.key for entry in column.node.entries or ()}
        if not keys or not keys <= _NIST_COLUMN_KEYS:
            return False
        keys_of_columns.append(keys)
    return any("values" in keys for keys in keys_of_columns)


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
            words.note(
                "no codes are listed, so its values are learned within the budget"
            )
            fields: dict[str, Any] = {"type": "categorical", "values": LEARN_WORD}
        elif "min" in codes.entries or "max" in codes.entries:
            fields = _read_range(codes)
        else:
            values = [key for key in codes.entries if key != ""]
            fields = {"type": "categorical", "values": values}
        if codes is not None and "" not in codes.entries:
            fields["nullable"] = False
        draft.column(entry.key, entry.line, **fields, note=note)


def _read_range(codes: TrackedSection) -> dict[str, Any]:
    low = codes.number("min")
    high = codes.number("max")
    if low is None or high is None:
        raise codes.error(
            "min", "codes with `min` need `max` too, and the other way round"
        )
    others = [key for key in codes.entries if key not in ("min", "max", "")]
    low, high, missing = _widen_range(low, high, others)
    fields: dict[str, Any]
    if low.denominator == high.denominator == 1:
        fields = {"type": "integer", "min": int(low), "max": int(high)}
    else:
        texts = fraction_text(low), fraction_text(high)
        decimals = max(len(text.partition(".")[2]) for text in texts)
        fields = real_column(codes, *texts, decimals=decimals)
    return fields | {"missing": missing or None}


def _widen_range(
    low: Fraction, high: Fraction, codes: list[str]
) -> tuple[Fraction, Fraction, list[str]]:
    """The range with all codes that are next to it, and the codes that are not."""
    numbers = {code: parse_fraction(code) for code in codes}
    known = sorted(
        (number, code) for code, number in numbers.items() if number is not None
    )
    inside = set()
    # A code that widens the range may bring the next one next to it: upwards first,
    # then downwards.
    for number, code in known:
        if low - 1 <= number <= high + 1:
            low = min(low, number)
            high = max(high, number)
            inside.add(code)
    for number, code in reversed(known):
        if low - 1 <= number < low:
            low = number
            inside.add(code)
    return low, high, [code for code in codes if code not in inside]
