"""Document trees: YAML or JSON as texts, lists and mappings that remember their lines,
before anything in them is interpreted.

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

# A schema of 100,000 labels takes about 2 MB.
MAX_SCHEMA_FILE_BYTES = 8 * 2**20

# The deepest list of a schema file, the values in a group of a level, is at depth 6.
MAX_SCHEMA_FILE_DEPTH = 10

# Aliases of aliases multiply what a file holds ("billion laughs").
MAX_YAML_ALIASES = 100

# 250 entries for each of 2,000 columns.
MAX_SCHEMA_FILE_NODES = 500_000

# An error that quotes something longer is shown without its middle.
MAX_ERROR_CHARACTERS = 600

# Bits of a whole number in plain data; a lattice index has at most 62.
MAX_INTEGER_BITS = 4096

_PLAIN_YAML_TAGS = {
    f"tag:yaml.org,2002:{kind}"
    for kind in ("str", "int", "float", "bool", "null", "timestamp", "seq", "map")
}
_PLAIN_YAML_TAGS |= {"tag:yaml.org,2002:value", "tag:yaml.org,2002:merge"}
_YAML_NULLS = {"", "~", "null", "Null", "NULL"}
# The loader in C is much faster, but not every installation has it.
_YamlLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class DocumentEntry:
    """One key of a mapping and its value."""

    key: str
    line: int | None
    node: DocumentNode


@dataclass(frozen=True)
class DocumentNode:
    """A text (None if nothing is written), a list or a mapping.

    `written` is the text even where YAML reads it as null, as the label `null` in a list
    of values.
    """

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

    def child(self, key: str) -> DocumentNode | None:
        """The value of a key of a mapping; None if there is no such key."""
        for entry in self.entries or ():
            if entry.key == key:
                return entry.node
        return None


class DocumentSource:
    """Where a tree comes from; its errors begin with it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def error(
        self, line: int | None, problem: str, column: int | None = None
    ) -> SchemaError:
        """An error in one line: file, line, how far into the line if the text itself is
        broken, and the problem.
        """
        place = "".join(f":{number}" for number in (line, column) if number is not None)
        if len(problem) > MAX_ERROR_CHARACTERS:
            half = MAX_ERROR_CHARACTERS // 2
            problem = f"{problem[:half]} … {problem[-half:]}"
        message = f"{self.name}{place}: {problem}"
        # Names come from files: a control character could command the terminal.
        return SchemaError(
            "".join(
                c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in message
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
        problem = f"not valid YAML: {error.problem}"
        mark = error.problem_mark or error.context_mark
        if mark is None:
            raise source.error(None, problem) from None
        raise source.error(mark.line + 1, problem, mark.column + 1) from None
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
            # None marks a node that is being copied: meeting it again is a cycle.
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
        # A null in quotes is a text.
        is_null = not node.style and node.value in _YAML_NULLS
        text = None if is_null else node.value
        return DocumentNode(line, text=text, written=node.value)

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
        if value is None:
            return DocumentNode(None)
        # Exact types only: a subclass may lie about its items or its text.
        if type(value) is list:
            items = tuple(self.node(item, depth + 1) for item in value)
            return DocumentNode(None, items=items)
        if type(value) is dict:
            return DocumentNode(None, entries=tuple(self.entries(value, depth + 1)))
        text = _plain_scalar_text(value)
        if text is None:
            raise self.source.error(None, "holds something that JSON has no form for")
        return DocumentNode(None, text=text, written=text)

    def entries(
        self, mapping: dict[object, object], depth: int
    ) -> Iterator[DocumentEntry]:
        for key, value in mapping.items():
            if type(key) is not str:
                raise self.source.error(None, "a key must be a text")
            yield DocumentEntry(key, None, self.node(value, depth))


def _plain_scalar_text(value: object) -> str | None:
    """A text, number, true or false as JSON writes it; None for anything else."""
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    # Turning a longer number into text takes time that grows with its square.
    if type(value) is int and value.bit_length() < MAX_INTEGER_BITS:
        return str(value)
    if type(value) is float and math.isfinite(value):
        return repr(value)
    return None
