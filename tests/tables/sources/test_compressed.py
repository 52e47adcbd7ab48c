"""Packed files: read as they are, refused with the line where they break, and never
unpacked to far more than they hold.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
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


def zipped(data: bytes, *names: str, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", method) as archive:
        for name in names or ("people.csv",):
            archive.writestr(name, data)
    return written.getvalue()


PACKERS = {
    "t.csv.gz": gzip.compress,
    "t.csv.bz2": bz2.compress,
    "t.csv.xz": lzma.compress,
    "t.csv.zst": bombs._zstd,
    "t.csv.zip": zipped,
    "t.zip": zipped,
    "T.CSV.BZ2": bz2.compress,
}


@pytest.mark.parametrize("name", PACKERS)
def test_every_packing_gives_the_same_rows(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(PACKERS[name](ROWS))
    with open_table(path) as source:
        assert source.names == ("a", "b")
        count = f"SELECT count(*), max(x1) FROM {source.relation}"
        last = max(f"canary-{i * i}" for i in range(20_000))
        assert source.engine.run(count, doing="counting") == [(20_000, last)]


@pytest.mark.parametrize("name", PACKERS)
def test_every_packing_that_is_cut_is_refused(name, tmp_path):
    path = tmp_path / name
    whole = PACKERS[name](ROWS)
    path.write_bytes(whole[: len(whole) // 2])
    assert "its packed data are damaged or cut short here" in refusal(path)


@pytest.mark.parametrize("name", ["t.csv.bz2", "t.csv.xz"])
def test_packed_pieces_one_after_the_other_are_one_file(name, tmp_path):
    path = tmp_path / name
    padding = b"\0" * 8 if name.endswith("xz") else b""
    path.write_bytes(PACKERS[name](ROWS) + padding + PACKERS[name](b"1,2\n"))
    with compressed.open_bytes(path) as file:
        assert file.read() == ROWS + b"1,2\n"


@pytest.mark.parametrize("name", ["t.csv.bz2", "t.csv.xz", "t.zip"])
def test_bombs_of_every_packing_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr(compressed, "FREE_UNPACKED_BYTES", bombs.PART // 4)
    path = tmp_path / name
    path.write_bytes(PACKERS[name](b"a,b\n" + b"1,2\n" * (bombs.PART // 4)))
    assert "unpacks to more than 200 times its size" in refusal(path)


def test_an_xz_file_that_asks_for_much_memory_is_refused(tmp_path):
    path = tmp_path / "t.csv.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**28, "preset": 0}]
    path.write_bytes(lzma.compress(b"a,b\n1,2\n", filters=filters))
    assert "damaged" in refusal(path)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (zipped(ROWS, "a.csv", "b.csv"), "holds 2 files and not one CSV file"),
        (zipped(ROWS, "folder/"), "holds 0 files and not one CSV file"),
        (zipped(ROWS, "canary.parquet"), "holds a file that is not CSV"),
        (zipped(ROWS, method=zipfile.ZIP_LZMA), "is packed in an uncommon way"),
        (b"PK" + zipped(ROWS)[100:2000], "damaged"),
    ],
)
def test_an_archive_that_is_not_one_table_is_refused(data, reason, tmp_path):
    path = tmp_path / "t.zip"
    path.write_bytes(data)
    assert reason in refusal(path)


def test_what_a_mac_adds_to_an_archive_is_no_second_file(tmp_path):
    path = tmp_path / "t.zip"
    path.write_bytes(zipped(b"a,b\n1,2\n", "t.csv", "__MACOSX/._t.csv"))
    with open_table(path) as source:
        assert source.names == ("a", "b")


def test_an_encrypted_archive_is_refused(tmp_path):
    path = tmp_path / "t.zip"
    data = bytearray(zipped(ROWS))
    data[data.index(b"PK\1\2") + 8] |= 1  # the flag, in the directory
    path.write_bytes(data)
    assert "is encrypted. Unpack it first" in refusal(path)
