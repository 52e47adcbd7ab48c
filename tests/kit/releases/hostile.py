"""Files that nobody's release wrote: damaged, oversized, misnamed, lying, or wrong in
one place.
"""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import random
import struct
import sys
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

Members = dict[str, bytes]


class Grenade:
    """An object that creates a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


def unzip(data: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rezip(members: Members, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, method)
    return buffer.getvalue()


def with_document(members: Members, document: object) -> bytes:
    return rezip(members | {"release.json": json.dumps(document).encode()})


def npy(array: np.ndarray, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **options)
    return buffer.getvalue()


def header(text: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    body = text.encode() + b" " * (-(len(text) + 11) % 64) + b"\n"
    size = struct.pack("<H" if version == b"\x01\x00" else "<I", len(body))
    return b"\x93NUMPY" + version + size + body + data


def flips(data: bytes, count: int, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    for _ in range(count):
        at, bit = rng.randrange(len(data)), rng.randrange(8)
        changed = bytearray(data)
        changed[at] ^= 1 << bit
        yield f"bit {bit} of byte {at} flipped", bytes(changed)


def cuts(data: bytes, count: int, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    for at in [
        0,
        1,
        4,
        21,
        22,
        len(data) - 1,
        *(rng.randrange(len(data)) for _ in range(count - 6)),
    ]:
        yield f"cut at {at}", data[:at]


STRANGE: list[Any] = [
    None, True, False, 0, -1, 1, 2**63, -(2**80), 10**400, 0.5, 1e308, -0.0, "", "x", "../../etc/passwd", "\x00", "é" * 1000,
    "1/0", "1/1", "-1/2", "1" * 700 + "/1", "nan", "NaN", "1e999", [], {}, [[]], [None], {"": ""}, [1, 2, 3], ["sex", "sex"],
    "arrays/00000.npy", "arrays/../x.npy", "partition", "2025-13-45", "=cmd|' /C calc'!A0", "<script>alert(1)</script>",
    "\ud800", {"map": "identity", "size": 2}, {"kind": "product"}, ["a"] * 50,
]  # fmt: skip


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document, the root excepted."""
    children = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for key, child in children:
        yield (*path, key)
        yield from places(child, (*path, key))


def mutated(
    text: bytes, whole: list[tuple[Any, ...]], rng: random.Random
) -> tuple[str, Any]:
    """A document with one to three of its places (`whole`) changed: replaced, dropped,
    doubled, renamed or swapped.
    """
    document = json.loads(text)
    told: list[str] = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        path = rng.choice(list(places(document)) if told else whole)
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        key, action = (
            path[-1],
            rng.choice(("replace", "replace", "replace", "drop", "add", "swap")),
        )
        told.append(f"{action} {path}")
        if action == "replace":
            parent[key] = copy.deepcopy(rng.choice(STRANGE))
        elif action == "drop":
            del parent[key]
        elif action == "add" and isinstance(parent, dict):
            parent[rng.choice(("extra", "__class__", "py/object", ""))] = copy.deepcopy(
                rng.choice(STRANGE)
            )
        elif isinstance(parent, list):
            parent.append(copy.deepcopy(rng.choice((*STRANGE, parent[key]))))
        else:
            other = rng.choice(list(parent))
            parent[key], parent[other] = parent[other], parent[key]
    return "; ".join(told), document


def documents(
    data: bytes, count: int, rng: random.Random
) -> Iterator[tuple[str, bytes]]:
    members = unzip(data)
    text = members["release.json"]
    whole = list(places(json.loads(text)))
    for _ in range(count):
        told, changed = mutated(text, whole, rng)
        yield told, with_document(members, changed)


def texts(data: bytes) -> Iterator[tuple[str, bytes]]:
    """JSON that is no JSON, or too much of it."""
    members = unzip(data)
    text = members["release.json"]
    kind = b'"kind": "model"'
    assert kind in text
    for told, changed in {
        "repeated key": text.replace(kind, kind + b", " + kind),
        "NaN": text.replace(b"41.6", b"NaN"),
        "Infinity": text.replace(b"41.6", b"-Infinity"),
        "a number beyond floats": text.replace(b"41.6", b"1e999"),
        "a number of five thousand digits": text.replace(b"41.6", b"9" * 5000),
        "not UTF-8": text.replace(b"people", b"\xff\xfe"),
        "UTF-16": text.decode().encode("utf-16"),
        "a byte order mark": b"\xef\xbb\xbf" + text,
        "nested lists": b"[" * 200_000 + b"]" * 200_000,
        "nested objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "nested forty deep": text.replace(b"41.6", b"[" * 40 + b"]" * 40),
        "three million commas": b"[" + b"0," * 3_000_000 + b"0]",
        "trailing text": text + b" {}",
        "empty": b"",
        "a list": b"[]",
        "another format": text.replace(b"understudy release", b"something else"),
        "version 2": text.replace(b'"version": 1\n}', b'"version": 2\n}'),
        "version true": text.replace(b'"version": 1\n}', b'"version": true\n}'),
        "version 0": text.replace(b'"version": 1\n}', b'"version": 0\n}'),
        "comments": b"// hello\n" + text,
        "python": b"__import__('os').mkdir('/tmp/understudy-was-here')",
    }.items():
        assert changed != text, told
        yield told, rezip(members | {"release.json": changed}, zipfile.ZIP_STORED)


def arrays(data: bytes, sentinel: str) -> Iterator[tuple[str, bytes]]:
    """Arrays that would run, fill memory, or do not fit."""
    members = unzip(data)
    name = sorted(n for n in members if n.startswith("arrays/"))[0]
    grenade = np.array([Grenade(sentinel)], object)
    fill = members[name]
    shape = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }"
    for told, changed in {
        "a pickled array": npy(grenade, allow_pickle=True),
        "a bare pickle": pickle.dumps(Grenade(sentinel)),
        "an object dtype over raw bytes": header(
            "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"\0" * 8
        ),
        "code in the header": header(f"__import__('os').mkdir({sentinel!r})", fill),
        "code in the shape": header(
            shape % f"(__import__('os').mkdir({sentinel!r}),)", b"\0" * 8
        ),
        "a shape of ten to the twelfth": header(shape % "(1000000000000,)", b"\0" * 64),
        "a shape that overflows": header(
            shape % "(4294967296, 4294967296)", b"\0" * 64
        ),
        "a shape that overflows to fit": header(
            shape % "(2305843009213693952, 8)", b""
        ),
        "a negative shape": header(shape % "(-1,)", b"\0" * 64),
        "an empty shape of many": header(shape % "(0, 999999999999)", b""),
        "a shape of forty axes": header(shape % ("(" + "1, " * 40 + ")"), b"\0" * 8),
        "a deep header": header("(" * 30_000),
        "version 2.0": header(shape % "(2,)", b"\0" * 16, b"\x02\x00"),
        "version 3.0": header(shape % "(2,)", b"\0" * 16, b"\x03\x00"),
        "fortran order": npy(np.asfortranarray(np.ones((3, 2)))),
        "big-endian": npy(np.ones(2, ">f8")),
        "complex": npy(np.ones(2, complex)),
        "text": npy(np.array(["a", "b"])),
        "a record": npy(np.zeros(2, [("a", "<i8"), ("b", "<f8")])),
        "dates": npy(np.zeros(2, "datetime64[s]")),
        "half floats": npy(np.ones(2, np.float16)),
        "not a number": npy(np.array([np.nan, 1.0])),
        "infinite": npy(np.array([np.inf, 1.0])),
        "negative shares": npy(np.array([-0.5, 1.5])),
        "shares of another sum": npy(np.array([0.5, 0.6])),
        "more shares than codes": npy(np.full(3, 1 / 3)),
        "fewer shares than codes": npy(np.ones(1)),
        "another dtype": npy(np.array([0, 1])),
        "trailing bytes": fill + b"\0",
        "cut short": fill[:-1],
        "nothing": b"",
        "a zip": rezip({"x": b"x"}),
    }.items():
        yield told, rezip(members | {name: changed}, zipfile.ZIP_STORED)


def archives(data: bytes, sentinel: str) -> Iterator[tuple[str, bytes]]:
    """Zip files that are too large, misnamed, lying or strange."""
    members = unzip(data)
    first = sorted(n for n in members if n.startswith("arrays/"))[0]
    for name in (
        "../evil.npy", "/etc/passwd", "arrays/../../evil.npy", "arrays/00000.npy/..", "C:\\evil.npy", "arrays\\00099.npy", "arrays/",
        "arrays/00099.npy\x00.exe", "ARRAYS/00099.NPY", "arrays/99.npy", "evil.pkl", "release.json/", "arrays/００００９.npy", "evil.py",
        "__main__.py", "arrays/00099.npy",
    ):  # fmt: skip
        yield f"a member named {name!r}", rezip(members | {name: members[first]})
    yield (
        "no release.json",
        rezip({n: d for n, d in members.items() if n != "release.json"}),
    )
    yield (
        "an array that is not there",
        rezip({n: d for n, d in members.items() if n != first}),
    )
    yield "an empty archive", rezip({})
    yield "a prefix", b"#!/bin/sh\n" + data
    yield "a suffix", data + b"PK"
    yield "two archives", data + data
    yield "not a zip", b"hello" * 100
    yield "lzma", rezip(members, zipfile.ZIP_LZMA)
    yield "bzip2", rezip(members, zipfile.ZIP_BZIP2)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
        archive.comment = b"hello"
    yield "a comment", buffer.getvalue()
    yield "twice the same name", doubled(members, first)
    yield "a link", linked(members)
    yield "encrypted", flagged(data, 0x1)
    yield (
        "a zero bomb",
        rezip(
            members
            | {
                first: header(
                    "{'descr': '<f8', 'fortran_order': False, 'shape': (5000000,), }",
                    bytes(40_000_000),
                )
            }
        ),
    )
    yield "a zero bomb of text", rezip(members | {"release.json": b" " * 40_000_000})
    yield "a bomb that lies about its size", lying(members, first)
    yield "a directory of thousands", crowded(20_001)
    yield "zip64", data[:-22] + b"PK\x06\x07" + b"\0" * 16 + data[-22:]


def doubled(members: Members, name: str) -> bytes:
    """The same member twice, written by hand: zipfile warns when asked to."""
    other = "arrays/99999.npy"
    return rezip(members | {other: members[name]}).replace(
        other.encode(), name.encode()
    )


def linked(members: Members) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
        info = zipfile.ZipInfo("arrays/link.npy")
        info.create_system, info.external_attr = 3, 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    return buffer.getvalue()


def flagged(data: bytes, flag: int) -> bytes:
    """A general-purpose flag set on every member."""
    changed = bytearray(data)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = changed.find(mark)
        while at >= 0:
            changed[at + offset] |= flag
            at = changed.find(mark, at + 4)
    return bytes(changed)


def lying(members: Members, name: str) -> bytes:
    """A member whose directory entry says it is small while it unpacks to 40 MB."""
    real = rezip(members | {name: bytes(40_000_000)})
    return real.replace(struct.pack("<L", 40_000_000), struct.pack("<L", 1000))


def crowded(count: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for i in range(count):
            archive.writestr(zipfile.ZipInfo(f"arrays/{i:05d}.npy"), b"")
    return buffer.getvalue()


class Watch:
    """Notes, while it is on, whatever the interpreter reports that loading a file
    should never do.
    """

    EVENTS = (
        "exec",
        "compile",
        "pickle.find_class",
        "os.",
        "subprocess.",
        "socket.",
        "shutil.",
        "ctypes.",
        "marshal.",
        "code.",
    )

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        written = (
            event == "open"
            and len(arguments) > 1
            and isinstance(arguments[1], str)
            and set(arguments[1]) & set("wax+")
        )
        if written or event.startswith(self.EVENTS):
            self.seen.append(f"{event} {arguments!r}"[:200])
