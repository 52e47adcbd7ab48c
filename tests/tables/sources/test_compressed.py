"""Packed files: read as they are, refused with the line where they break, and never
unpacked to far more than they hold.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kit.damage import bombs
from understudy.errors import TableError
from understudy.tables import open_table
from understudy.tables.sources import compressed

ROWS = b"a,b\n" + b"".join(b"%d,canary-%d\n" % (i, i * i) for i in range(20_000))


def refusal(path: Path) -> str:
    with pytest.raises(TableError) as caught, open_table(path) as source:
        source.check(source.names)
    assert "canary" not in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_sound_file_weighs_nothing(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(ROWS))
    compressed.refuse_packed_bomb(path)
    assert compressed.open_bytes(path).read() == ROWS


@pytest.mark.parametrize("ending", [".gz", ".GZ", ".zst"])
def test_where_packed_data_are_cut_is_said_by_line(ending, tmp_path):
    """The line is the one that could be read last: in a whole file cut in the middle,
    neither the first nor the last.
    """
    path = tmp_path / f"t.csv{ending}"
    whole = bombs._zstd(ROWS) if ending == ".zst" else gzip.compress(ROWS)
    path.write_bytes(whole[: len(whole) // 2])
    name, line, rest = refusal(path).split(":", 2)
    assert name == path.name
    assert 1 <= int(line) < 20_001
    assert rest.startswith(" its packed data are damaged or cut short here.")
    assert rest.endswith(("Nothing was spent", "Nothing was read"))


def test_a_cut_behind_the_first_chunk_names_a_later_line(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(ROWS * 5)[:-4000])
    assert int(refusal(path).split(":")[1]) > 10_000


def test_a_flipped_bit_that_unpacks_is_found_by_the_sum(tmp_path):
    path = tmp_path / "t.csv.gz"
    data = bytearray(gzip.compress(ROWS, 0))
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert "its packed data are damaged" in refusal(path)


def test_what_packs_well_is_no_bomb(tmp_path, monkeypatch):
    """A small file may unpack to many times its size; a large one may not."""
    path = bombs.packed(tmp_path / "t.csv.gz", b"1,2\n", 2 * bombs.PART)
    compressed.refuse_packed_bomb(path)
    monkeypatch.setattr(compressed, "FREE_UNPACKED_BYTES", bombs.PART)
    with pytest.raises(
        TableError, match=r"t\.csv\.gz:\d+: unpacks to more than 200 times its size"
    ):
        compressed.refuse_packed_bomb(path)
    monkeypatch.setattr(compressed, "MAX_UNPACK_RATIO", 2_000)
    compressed.refuse_packed_bomb(path)
