"""The YAML page a person edits: a schema's plain data with comments on what is public,
what will be paid for, what to fill in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from understudy.schema.columns.base import Column, Role
from understudy.schema.columns.cell import CELL_NUMBER_PATTERN
from understudy.schema.columns.discrete import Identifier, Text, UndeclaredColumn
from understudy.schema.schema import Schema
from understudy.schema.yaml.keys import LEARN_WORD
from understudy.schema.yaml.writer import column_to_dict, schema_to_dict

MAX_YAML_LINE_WIDTH = 100
MAX_YAML_KEY_CHARACTERS = 800
"""YAML takes a key on its own line only up to 1,024 characters; longer ones get the
explicit form.
"""

SCHEMA_PAGE_HEADER = """\
# What this table looks like. Everything written here counts as public, by your
# declaration, once you use this file. `learn` leaves something to be found out inside
# the privacy budget, at a price. Change whatever you know better.
"""

_LEARN_COMMENT = "will be learned at a price; or fill in"
_BARE_TEXT_REGEX = re.compile(
    r"[A-Za-z_][A-Za-z0-9_]*(?:[ ./-][A-Za-z0-9_]+)*", re.ASCII
)
_YAML_RESERVED_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
_BARE_NUMBER_REGEX = re.compile(CELL_NUMBER_PATTERN, re.ASCII)
_BARE_DATE_OR_SPAN_REGEX = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}|-?[0-9]+/[0-9]+|[0-9]+(?:us|ms|s|min|h|day)", re.ASCII
)
_EXACT_VALUE_KEYS = {"min", "max", "step", "resolution", "bins", "grain"}
"""Keys whose texts are numbers, dates or spans, and need no quotation marks."""


def dump_schema(schema: Schema) -> str:
    """A schema as a YAML page; `Schema.parse` reads the same schema back.

    >>> from understudy.schema import Categorical, Integer
    >>> columns = (Integer(name="age", min=0, max=90), Categorical(name="sex"))
    >>> print(dump_schema(Schema(columns=columns)).partition("columns:")[2].strip())
    age:
        type: integer  # public
        min: 0  # public
        max: 90  # public
      sex:
        type: categorical  # public
        values: learn  # will be learned at a price; or fill in, as in [a, b]
    """
    plain = schema_to_dict(schema)
    parts = [SCHEMA_PAGE_HEADER.rstrip("\n"), f"version: {plain['version']}"]
    if "unit" in plain:
        parts += [
            "",
            "unit:  # whom the guarantee protects",
            *_mapping_lines(plain["unit"], 1),
        ]
    if "rows" in plain:
        parts += ["", f"rows: {plain['rows']}  # public"]
    parts += ["", "columns:" if schema.columns else "columns: {}"]
    for column in schema.columns:
        parts += _nested_lines(column.name, list(_column_lines(column)), 1)
    if "impossible" in plain:
        parts += ["", "impossible:  # public: holds for no row"]
        parts += [f"  - {_quote_text(condition)}" for condition in plain["impossible"]]
    if "rules" in plain:
        parts += ["", "rules:  # public: hold for every row"]
        for rule in plain["rules"]:
            parts += _rule_lines(rule)
    if "broken" in plain:
        parts += [
            "",
            f"broken: {plain['broken']}  # what becomes of rows that break a rule",
        ]
    if "count_broken" in plain:
        parts += [
            "",
            "count_broken: true  # how many break one will be learned at a price",
        ]
    return "\n".join(parts) + "\n"


def _rule_lines(rule: str | dict[str, Any]) -> list[str]:
    """A rule as an item of a list: a condition alone, or keys below each other."""
    if isinstance(rule, str):
        return [f"  - {_quote_text(rule)}"]
    lines: list[str] = []
    for key, value in rule.items():
        if isinstance(value, dict):
            lines += (
                _nested_lines(key, _mapping_lines(value, 3), 2)
                if value
                else [f"    {key}: {{}}"]
            )
        elif key == "allowed":
            lines += [
                f"    {key}:",
                *(
                    f"      - [{', '.join(_scalar_text(cell) for cell in one)}]"
                    for one in value
                ),
            ]
        else:
            note = (
                "will be learned at a price; or fill in, as in {a: b}"
                if (key, value) == ("map", LEARN_WORD)
                else None
            )
            lines += _entry_lines(key, value, 2, note)
    return ["  -", *lines]


def _column_lines(column: Column) -> Iterator[str]:
    comments = _column_comments(column)
    for key, value in column_to_dict(column).items():
        comment = comments.get(key)
        if key == "unfold" and isinstance(value, dict):
            yield from _nested_lines(key, _mapping_lines(value, 3), 2)
        elif isinstance(value, dict):
            nested = [
                line
                for level, groups in value.items()
                for line in _nested_lines(level, _mapping_lines(groups, 4), 3)
            ]
            yield from _nested_lines(key, nested, 2)
        else:
            yield from _entry_lines(key, value, 2, comment)


def _column_comments(column: Column) -> dict[str, str]:
    """What each line is, in the three states everything has: public, paid for (or to
    be), refused.
    """
    if isinstance(column, UndeclaredColumn):
        return {"type": f"{_LEARN_COMMENT}, as in integer"}
    if isinstance(column, Text):
        return {"type": "dropped: free text is never released"}
    if isinstance(column, Identifier):
        return {
            "type": (
                f"{'replaced by fresh keys' if column.generate else 'dropped'}:"
                " identifiers are never released"
            )
        }
    plain = column_to_dict(column)
    dropped = {}
    if not column.use:
        dropped = {"use": "dropped by your choice"}
    elif column.role is Role.DIRECT_IDENTIFIER:
        dropped = {"role": "dropped: direct identifiers are never released"}
    states = dict.fromkeys(
        ("values", "min", "max", "bins", "nullable", "missing", "unfold"), "public"
    )
    if "values" in column.learned:
        states["values"] = "learned, and paid for"
    if "bounds" in column.learned:
        states |= dict.fromkeys(("min", "max"), "learned, and paid for")
    if "missing codes" in column.learned:
        states["missing"] = "learned, and paid for"
    if "bins" in column.learned:
        states |= dict.fromkeys(("bins", "grain"), "learned, and paid for")
    examples = {
        "weekdays": " seven weights from Monday",
        "values": ", as in [a, b]",
        "bounds": " min and max",
        "min": "",
        "max": "",
    }
    states |= {
        key: _LEARN_COMMENT + example
        for key, example in examples.items()
        if plain.get(key) == LEARN_WORD
    }
    return (
        {"type": "learned, and paid for" if "type" in column.learned else "public"}
        | states
        | dropped
    )


def _nested_lines(key: str, lines: list[str], depth: int) -> list[str]:
    """A key and the block behind it."""
    return [*_key_lines(key, depth), *lines]


def _key_lines(key: str, depth: int) -> list[str]:
    pad, text = "  " * depth, _quote_text(key)
    return (
        [f"{pad}{text}:"]
        if len(text) <= MAX_YAML_KEY_CHARACTERS
        else [f"{pad}? {text}", f"{pad}:"]
    )


def _mapping_lines(plain: dict[str, Any], depth: int) -> list[str]:
    return [
        line
        for key, value in plain.items()
        for line in _entry_lines(key, value, depth, None)
    ]


def _entry_lines(key: str, value: object, depth: int, comment: str | None) -> list[str]:
    """A key and its value in one line, or in several where a list is long."""
    note = f"  # {comment}" if comment else ""
    *before, head = _key_lines(key, depth)
    if not isinstance(value, list):
        return [
            *before,
            f"{head} {_scalar_text(value, exact=key in _EXACT_VALUE_KEYS)}{note}",
        ]
    items = [_scalar_text(item, exact=key in _EXACT_VALUE_KEYS) for item in value]
    if len(head) + sum(len(item) + 2 for item in items) <= MAX_YAML_LINE_WIDTH:
        return [*before, f"{head} [{', '.join(items)}]{note}"]
    return [*before, f"{head}{note}", *_wrap_items(items, "  " * (depth + 1))]


def _wrap_items(items: list[str], pad: str) -> list[str]:
    """A long list over several lines."""
    lines, line = [], "["
    for place, item in enumerate(items):
        piece = item + ("]" if place == len(items) - 1 else ",")
        if len(line) > 1 and len(line) + len(piece) > MAX_YAML_LINE_WIDTH:
            lines.append(pad + line.rstrip())
            line = " "
        line += piece + " "
    return [*lines, pad + line.rstrip()]


def _scalar_text(value: object, *, exact: bool = False) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if exact and (
        _BARE_NUMBER_REGEX.fullmatch(text) or _BARE_DATE_OR_SPAN_REGEX.fullmatch(text)
    ):
        return text
    return _quote_text(text)


def _quote_text(text: str) -> str:
    """A text as YAML takes it: bare where that is safe for every reader, else in double
    quotes with escapes.
    """
    if (
        len(text) <= MAX_YAML_LINE_WIDTH
        and _BARE_TEXT_REGEX.fullmatch(text)
        and text.lower() not in _YAML_RESERVED_WORDS
    ):
        return text
    return "".join(_escape_character(c) for c in json.dumps(text, ensure_ascii=False))


def _escape_character(character: str) -> str:
    """Characters that JSON leaves bare and YAML does not."""
    if character == " " or character.isprintable():
        return character
    return (
        f"\\u{ord(character):04x}"
        if ord(character) < 0x10000
        else f"\\U{ord(character):08x}"
    )
