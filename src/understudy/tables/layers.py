"""Layers: one query in which every intermediate result is computed once per row.

SQL has no local variables. So an expression that others use becomes a column of an inner SELECT, one layer further in than all that use it.
"""

from __future__ import annotations

import re

ALIAS = re.compile(r"\bc[0-9]+\b")


class Layers:
    """A query in the making, over a relation whose columns are named x0, x1, …

    >>> layers = Layers()
    >>> squared = layers.read("x0 * x0")
    >>> layers.query("t", [f"{squared} + {squared}"])
    'SELECT c0 + c0 FROM (SELECT *, x0 * x0 AS c0 FROM t)'
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
        level = 1 + max((self._level[found] for found in ALIAS.findall(expression)), default=-1)
        if level == len(self._layers):
            self._layers.append({})
        self._layers[level][alias] = expression
        self._level[alias] = level
        self._known[expression] = alias
        return alias

    def query(self, relation: str, select: list[str]) -> str:
        """The whole query."""
        for layer in self._layers:
            relation = f"(SELECT *, {', '.join(f'{e} AS {alias}' for alias, e in layer.items())} FROM {relation})"
        return f"SELECT {', '.join(select)} FROM {relation}"
