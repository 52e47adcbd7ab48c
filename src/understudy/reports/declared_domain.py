"""What is public about each column of a release: its values or bounds, and whether the
owner declared them or they were learned within the budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.findings import Fact
from understudy.schema import Schema, schema_to_dict
from understudy.schema.columns.base import Column
from understudy.svg import shorten_text
from understudy.text import format_count

MAX_DOMAIN_LETTERS = 44
"""Letters of a domain on the sheet: half of the width of a page of A4."""

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
    is_learned: bool

    @classmethod
    def of(cls, column: Column, facts: Mapping[str, Any]) -> DeclaredDomain:
        """A column of a closed schema; `facts` are what a schema file says of it."""
        values = facts.get("values", ())
        # A text instead of a list says that values are learned.
        listed = () if isinstance(values, str) else tuple(str(v) for v in values)
        low, high = facts.get("min"), facts.get("max")
        return cls(
            name=column.name,
            type=column.type,
            values=listed,
            low=None if low is None else str(low),
            high=None if high is None else str(high),
            is_learned=bool(LEARNED_DOMAIN_FACTS & set(column.learned)),
        )

    def summary(self) -> str:
        """The values or bounds in one line of a page.

        >>> DeclaredDomain("sex", "categorical", ("F", "M"), None, None, False).summary()
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
        return "true or false" if self.type == "boolean" else "no values"

    def to_dict(self) -> dict[str, Fact]:
        """All of it, for a program."""
        values: list[Fact] = list(self.values)
        return {
            "name": self.name,
            "type": self.type,
            "values": values,
            "min": self.low,
            "max": self.high,
            "source": "learned" if self.is_learned else "declared",
        }


def list_declared_domains(schema: Schema) -> tuple[DeclaredDomain, ...]:
    """The domains of all columns that take part in a release, in their order."""
    facts: Sequence[Mapping[str, Any]] = schema_to_dict(schema)["columns"]
    by_name = {each["name"]: each for each in facts}
    return tuple(DeclaredDomain.of(schema[name], by_name[name]) for name in schema)
