"""Partitions in the memory of this process: the reference that other carriers are
compared with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from understudy.tables.carriers.carrier import PartChange, PartWork


class LocalCarrier:
    """Partitions as lists of blobs.

    >>> class CountBytes:
    ...     def answer_part(self, blobs):
    ...         return bytes([sum(map(len, blobs))])
    ...     def merge_answers(self, answers):
    ...         return bytes([sum(answer[0] for answer in answers)])
    >>> LocalCarrier([[b"ab", b"c"], [b"d"]]).add_up(CountBytes())[0]
    4
    """

    def __init__(
        self, partitions: Sequence[Sequence[bytes]], empty: bytes = b""
    ) -> None:
        self._partitions = partitions
        self.empty = empty

    @property
    def parts(self) -> int:
        """How many partitions there are."""
        return len(self._partitions)

    def load_rows(self) -> None:
        """Do nothing: they are here."""

    def add_up(self, work: PartWork) -> bytes:
        """Ask every partition; the answers, merged."""
        return work.merge_answers([work.answer_part(part) for part in self._partitions])

    def change_parts(self, change: PartChange, *, regroup: bool) -> LocalCarrier:
        """Partitions of changed blobs."""
        changed = [list(change.change_part(part)) for part in self._partitions]
        if not regroup:
            return LocalCarrier(
                [[blob for _, blob in part] for part in changed], self.empty
            )
        groups: defaultdict[int, list[bytes]] = defaultdict(list)
        for part in changed:
            for group, blob in part:
                groups[group % self.parts].append(blob)
        return LocalCarrier([groups[part] for part in range(self.parts)], self.empty)

    def fetch_blobs(self) -> Iterator[bytes]:
        """Every blob."""
        for part in self._partitions:
            yield from part

    def close(self) -> None:
        """Forget the partitions."""
        self._partitions = ()
