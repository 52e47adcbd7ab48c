"""Options of a synthesizer: the fields of its dataclass, with their type, default and
help, set from Python or from text.

A value that does not fit is refused in one line, before a synthesizer exists and so
before anything can be spent.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from fractions import Fraction
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

from understudy.errors import Refused
from understudy.synthesizers.base import Synthesizer


@dataclass(frozen=True)
class OptionKind:
    """A type of option: what a person calls it, and how it is read."""

    words: str
    read: Callable[[object], object]


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option. `kind` says in words what it takes."""

    name: str
    kind: str
    default: object
    help: str
    read: Callable[[object], object]

    @property
    def default_text(self) -> str:
        """The default as one would write it.

        >>> from understudy.synthesizers import AIM
        >>> options_of(AIM)["selection"].default_text
        '1/10'
        """
        return option_text(self.default)


def options_of(synthesizer: type[Synthesizer]) -> dict[str, Option]:
    """Every option by its name, in the order of the dataclass.

    >>> from understudy.synthesizers import AIM
    >>> [option.kind for option in options_of(AIM).values()][:2]
    ['a whole number', 'a part between 0 and 1']
    """
    # Annotations are text in modules with postponed evaluation; this resolves them.
    hints = get_type_hints(synthesizer)
    found = {}
    for each in fields(synthesizer):
        kind = kind_of(hints[each.name])
        found[each.name] = Option(
            name=each.name,
            kind=kind.words,
            default=each.default,
            help=str(each.metadata.get("help", "")),
            read=kind.read,
        )
    return found


def read_options(
    synthesizer: type[Synthesizer], options: Mapping[str, object]
) -> dict[str, object]:
    """Options as the dataclass wants them; text is read as the command line gives it.
    Refuses names and values that do not fit.

    >>> from understudy.synthesizers import AIM
    >>> read_options(AIM, {"rounds": "20", "selection": 0.2})
    {'rounds': 20, 'selection': Fraction(1, 5)}
    >>> try:
    ...     read_options(AIM, {"rounds": "many"})
    ... except Refused as refusal:
    ...     print(refusal)
    aim: `rounds` takes a whole number; by default it is 16. Nothing was spent
    """
    known = options_of(synthesizer)
    settled: dict[str, object] = {}
    for name, value in options.items():
        if name not in known:
            remedy = (
                f"{suggest_nearest(name, known)}It has {', '.join(known)}"
                if known
                else "It has none"
            )
            raise Refused(
                f'{synthesizer.name}: there is no option "{name}". {remedy}. Nothing'
                " was spent"
            )
        try:
            settled[name] = known[name].read(value)
        # What int, Fraction and json.loads raise on odd text, deep nesting included.
        except (
            ValueError,
            TypeError,
            ZeroDivisionError,
            OverflowError,
            RecursionError,
        ):
            raise Refused(
                f"{synthesizer.name}: `{name}` takes {known[name].kind}; by default it"
                f" is {known[name].default_text}. Nothing was spent"
            ) from None
    return settled


def suggest_nearest(name: str, known: Mapping[str, object]) -> str:
    """A question that leads on, where some name is near; else nothing.

    >>> suggest_nearest("amy", {"aim": 1, "mst": 2})
    'Did you mean `aim`? '
    """
    close = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    return f"Did you mean `{close[0]}`? " if close else ""


def option_text(value: object) -> str:
    """A value as the command line reads it.

    >>> option_text(None), option_text(True), option_text(Fraction(1, 10))
    ('none', 'true', '1/10')
    >>> option_text((("age", "sex"),))
    '[["age", "sex"]]'
    """
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, tuple) else str(value)


def kind_of(hint: object) -> OptionKind:
    """How values of a type are called and read."""
    if get_origin(hint) in (Union, UnionType):
        # Exactly one type beside None: two would make text ambiguous.
        (inner,) = (kind_of(part) for part in get_args(hint) if part is not NoneType)
        return OptionKind(
            f"{inner.words}, or none", lambda value: _read_optional(value, inner.read)
        )
    if get_origin(hint) is Literal:
        names = [str(name) for name in get_args(hint)]
        return OptionKind(
            f"one of {', '.join(names)}", lambda value: _read_choice(value, names)
        )
    return OPTION_KINDS.get(hint, CLIQUE_LISTS_KIND)


def _read_optional(value: object, read: Callable[[object], object]) -> object:
    return (
        None
        if value is None or (isinstance(value, str) and value.lower() == "none")
        else read(value)
    )


def _read_choice(value: object, names: list[str]) -> str:
    if value not in names:
        raise ValueError
    return str(value)


def _read_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value.lower() not in TRUTH_WORDS:
        raise ValueError
    return TRUTH_WORDS[value.lower()]


def _read_int(value: object) -> int:
    # bool is a subclass of int: without this, True would be read as 1.
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError
    return int(value)


def _read_float(value: object) -> float:
    found = float(_read_fraction(value))
    if not math.isfinite(found):
        raise ValueError
    return found


def _read_part(value: object) -> Fraction:
    found = _read_fraction(value)
    if not 0 < found < 1:
        raise ValueError
    return found


def _read_fraction(value: object) -> Fraction:
    """A float is taken for the decimal it is written as."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Fraction):
        raise ValueError
    # Fraction(0.1) is the binary number nearest to 0.1, and parts of a budget would no
    # longer add up exactly.
    return Fraction(repr(value) if isinstance(value, float) else value)


def _read_cliques(value: object) -> tuple[tuple[str, ...], ...]:
    lists = json.loads(value) if isinstance(value, str) else value
    if not isinstance(lists, list | tuple) or not all(
        isinstance(clique, list | tuple) for clique in lists
    ):
        raise ValueError
    if not all(isinstance(name, str) for clique in lists for name in clique):
        raise ValueError
    return tuple(tuple(clique) for clique in lists)


TRUTH_WORDS = {"true": True, "yes": True, "false": False, "no": False}
OPTION_KINDS: dict[object, OptionKind] = {
    bool: OptionKind("true or false", _read_bool),
    int: OptionKind("a whole number", _read_int),
    float: OptionKind("a number", _read_float),
    Fraction: OptionKind("a part between 0 and 1", _read_part),
}
CLIQUE_LISTS_KIND = OptionKind("lists of columns in JSON", _read_cliques)
"""How types are read; whatever is none of these is a list of cliques."""
