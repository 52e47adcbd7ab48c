"""JSON lines: one flat record a line, written down as a private CSV file that is read as
any other.

The names of the columns have to be declared: keys stand in the rows, and no row may
decide what is public. Each line is read by itself; one that is no record has no cells.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from understudy.errors import TableError
from understudy.tables.sources.compressed import open_bytes, refuse_packed_bomb
from understudy.tables.sources.csv_copy import MAX_CSV_ROW_BYTES
from understudy.tables.sources.foreign import load_quietly

JSON_LINES_ENDINGS = (".jsonl", ".ndjson")
JSON_ENDING = ".json"
PLAIN_NAME = re.compile(r"[\w-][\w.-]*")
"""File names that need no quoting in a command."""

NOT_A_CELL = "\ufffd"
"""The text of a list or a record inside a record, which is no value of any column."""


def undeclared_keys_error(path: Path) -> TableError:
    """The refusal of a file whose columns are not declared, with the ways that work."""
    return TableError(
        f"{path.name}: keys of JSON lines stand in the rows, so their names have to be"
        " declared: say --schema, or open_table(path, header=[…]); or"
        f" {conversion_hint(path)}. Nothing was read"
    )


def conversion_hint(path: Path) -> str:
    """How a file of JSON becomes a CSV file, in a command that needs nothing else."""
    name = path.name if PLAIN_NAME.fullmatch(path.name) else "table.json"
    csv_name = f"{name.partition('.')[0]}.csv"
    call = f"duckdb.read_json('{name}').write_csv('{csv_name}')"
    return f'convert the file to CSV: python -c "import duckdb; {call}"'


def write_records(path: Path, copy: Path, names: Sequence[str]) -> None:
    """Write the cells of these keys to a CSV file without a header line."""
    refuse_packed_bomb(path)

    def write(source: Path) -> None:
        with (
            open_bytes(source) as file,
            copy.open("w", encoding="utf-8", newline="") as out,
        ):
            writer = csv.writer(out)
            for line in _read_lines(file):
                record = _parse_record(line)
                writer.writerow([_text_of_value(record.get(name)) for name in names])

    load_quietly(write, path, extra="")


def _read_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines that are not blank; of one that is too long, nothing."""
    while line := file.readline(MAX_CSV_ROW_BYTES):
        is_whole = line.endswith(b"\n") or len(line) < MAX_CSV_ROW_BYTES
        if not is_whole:
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_CSV_ROW_BYTES)
            yield b"-"
        elif line.strip():
            yield line


def _parse_record(line: bytes) -> dict[str, object]:
    """A line's record; an empty one where it is none."""
    try:
        # Numbers keep the digits that were written.
        parsed = json.loads(
            line.decode("utf-8", "replace").removeprefix("\ufeff"),
            parse_int=str,
            parse_float=str,
            parse_constant=str,
        )
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _text_of_value(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return NOT_A_CELL
    # Half a character, which JSON can spell, becomes U+FFFD as in any file.
    plain = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return " ".join(plain.replace("\0", NOT_A_CELL).splitlines())
