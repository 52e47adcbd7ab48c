"""Bombs: small files that unpack to very much. Each is built in a moment, because its
parts are repeated after they were packed.
"""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from understudy import thrift
from understudy.tables.sources import parquet_footer

PART = 1 << 24
"""Bytes that each part unpacks to."""


def packed(path: Path, row: bytes, size: int, header: bytes = b"age,sex\n") -> Path:
    """A `.gz` or `.zst` file of a header and the same row over and over; packed pieces
    one after the other are one file.
    """
    pack = gzip.compress if path.suffix == ".gz" else _zstd
    path.write_bytes(pack(header) + pack(row * (PART // len(row))) * (size // PART))
    return path


def _zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(data)
    return sink.getvalue().to_pybytes()


def groups(path: Path, table: pa.Table, times: int, **options: object) -> Path:
    """A Parquet file whose footer lists its one group of rows many times over."""
    written = io.BytesIO()
    parquet.write_table(
        table, written, compression="zstd", row_group_size=table.num_rows, **options
    )
    data = written.getvalue()
    size = int.from_bytes(data[-8:-4], "little")
    fields = thrift.read_struct(data[-8 - size : -8])
    kind, (inner, [group]) = fields[parquet_footer.ROW_GROUPS_FIELD]
    fields[parquet_footer.ROW_GROUPS_FIELD] = kind, (inner, [group] * times)
    fields[3] = fields[3][0], table.num_rows * times
    end = thrift.write_struct(fields)
    path.write_bytes(data[: -8 - size] + end + len(end).to_bytes(4, "little") + b"PAR1")
    return path


def long_texts(path: Path, times: int) -> Path:
    """Twenty texts of a million bytes each, so many times."""
    return groups(
        path, pa.table({"age": ["x" * 10**6] * 20}), times, use_dictionary=False
    )


def one_long_text(path: Path, rows: int) -> Path:
    """One text of a million bytes that stands in every row, and once in the file."""
    text = pa.DictionaryArray.from_arrays(
        pa.array([0] * rows, pa.int32()), pa.array(["x" * 10**6])
    )
    parquet.write_table(pa.table({"age": text}), path, compression="zstd")
    return path


def long_lists(path: Path, times: int) -> Path:
    """A list of ten million numbers, so many times."""
    numbers = pa.ListArray.from_arrays(
        pa.array([0, 10**7], pa.int32()), pa.array(np.zeros(10**7, np.int8))
    )
    return groups(path, pa.table({"age": numbers}), times)


def constant(path: Path, times: int) -> Path:
    """A million rows of one number, so many times: no text is long, and no row is odd."""
    return groups(path, pa.table({"age": pa.array(np.zeros(10**6, np.int8))}), times)


def stated(path: Path, rows: int) -> Path:
    """A small Parquet file that says it has very many rows of one value."""
    out = io.BytesIO()
    column = pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays(
                pa.array([0] * 1000, pa.int8()), pa.array(["x"])
            )
        ]
    )
    parquet.write_table(pa.table({"age": column}), out)
    data = out.getvalue()
    size = int.from_bytes(data[-8:-4], "little")
    head, foot = data[: -8 - size], data[-8 - size : -8]
    said, many = _varint(1000), _varint(rows)
    foot = foot.replace(
        b"\x16" + said, b"\x16" + many
    )  # field of 64 bits: the numbers of rows and of values
    path.write_bytes(head + foot + len(foot).to_bytes(4, "little") + data[-4:])
    return path


def _varint(number: int) -> bytes:
    zigzag, out = number << 1, bytearray()
    while zigzag >= 0x80:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])
