"""Folders of census releases that somebody else wrote: one line, and nothing unpacked."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import understudy as us
from understudy.errors import ReleaseError

SCHEMA = us.Schema.parse(
    "columns: {state: {type: categorical, values: [n, s]}, old: boolean}"
)
DESIGN = {"hierarchy": {"columns": ["state"]}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("census")
    lines = ["state,old", *(f"{'ns'[i % 2]},{i > 9}" for i in range(90))]
    (place / "people.csv").write_text("\n".join(lines) + "\n")
    made = us.census(place / "people.csv", SCHEMA, DESIGN, rho=1)
    us.save_census(made, place / "out")
    us.load_census(place / "out", SCHEMA, DESIGN)
    return place / "out"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("exact_epsilon", "1e999999999"),
        ("exact_delta", "1/0"),
        ("exact_amount", 1.5),
        ("accounting", []),
        ("max_rows", "many"),
        ("invariants", 7),
    ],
)
def test_a_card_of_a_census_is_read_without_trust(
    folder: Path, name: str, value: object
) -> None:
    card = folder / "census.json"
    whole = card.read_text()
    try:
        card.write_text(json.dumps({**json.loads(whole), name: value}))
        with pytest.raises(ReleaseError, match="is not the card of a census release"):
            us.load_census(folder, SCHEMA, DESIGN)
    finally:
        card.write_text(whole)


@pytest.mark.parametrize("card", ["[" * 200_000, "{}" + " " * (11 << 20), "[]"])
def test_a_card_that_is_none_is_one_line(folder: Path, card: str) -> None:
    path = folder / "census.json"
    whole = path.read_text()
    try:
        path.write_text(card)
        with pytest.raises(ReleaseError, match="is not the card of a census release"):
            us.load_census(folder, SCHEMA, DESIGN)
    finally:
        path.write_text(whole)


def header_of(shape: tuple[int, ...], kind: str) -> bytes:
    """The beginning of an array that states far more than follows."""
    written = io.BytesIO()
    stated = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(written, stated)
    return written.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("nation/total.npy", header_of((10**15,), "<i8")),
        ("nation/total.npy", b"\x93NUMPY\x01\x00"),
        ("noise_law.npy", header_of((), "<U400000000")),
        ("lost_answers.npy", header_of((10**15,), "<U9")),
    ],
)
def test_an_array_is_weighed_before_it_is_unpacked(
    folder: Path, tmp_path: Path, name: str, data: bytes
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "census.json").write_bytes((folder / "census.json").read_bytes())
    with (
        zipfile.ZipFile(folder / "measurements.npz") as whole,
        zipfile.ZipFile(copy / "measurements.npz", "w") as changed,
    ):
        assert name in (*whole.namelist(), "lost_answers.npy")
        for other in whole.namelist():
            if other != name:
                changed.writestr(other, whole.read(other))
        changed.writestr(name, data)
    with pytest.raises(ReleaseError, match="measurement file"):
        us.load_census(copy, SCHEMA, DESIGN)
