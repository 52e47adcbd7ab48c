"""Who counts as a neighbour: the relation every sensitivity and every guarantee depends
on.
"""

from __future__ import annotations

from enum import StrEnum


class Neighbours(StrEnum):
    """Which two tables the guarantee makes hard to tell apart.

    >>> Neighbours.ADD_REMOVE.phrase("row")
    'adding or removing one row'
    """

    ADD_REMOVE = "add_remove"
    """One has one unit more; the number of rows is private. The default."""

    REPLACE = "replace"
    """One unit is exchanged for another; the number of rows is public."""

    def phrase(self, unit: str) -> str:
        """The relation in words, for guarantees."""
        if self is Neighbours.ADD_REMOVE:
            return f"adding or removing one {unit}"
        return f"exchanging one {unit} for another"
