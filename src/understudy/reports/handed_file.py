"""A file that is handed out, named by its digest."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from understudy.errors import Refused, TableError
from understudy.findings import INTERNAL_MARKING, Fact

INTERNAL_MARKS = (
    "Internal: reads real data.",
    "internal: reads real data",
    INTERNAL_MARKING,
)
"""What a report, its twin or an assessment says if it was computed from real rows."""

MARKED_HEAD_BYTES = 1 << 16
"""Where such a file says so: its first bytes, style included."""


@dataclass(frozen=True)
class HandedFile:
    """A file's name, its size in bytes and its SHA-256 digest."""

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, path: str | Path) -> HandedFile:
        """The file as it is now; one that must not leave the building is refused."""
        where = Path(path)
        try:
            with where.open("rb") as file:
                head = file.read(MARKED_HEAD_BYTES).decode("utf-8", "replace")
                _refuse_internal(where, head)
                file.seek(0)
                digest = file_digest(file, "sha256").hexdigest()
                # A name may hold bytes that are no text; a page has to be text.
                name = where.name.encode("utf-8", "backslashreplace").decode()
                return cls(name, file.tell(), digest)
        except OSError:
            raise TableError(
                f"{where}: this file cannot be read. Nothing was written."
            ) from None

    def to_dict(self) -> dict[str, Fact]:
        """For a program."""
        return {"name": self.name, "bytes": self.size, "sha256": self.sha256}


def _refuse_internal(path: Path, head: str) -> None:
    if any(mark in head for mark in INTERNAL_MARKS):
        raise Refused(
            f"{path}: this report was computed from real rows without noise and must"
            " not be handed out. Leave it out, or make one with --without-real. Nothing"
            " was written."
        )
