"""JSON into trees that remember their lines, so that an error about a JSON file says
where, as one about a YAML file does.

Numbers stay as they are written: 0.10 is one tenth. The limits are those of
schema/yaml/nodes.py.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from json import JSONDecodeError
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
    """The tree of a JSON document; JSONDecodeError where it is none.

    >>> from_json('{"age":\\n  {"min": 0.10}}', DocumentSource("people.json")).entries[0].node.line
    2
    """
    reader = _JsonTreeReader(text, source)
    node, at = reader.value(reader.skip_blanks(0), 0)
    if reader.skip_blanks(at) < len(text):
        raise JSONDecodeError("Extra data", text, reader.skip_blanks(at))
    return node


class _JsonTreeReader:
    def __init__(self, text: str, source: DocumentSource) -> None:
        self.text = text
        self.source = source
        self.nodes = 0
        self.breaks = [found.start() for found in re.finditer("\n", text)]

    def skip_blanks(self, at: int) -> int:
        """Where the next character that is no blank stands."""
        found = _JSON_BLANKS_REGEX.match(self.text, at)
        return at if found is None else found.end()

    def line(self, at: int) -> int:
        return bisect_right(self.breaks, at - 1) + 1

    def value(self, at: int, depth: int) -> tuple[DocumentNode, int]:
        """What stands here, and where it ends."""
        self.nodes += 1
        line = self.line(at)
        if self.nodes > MAX_SCHEMA_FILE_NODES or depth > MAX_SCHEMA_FILE_DEPTH:
            raise self.source.error(line, "too large or nested too deep for a schema")
        first = self.text[at : at + 1]
        if first == "{":
            return self.mapping(at, depth)
        if first == "[":
            items = []
            for place in self.parts(at, "]"):
                node, end = self.value(place, depth + 1)
                items.append(node)
                self.at = end
            return DocumentNode(line, items=tuple(items)), self.at
        if first == '"':
            said, end = scanstring(self.text, at + 1, True)
            return DocumentNode(line, text=said, written=said), end
        found = _JSON_WORD_REGEX.match(self.text, at)
        if found is None:
            raise JSONDecodeError("Expecting value", self.text, at)
        word = found[0]
        return (
            DocumentNode(line)
            if word == "null"
            else DocumentNode(line, text=word, written=word)
        ), found.end()

    def mapping(self, at: int, depth: int) -> tuple[DocumentNode, int]:
        entries: dict[str, DocumentEntry] = {}
        for place in self.parts(at, "}"):
            if self.text[place : place + 1] != '"':
                raise JSONDecodeError(
                    "Expecting property name enclosed in double quotes",
                    self.text,
                    place,
                )
            key, end = scanstring(self.text, place + 1, True)
            colon = self.skip_blanks(end)
            if self.text[colon : colon + 1] != ":":
                raise JSONDecodeError("Expecting ':' delimiter", self.text, colon)
            node, end = self.value(self.skip_blanks(colon + 1), depth + 1)
            if key in entries:
                raise self.source.error(
                    self.line(place),
                    f"`{key}` stands here twice; the first is in line"
                    f" {entries[key].line}",
                )
            entries[key] = DocumentEntry(key, self.line(place), node)
            self.at = end
        return DocumentNode(self.line(at), entries=tuple(entries.values())), self.at

    def parts(self, at: int, closing: str) -> Iterator[int]:
        """Where each part of a list or mapping begins; `at` is left behind the closing
        bracket.
        """
        self.at = self.skip_blanks(at + 1)
        if self.text[self.at : self.at + 1] == closing:
            self.at += 1
            return
        while True:
            yield self.at
            end = self.skip_blanks(self.at)
            mark = self.text[end : end + 1]
            if mark == closing:
                self.at = end + 1
                return
            if mark != ",":
                raise JSONDecodeError("Expecting ',' delimiter", self.text, end)
            self.at = self.skip_blanks(end + 1)
