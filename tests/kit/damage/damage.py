"""Damaged files: real ones that were cut, flipped, glued, re-encoded, blown up or
renamed. The same number gives the same file.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from understudy.models import ProductModel
from understudy.releases import Guarantee, Release
from understudy.schema import Schema

CANARY = "canary-7f3a"
"""Stands in cells; no message may show it."""

SCHEMA = """\
columns:
  id: identifier
  age: {type: integer, min: 18, max: 90, missing: [-7]}
  sex: {type: categorical, values: [F, M]}
  dose: {type: real, min: 0, max: 10}
  born: {type: date, min: 1930-01-01, max: 2010-12-31}
  note: text
"""
HEADER = "id,age,sex,dose,born,note"
ODD = (
    b"\0",
    b'"',
    b'""',
    b"\r",
    b"\n\n",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xc3",
    b",,,,,,,,",
    b";",
    b"'",
    b"=1+1",
    b"\x1a",
    b"\\N",
    b"NaN",
    b"1e999",
)
NAMES = (
    "",
    "age",
    "__proto__",
    "<script>alert(1)</script>",
    'x"; DROP TABLE cells; --',
    "\u202e",
    "a" * 5000,
    "x0",
    "#1",
    "\t",
)
ENCODINGS = (
    "latin-1",
    "utf-16",
    "utf-16-le",
    "utf-32",
    "cp037",
    "shift_jis",
    "utf-8-sig",
    "utf-7",
)


def rows(rng: random.Random, count: int = 30) -> list[list[str]]:
    made = []
    for i in range(count):
        born = f"19{rng.randint(30, 99)}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}"
        made.append(
            [
                str(i),
                str(rng.randint(18, 90)),
                rng.choice("FM"),
                f"{rng.random() * 10:.2f}",
                born,
                f"{CANARY} müde",
            ]
        )
    return made


def plain_csv(rng: random.Random) -> bytes:
    return "\n".join([HEADER, *(",".join(row) for row in rows(rng)), ""]).encode()


def cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 3, 20))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def insert(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(ODD) * rng.choice((1, 2, 50)) + data[at:]


def shuffle(data: bytes, rng: random.Random) -> bytes:
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:a] + data[b:] + data[a:b]


def fill(data: bytes, rng: random.Random) -> bytes:
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:a] + bytes([rng.choice((0, 255, 34, 10, 44))]) * (b - a) + data[b:]


ANY: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    cut,
    flip,
    insert,
    shuffle,
    fill,
)


def recode(data: bytes, rng: random.Random) -> bytes:
    return data.decode(errors="replace").encode(rng.choice(ENCODINGS), errors="replace")


def ragged(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    for _ in range(5):
        at = rng.randrange(len(lines))
        lines[at] = lines[at].replace(
            b",", rng.choice((b"", b",,", b"\t", b";")), rng.randint(1, 4)
        )
    return b"\n".join(lines)


def renamed(data: bytes, rng: random.Random) -> bytes:
    names = HEADER.split(",")
    for _ in range(rng.randint(1, 3)):
        names[rng.randrange(len(names))] = rng.choice(NAMES)
    return ",".join(names).encode() + b"\n" + data.partition(b"\n")[2]


def huge(data: bytes, rng: random.Random) -> bytes:
    size = rng.choice((70_000, 300_000, 600_000))
    quote = rng.choice((b"", b'"'))
    return insert(data, rng) + b"1,2," + quote + b"x" * size + quote + b",F\n3,4\n"


def wide(data: bytes, rng: random.Random) -> bytes:
    return b",".join(b"c%d" % i for i in range(rng.choice((300, 2_000)))) + b"\n" + data


def breaks(data: bytes, rng: random.Random) -> bytes:
    return data.replace(
        b"\n", rng.choice((b"\r", b"\r\n", b"\n\r", b"\n\n", b"\x0b", b"\xe2\x80\xa8"))
    )


def quotes(data: bytes, rng: random.Random) -> bytes:
    return data.replace(b"F", b'"F', rng.randint(1, 5)).replace(
        b"-", b'"-"', rng.randint(0, 3)
    )


CSV_ONLY = (recode, ragged, renamed, huge, breaks, quotes)


def csv(number: int) -> tuple[str, bytes]:
    """A damaged CSV file, now and then a compressed one."""
    rng = random.Random(f"csv {number}")
    data = plain_csv(rng)
    for _ in range(rng.randint(1, 3)):
        data = rng.choice((*ANY, *CSV_ONLY))(data, rng)
    if number % 50 == 7:
        data = wide(data, rng)
    if number % 20 == 3:
        return "table.csv.gz", rng.choice(ANY)(gzip.compress(data), rng)
    return "table.csv", data


@functools.cache
def plain_parquet(which: int) -> bytes:
    rng = random.Random(which)
    columns = list(zip(*rows(rng, 50), strict=True))
    names = HEADER.split(",")
    table = pa.table({
        "id": pa.array(map(int, columns[0])), "age": pa.array(map(int, columns[1]), pa.int16()), "sex": pa.array(columns[2]),
        "dose": pa.array(map(float, columns[3])), "born": pa.array(columns[4]).cast(pa.date32()), "note": pa.array(columns[5]),
    })  # fmt: skip
    assert table.column_names == names
    out = io.BytesIO()
    parquet.write_table(
        table,
        out,
        compression=("snappy", "gzip", "zstd", "none")[which],
        row_group_size=20 + which,
    )
    return out.getvalue()


def parquet_file(number: int) -> tuple[str, bytes]:
    """A damaged Parquet file; every third is damaged in its footer, where the types and
    places of everything stand.
    """
    rng = random.Random(f"parquet {number}")
    data = plain_parquet(number % 4)
    if number % 3 == 0:
        size = int.from_bytes(data[-8:-4], "little")
        head, foot = data[: -8 - size], data[-8 - size : -8]
        return "table.parquet", head + rng.choice(ANY)(foot, rng) + data[-8:]
    for _ in range(rng.randint(1, 2)):
        data = rng.choice(ANY)(data, rng)
    return "table.parquet", data


def schema_file(number: int) -> tuple[str, bytes]:
    """A damaged schema: ours, or another tool's, as YAML or JSON."""
    rng = random.Random(f"schema {number}")
    from kit.schema.formats import ALL

    text = rng.choice((SCHEMA, *ALL.values())).encode()
    if number % 40 == 5:
        return "schema.yaml", rng.choice(
            (
                b"[" * 20_000,
                b"a: &a [*a]",
                b"- " * 9_000,
                b"? " * 9_000,
                b"!!python/object:os.system x",
            )
        )
    for _ in range(rng.randint(1, 3)):
        text = rng.choice((*ANY, recode, breaks, quotes))(text, rng)
    return ("schema.json" if number % 2 else "schema.yaml"), text


@functools.cache
def plain_release(folder: str) -> bytes:
    schema = Schema.parse(SCHEMA)
    release = Release(
        guarantee=Guarantee.without_data(),
        schema=schema,
        model=ProductModel.uniform(schema, total=9.0),
    )
    path = Path(folder, "plain.understudy")
    release.save(path)
    data = path.read_bytes()
    path.unlink()
    return data


def release_file(number: int, folder: str) -> tuple[str, bytes]:
    """A damaged release."""
    rng = random.Random(f"release {number}")
    data = plain_release(folder)
    for _ in range(rng.randint(1, 2)):
        data = rng.choice(ANY)(data, rng)
    return "table.understudy", data


def described(facts: dict[str, object]) -> str:
    """One line for the one who waits."""
    return json.dumps(facts)
