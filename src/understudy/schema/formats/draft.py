"""Drafts: a schema that is being imported from, or exported to, another tool's format.

On import every key that a reader did not ask for is noted; on export every word that a
writer did not take. So nothing is dropped in silence, by construction: a format need
not list what it does not know.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from types import TracebackType
from typing import Any

from understudy.errors import SchemaError
from understudy.schema.columns.numeric import MAX_STEP_DECIMALS
from understudy.schema.identifier_names import guess_identifier
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

# Decimals of a number whose format does not state them, unless its bounds have more:
# enough for money and shares, and a note tells the owner.
DEFAULT_FORMAT_DECIMALS = 2

# A note quotes no more of a name that somebody else chose.
MAX_QUOTED_CHARACTERS = 40


class TrackedSection(Section):
    """A mapping of another tool's file. A key that was never asked for is noted when the
    section is closed.
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
        """The value of a key, which counts as read from now on."""
        self._asked.add(key)
        return super().get(key)

    def skip_keys(self, *keys: str) -> None:
        """Count these keys as read: a schema does not need them."""
        self._asked.update(keys)

    def note(self, text: str) -> None:
        """Tell the owner something about how this part was read."""
        self.draft.note(f"{self.where}{text}")

    def exact(self, key: str) -> str | None:
        """A number, written as a schema file writes it."""
        number = self.number(key)
        return None if number is None else fraction_text(number)

    def within(self, key: str, what: str | None = None) -> TrackedSection | None:
        """A mapping inside this one."""
        node = self.get(key)
        if node is None:
            return None
        return TrackedSection(node, self.draft, self.where, what or f"`{key}`")

    def items_of(self, key: str) -> tuple[DocumentNode, ...]:
        """The items of a list; none if the key is missing."""
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
        # After an error the reader stopped halfway, and most keys were not asked for.
        if kind is None:
            for entry in self.node.entries or ():
                if entry.key not in self._asked and entry.node.kind != "nothing":
                    self.note(f"`{entry.key}` has no counterpart and is left out")


@dataclass
class SchemaDraft:
    """A schema file that is being put together: columns with their line and fields."""

    source: DocumentSource
    columns: list[tuple[str, int | None, dict[str, Any]]] = field(default_factory=list)
    unit: dict[str, Any] | None = None
    rows: int | None = None
    rules: list[Any] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Tell the owner something, once, as one printable line."""
        # Names come from files: a control character could command the terminal.
        printable = (
            c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text
        )
        self.notes["".join(printable)] = None

    def column(self, name: str, line: int | None, **words: Any) -> None:
        """Add a column; words that are None are left out."""
        stated = {key: value for key, value in words.items() if value is not None}
        self.columns.append((name, line, stated))

    def schema(self) -> Schema:
        """The schema, checked as any schema file is; an error names the line of the
        column it is about.
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
        for name, count in Counter(entry.key for entry in columns).items():
            if count > 1:
                raise self.source.error(
                    None, f'column "{name}" stands twice. Names must differ'
                )
        entries.append(
            DocumentEntry("columns", None, DocumentNode(None, entries=columns))
        )
        return read_schema(DocumentNode(None, entries=tuple(entries)), self.source)

    def _column_node(self, line: int | None, words: dict[str, Any]) -> DocumentNode:
        entries = (
            DocumentEntry(key, line, from_plain(value, self.source))
            for key, value in words.items()
        )
        return DocumentNode(line, entries=tuple(entries))


def drop_empty_codes(listed: tuple[str, ...]) -> list[str]:
    """Missing codes without the empty text, which is missing in every column.

    >>> drop_empty_codes(("", "-7"))
    ['-7']
    """
    return [code for code in listed if code != ""]


def drop_missing_values(fields: dict[str, Any], codes: list[str]) -> None:
    """Leave missing codes out of a column's values."""
    # A text that is both would give one cell two codes.
    if isinstance(fields.get("values"), list):
        fields["values"] = [v for v in fields["values"] if v not in codes]


def label_column(words: TrackedSection, name: str) -> dict[str, Any]:
    """A column of texts without a list of values: labels to be learned, unless its name
    suggests that it identifies people.
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
    """A column of decimal numbers between bounds; a number of decimals that is assumed
    is noted.
    """
    if decimals is None:
        bounds = [text for text in (low, high) if text is not None]
        decimals = max([DEFAULT_FORMAT_DECIMALS, *map(_count_decimals, bounds)])
        words.note(
            f"no number of decimals is stated, so it is read with {decimals}. Change"
            " `decimals` if it has others"
        )
    return {"type": "real", "decimals": decimals, "min": low, "max": high}


def _count_decimals(text: str) -> int:
    """Decimals that a bound has; 0 if no number of decimals holds it (1/3)."""
    number = parse_fraction(text) or Fraction(0)
    for decimals in range(MAX_STEP_DECIMALS + 1):
        if (number * 10**decimals).denominator == 1:
            return decimals
    return 0


class ExportSection:
    """One mapping of a schema that is being exported: words are taken from it, and those
    that stay are noted.
    """

    def __init__(
        self, words: dict[str, Any], notes: list[str], where: str = ""
    ) -> None:
        self.words = dict(words)
        self.notes = notes
        self.where = where

    def take(self, key: str, default: Any = None) -> Any:
        """Take a word that the format can express; `learn` is expressed by saying
        nothing.
        """
        word = self.words.pop(key, default)
        is_learned = isinstance(word, str) and word == LEARN_WORD
        return default if is_learned else word

    def take_spelling(self, key: str) -> str | None:
        """The first of several spellings, for a format that has one; that the others are
        left out is noted.
        """
        spellings = self.take(key)
        if not spellings:
            return None
        if len(spellings) > 1:
            self.note(f"only the first spelling of {key} can be said in this format")
        return str(spellings[0])

    def note(self, text: str) -> None:
        """Tell the owner what the format expresses otherwise."""
        self.notes.append(f"{self.where}{text}")

    def close(self) -> None:
        """Note what was not taken."""
        for key, word in self.words.items():
            if word != LEARN_WORD:
                self.note(f"`{key}` cannot be said in this format and is left out")


def split_sections(
    plain: dict[str, Any], notes: list[str]
) -> tuple[ExportSection, list[tuple[str, str, ExportSection]]]:
    """A schema's plain data as sections to take words from: the file's, and each
    column's with its name and type.
    """
    file = ExportSection(plain, notes)
    file.take("version")
    pages = []
    for words in file.take("columns"):
        page = ExportSection(words, notes, f'column "{words["name"]}": ')
        # Not `take`: the type `learn` is a type here.
        kind = page.words.pop("type")
        pages.append((page.words.pop("name"), kind, page))
    return file, pages


def export_bounds(
    kind: str, page: ExportSection, low_key: str, high_key: str
) -> dict[str, Any]:
    """The bounds of a column of numbers, dates or times under another tool's keys."""
    bounds: dict[str, Any] = {}
    for own_key, key in (("min", low_key), ("max", high_key)):
        bound = page.take(own_key)
        if bound is not None:
            is_number = kind in ("integer", "real")
            bounds[key] = json_number(bound) if is_number else str(bound)
    # `bounds: learn` is expressed by giving no bounds.
    page.take("bounds")
    return bounds


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
