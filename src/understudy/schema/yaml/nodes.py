"""Trees: YAML or JSON as texts, lists and mappings that remember their lines, before anything is believed about them.

Scalars stay as they are written: `no` is the text no, 0.10 is the text 0.10, and nothing passes through a binary float. The limits
make a hostile file fail early: size, depth, number of aliases and of nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from understudy.errors import SchemaError

SIZE_LIMIT = 8 * 2**20
DEPTH_LIMIT = 10
ALIAS_LIMIT = 100
NODE_LIMIT = 500_000
LINE_LIMIT = 600
"""An error that names something longer is shown without its middle."""

_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "timestamp", "seq", "map")}
_TAGS |= {"tag:yaml.org,2002:value", "tag:yaml.org,2002:merge"}
_NULLS = {"", "~", "null", "Null", "NULL"}
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Entry:
    """One key of a mapping and what stands behind it."""

    key: str
    line: int | None
    node: Node


@dataclass(frozen=True)
class Node:
    """A text (None where nothing is written), a list or a mapping."""

    line: int | None
    text: str | None = None
    items: tuple[Node, ...] | None = None
    entries: tuple[Entry, ...] | None = None
    written: str = ""

    @property
    def kind(self) -> str:
        """What it is, in words."""
        if self.items is not None:
            return "a list"
        if self.entries is not None:
            return "a mapping"
        return "nothing" if self.text is None else "a single value"


class Source:
    """Where a tree comes from, for errors that say where."""

    def __init__(self, name: str) -> None:
        self.name = name

    def error(self, line: int | None, problem: str, column: int | None = None) -> SchemaError:
        """One line: file, line and, where the text itself is broken, how far into it; problem."""
        place = "".join(f":{number}" for number in (line, column) if number is not None)
        where = f"{self.name}{place}: "
        shown = (
            problem if len(problem) <= LINE_LIMIT else f"{problem[: LINE_LIMIT // 2]} … {problem[-LINE_LIMIT // 2 :]}"
        )
        return SchemaError("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in where + shown))


def from_yaml(text: str, source: Source) -> Node:
    """The tree of a YAML document. Nothing in it is ever constructed."""
    if len(text) > SIZE_LIMIT:
        raise source.error(None, f"larger than {SIZE_LIMIT // 2**20} MB, which no schema is. It was not read")
    try:
        _check_events(text, source)
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (None, None) if mark is None else (mark.line + 1, mark.column + 1)
        raise source.error(line, f"not valid YAML: {error.problem}", column) from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise source.error(None, "not valid YAML: it holds a character that YAML does not allow") from None
    if root is None:
        raise source.error(None, "the file is empty. Write `columns:` and describe each column")
    return _Composed(source).node(root)


def _check_events(text: str, source: Source) -> None:
    """Refuse nesting, aliases and numbers of nodes that only a hostile file has, before building anything."""
    depth = aliases = 0
    for nodes, event in enumerate(yaml.parse(text, Loader=_Loader)):
        assert event.start_mark is not None, "a parser knows where it is"
        line = event.start_mark.line + 1
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        if depth > DEPTH_LIMIT:
            raise source.error(line, f"nested more than {DEPTH_LIMIT} levels deep")
        if aliases > ALIAS_LIMIT:
            raise source.error(line, f"more than {ALIAS_LIMIT} aliases")
        if nodes > NODE_LIMIT:
            raise source.error(line, f"more than {NODE_LIMIT:,} entries")


class _Composed:
    """Copies PyYAML's nodes; an alias gives the same copy again, and what it stands for counts each time."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.copies: dict[int, Node | None] = {}
        self.sizes: dict[int, int] = {}

    def node(self, node: yaml.Node) -> Node:
        line = node.start_mark.line + 1
        if id(node) not in self.copies:
            self.copies[id(node)] = None
            self.sizes[id(node)] = 1
            self.copies[id(node)] = self.copy(node, line)
        copy = self.copies[id(node)]
        if copy is None:
            raise self.source.error(line, "an alias stands inside what it names")
        return copy

    def copy(self, node: yaml.Node, line: int) -> Node:
        if node.tag not in _TAGS:
            raise self.source.error(line, "tags (!) are not understood here")
        if isinstance(node, yaml.SequenceNode):
            return Node(line, items=tuple(self.part(item, node) for item in node.value))
        if isinstance(node, yaml.MappingNode):
            return Node(line, entries=tuple(self.entries(node)))
        assert isinstance(node, yaml.ScalarNode)
        return Node(line, text=None if not node.style and node.value in _NULLS else node.value, written=node.value)

    def part(self, node: yaml.Node, whole: yaml.Node) -> Node:
        copy = self.node(node)
        self.sizes[id(whole)] += self.sizes[id(node)]
        if self.sizes[id(whole)] > NODE_LIMIT:
            raise self.source.error(whole.start_mark.line + 1, "aliases make this file too large")
        return copy

    def entries(self, node: yaml.MappingNode) -> Iterator[Entry]:
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise self.source.error(line, "a key must be a single word or text")
            if key.value in seen:
                raise self.source.error(
                    line, f"`{key.value}` stands here twice; the first is in line {seen[key.value]}"
                )
            seen[key.value] = line
            yield Entry(key.value, line, self.part(value, node))


def from_plain(value: object, source: Source) -> Node:
    """The tree of what a JSON reader gives: dictionaries, lists, texts, numbers, true, false and null."""
    return _Plain(source).node(value, 0)


class _Plain:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.count = 0

    def node(self, value: object, depth: int) -> Node:
        self.count += 1
        if self.count > NODE_LIMIT or depth > DEPTH_LIMIT:
            raise self.source.error(None, "too large or nested too deep for a schema")
        kind = type(value)
        if value is None:
            return Node(None)
        if kind is str:
            return self.text(str(value))
        if kind is bool:
            return self.text("true" if value else "false")
        if isinstance(value, int) and kind is int and value.bit_length() < 4096:
            return self.text(str(value))
        if isinstance(value, float) and kind is float and math.isfinite(value):
            return self.text(repr(value))
        if isinstance(value, list) and kind is list:
            return Node(None, items=tuple(self.node(item, depth + 1) for item in value))
        if isinstance(value, dict) and kind is dict:
            if not all(type(key) is str for key in value):
                raise self.source.error(None, "a key must be a text")
            return Node(None, entries=tuple(Entry(k, None, self.node(v, depth + 1)) for k, v in value.items()))
        raise self.source.error(None, "holds something that JSON has no form for")

    @staticmethod
    def text(text: str) -> Node:
        return Node(None, text=text, written=text)
