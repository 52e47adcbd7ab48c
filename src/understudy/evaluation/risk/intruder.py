"""Who attacks a release: what is known, wanted and held by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Intruder:
    """What an intruder knows of a person, wants to learn, and has at hand.

    `quasi` are the columns they know of their target (the quasi-identifiers) and
    `sensitive` those they want to learn; by default the roles of the schema, else a
    guess. `radius` says for columns of numbers how far off their knowledge may be.

    `named` is a table with names that they hold, linked `on` the columns in common, and
    `key` the column that says whose row it is, in the real table and in every other that
    has it. With `shadows`, they make the release anew that many times with one person
    and that many times without, and try to tell which is which: it takes as long as
    making them.

    >>> Intruder(quasi=["age", "sex"], sensitive=["income"], radius={"age": 2}).key is None
    True
    """

    quasi: Sequence[str] | None = None
    sensitive: Sequence[str] | None = None
    radius: Mapping[str, float] | None = None
    named: Any = None
    on: Sequence[str] | None = None
    key: str | None = None
    shadows: int = 0


UNINFORMED_INTRUDER = Intruder()
"""An intruder of whom nothing is said: roles come from the schema, or are guessed."""
