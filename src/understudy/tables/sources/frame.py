"""A frame made readable for a private connection: what every kind of frame comes to.

Columns get the names x0, x1, … so that no name of the owner's stands in a query. A
column of arbitrary Python objects declares no type: its cells become texts, by the
rules of schema/columns/cell.py, whatever they happen to be; so a type never depends on
the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from understudy.errors import TableError
from understudy.schema.columns.cell import (
    UNKNOWN_CELL,
    spellings_of_cell,
    to_plain_cell,
)

NO_VALUE_TEXT = "\0"
"""The text of an object that is no value of any type. No label can contain it."""


@dataclass(frozen=True)
class Frame:
    """A frame ready to be registered, and what its columns were."""

    kind: str
    names: tuple[str, ...]
    dtypes: dict[str, str]
    zones: dict[str, str | None]
    data: object
    hidden: dict[str, str] = field(default_factory=dict)
    """Types of columns that hold no value and are read as something plainer."""


class RepeatableStream:
    """Anything that can be read as an Arrow stream, again and again, without any Arrow
    library.
    """

    def __init__(self, source: Any) -> None:
        self.source = source

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A new stream over the same rows."""
        return self.source.__arrow_c_stream__()


def check_names(names: list[Any], where: str) -> tuple[str, ...]:
    """The names of a header, refused where one is empty or stands twice."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise TableError(
                f"{where}: the name of column {position} is not a text. Rename it."
                " Nothing was read"
            )
        if not name:
            raise TableError(
                f"{where}: column {position} has no name. Name it in the header."
                " Nothing was read"
            )
        if name in seen:
            raise TableError(
                f"{where}: columns {seen[name]} and {position} have one name. Rename"
                " one. Nothing was read"
            )
        seen[name] = position
    if not names:
        raise TableError(f"{where}: has no columns. Nothing was read")
    return tuple(names)


def short_names(count: int) -> list[str]:
    """The names that the columns of a frame get in queries."""
    return [f"x{i}" for i in range(count)]


def text_of_object(value: object) -> str | None:
    """A Python object as the text a file would hold."""
    cell = to_plain_cell(value)
    if cell is None:
        return None
    texts = () if cell is UNKNOWN_CELL else spellings_of_cell(cell)
    if not texts:
        # Not None: an object is no missing cell, whatever it is.
        return NO_VALUE_TEXT
    if is_encodable(texts[0]):
        return texts[0]
    # Half a character, which Python allows and no file can hold, becomes U+FFFD, as it
    # does in a CSV file.
    return texts[0].encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_encodable(text: str | None) -> bool:
    """Whether every character of a text can be written to a file."""
    if text is None or text.isascii():
        return True
    return not any("\ud800" <= character <= "\udfff" for character in text)


def dtype_word(dtype: str) -> str:
    """A dtype without lists of values in it: those are data."""
    return dtype.split("(")[0] if dtype.startswith(("Enum", "Categorical")) else dtype
