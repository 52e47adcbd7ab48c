"""JSON into trees that remember their lines, so that an error about a JSON file says where, as one about a YAML file does.

Numbers stay as they are written: 0.10 is one tenth. The limits are those of schema/yaml/nodes.py.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]

from understudy.schema.yaml.nodes import DEPTH_LIMIT, NODE_LIMIT, Entry, Node, Source

_BLANK = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"true|false|null|NaN|-?Infinity|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)


def from_json(text: str, source: Source) -> Node:
    """The tree of a JSON document; JSONDecodeError where it is none.

    >>> from_json('{"age":\\n  {"min": 0.10}}', Source("people.json")).entries[0].node.line
    2
    """
    reader = _Reader(text, source)
    node, at = reader.value(reader.blank(0), 0)
    if reader.blank(at) < len(text):
        raise JSONDecodeError("Extra data", text, reader.blank(at))
    return node


class _Reader:
    def __init__(self, text: str, source: Source) -> None:
        self.text = text
        self.source = source
        self.nodes = 0
        self.breaks = [found.start() for found in re.finditer("\n", text)]

    def blank(self, at: int) -> int:
        """Where the next character that is no blank stands."""
        found = _BLANK.match(self.text, at)
        return at if found is None else found.end()

    def line(self, at: int) -> int:
        return bisect_right(self.breaks, at - 1) + 1

    def value(self, at: int, depth: int) -> tuple[Node, int]:
        """What stands here, and where it ends."""
        self.nodes += 1
        line = self.line(at)
        if self.nodes > NODE_LIMIT or depth > DEPTH_LIMIT:
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
            return Node(line, items=tuple(items)), self.at
        if first == '"':
            said, end = scanstring(self.text, at + 1, True)
            return Node(line, text=said, written=said), end
        found = _WORD.match(self.text, at)
        if found is None:
            raise JSONDecodeError("Expecting value", self.text, at)
        word = found[0]
        return (Node(line) if word == "null" else Node(line, text=word, written=word)), found.end()

    def mapping(self, at: int, depth: int) -> tuple[Node, int]:
        entries: dict[str, Entry] = {}
        for place in self.parts(at, "}"):
            if self.text[place : place + 1] != '"':
                raise JSONDecodeError("Expecting property name enclosed in double quotes", self.text, place)
            key, end = scanstring(self.text, place + 1, True)
            colon = self.blank(end)
            if self.text[colon : colon + 1] != ":":
                raise JSONDecodeError("Expecting ':' delimiter", self.text, colon)
            node, end = self.value(self.blank(colon + 1), depth + 1)
            if key in entries:
                raise self.source.error(
                    self.line(place), f"`{key}` stands here twice; the first is in line {entries[key].line}"
                )
            entries[key] = Entry(key, self.line(place), node)
            self.at = end
        return Node(self.line(at), entries=tuple(entries.values())), self.at

    def parts(self, at: int, closing: str) -> Iterator[int]:
        """Where each part of a list or mapping begins; `at` is left behind the closing bracket."""
        self.at = self.blank(at + 1)
        if self.text[self.at : self.at + 1] == closing:
            self.at += 1
            return
        while True:
            yield self.at
            end = self.blank(self.at)
            mark = self.text[end : end + 1]
            if mark == closing:
                self.at = end + 1
                return
            if mark != ",":
                raise JSONDecodeError("Expecting ',' delimiter", self.text, end)
            self.at = self.blank(end + 1)
