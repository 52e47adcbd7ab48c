"""The YAML file that a person edits: a schema's plain data with comments that say what
is public, what will be learned, and what to fill in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from understudy.schema.columns.base import Column, Role
from understudy.schema.columns.cell import CELL_NUMBER_PATTERN
from understudy.schema.columns.discrete import Identifier, Text, UndeclaredColumn
from understudy.schema.predicates.rules import Rule
from understudy.schema.schema import Schema
from understudy.schema.yaml.keys import LEARN_WORD
from understudy.schema.yaml.rules_io import rule_to_plain
from understudy.schema.yaml.writer import column_to_dict, schema_to_dict

MAX_YAML_LINE_WIDTH = 100

# YAML reads a key of up to 1,024 characters on its line; longer ones need the explicit
# form (`? key`). Escapes and quotation marks count too.
MAX_YAML_KEY_CHARACTERS = 800

SCHEMA_PAGE_HEADER = """\
# What this table looks like. Everything written here counts as public, by your
# declaration, once you use this file. `learn` has something learned within the privacy
# budget. Change whatever you know better.
"""

SUGGESTED_RULES_COMMENT = (
    "All rows keep these rules. They are not used unless you take the marks (#) away."
)

_LEARN_COMMENT = "will be learned within the budget; or fill in"
_LEARNED_COMMENT = "learned within the budget"
_BARE_TEXT_REGEX = re.compile(
    r"[A-Za-z_][A-Za-z0-9_]*(?:[ ./-][A-Za-z0-9_]+)*", re.ASCII
)
# Some reader of YAML takes each of these words for something other than a text.
_YAML_RESERVED_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
_BARE_NUMBER_REGEX = re.compile(CELL_NUMBER_PATTERN, re.ASCII)
_BARE_DATE_OR_SPAN_REGEX = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}|-?[0-9]+/[0-9]+|[0-9]+(?:us|ms|s|min|h|day)", re.ASCII
)
_EXACT_VALUE_KEYS = {"min", "max", "step", "resolution", "bins", "grain", "beyond"}
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
        values: learn  # will be learned within the budget; or fill in, as in [a, b]
    """
    plain = schema_to_dict(schema)
    lines = [SCHEMA_PAGE_HEADER.rstrip("\n"), f"version: {plain['version']}"]
    if "unit" in plain:
        lines += ["", "unit:  # whom the guarantee protects"]
        lines += _mapping_lines(plain["unit"], 1)
    if "rows" in plain:
        lines += ["", f"rows: {plain['rows']}  # public"]
    lines += ["", "columns:" if schema.columns else "columns: {}"]
    for column in schema.columns:
        lines += _nested_lines(column.name, list(_column_lines(column)), 1)
    lines += _condition_lines(plain)
    return "\n".join(lines) + "\n"


def _condition_lines(plain: dict[str, Any]) -> list[str]:
    """The impossible conditions, the rules, and what becomes of rows that break them."""
    lines: list[str] = []
    if "impossible" in plain:
        lines += ["", "impossible:  # public: holds for no row"]
        lines += [f"  - {_quote_text(condition)}" for condition in plain["impossible"]]
    if "rules" in plain:
        lines += ["", "rules:  # public: hold for every row"]
        for rule in plain["rules"]:
            lines += _rule_lines(rule)
    if "broken" in plain:
        comment = "what becomes of rows that break a rule"
        lines += ["", f"broken: {plain['broken']}  # {comment}"]
    if "count_broken" in plain:
        comment = "how many break one will be learned within the budget"
        lines += ["", f"count_broken: true  # {comment}"]
    return lines


def comment_suggestions(
    rules: Sequence[Rule], *, person_id: str | None, constant: Sequence[str]
) -> str:
    """What rows suggest, as comments at the end of a schema page: to be accepted by
    taking the marks away.

    >>> from understudy.schema import AlwaysRule, parse_predicate
    >>> rule = AlwaysRule(predicate=parse_predicate("start <= end"))
    >>> print(comment_suggestions([rule], person_id=None, constant=()).strip())
    # All rows keep these rules. They are not used unless you take the marks (#) away.
    # rules:
    #   - "start <= end"
    """
    lines = [""]
    if rules:
        lines.append(f"# {SUGGESTED_RULES_COMMENT}")
        lines.append("# rules:")
        for rule in rules:
            lines += [f"# {line}" for line in _rule_lines(rule_to_plain(rule))]
    if constant:
        listed = ", ".join(map(_quote_text, constant))
        lines.append(
            f"# With `unit: {{id: {_quote_text(person_id or '')}, max_rows: …}}` these"
            f" columns may say `constant: true`: {listed}"
        )
    return "\n".join(lines) + "\n" if len(lines) > 1 else ""


def _rule_lines(rule: str | dict[str, Any]) -> list[str]:
    """A rule as an item of a list: a condition alone, or keys below each other."""
    if isinstance(rule, str):
        return [f"  - {_quote_text(rule)}"]
    lines: list[str] = []
    for key, value in rule.items():
        if value == {}:
            lines.append(f"    {key}: {{}}")
        elif isinstance(value, dict):
            lines += _nested_lines(key, _mapping_lines(value, 3), 2)
        elif key == "allowed":
            rows = [", ".join(map(_scalar_text, values)) for values in value]
            lines += [f"    {key}:", *(f"      - [{row}]" for row in rows)]
        else:
            is_learned = key == "map" and value == LEARN_WORD
            comment = f"{_LEARN_COMMENT}, as in {{a: b}}" if is_learned else None
            lines += _entry_lines(key, value, 2, comment)
    return ["  -", *lines]


def _column_lines(column: Column) -> Iterator[str]:
    comments = _column_comments(column)
    for key, value in column_to_dict(column).items():
        if not isinstance(value, dict):
            yield from _entry_lines(key, value, 2, comments.get(key))
        elif key == "levels":
            yield from _key_lines(key, 2)
            for level, groups in value.items():
                yield from _nested_lines(level, _mapping_lines(groups, 4), 3)
        else:
            yield from _nested_lines(key, _mapping_lines(value, 3), 2)


def _column_comments(column: Column) -> dict[str, str]:
    """The comment on each key: public, learned or to be learned, or never released."""
    if isinstance(column, UndeclaredColumn):
        return {"type": f"{_LEARN_COMMENT}, as in integer"}
    if isinstance(column, Text):
        return {"type": "dropped: free text is never released"}
    if isinstance(column, Identifier):
        fate = "replaced by fresh keys" if column.generate else "dropped"
        return {"type": f"{fate}: identifiers are never released"}
    comments = dict.fromkeys(_PUBLIC_KEYS, "public")
    for fact, keys in _KEYS_BY_LEARNED_FACT.items():
        if fact in column.learned:
            comments |= dict.fromkeys(keys, _LEARNED_COMMENT)
    plain = column_to_dict(column)
    for key, example in _LEARN_EXAMPLES.items():
        if plain.get(key) == LEARN_WORD:
            comments[key] = _LEARN_COMMENT + example
    if not column.use:
        comments["use"] = "dropped by your choice"
    elif column.role is Role.DIRECT_IDENTIFIER:
        comments["role"] = "dropped: direct identifiers are never released"
    return comments


_PUBLIC_KEYS = (
    "type", "values", "min", "max", "bins", "nullable", "missing", "unfold",
)  # fmt: skip
_KEYS_BY_LEARNED_FACT = {
    "type": ("type",),
    "values": ("values",),
    "bounds": ("min", "max", "beyond"),
    "missing codes": ("missing",),
    "bins": ("bins", "grain"),
}
_LEARN_EXAMPLES = {
    "weekdays": " seven weights from Monday",
    "values": ", as in [a, b]",
    "bounds": " min and max",
    "min": "",
    "max": "",
}


def _nested_lines(key: str, lines: list[str], depth: int) -> list[str]:
    """A key and the block below it."""
    return [*_key_lines(key, depth), *lines]


def _key_lines(key: str, depth: int) -> list[str]:
    pad = "  " * depth
    text = _quote_text(key)
    if len(text) > MAX_YAML_KEY_CHARACTERS:
        return [f"{pad}? {text}", f"{pad}:"]
    return [f"{pad}{text}:"]


def _mapping_lines(plain: dict[str, Any], depth: int) -> list[str]:
    lines: list[str] = []
    for key, value in plain.items():
        lines += _entry_lines(key, value, depth, None)
    return lines


def _entry_lines(key: str, value: object, depth: int, comment: str | None) -> list[str]:
    """A key and its value in one line, or in several if a list is long."""
    note = f"  # {comment}" if comment else ""
    exact = key in _EXACT_VALUE_KEYS
    *before, head = _key_lines(key, depth)
    if not isinstance(value, list):
        return [*before, f"{head} {_scalar_text(value, exact=exact)}{note}"]
    items = [_scalar_text(item, exact=exact) for item in value]
    if len(head) + sum(len(item) + 2 for item in items) <= MAX_YAML_LINE_WIDTH:
        return [*before, f"{head} [{', '.join(items)}]{note}"]
    return [*before, f"{head}{note}", *_wrap_items(items, "  " * (depth + 1))]


def _wrap_items(items: list[str], pad: str) -> list[str]:
    """A long list over several lines."""
    lines = []
    line = "["
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
    # Elsewhere 0.10 and 2024-12-31 are labels, and quotation marks keep other readers
    # from turning them into numbers and dates.
    if exact and _is_bare_value(text):
        return text
    return _quote_text(text)


def _is_bare_value(text: str) -> bool:
    if _BARE_NUMBER_REGEX.fullmatch(text):
        return True
    return _BARE_DATE_OR_SPAN_REGEX.fullmatch(text) is not None


def _quote_text(text: str) -> str:
    """A text as YAML takes it: bare if that is safe for every reader, else in double
    quotes with escapes.
    """
    is_reserved = text.lower() in _YAML_RESERVED_WORDS
    is_short = len(text) <= MAX_YAML_LINE_WIDTH
    if is_short and not is_reserved and _BARE_TEXT_REGEX.fullmatch(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(map(_escape_character, quoted))


def _escape_character(character: str) -> str:
    """Escape a character that JSON leaves bare and YAML does not."""
    if character == " " or character.isprintable():
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
