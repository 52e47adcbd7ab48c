"""Trees: YAML or JSON as texts, lists and mappings that remember their lines, before
anything is believed about them.

Scalars stay as they are written: `no` is the text no, 0.10 is the text 0.10, and
nothing passes through a binary float. The limits make a hostile file fail early: size,
depth, number of aliases and of nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from understudy.errors import SchemaError

MAX_SCHEMA_FILE_BYTES = 8 * 2**20
MAX_SCHEMA_FILE_DEPTH = 10
MAX_YAML_ALIASES = 100
MAX_SCHEMA_FILE_NODES = 500_000
MAX_ERROR_CHARACTERS = 600
"""An error that names something longer is shown without its middle."""

_PLAIN_YAML_TAGS = {
    f"tag:yaml.org,2002:{kind}"
    for kind in ("str", "int", "float", "bool", "null", "timestamp", "seq", "map")
}
_PLAIN_YAML_TAGS |= {"tag:yaml.org,2002:value", "tag:yaml.org,2002:merge"}
_YAML_NULLS = {"", "~", "null", "Null", "NULL"}
_YamlLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class DocumentEntry:
    """One key of a mapping and what stands behind it."""

    key: str
    line: int | None
    node: DocumentNode


@dataclass(frozen=True)
class DocumentNode:
    """A text (None where nothing is written), a list or a mapping."""

    line: int | None
    text: str | None = None
    items: tuple[DocumentNode, ...] | None = None
    entries: tuple[DocumentEntry, ...] | None = None
    written: str = ""

    @property
    def kind(self) -> str:
        """What it is, in words."""
        if self.items is not None:
            return "a list"
        if self.entries is not None:
            return "a mapping"
        return "nothing" if self.text is None else "a single value"


class DocumentSource:
    """Where a tree comes from, for errors that say where."""

    def __init__(self, name: str) -> None:
        self.name = name

    def error(
        self, line: int | None, problem: str, column: int | None = None
    ) -> SchemaError:
        """One line: file, line and, where the text itself is broken, how far into it;
        problem.
        """
        place = "".join(f":{number}" for number in (line, column) if number is not None)
        where = f"{self.name}{place}: "
        shown = (
            problem
            if len(problem) <= MAX_ERROR_CHARACTERS
            else (
                f"{problem[: MAX_ERROR_CHARACTERS // 2]} …"
                f" {problem[-MAX_ERROR_CHARACTERS // 2 :]}"
            )
        )
        return SchemaError(
            "".join(
                c if c.isprintable() else "\N{REPLACEMENT CHARACTER}"
                for c in where + shown
            )
        )


def from_yaml(text: str, source: DocumentSource) -> DocumentNode:
    """The tree of a YAML document. Nothing in it is ever constructed."""
    if len(text) > MAX_SCHEMA_FILE_BYTES:
        raise source.error(
            None,
            f"larger than {MAX_SCHEMA_FILE_BYTES // 2**20} MB, which no schema is. It"
            " was not read",
        )
    try:
        _check_events(text, source)
        root = yaml.compose(text, Loader=_YamlLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (
            (None, None) if mark is None else (mark.line + 1, mark.column + 1)
        )
        raise source.error(line, f"not valid YAML: {error.problem}", column) from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise source.error(
            None, "not valid YAML: it holds a character that YAML does not allow"
        ) from None
    if root is None:
        raise source.error(
            None, "the file is empty. Write `columns:` and describe each column"
        )
    return _YamlTreeBuilder(source).node(root)


def _check_events(text: str, source: DocumentSource) -> None:
    """Refuse nesting, aliases and numbers of nodes that only a hostile file has, before
    building anything.
    """
    depth = aliases = 0
    for nodes, event in enumerate(yaml.parse(text, Loader=_YamlLoader)):
        assert event.start_mark is not None, "a parser knows where it is"
        line = event.start_mark.line + 1
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        if depth > MAX_SCHEMA_FILE_DEPTH:
            raise source.error(
                line, f"nested more than {MAX_SCHEMA_FILE_DEPTH} levels deep"
            )
        if aliases > MAX_YAML_ALIASES:
            raise source.error(line, f"more than {MAX_YAML_ALIASES} aliases")
        if nodes > MAX_SCHEMA_FILE_NODES:
            raise source.error(line, f"more than {MAX_SCHEMA_FILE_NODES:,} entries")


class _YamlTreeBuilder:
    """Copies PyYAML's nodes; an alias gives the same copy again, and what it stands for
    counts each time.
    """

    def __init__(self, source: DocumentSource) -> None:
        self.source = source
        self.copies: dict[int, DocumentNode | None] = {}
        self.sizes: dict[int, int] = {}

    def node(self, node: yaml.Node) -> DocumentNode:
        line = node.start_mark.line + 1
        if id(node) not in self.copies:
            self.copies[id(node)] = None
            self.sizes[id(node)] = 1
            self.copies[id(node)] = self.copy(node, line)
        copy = self.copies[id(node)]
        if copy is None:
            raise self.source.error(line, "an alias stands inside what it names")
        return copy

    def copy(self, node: yaml.Node, line: int) -> DocumentNode:
        if node.tag not in _PLAIN_YAML_TAGS:
            raise self.source.error(line, "tags (!) are not understood here")
        if isinstance(node, yaml.SequenceNode):
            return DocumentNode(
                line, items=tuple(self.part(item, node) for item in node.value)
            )
        if isinstance(node, yaml.MappingNode):
            return DocumentNode(line, entries=tuple(self.entries(node)))
        assert isinstance(node, yaml.ScalarNode)
        return DocumentNode(
            line,
            text=None if not node.style and node.value in _YAML_NULLS else node.value,
            written=node.value,
        )

    def part(self, node: yaml.Node, whole: yaml.Node) -> DocumentNode:
        copy = self.node(node)
        self.sizes[id(whole)] += self.sizes[id(node)]
        if self.sizes[id(whole)] > MAX_SCHEMA_FILE_NODES:
            raise self.source.error(
                whole.start_mark.line + 1, "aliases make this file too large"
            )
        return copy

    def entries(self, node: yaml.MappingNode) -> Iterator[DocumentEntry]:
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise self.source.error(line, "a key must be a single word or text")
            if key.value in seen:
                raise self.source.error(
                    line,
                    f"`{key.value}` stands here twice; the first is in line"
                    f" {seen[key.value]}",
                )
            seen[key.value] = line
            yield DocumentEntry(key.value, line, self.part(value, node))


def from_plain(value: object, source: DocumentSource) -> DocumentNode:
    """The tree of what a JSON reader gives: dictionaries, lists, texts, numbers, true,
    false and null.
    """
    return _PlainTreeBuilder(source).node(value, 0)


class _PlainTreeBuilder:
    def __init__(self, source: DocumentSource) -> None:
        self.source = source
        self.count = 0

    def node(self, value: object, depth: int) -> DocumentNode:
        self.count += 1
        if self.count > MAX_SCHEMA_FILE_NODES or depth > MAX_SCHEMA_FILE_DEPTH:
            raise self.source.error(None, "too large or nested too deep for a schema")
        kind = type(value)
        if value is None:
            return DocumentNode(None)
        if kind is str:
            return self.text(str(value))
        if kind is bool:
            return self.text("true" if value else "false")
        if isinstance(value, int) and kind is int and value.bit_length() < 4096:
            return self.text(str(value))
        if isinstance(value, float) and kind is float and math.isfinite(value):
            return self.text(repr(value))
        if isinstance(value, list) and kind is list:
            return DocumentNode(
                None, items=tuple(self.node(item, depth + 1) for item in value)
            )
        if isinstance(value, dict) and kind is dict:
            if not all(type(key) is str for key in value):
                raise self.source.error(None, "a key must be a text")
            return DocumentNode(
                None,
                entries=tuple(
                    DocumentEntry(k, None, self.node(v, depth + 1))
                    for k, v in value.items()
                ),
            )
        raise self.source.error(None, "holds something that JSON has no form for")

    @staticmethod
    def text(text: str) -> DocumentNode:
        return DocumentNode(None, text=text, written=text)
