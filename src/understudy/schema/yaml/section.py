"""Sections: one mapping of a document tree, whose keys are looked up by name and read
by kind, with errors that name the line.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

from understudy.errors import SchemaError
from understudy.schema.yaml.keys import LEARN_WORD, parse_fraction
from understudy.schema.yaml.nodes import DocumentNode, DocumentSource

_TRUE_WORDS = frozenset({"true", "yes", "on"})
_FALSE_WORDS = frozenset({"false", "no", "off"})

# Any whole number of this many digits fits 64 bits.
_MAX_WEIGHT_DIGITS = 18


class Section:
    """A mapping of the tree with its keys looked up by name; `where` begins every
    error.
    """

    def __init__(
        self, node: DocumentNode, source: DocumentSource, where: str, what: str
    ) -> None:
        if node.entries is None:
            raise source.error(
                node.line,
                f"{where}{what} must be a mapping of keys to values, not {node.kind}",
            )
        self.node = node
        self.source = source
        self.where = where
        self.entries = {entry.key: entry for entry in node.entries}

    def error(self, key: str | None, problem: str) -> SchemaError:
        """An error at the line of a key, or of the section if the key is not there."""
        entry = self.entries.get(key) if key is not None else None
        line = entry.line if entry else self.node.line
        return self.source.error(line, f"{self.where}{problem}")

    @contextmanager
    def locate_errors(self) -> Iterator[None]:
        """Give an error that is raised inside the line of the key that it mentions."""
        try:
            yield
        except SchemaError as error:
            line = self.line_of_message(str(error))
            raise self.source.error(line, str(error)) from None

    def check_keys(self, known: Sequence[str]) -> None:
        """Refuse a key that is not known, with the nearest one that is."""
        for key in self.entries:
            if key not in known:
                near = difflib.get_close_matches(key.lower(), known, n=1)
                hint = f"Known here: {', '.join(known)}"
                if near:
                    hint = f"Did you mean `{near[0]}`?"
                raise self.error(
                    key, f"`{key}` is not a key that is known here. {hint}"
                )

    def get(self, key: str) -> DocumentNode | None:
        """The value of a key; None if the key is missing or its value is empty."""
        entry = self.entries.get(key)
        return None if entry is None or entry.node.kind == "nothing" else entry.node

    def text(self, key: str) -> str | None:
        """A single value as it is written."""
        node = self.get(key)
        if node is None:
            return None
        if node.text is None:
            raise self.error(key, f"`{key}` must be a single value, not {node.kind}")
        return node.text

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts as they are written; a single one may stand without a list."""
        node = self.get(key)
        if node is None:
            return None
        if node.entries is not None:
            raise self.error(key, f"`{key}` must be a list, not {node.kind}")
        nodes = (node,) if node.items is None else node.items
        for item in nodes:
            if item.items is not None or item.entries is not None:
                raise self.source.error(
                    item.line, f"{self.where}`{key}` must be a list of single values"
                )
        return tuple(item.written for item in nodes)

    def flag(self, key: str) -> bool | None:
        """True or false."""
        text = self.text(key)
        if text is None:
            return None
        if text.lower() not in _TRUE_WORDS | _FALSE_WORDS:
            raise self.error(key, f"`{key}` must be true or false")
        return text.lower() in _TRUE_WORDS

    def number(self, key: str) -> Fraction | None:
        """An exact number; None if it is missing or left to learn."""
        text = self.text(key)
        if text is None or text == LEARN_WORD:
            return None
        number = parse_fraction(text)
        if number is None:
            raise self.error(key, f"`{key}` must be a number such as 12 or 0.5")
        return number

    def whole(self, key: str) -> int | None:
        """A whole number; None if it is missing or left to learn."""
        number = self.number(key)
        if number is not None and number.denominator != 1:
            raise self.error(key, f"`{key}` must be a whole number")
        return None if number is None else int(number)

    def weight(
        self, key: str, problem: str, *, max_digits: int = _MAX_WEIGHT_DIGITS
    ) -> int:
        """A whole number from 0 in plain digits; an error states the problem."""
        return self._parse_digits(key, self.text(key) or "", problem, max_digits)

    def whole_numbers(
        self, key: str, problem: str, *, max_digits: int = _MAX_WEIGHT_DIGITS
    ) -> tuple[int, ...] | None:
        """A list of whole numbers from 0 in plain digits."""
        texts = self.texts(key)
        if texts is None:
            return None
        return tuple(
            self._parse_digits(key, text, problem, max_digits) for text in texts
        )

    def _parse_digits(self, key: str, text: str, problem: str, max_digits: int) -> int:
        # Digits of other scripts are digits to Python, and very long numbers are slow.
        if not (text.isascii() and text.isdigit() and len(text) <= max_digits):
            raise self.error(key, problem)
        return int(text)

    def choice(self, key: str, choices: Sequence[str]) -> str | None:
        """One of these words; blanks and hyphens count as underscores."""
        text = self.text(key)
        if text is None:
            return None
        word = re.sub(r"[ -]", "_", text.strip().lower())
        if word not in choices:
            near = difflib.get_close_matches(word, choices, n=1)
            hint = f"Choose one of {', '.join(choices)}"
            if near:
                hint = f"Did you mean `{near[0]}`?"
            raise self.error(key, f"`{key}` is not understood. {hint}")
        return word

    def line_of_message(self, message: str) -> int | None:
        """The line of the key that a message mentions first, else of the section
        itself.
        """
        # A column's own name before the colon may look like a key.
        problem = message.partition('": ')[2] or message
        mentioned = []
        for key in self.entries:
            match = re.search(rf"\b{re.escape(key)}\b", problem)
            if match:
                mentioned.append((match.start(), key))
        return self.entries[min(mentioned)[1]].line if mentioned else self.node.line
