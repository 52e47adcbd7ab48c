"""What every column has, whatever its type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from understudy.errors import SchemaError

# With the other states of a decoded cell, missing codes fit one byte.
MAX_COLUMN_MISSING_CODES = 200


class Role(StrEnum):
    """How a column could be used to identify or to harm a person.

    >>> Role("sensitive") is Role.SENSITIVE
    True
    """

    DIRECT_IDENTIFIER = "direct_identifier"
    QUASI_IDENTIFIER = "quasi_identifier"
    SENSITIVE = "sensitive"
    OTHER = "other"


class OutOfBoundsPolicy(StrEnum):
    """What becomes of a value beyond the declared bounds."""

    CLIP = "clip"
    MISSING = "missing"


LOST_FACT = "lack of anything above the noise"
"""What is learned of a column whose labels or bounds drowned in noise."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """What every column has.

    `missing` lists spellings that mean missing (kept apart from each other and from an
    empty cell). In a column that is not `nullable`, a cell that is no value counts as
    the first code, so that reading a table never raises. A `constant` column has the
    same value in all rows of a unit. `learned` lists what the curator learned of it.
    """

    type: ClassVar[str] = "undeclared"
    name: str
    role: Role = Role.OTHER
    nullable: bool = True
    missing: tuple[str, ...] = ()
    use: bool = True
    learned: tuple[str, ...] = ()
    dtype: str | None = None
    note: str = ""
    constant: bool = False

    def __post_init__(self) -> None:
        if not self.name:
            raise SchemaError("a column has no name. Give every column a name")
        check_text(self.name, "a column's name")
        if len(set(self.missing)) != len(self.missing):
            raise SchemaError(f'column "{self.name}": a missing code is listed twice')
        if len(self.missing) > MAX_COLUMN_MISSING_CODES:
            raise SchemaError(
                f'column "{self.name}": more than {MAX_COLUMN_MISSING_CODES} missing'
                " codes"
            )
        self._check_labels(self.missing, "a missing code")

    def _check_labels(self, labels: Iterable[str], what: str) -> None:
        for label in labels:
            if label == "":
                raise SchemaError(
                    f'column "{self.name}": {what} is empty. An empty cell is missing'
                    " without being listed"
                )
            check_text(label, f'column "{self.name}": {what}')

    @property
    def is_modelled(self) -> bool:
        """Whether the column takes part in a release."""
        return self.use and self.role is not Role.DIRECT_IDENTIFIER

    @property
    def is_lost(self) -> bool:
        """Whether nothing of it stood out of the noise: it comes back empty, since any
        value would be made up.
        """
        return LOST_FACT in self.learned

    @property
    def is_closed(self) -> bool:
        """Whether nothing about the column is left to learn."""
        return False


def check_text(text: object, what: str) -> None:
    """Refuse anything but a text that a file can hold."""
    if not isinstance(text, str):
        raise SchemaError(f"{what} is not a text")
    # UTF-8 has no form for half a surrogate pair, and databases none for a null byte.
    if any("\ud800" <= c <= "\udfff" for c in text) or "\0" in text:
        raise SchemaError(f"{what} holds a character that no file can hold")
