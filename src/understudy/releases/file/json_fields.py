"""Reading JSON that anybody may have written: every field is checked for its type, its
size and the fields beside it.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import TypeVar

from understudy.errors import ReleaseError

MAX_RELEASE_JSON_DEPTH = 32
MAX_RELEASE_JSON_NODES = 1_000_000
MAX_RELEASE_TEXT_CHARACTERS = 100_000
_MAX_DOUBLE = sys.float_info.max
_JSON_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_JSON_FRACTION = re.compile(r"-?[0-9]{1,600}/[0-9]{1,600}", re.ASCII)

EnumT = TypeVar("EnumT", bound=Enum)
FieldT = TypeVar("FieldT")


def parse_json(data: bytes) -> object:
    """JSON, refusing what JSON should never have allowed: repeated keys, NaN, numbers
    beyond a double, endless nesting.

    >>> parse_json(b'{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    """
    # Every entry of a list or object is preceded by one of these bytes, so they bound
    # the memory that parsing takes before anything is parsed.
    most_entries = data.count(b",") + data.count(b"[") + data.count(b"{")
    if most_entries > MAX_RELEASE_JSON_NODES:
        raise ReleaseError("release.json: has too many entries. Nothing was loaded.")
    try:
        document: object = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_refuse_repeated_keys,
            parse_float=_finite_float,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError):
        raise ReleaseError(
            "release.json: not valid JSON. The file is damaged. Nothing was loaded."
        ) from None
    _check_depth(document)
    return document


def _check_depth(document: object) -> None:
    """Refuse nesting that later recursion over the document might not survive."""
    level: list[object] = [document]
    for _ in range(MAX_RELEASE_JSON_DEPTH):
        level = [child for value in level for child in _children(value)]
        if not level:
            return
    raise ReleaseError("release.json: is nested too deeply. Nothing was loaded.")


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # Two readers may disagree on which of two equal keys counts.
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key stands twice")
    return fields


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("not finite")
    return number


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def field_error(where: str, what: str) -> ReleaseError:
    """The error for a field that is not what it should be."""
    return ReleaseError(
        f"release.json: {where} is not {what}. The file is damaged or was not written"
        " by Understudy. Nothing was loaded."
    )


class JsonFields:
    """One JSON object, read field by field.

    >>> fields = JsonFields({"kind": "model", "rows": 3}, "release", {"kind", "rows"})
    >>> fields.text("kind"), fields.whole("rows")
    ('model', 3)
    """

    def __init__(
        self,
        value: object,
        where: str,
        names: set[str],
        *,
        optional: Collection[str] = (),
    ) -> None:
        if not isinstance(value, dict) or set(value).difference(optional) != names:
            raise field_error(
                where, f"an object with exactly the fields {', '.join(sorted(names))}"
            )
        self._fields = value
        self.where = where

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def __getitem__(self, name: str) -> object:
        return self._fields[name]

    def path(self, name: str) -> str:
        """Where a field stands, for errors."""
        return f"{self.where}.{name}"

    def text(self, name: str, *, limit: int = MAX_RELEASE_TEXT_CHARACTERS) -> str:
        """A text."""
        return text_from_json(self[name], self.path(name), limit=limit)

    def optional(
        self, name: str, read: Callable[[object, str], FieldT]
    ) -> FieldT | None:
        """Whatever `read` reads, or None where the field is null."""
        return None if self[name] is None else read(self[name], self.path(name))

    def whole(self, name: str, *, low: int = 0, high: int = 2**62) -> int:
        """A whole number between two bounds."""
        return integer_from_json(self[name], self.path(name), low=low, high=high)

    def number(self, name: str) -> float:
        """A number; JSON that `parse_json` read has finite ones alone."""
        return number_from_json(self[name], self.path(name))

    def fraction(self, name: str) -> Fraction:
        """An exact number that is not negative."""
        return fraction_from_json(self[name], self.path(name))

    def choice(self, name: str, kind: type[EnumT]) -> EnumT:
        """One of an enumeration's words."""
        for member in kind:
            if type(self[name]) is str and member.value == self[name]:
                return member
        words = ", ".join(str(member.value) for member in kind)
        raise field_error(self.path(name), f"one of {words}")

    def items(self, name: str, *, limit: int = MAX_RELEASE_JSON_NODES) -> list[object]:
        """A list."""
        value = self[name]
        if not isinstance(value, list) or len(value) > limit:
            raise field_error(self.path(name), "a list")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(
            text_from_json(item, f"{self.path(name)}[{i}]")
            for i, item in enumerate(self.items(name))
        )

    def free_object(self, name: str) -> dict[str, object]:
        """An object that may have any fields."""
        value = self[name]
        if not isinstance(value, dict):
            raise field_error(self.path(name), "an object")
        return value

    def truth(self, name: str) -> bool:
        """True or false; JSON's numbers are neither."""
        value = self[name]
        if type(value) is not bool:
            raise field_error(self.path(name), "true or false")
        return value


def text_from_json(
    value: object, where: str, *, limit: int = MAX_RELEASE_TEXT_CHARACTERS
) -> str:
    """A text that can be written to a file again."""
    # JSON can spell half of a surrogate pair, which no UTF-8 file can hold.
    if (
        not isinstance(value, str)
        or len(value) > limit
        or any("\ud800" <= c <= "\udfff" for c in value)
    ):
        raise field_error(where, "a text")
    return value


def integer_from_json(
    value: object, where: str, *, low: int = 0, high: int = 2**62
) -> int:
    """A whole number between two bounds."""
    # `isinstance` would let true pass, which Python counts among the integers.
    if type(value) is not int or not low <= value <= high:
        raise field_error(where, f"a whole number from {low} to {high}")
    return value


def number_from_json(value: object, where: str) -> float:
    """A number that a double holds."""
    # JSON's whole numbers have no bound, and `float` of a huge one overflows.
    # `isinstance` alone would let true pass.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise field_error(where, "a number")
    if abs(value) > _MAX_DOUBLE:
        raise field_error(where, "a number")
    return float(value)


def fraction_from_json(value: object, where: str) -> Fraction:
    """An exact number that is not negative, written p/q."""
    if not isinstance(value, str) or not _JSON_FRACTION.fullmatch(value):
        raise field_error(where, 'an exact number such as "1/2"')
    top, bottom = (int(part) for part in value.split("/"))
    if bottom == 0 or top < 0:
        raise field_error(where, 'an exact number such as "1/2"')
    return Fraction(top, bottom)


def day_from_json(value: object, where: str) -> date:
    """A day, written 2025-03-01."""
    try:
        if isinstance(value, str) and _JSON_DAY.fullmatch(value):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise field_error(where, "a day such as 2025-03-01")


def fraction_to_json(number: Fraction) -> str:
    """An exact number as it is written.

    >>> fraction_to_json(Fraction(1, 2)), fraction_to_json(Fraction(3))
    ('1/2', '3/1')
    """
    return f"{number.numerator}/{number.denominator}"
