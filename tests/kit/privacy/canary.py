"""Canaries: values that occur nowhere else in the world, and a scanner that finds them
in anything a run leaves behind.
"""

from __future__ import annotations

import base64
import io
import secrets
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

import pyarrow.parquet

MOST = 50_000_000


@dataclass
class Cage:
    """Canaries of one run, by what they are."""

    texts: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    reals: list[str] = field(default_factory=list)
    days: list[date] = field(default_factory=list)

    def text(self) -> str:
        """A text nobody else would write."""
        self.texts.append(f"zq{secrets.token_hex(5)}")
        return self.texts[-1]

    def number(self) -> int:
        """A whole number far from all others."""
        self.numbers.append(700_000_000_000 + secrets.randbelow(10**11))
        return self.numbers[-1]

    def real(self) -> str:
        """A number with decimals, far from all others."""
        self.reals.append(
            f"{9_000_000 + secrets.randbelow(10**6)}.{secrets.randbelow(10**6):06d}7"
        )
        return self.reals[-1]

    def day(self) -> date:
        """A day of another century."""
        self.days.append(date(1700, 1, 1) + timedelta(days=secrets.randbelow(30_000)))
        return self.days[-1]

    def patterns(self) -> dict[str, bytes]:
        """Every canary in every spelling it could hide in."""
        found: dict[str, bytes] = {}
        for text in (
            *self.texts,
            *map(str, self.numbers),
            *self.reals,
            *(d.isoformat() for d in self.days),
        ):
            found[text] = text.encode()
            found[f"{text} (two bytes each)"] = text.encode("utf-16-le")
            found[f"{text} (four bytes each)"] = text.encode("utf-32-le")
            # Base64 has three alignments; the middle of each is the same wherever the
            # text starts.
            for shift in range(3):
                code = base64.b64encode(b"\0" * shift + text.encode())
                found[f"{text} (base64, {shift})"] = code[(8 if shift else 0) : -4]
        for number in self.numbers:
            found[f"{number} (integer)"] = struct.pack("<q", number)
            found[f"{number} (float)"] = struct.pack("<d", number)
        for real in self.reals:
            found[f"{real} (float)"] = struct.pack("<d", float(real))
            found[f"{real} (rounded)"] = real[:-1].encode()
        for day in self.days:
            found[f"{day} (days)"] = struct.pack("<q", (day - date(1970, 1, 1)).days)
        return found

    def found_in(self, data: bytes) -> list[str]:
        """Canaries in these bytes, or in anything packed inside them."""
        patterns = self.patterns()
        return sorted(
            {
                name
                for layer in layers(data)
                for name, pattern in patterns.items()
                if pattern in layer
            }
        )


def layers(data: bytes) -> Iterator[bytes]:
    """Bytes, and what is packed in them: archives, databases, columns."""
    yield data
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield "\n".join(archive.namelist()).encode()
            for name in archive.namelist():
                yield from layers(archive.read(name))
    elif data[:15] == b"SQLite format 3":
        connection = sqlite3.connect(":memory:")
        connection.deserialize(
            data[:18] + b"\1\1" + data[20:]
        )  # not in write-ahead mode, which needs a file
        for (table,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall():
            for row in connection.execute(f"SELECT * FROM {table}"):
                for value in row:
                    yield from layers(
                        value if isinstance(value, bytes) else str(value).encode()
                    )
        connection.close()
    elif data[:4] == b"PAR1":
        yield str(pyarrow.parquet.read_table(io.BytesIO(data)).to_pydict()).encode()
    elif data[:2] == b"\x1f\x8b":
        yield zlib.decompress(data, 31, MOST)


def scan(
    cage: Cage, folder: Path, *, but: set[Path] = frozenset()
) -> dict[str, list[str]]:
    """Canaries by file, in a folder and all below it, file names included; `but` are
    the files they were put into.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        if path in but or not path.is_file():
            continue
        data = path.read_bytes()
        if path.name.endswith("-wal"):
            data = b""  # the database is read as a whole
        hits = cage.found_in(data) + cage.found_in(path.name.encode())
        if hits:
            found[str(path.relative_to(folder))] = hits
    return found
