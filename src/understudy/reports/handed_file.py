"""A file that is handed out, named by its digest.

What never is, though it lies beside the release: reports and lists that were computed
from real rows, masked copies, which keep real cells, and ledgers.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from understudy.errors import Refused, TableError
from understudy.findings import INTERNAL_MARKING, Fact
from understudy.inference.copies import COPIES_MANIFEST_NAME

INTERNAL_MARKS = (
    "Internal: reads real data.",
    "internal: reads real data",
    INTERNAL_MARKING,
    "row,level,match_chance,found_for_certain",
)
"""What a report, its twin, an assessment, a picture of masks or the first line of a list
of risks says if it was computed from real rows.
"""

DATABASE_HEAD = "SQLite format 3\0"
"""How ledgers begin, and the tokens beside them."""

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
    """Refuse a file that says what it is, and masked copies by what lies beside them."""
    reason = ""
    if any(mark in head for mark in INTERNAL_MARKS):
        reason = "was computed from real rows without noise"
    elif head.startswith(DATABASE_HEAD):
        reason = "is a ledger, the tokens of one, or another database"
    elif path.with_name(f"{path.name}.ledger").exists():
        reason = "has an account beside it, so it holds the real rows"
    elif path.with_name(COPIES_MANIFEST_NAME).is_file():
        reason = "lies with masked copies, which keep real cells and no such guarantee"
    if reason:
        raise Refused(
            f"{path}: this file {reason}, and must not be handed out under this sheet."
            " Leave it out; a report is made for others with --without-real. Nothing"
            " was written."
        )
