"""The protocol of carriers: run this on every partition, add up the integers.

A partition is a sequence of blobs: rows as Arrow messages (streams/row_blobs.py), or
codes. A carrier knows nothing of what is inside. What runs on a partition is a function
of that partition alone, without noise, clock or counter; so a partition that is read
twice, because a task failed, was slow or lost its machine, gives the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol


class PartWork(Protocol):
    """A question of one partition. Its answers are packed (packed_answer.py)."""

    def answer_part(self, blobs: Iterable[bytes]) -> bytes:
        """The answer about the rows of one partition."""

    def merge_answers(self, answers: Sequence[bytes]) -> bytes:
        """The answer about the rows of several; in any order, and of parts that were
        merged before.
        """


class PartChange(Protocol):
    """Other blobs made of those of one partition, each with the number of the group it
    belongs to.
    """

    def change_part(self, blobs: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """The blobs of one partition, changed."""


class Carrier(Protocol):
    """Partitions, wherever they are."""

    @property
    def empty(self) -> bytes:
        """A blob of the rows' schema, without rows."""

    @property
    def parts(self) -> int:
        """How many partitions there are."""

    def load_rows(self) -> None:
        """Read the rows to the end, once: what fails, fails now."""

    def add_up(self, work: PartWork) -> bytes:
        """Ask every partition; the answers, merged."""

    def change_parts(self, change: PartChange, *, regroup: bool) -> Carrier:
        """Partitions of changed blobs, kept where they are; where `regroup`, blobs of
        one group come into one partition.
        """

    def fetch_blobs(self) -> Iterator[bytes]:
        """Every blob, brought here."""

    def close(self) -> None:
        """Let go of the partitions, and of those made of them."""
