"""Drafts: a schema on its way in from, or out to, another tool's words.

Coming in, every key that a reader did not ask for is noted; going out, every word that
a writer did not take is. So nothing is dropped in silence, by construction: a format
need not list what it does not know.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from types import TracebackType
from typing import Any

from understudy.errors import SchemaError
from understudy.schema.disclosed import guess_identifier
from understudy.schema.schema import Schema
from understudy.schema.yaml.keys import LEARN_WORD, fraction_text, parse_fraction
from understudy.schema.yaml.nodes import (
    DocumentEntry,
    DocumentNode,
    DocumentSource,
    from_plain,
)
from understudy.schema.yaml.reader import read_schema
from understudy.schema.yaml.section import Section

DEFAULT_FORMAT_DECIMALS = 2
"""Decimals of a number whose format does not say how many it has; more where its bounds
have more.
"""


class TrackedSection(Section):
    """A mapping of another tool's file. What is never asked for is noted when it is
    closed.
    """

    def __init__(
        self,
        node: DocumentNode,
        draft: SchemaDraft,
        where: str = "",
        what: str = "the file",
    ) -> None:
        super().__init__(node, draft.source, where, what)
        self.draft = draft
        self._asked: set[str] = set()

    def get(self, key: str) -> DocumentNode | None:
        """What stands behind a key, which counts as read from now on."""
        self._asked.add(key)
        return super().get(key)

    def skip_keys(self, *keys: str) -> None:
        """These keys say nothing that a schema needs."""
        self._asked.update(keys)

    def note(self, text: str) -> None:
        """Something the owner should know about how this part was read."""
        self.draft.note(f"{self.where}{text}")

    def exact(self, key: str) -> str | None:
        """A number, written as a schema file writes it."""
        number = self.number(key)
        return None if number is None else fraction_text(number)

    def within(self, key: str, what: str | None = None) -> TrackedSection | None:
        """A mapping inside this one."""
        node = self.get(key)
        return (
            None
            if node is None
            else TrackedSection(node, self.draft, self.where, what or f"`{key}`")
        )

    def listed(self, key: str) -> tuple[DocumentNode, ...]:
        """The items of a list; none where the key is missing."""
        node = self.get(key)
        if node is None:
            return ()
        if node.items is None:
            raise self.error(key, f"`{key}` must be a list, not {node.kind}")
        return node.items

    def __enter__(self) -> TrackedSection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            for entry in self.node.entries or ():
                if entry.key not in self._asked and entry.node.kind != "nothing":
                    self.note(f"`{entry.key}` has no counterpart and is left out")


@dataclass
class SchemaDraft:
    """A schema file in the making."""

    source: DocumentSource
    columns: list[tuple[str, int | None, dict[str, Any]]] = field(default_factory=list)
    unit: dict[str, Any] | None = None
    rows: int | None = None
    rules: list[Any] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Something the owner should know; each is said once, as one printable line."""
        line = "".join(
            c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text
        )
        self.notes[line] = None

    def column(self, name: str, line: int | None, **words: Any) -> None:
        """Add a column; words that are None are left unsaid."""
        self.columns.append(
            (
                name,
                line,
                {key: value for key, value in words.items() if value is not None},
            )
        )

    def schema(self) -> Schema:
        """What was drafted, checked as any schema file is; an error says the line of
        the column it is about.
        """
        plain: dict[str, Any] = {
            "unit": self.unit,
            "rows": self.rows,
            "rules": self.rules or None,
        }
        entries = [
            DocumentEntry(key, None, from_plain(value, self.source))
            for key, value in plain.items()
            if value is not None
        ]
        columns = tuple(
            DocumentEntry(name, line, self._column_node(line, words))
            for name, line, words in self.columns
        )
        names = [entry.key for entry in columns]
        if len(set(names)) != len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise self.source.error(
                None, f'column "{twice}" stands twice. Names must differ'
            )
        entries.append(
            DocumentEntry("columns", None, DocumentNode(None, entries=columns))
        )
        return read_schema(DocumentNode(None, entries=tuple(entries)), self.source)

    def _column_node(self, line: int | None, words: dict[str, Any]) -> DocumentNode:
        made = (
            DocumentEntry(key, line, from_plain(value, self.source))
            for key, value in words.items()
        )
        return DocumentNode(line, entries=tuple(made))


def label_column(words: TrackedSection, name: str) -> dict[str, Any]:
    """A column of texts of which no list is given: labels to be learned, unless its
    name says that it identifies people.
    """
    if guess_identifier(name):
        words.note(
            "its name says that it identifies people, so it is left out of releases."
            " Change `type` if it does not"
        )
        return {"type": "identifier"}
    return {"type": "categorical", "values": LEARN_WORD}


def real_column(
    words: TrackedSection,
    low: str | None,
    high: str | None,
    decimals: int | None = None,
) -> dict[str, Any]:
    """A column of decimal numbers between bounds; where nobody says how many decimals
    it has, that is noted.
    """
    if decimals is None:
        found = [_count_decimals(text) for text in (low, high) if text is not None]
        decimals = max([DEFAULT_FORMAT_DECIMALS, *found])
        words.note(
            f"no number of decimals is stated, so it is read with {decimals}. Change"
            " `decimals` if it has others"
        )
    return {"type": "real", "decimals": decimals, "min": low, "max": high}


def _count_decimals(text: str) -> int:
    """Decimals that a bound has; a bound that no decimal spells has none that count."""
    number = parse_fraction(text) or Fraction(0)
    return next((d for d in range(19) if (number * 10**d).denominator == 1), 0)


class ExportSection:
    """One mapping of a schema on its way out: words are taken from it, and those that
    stay are noted.
    """

    def __init__(
        self, words: dict[str, Any], notes: list[str], where: str = ""
    ) -> None:
        self.words = dict(words)
        self.notes = notes
        self.where = where

    def take(self, key: str, default: Any = None) -> Any:
        """A word, which the format can say; `learn` is said by silence."""
        found = self.words.pop(key, default)
        return default if isinstance(found, str) and found == LEARN_WORD else found

    def note(self, text: str) -> None:
        """Something that the format says otherwise."""
        self.notes.append(f"{self.where}{text}")

    def close(self) -> None:
        """Note what was not taken."""
        for key, word in self.words.items():
            if word != LEARN_WORD:
                self.note(f"`{key}` cannot be said in this format and is left out")


def split_sections(
    plain: dict[str, Any], notes: list[str]
) -> tuple[ExportSection, list[tuple[str, str, ExportSection]]]:
    """A schema's plain data as pages to take words from: the file's, and each column's
    with its name and type.
    """
    file = ExportSection(plain, notes)
    file.take("version")
    pages = []
    for words in file.take("columns"):
        page = ExportSection(words, notes, f'column "{words["name"]}": ')
        pages.append((page.take("name"), page.words.pop("type"), page))
    return file, pages


def json_number(text: Any) -> int | float | None:
    """A bound as JSON holds numbers.

    >>> json_number("0.5"), json_number(3), json_number(None)
    (0.5, 3, None)
    """
    if text is None:
        return None
    exact = parse_fraction(str(text))
    if exact is None:
        raise SchemaError("a bound is no number")
    return int(exact) if exact.denominator == 1 else float(exact)
