"""Reading JSON that anybody may have written: every field is checked for its type, its size and its company."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import TypeVar

from understudy.errors import ReleaseError

DEPTH_LIMIT = 32
NODE_LIMIT = 1_000_000
TEXT_LIMIT = 100_000
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_RATIO = re.compile(r"-?[0-9]{1,600}/[0-9]{1,600}", re.ASCII)

E = TypeVar("E", bound=Enum)
T = TypeVar("T")


def parse(data: bytes) -> object:
    """JSON, refusing what JSON should never have allowed: repeated keys, NaN, numbers beyond a double, endless nesting.

    >>> parse(b'{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    """
    if data.count(b",") + data.count(b"[") + data.count(b"{") > NODE_LIMIT:
        raise ReleaseError("release.json: has too many entries. Nothing was loaded.")
    try:
        document: object = json.loads(
            data.decode("utf-8"), object_pairs_hook=_pairs, parse_float=_float, parse_constant=_constant
        )
    except (ValueError, RecursionError):
        raise ReleaseError("release.json: not valid JSON. The file is damaged. Nothing was loaded.") from None
    level: list[object] = [document]
    for _ in range(DEPTH_LIMIT):
        level = [x for y in level if isinstance(y, dict | list) for x in (y.values() if isinstance(y, dict) else y)]
        if not level:
            return document
    raise ReleaseError("release.json: is nested too deeply. Nothing was loaded.")


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _float(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise ValueError("not finite")
    return number


def _constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def wrong(where: str, what: str) -> ReleaseError:
    """The error for a field that is not what it should be."""
    return ReleaseError(
        f"release.json: {where} is not {what}. The file is damaged or was not written by Understudy. Nothing was loaded."
    )


class Fields:
    """One JSON object, read field by field.

    >>> fields = Fields({"kind": "model", "rows": 3}, "release", {"kind", "rows"})
    >>> fields.text("kind"), fields.whole("rows")
    ('model', 3)
    """

    def __init__(self, found: object, where: str, names: set[str]) -> None:
        if not isinstance(found, dict) or set(found) != names:
            raise wrong(where, f"an object with exactly the fields {', '.join(sorted(names))}")
        self._found = found
        self.where = where

    def __getitem__(self, name: str) -> object:
        return self._found[name]

    def path(self, name: str) -> str:
        """Where a field stands, for errors."""
        return f"{self.where}.{name}"

    def text(self, name: str, *, limit: int = TEXT_LIMIT) -> str:
        """A text."""
        return as_text(self[name], self.path(name), limit=limit)

    def optional(self, name: str, read: Callable[[object, str], T]) -> T | None:
        """Whatever `read` reads, or None where the field is null."""
        return None if self[name] is None else read(self[name], self.path(name))

    def whole(self, name: str, *, low: int = 0, high: int = 2**62) -> int:
        """A whole number between two bounds."""
        return as_whole(self[name], self.path(name), low=low, high=high)

    def fraction(self, name: str) -> Fraction:
        """An exact number that is not negative."""
        return as_fraction(self[name], self.path(name))

    def choice(self, name: str, kind: type[E]) -> E:
        """One of an enumeration's words."""
        for member in kind:
            if type(self[name]) is str and member.value == self[name]:
                return member
        raise wrong(self.path(name), f"one of {', '.join(str(member.value) for member in kind)}")

    def items(self, name: str, *, limit: int = NODE_LIMIT) -> list[object]:
        """A list."""
        found = self[name]
        if not isinstance(found, list) or len(found) > limit:
            raise wrong(self.path(name), "a list")
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(as_text(item, f"{self.path(name)}[{i}]") for i, item in enumerate(self.items(name)))

    def mapping(self, name: str) -> dict[str, object]:
        """An object whose fields are free."""
        found = self[name]
        if not isinstance(found, dict):
            raise wrong(self.path(name), "an object")
        return found


def as_text(value: object, where: str, *, limit: int = TEXT_LIMIT) -> str:
    """A text that can be written to a file again."""
    if not isinstance(value, str) or len(value) > limit or any("\ud800" <= c <= "\udfff" for c in value):
        raise wrong(where, "a text")
    return value


def as_whole(value: object, where: str, *, low: int = 0, high: int = 2**62) -> int:
    """A whole number between two bounds."""
    if type(value) is not int or not low <= value <= high:
        raise wrong(where, f"a whole number from {low} to {high}")
    return value


def as_fraction(value: object, where: str) -> Fraction:
    """An exact number that is not negative, written p/q."""
    if not isinstance(value, str) or not _RATIO.fullmatch(value):
        raise wrong(where, 'an exact number such as "1/2"')
    top, bottom = (int(part) for part in value.split("/"))
    if bottom == 0 or top < 0:
        raise wrong(where, 'an exact number such as "1/2"')
    return Fraction(top, bottom)


def as_day(value: object, where: str) -> date:
    """A day, written 2025-03-01."""
    try:
        if isinstance(value, str) and _DAY.fullmatch(value):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise wrong(where, "a day such as 2025-03-01")


def ratio(number: Fraction) -> str:
    """An exact number as it is written.

    >>> ratio(Fraction(1, 2)), ratio(Fraction(3))
    ('1/2', '3/1')
    """
    return f"{number.numerator}/{number.denominator}"
