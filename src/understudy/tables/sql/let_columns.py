"""Layers: one query in which every intermediate result is computed once per row.

SQL has no local variables. So an expression that others use becomes a column of an
inner SELECT, one layer further in than all that use it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LAYER_ALIAS_PATTERN = re.compile(r"\bc[0-9]+\b")
COLUMN_ALIAS_PATTERN = re.compile(r"\b[cx][0-9]+\b")
SQL_LITERAL_PATTERN = re.compile(r"'(?:[^']|'')*'")
"""A quoted text: what it says is no name."""


class QueryLayers:
    """A query in the making, over a relation whose columns are named x0, x1, …

    >>> layers = QueryLayers()
    >>> squared = layers.read("x0 * x0")
    >>> layers.query("t", [f"{squared} + {squared}"])
    'SELECT c0 + c0 FROM (SELECT x0 * x0 AS c0 FROM t)'
    """

    def __init__(self) -> None:
        self._level: dict[str, int] = {}
        self._layers: list[dict[str, str]] = []
        self._known: dict[str, str] = {}

    def read(self, expression: str) -> str:
        """Compute an expression once; the name of its result."""
        if expression in self._known:
            return self._known[expression]
        alias = f"c{len(self._level)}"
        # One layer further out than everything the expression refers to.
        names = LAYER_ALIAS_PATTERN.findall(SQL_LITERAL_PATTERN.sub("", expression))
        level = 1 + max((self._level[name] for name in names), default=-1)
        if level == len(self._layers):
            self._layers.append({})
        self._layers[level][alias] = expression
        self._level[alias] = level
        self._known[expression] = alias
        return alias

    def query(self, relation: str, select: list[str]) -> str:
        """The whole query. Each layer hands on only what is still needed: wide tables
        would take long to plan otherwise.
        """
        wanted = _find_aliases(select)
        handed: list[list[str]] = []
        for layer in reversed(self._layers):
            passed = sorted(wanted - layer.keys())
            made = [
                f"{expression} AS {alias}"
                for alias, expression in layer.items()
                if alias in wanted
            ]
            handed.append([*passed, *made] or ["1"])
            wanted = set(passed) | _find_aliases(
                layer[alias] for alias in layer if alias in wanted
            )
        for columns in reversed(handed):
            relation = f"(SELECT {', '.join(columns)} FROM {relation})"
        return f"SELECT {', '.join(select)} FROM {relation}"


def _find_aliases(expressions: Iterable[str]) -> set[str]:
    aliases: set[str] = set()
    for expression in expressions:
        plain = SQL_LITERAL_PATTERN.sub("", expression)
        aliases.update(COLUMN_ALIAS_PATTERN.findall(plain))
    return aliases
