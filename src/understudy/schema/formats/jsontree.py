"""JSON into document trees that remember their lines, so that an error about a JSON
file names its line as one about a YAML file does.

Numbers stay as they are written: 0.10 is one tenth. The limits are those of
schema/yaml/nodes.py.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from json import JSONDecodeError

# The standard library's own scanner, which knows all escapes.
from json.decoder import scanstring  # type: ignore[attr-defined]

from understudy.schema.yaml.nodes import (
    MAX_SCHEMA_FILE_DEPTH,
    MAX_SCHEMA_FILE_NODES,
    DocumentEntry,
    DocumentNode,
    DocumentSource,
)

_JSON_BLANKS_REGEX = re.compile(r"[ \t\n\r]*")
_JSON_WORD_REGEX = re.compile(
    r"true|false|null|NaN|-?Infinity|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?",
    re.ASCII,
)


def from_json(text: str, source: DocumentSource) -> DocumentNode:
    """The tree of a JSON document; JSONDecodeError if it is none.

    >>> from_json('{"age":\\n  {"min": 0.10}}', DocumentSource("people.json")).entries[0].node.line
    2
    """
    reader = _JsonTreeReader(text, source)
    reader.skip_blanks()
    node = reader.read_value(0)
    reader.skip_blanks()
    if reader.at < len(text):
        raise JSONDecodeError("Extra data", text, reader.at)
    return node


class _JsonTreeReader:
    """Reads values from left to right; `at` is where the next character stands."""

    def __init__(self, text: str, source: DocumentSource) -> None:
        self.text = text
        self.source = source
        self.at = 0
        self.nodes = 0
        # Lines are looked up for every value, so they are not counted each time.
        self.breaks = [match.start() for match in re.finditer("\n", text)]

    def skip_blanks(self) -> None:
        match = _JSON_BLANKS_REGEX.match(self.text, self.at)
        assert match is not None, "no blanks are blanks too"
        self.at = match.end()

    def next_character(self) -> str:
        """The next character; nothing at the end."""
        return self.text[self.at : self.at + 1]

    def line(self) -> int:
        return bisect_right(self.breaks, self.at - 1) + 1

    def read_value(self, depth: int) -> DocumentNode:
        self.nodes += 1
        line = self.line()
        if self.nodes > MAX_SCHEMA_FILE_NODES or depth > MAX_SCHEMA_FILE_DEPTH:
            raise self.source.error(line, "too large or nested too deep for a schema")
        match self.next_character():
            case "{":
                return self.read_mapping(depth)
            case "[":
                items = [self.read_value(depth + 1) for _ in self.parts("]")]
                return DocumentNode(line, items=tuple(items))
            case '"':
                text = self.read_string()
                return DocumentNode(line, text=text, written=text)
        word = self.read_word()
        if word == "null":
            return DocumentNode(line)
        return DocumentNode(line, text=word, written=word)

    def read_string(self) -> str:
        text, end = scanstring(self.text, self.at + 1, True)
        self.at = end
        return str(text)

    def read_word(self) -> str:
        """A number as it is written, or true, false or null."""
        match = _JSON_WORD_REGEX.match(self.text, self.at)
        if match is None:
            raise JSONDecodeError("Expecting value", self.text, self.at)
        self.at = match.end()
        return match[0]

    def read_mapping(self, depth: int) -> DocumentNode:
        line = self.line()
        entries: dict[str, DocumentEntry] = {}
        for _ in self.parts("}"):
            entry = self.read_entry(depth + 1)
            if entry.key in entries:
                raise self.source.error(
                    entry.line,
                    f"`{entry.key}` stands here twice; the first is in line"
                    f" {entries[entry.key].line}",
                )
            entries[entry.key] = entry
        return DocumentNode(line, entries=tuple(entries.values()))

    def read_entry(self, depth: int) -> DocumentEntry:
        if self.next_character() != '"':
            problem = "Expecting property name enclosed in double quotes"
            raise JSONDecodeError(problem, self.text, self.at)
        line = self.line()
        key = self.read_string()
        self.skip_blanks()
        if self.next_character() != ":":
            raise JSONDecodeError("Expecting ':' delimiter", self.text, self.at)
        self.at += 1
        self.skip_blanks()
        return DocumentEntry(key, line, self.read_value(depth))

    def parts(self, closing: str) -> Iterator[None]:
        """Stop at the beginning of each part of a list or mapping, and after the closing
        bracket. The caller reads the part before it asks for the next.
        """
        self.at += 1
        self.skip_blanks()
        if self.next_character() == closing:
            self.at += 1
            return
        while True:
            yield
            self.skip_blanks()
            if self.next_character() == closing:
                self.at += 1
                return
            if self.next_character() != ",":
                raise JSONDecodeError("Expecting ',' delimiter", self.text, self.at)
            self.at += 1
            self.skip_blanks()
