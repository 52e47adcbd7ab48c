"""The places of a census release with their persons and standard errors, as its card
keeps them: what a tree of places is drawn from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from understudy.censuses.hierarchy import UnitPath
from understudy.censuses.release import CensusRelease
from understudy.errors import Refused

MAX_CARD_PLACES = 5_000
"""Places that a card lists; lower levels of larger hierarchies are in the tables."""


@dataclass(frozen=True)
class Place:
    """One place: its labels from the top down, its persons, and the standard error of
    their number; None where nothing was measured.
    """

    path: UnitPath
    persons: int
    error: float | None

    @property
    def relative_error(self) -> float:
        """The standard error as a part of the persons."""
        if self.error is None:
            return float("inf")
        return self.error / max(self.persons, 1)


@dataclass(frozen=True)
class PlaceTree:
    """The places of the upper levels, the root first.

    >>> north = Place(("north",), 70, 2.0)
    >>> tree = PlaceTree(("nation", "state"), (Place((), 70, 1.0), north))
    >>> tree.find_children(()) == [north], tree.find(("north",)).relative_error
    (True, 0.02857142857142857)
    """

    levels: tuple[str, ...]
    places: tuple[Place, ...]

    @cached_property
    def _by_path(self) -> dict[UnitPath, Place]:
        return {place.path: place for place in self.places}

    @cached_property
    def _children(self) -> dict[UnitPath, list[Place]]:
        children: dict[UnitPath, list[Place]] = {}
        for place in self.places:
            if place.path:
                children.setdefault(place.path[:-1], []).append(place)
        return children

    def find(self, path: UnitPath) -> Place:
        """The place with these labels."""
        place = self._by_path.get(path)
        if place is None:
            raise Refused("There is no such place in this census.")
        return place

    def find_children(self, path: UnitPath) -> list[Place]:
        """The places inside a place, as far as they are listed."""
        return self._children.get(path, [])

    def to_dict(self) -> dict[str, Any]:
        """The tree as the card keeps it."""
        rows = [[list(each.path), each.persons, each.error] for each in self.places]
        return {"levels": list(self.levels), "places": rows}

    @classmethod
    def from_dict(cls, plain: object) -> PlaceTree:
        """The tree of a card; what is none is refused."""
        try:
            assert isinstance(plain, Mapping)
            levels = tuple(str(name) for name in plain["levels"])
            places = tuple(
                Place(
                    tuple(str(label) for label in path),
                    int(persons),
                    None if error is None else float(error),
                )
                for path, persons, error in plain["places"]
            )
        except (AssertionError, KeyError, TypeError, ValueError, OverflowError):
            raise Refused("This file has no tree of places.") from None
        tree = cls(levels, places)
        if any(len(place.path) >= len(levels) for place in places):
            raise Refused("This file has no tree of places.")
        tree.find(())
        return tree


def list_places(release: CensusRelease) -> PlaceTree:
    """The places of all levels from the root on that a card has room for."""
    hierarchy = release.design.hierarchy
    levels: list[str] = []
    places: list[Place] = []
    for level, name in enumerate(hierarchy.levels):
        if len(places) + hierarchy.count_units(level) > MAX_CARD_PLACES:
            break
        levels.append(name)
        _, errors = release.estimates(name)
        persons = release.counts(name)
        places += _join_places(hierarchy.paths(level), persons, errors)
    return PlaceTree(tuple(levels), tuple(places))


def _join_places(
    paths: Sequence[UnitPath],
    persons: np.ndarray[Any, Any],
    errors: np.ndarray[Any, Any],
) -> list[Place]:
    return [
        Place(path, int(count), round(float(error), 3) if np.isfinite(error) else None)
        for path, count, error in zip(paths, persons, errors, strict=True)
    ]
