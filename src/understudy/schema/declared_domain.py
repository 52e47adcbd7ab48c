"""What a schema says of each column in one line: its values or bounds, and whether they
are public by declaration, learned within the budget, or still to be learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from understudy.schema.columns.base import Column
from understudy.schema.columns.discrete import Boolean
from understudy.schema.schema import Schema
from understudy.schema.yaml.writer import schema_to_dict
from understudy.svg import shorten_text
from understudy.text import format_count

MAX_DOMAIN_LETTERS = 44
"""Letters of a domain in one line: half of the width of a page of A4."""

LEARNED_DOMAIN_FACTS = frozenset({"type", "values", "bounds"})
"""What makes a domain learned; bins and steps inside declared bounds do not."""


@dataclass(frozen=True)
class DeclaredDomain:
    """One column: its type, its values or bounds, and where they come from."""

    name: str
    type: str
    values: tuple[str, ...]
    low: str | None
    high: str | None
    source: str
    """`declared`, `learned`, `to be learned` or `left out`."""

    @classmethod
    def of(cls, column: Column, facts: Mapping[str, Any]) -> DeclaredDomain:
        """A column; `facts` are what a schema file says of it."""
        values = facts.get("values", ())
        # A text instead of a list says that values are learned.
        listed = () if isinstance(values, str) else tuple(str(v) for v in values)
        if isinstance(column, Boolean):
            listed = (*facts.get("true", ()), *facts.get("false", ()))
        low, high = facts.get("min"), facts.get("max")
        return cls(
            name=column.name,
            type=column.type,
            values=listed,
            low=None if low is None else str(low),
            high=None if high is None else str(high),
            source=_find_source(column),
        )

    @property
    def is_learned(self) -> bool:
        """Whether the curator learned it within the budget."""
        return self.source == "learned"

    def summary(self) -> str:
        """The values or bounds in one line of a page.

        >>> DeclaredDomain("sex", "categorical", ("F", "M"), None, None, "declared").summary()
        'F, M'
        """
        if self.values:
            whole = ", ".join(self.values)
            if len(whole) <= MAX_DOMAIN_LETTERS:
                return whole
            count = format_count(len(self.values), "value")
            return shorten_text(f"{count}: {whole}", MAX_DOMAIN_LETTERS)
        if self.low is not None and self.high is not None:
            return shorten_text(f"{self.low} to {self.high}", MAX_DOMAIN_LETTERS)
        return "true or false" if self.type == "boolean" else ""


def list_declared_domains(schema: Schema) -> tuple[DeclaredDomain, ...]:
    """The domains of all columns of a schema, in their order."""
    facts: Sequence[Mapping[str, Any]] = schema_to_dict(schema)["columns"]
    by_name = {each["name"]: each for each in facts}
    return tuple(
        DeclaredDomain.of(column, by_name[column.name]) for column in schema.columns
    )


def schema_html(schema: Schema) -> str:
    """A schema for a notebook: a table of its columns, without a script.

    >>> from understudy.schema import Boolean
    >>> "true or false" in schema_html(Schema(columns=(Boolean(name="<smoker>"),)))
    True
    """
    head = "".join(
        f'<th style="text-align:left">{title}</th>'
        for title in ("column", "type", "values", "source", "note")
    )
    rows = []
    for column, domain in zip(
        schema.columns, list_declared_domains(schema), strict=True
    ):
        cells = (domain.name, domain.type, domain.summary(), domain.source, column.note)
        # Notebooks align cells to the right, which suits numbers alone.
        style = 'style="text-align:left"'
        rows.append("".join(f"<td {style}>{escape(cell)}</td>" for cell in cells))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    counted = format_count(len(schema.columns), "column")
    unit = "row" if schema.unit.id is None else schema.unit.id
    caption = escape(f"Understudy schema: {counted}, protects each {unit}")
    return f"<table><caption>{caption}</caption><tr>{head}</tr>{body}</table>"


def _find_source(column: Column) -> str:
    if not column.is_modelled:
        return "left out"
    if not column.is_closed:
        return "to be learned"
    is_learned = bool(LEARNED_DOMAIN_FACTS & set(column.learned))
    return "learned" if is_learned else "declared"
