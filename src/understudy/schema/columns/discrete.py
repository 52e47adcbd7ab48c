"""Columns: what a table looks like, one column at a time, and nothing about who is in
it.

Every column that can be modelled is, in the end, integers. A category is a position in
a list of labels; a number, date or time is an index on a lattice (its step, its day,
its second). So every count, sum and sensitivity is exact, and no float touches the
privacy argument.

A column may have holes: no type, no values, no bounds. A hole is filled by the owner
(public) or bought by the curator (paid); what was bought is listed in `learned`.
Nothing else can fill it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from understudy.errors import SchemaError
from understudy.schema.columns.base import Column, OutOfBoundsPolicy, Role
from understudy.schema.columns.lattice import (
    EPOCH_DATE,
    MAX_LATTICE_INDEX,
    MICROSECOND_SPAN,
    Date,
    Datetime,
    Integer,
    Lattice,
    Real,
    Time,
)

__all__ = [
    "EPOCH_DATE",
    "MAX_LATTICE_INDEX",
    "MICROSECOND_SPAN",
    "Boolean",
    "Categorical",
    "Column",
    "Date",
    "Datetime",
    "Identifier",
    "Integer",
    "Lattice",
    "OutOfBoundsPolicy",
    "Real",
    "Role",
    "Text",
    "Time",
    "UndeclaredColumn",
]


MAX_UNFOLD_WEIGHT = 2**53
"""Weights of a public list lie below this, so that they are exact in every reader."""


@dataclass(frozen=True, kw_only=True)
class UndeclaredColumn(Column):
    """A column whose type nobody stated: a paid vote decides it."""


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
    With `generate`, rows carry fresh keys in its place.

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

    `other` names the place of unlisted values; without it they count as missing (or as
    the first value where missing is not allowed). `levels` maps a level's name to each
    value's group, for hierarchies such as code → chapter. `unfold` is a public list of
    further values with weights: released rows that fall into `other` get one of those
    that are not listed.

    >>> Categorical(name="sex", values=("F", "M")).is_closed, Categorical(name="job").is_closed
    (True, False)
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
            self._check_labels((self.other,), "`other`")
            if self.other in self.missing:
                raise SchemaError(
                    f'column "{self.name}": `other` is one of the missing codes. Choose'
                    " another word for it"
                )
        if self.values is None:
            if self.levels:
                raise SchemaError(
                    f'column "{self.name}": `levels` group `values`, and none are'
                    " listed"
                )
            return
        if not self.values and self.other is None and not self.nullable:
            raise SchemaError(
                f'column "{self.name}": no values at all. List `values`, or leave them'
                " out to have them learned"
            )
        if len(set(self.values)) != len(self.values):
            raise SchemaError(
                f'column "{self.name}": a value is listed twice in `values`'
            )
        self._check_labels(self.values, "a value in `values`")
        if self.other in self.values:
            raise SchemaError(
                f'column "{self.name}": `other` is one of the values. Choose another'
                " word for it"
            )
        if set(self.missing) & set(self.values):
            raise SchemaError(
                f'column "{self.name}": a code is listed both as a value and as missing'
            )
        for level, groups in self.levels.items():
            if len(groups) != len(self.values):
                raise SchemaError(
                    f'column "{self.name}": level "{level}" needs one group per value'
                )

    def members(self, level: str, group: str) -> tuple[str, ...]:
        """The values of one group of a level.

        >>> Categorical(name="code", values=("A00", "A01", "B00"), levels={"chapter": ("A", "A", "B")}).members("chapter", "A")
        ('A00', 'A01')
        """
        groups = self.levels.get(level, ())
        return tuple(
            value
            for value, of in zip(self.values or (), groups, strict=False)
            if of == group
        )

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
    def listed(self) -> frozenset[str | None]:
        """The values and the word for `other`, to look one up among very many."""
        return frozenset((*(self.values or ()), self.other))

    @property
    def unfold_weights(self) -> dict[str, int]:
        """What `other` stands for, and how often: what is on the public list and has no
        place of its own.

        >>> towns = Categorical(name="town", values=("Basel",), other="elsewhere", unfold={"Basel": 9, "Chur": 3, "Zug": 1})
        >>> towns.unfold_weights
        {'Chur': 3, 'Zug': 1}
        """
        return {
            label: weight
            for label, weight in self.unfold.items()
            if label not in self.listed
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
        if {s.lower() for s in self.false} & {s.lower() for s in self.true}:
            raise SchemaError(
                f'column "{self.name}": a spelling stands for both true and false'
            )
        for side, spelled in (("true", self.true), ("false", self.false)):
            if not spelled:
                raise SchemaError(f'column "{self.name}": `{side}` has no spelling')
            self._check_labels(spelled, f"a spelling of {side}")
        if {s.lower() for s in self.missing} & {
            s.lower() for s in (*self.false, *self.true)
        }:
            raise SchemaError(
                f'column "{self.name}": a code is listed both as a value and as missing'
            )

    @property
    def is_closed(self) -> bool:
        return True

    @cached_property
    def truth_by_spelling(self) -> dict[str, bool]:
        """What each word stands for, in small letters; `true` and `false` stand for
        themselves whatever is declared.
        """
        words = {word.lower(): False for word in self.false} | {
            word.lower(): True for word in self.true
        }
        return {"false": False, "true": True} | words
