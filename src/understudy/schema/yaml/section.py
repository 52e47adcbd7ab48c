"""Sections: one mapping of a tree, its keys looked up by name and read by kind, with
errors that say where.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from fractions import Fraction

from understudy.errors import SchemaError
from understudy.schema.yaml.keys import LEARN_WORD, parse_fraction
from understudy.schema.yaml.nodes import DocumentNode, DocumentSource

_TRUE_WORDS = frozenset({"true", "yes", "on"})
_FALSE_WORDS = frozenset({"false", "no", "off"})


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
        entry = self.entries.get(key) if key is not None else None
        return self.source.error(
            entry.line if entry else self.node.line, f"{self.where}{problem}"
        )

    def check_keys(self, known: Sequence[str]) -> None:
        for key in self.entries:
            if key not in known:
                near = difflib.get_close_matches(key.lower(), known, n=1)
                hint = (
                    f". Did you mean `{near[0]}`?"
                    if near
                    else f". Known here: {', '.join(known)}"
                )
                raise self.error(key, f"`{key}` is not a key that is known here{hint}")

    def get(self, key: str) -> DocumentNode | None:
        """What stands behind a key; None where the key is missing or nothing stands
        behind it.
        """
        entry = self.entries.get(key)
        return None if entry is None or entry.node.kind == "nothing" else entry.node

    def text(self, key: str) -> str | None:
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
        text = self.text(key)
        if text is None:
            return None
        if text.lower() not in _TRUE_WORDS | _FALSE_WORDS:
            raise self.error(key, f"`{key}` must be true or false")
        return text.lower() in _TRUE_WORDS

    def number(self, key: str) -> Fraction | None:
        text = self.text(key)
        if text is None or text == LEARN_WORD:
            return None
        number = parse_fraction(text)
        if number is None:
            raise self.error(key, f"`{key}` must be a number such as 12 or 0.5")
        return number

    def whole(self, key: str) -> int | None:
        number = self.number(key)
        if number is not None and number.denominator != 1:
            raise self.error(key, f"`{key}` must be a whole number")
        return None if number is None else int(number)

    def choice(self, key: str, choices: Sequence[str]) -> str | None:
        text = self.text(key)
        if text is None:
            return None
        tidy = re.sub(r"[ -]", "_", text.strip().lower())
        if tidy not in choices:
            near = difflib.get_close_matches(tidy, choices, n=1)
            hint = (
                f"Did you mean `{near[0]}`?"
                if near
                else f"Choose one of {', '.join(choices)}"
            )
            raise self.error(key, f"`{key}` is not understood. {hint}")
        return tidy

    def line_of(self, message: str) -> int | None:
        """The line of the key that a message mentions first, else of the section
        itself.
        """
        said = message.partition('": ')[2] or message
        places = {
            key: re.search(rf"\b{re.escape(key)}\b", said) for key in self.entries
        }
        mentioned = [(found.start(), key) for key, found in places.items() if found]
        return self.entries[min(mentioned)[1]].line if mentioned else self.node.line
