"""Columns of labels, and the columns that are never modelled (free text, identifiers)
or not yet known.

Every column that can be modelled is, in the end, whole numbers: a category is a
position in a list of labels, a number or date an index on a lattice (lattice.py). So
every count, sum and sensitivity is exact, and no float enters the privacy argument.

A column may be open: it lacks a type, values or bounds. Its owner declares them
(public), or the curator learns them inside the privacy budget; what was learned is
listed in `learned`. Nothing else can close a column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from understudy.errors import SchemaError
from understudy.schema.columns.base import Column, Role

# Weights of a public list below this are exact in every reader of JSON.
MAX_UNFOLD_WEIGHT = 2**53


REST_NAMES = ("other", "unlisted")
"""What labels that are not listed are called together; the second where a label reads
like the first.
"""


def name_rest(taken: Collection[str], declared: str | None = None) -> str:
    """A name for all labels that are not listed, which no label or missing code has:
    the declared one, or one that none of them reads like.

    >>> name_rest(["a", "b"]), name_rest(["Other", "None"]), name_rest(["else"], "else")
    ('other', 'unlisted', 'else_')
    """
    read = {label.casefold() for label in taken}
    usual = (name for name in REST_NAMES if name not in read)
    name = next(usual, REST_NAMES[-1]) if declared is None else declared
    while name in taken:
        name += "_"
    return name


@dataclass(frozen=True, kw_only=True)
class UndeclaredColumn(Column):
    """A column whose type is not declared: a noisy vote of its cells decides it. If
    they are numbers, `decimal` and `thousands` are the marks that texts have, and
    `points_wholes` says that a whole number among decimals has a point where votes
    cannot tell.
    """

    decimal: str = "."
    thousands: str = ""
    points_wholes: bool = True


@dataclass(frozen=True, kw_only=True)
class Text(Column):
    """Free text. Never released.

    >>> Text(name="remarks").is_modelled
    False
    """

    type: ClassVar[str] = "text"

    @property
    def is_modelled(self) -> bool:
        return False

    @property
    def is_closed(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class Identifier(Column):
    """A key such as a patient number. Never released; it may name the privacy unit.
    With `generate`, synthetic rows carry fresh keys in its place.

    >>> Identifier(name="patient").role.value
    'direct_identifier'
    """

    type: ClassVar[str] = "identifier"
    role: Role = Role.DIRECT_IDENTIFIER
    generate: bool = False

    @property
    def is_modelled(self) -> bool:
        return False

    @property
    def is_closed(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class Categorical(Column):
    """One of a list of labels.

    `other` is the label of unlisted values; without it they count as missing (or as the
    first value if missing is not allowed). `levels` maps a level's name to each value's
    group, for hierarchies such as code → chapter. `unfold` is a public list of further
    values with weights: synthetic rows that fall into `other` get one of those that are
    not listed.

    >>> Categorical(name="sex", values=("F", "M")).is_closed
    True
    >>> Categorical(name="job").is_closed
    False
    """

    type: ClassVar[str] = "categorical"
    values: tuple[str, ...] | None = None
    ordered: bool = False
    other: str | None = None
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unfold: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_unfold()
        if self.other is not None:
            self._check_other(self.other)
        if self.values is not None:
            self._check_values(self.values)
        elif self.levels:
            raise SchemaError(
                f'column "{self.name}": `levels` group `values`, and none are listed'
            )

    def _check_other(self, other: str) -> None:
        self._check_labels((other,), "`other`")
        if other in self.missing:
            raise SchemaError(
                f'column "{self.name}": `other` is one of the missing codes. Choose'
                " another word for it"
            )

    def _check_values(self, values: tuple[str, ...]) -> None:
        # A column without any code at all could hold no row.
        if not values and self.other is None and not self.nullable:
            raise SchemaError(
                f'column "{self.name}": no values at all. List `values`, or leave them'
                " out to have them learned"
            )
        if len(set(values)) != len(values):
            raise SchemaError(
                f'column "{self.name}": a value is listed twice in `values`'
            )
        self._check_labels(values, "a value in `values`")
        if self.other in values:
            raise SchemaError(
                f'column "{self.name}": `other` is one of the values. Choose another'
                " word for it"
            )
        if set(self.missing) & set(values):
            raise SchemaError(
                f'column "{self.name}": a code is listed both as a value and as missing'
            )
        for level, groups in self.levels.items():
            if len(groups) != len(values):
                raise SchemaError(
                    f'column "{self.name}": level "{level}" needs one group per value'
                )

    def members(self, level: str, group: str) -> tuple[str, ...]:
        """The values of one group of a level.

        >>> levels = {"chapter": ("A", "A", "B")}
        >>> codes = Categorical(name="code", values=("A00", "A01", "B00"), levels=levels)
        >>> codes.members("chapter", "A")
        ('A00', 'A01')
        """
        # A level that the column does not have groups nothing, so the lengths differ.
        grouped = zip(self.values or (), self.levels.get(level, ()), strict=False)
        return tuple(value for value, of in grouped if of == group)

    def _check_unfold(self) -> None:
        if not self.unfold:
            return
        self._check_labels(self.unfold, "a value in `unfold`")
        if self.values is not None and self.other is None:
            raise SchemaError(
                f'column "{self.name}": `unfold` says what `other` stands for, and'
                " there is none. Name it with `other`"
            )
        if set(self.unfold) & set(self.missing):
            raise SchemaError(
                f'column "{self.name}": a code is listed both in `unfold` and as'
                " missing"
            )
        if self.other in self.unfold:
            raise SchemaError(
                f'column "{self.name}": `unfold` lists the word for `other` itself'
            )
        if any(not 0 < weight < MAX_UNFOLD_WEIGHT for weight in self.unfold.values()):
            raise SchemaError(
                f'column "{self.name}": weights in `unfold` are whole numbers above 0'
                " and below 2^53"
            )

    @property
    def is_closed(self) -> bool:
        return self.values is not None

    @cached_property
    def value_set(self) -> frozenset[str | None]:
        """The values and the label of `other`, to look one up among very many."""
        return frozenset((*(self.values or ()), self.other))

    @property
    def unfold_weights(self) -> dict[str, int]:
        """The values that `other` stands for, with their weights: those on the public
        list that are not listed themselves.

        >>> public = {"Basel": 9, "Chur": 3, "Zug": 1}
        >>> towns = Categorical(name="town", values=("Basel",), other="else", unfold=public)
        >>> towns.unfold_weights
        {'Chur': 3, 'Zug': 1}
        """
        return {
            label: weight
            for label, weight in self.unfold.items()
            if label not in self.value_set
        }


@dataclass(frozen=True, kw_only=True)
class Boolean(Column):
    """Yes or no; `false` and `true` are its spellings in files.

    >>> Boolean(name="smoker", true=("ja",), false=("nein",)).is_closed
    True
    """

    type: ClassVar[str] = "boolean"
    false: tuple[str, ...] = ("false", "0", "no", "f", "n")
    true: tuple[str, ...] = ("true", "1", "yes", "t", "y")

    def __post_init__(self) -> None:
        super().__post_init__()
        # Spellings are compared in lower case, as cells are.
        false = _lower_words(self.false)
        true = _lower_words(self.true)
        if false & true:
            raise SchemaError(
                f'column "{self.name}": a spelling stands for both true and false'
            )
        for side, spellings in (("true", self.true), ("false", self.false)):
            if not spellings:
                raise SchemaError(f'column "{self.name}": `{side}` has no spelling')
            self._check_labels(spellings, f"a spelling of {side}")
        if _lower_words(self.missing) & (false | true):
            raise SchemaError(
                f'column "{self.name}": a code is listed both as a value and as missing'
            )

    @property
    def is_closed(self) -> bool:
        return True

    @cached_property
    def truth_by_spelling(self) -> dict[str, bool]:
        """What each word stands for, in lower case; `true` and `false` stand for
        themselves unless declared otherwise.
        """
        truths = {"false": False, "true": True}
        truths |= dict.fromkeys((word.lower() for word in self.false), False)
        truths |= dict.fromkeys((word.lower() for word in self.true), True)
        return truths


def _lower_words(words: tuple[str, ...]) -> set[str]:
    return {word.lower() for word in words}
