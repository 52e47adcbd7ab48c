"""Damaged files, thousands of them: one clear line without a cell's value, no
traceback, no hang, bounded memory, nothing left behind.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kit.damage import bombs, damage
from understudy.tables import open_table

TESTS = Path(__file__).resolve().parents[1]
NUMBERS = {"csv": 10_000, "parquet": 2_000, "schema": 5_000, "release": 2_500}
PEAK = 1 << 20
"""Kilobytes that a worker may have in memory."""

PATIENCE = 3_000
"""Seconds of waiting for a worker, which counts its own: a safety net, on a machine
however slow.
"""


def run(*words: str) -> list[dict[str, Any]]:
    words = (sys.executable, "-m", "kit.damage.worker", *words)
    done = subprocess.run(
        words, cwd=TESTS, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    at = lines[-1] if lines else "the first case"
    assert done.returncode == 0, (
        f"the worker ended ({done.returncode}) after {at}: {done.stderr[-500:]}"
    )
    return lines


def check(kind: str, first: int, step: int) -> None:
    *cases, last = run(kind, str(first), str(NUMBERS[kind]), str(step))
    assert len(cases) == len(range(first, NUMBERS[kind], step))
    assert [one for one in cases if "wrong" in one] == []
    assert any(one["refused"] for one in cases)
    assert kind in ("parquet", "release") or not all(one["refused"] for one in cases)
    assert last["peak"] < PEAK


@pytest.mark.parametrize("kind", sorted(NUMBERS))
def test_a_tenth_of_the_damaged_files(kind: str) -> None:
    check(kind, 0, 10)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(NUMBERS))
def test_all_the_other_damaged_files(kind: str) -> None:
    for first in range(1, 10):
        check(kind, first, 10)


GIGA = 1 << 30
BOMBS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "rows.csv.gz": (
        lambda p: bombs.packed(p, b"7,F\n", 20 * GIGA),
        r":\d+: unpacks to more than",
    ),
    "line.csv.gz": (
        lambda p: bombs.packed(p, b"x", 20 * GIGA),
        ":2: unpacks to more than",
    ),
    "nothing.csv.gz": (
        lambda p: bombs.packed(p, b"\0", 20 * GIGA),
        ":2: unpacks to more than",
    ),
    "quotes.csv.gz": (
        lambda p: bombs.packed(p, b'"', 20 * GIGA),
        ":2: unpacks to more than",
    ),
    "header.csv.gz": (
        lambda p: bombs.packed(p, b"x", 20 * GIGA, b""),
        ":1: the header line .* is longer than",
    ),
    "names.csv.gz": (
        lambda p: bombs.packed(p, b"x,", 20 * GIGA, b""),
        ":1: the header line names more than",
    ),
    "rows.csv.zst": (
        lambda p: bombs.packed(p, b"7,F\n", 20 * GIGA),
        r":\d+: unpacks to more than",
    ),
    "texts.parquet": (lambda p: bombs.long_texts(p, 1_000), ": unpacks to more than"),
    "lists.parquet": (lambda p: bombs.long_lists(p, 2_000), ": states far more cells"),
    "constant.parquet": (lambda p: bombs.constant(p, 5_000), ": states far more cells"),
    **{
        f"{rows}.parquet": (partial(bombs.stated, rows=rows), ": states far more cells")
        for rows in (10**9, 10**12, 10**15)
    },
}
"""Small files that would unpack to twenty thousand million bytes or more, and what each
is refused with.
"""


@pytest.fixture(scope="module")
def blasts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """All of them opened, and a file that only looks like one, in a process that may
    compute for two seconds each.
    """
    folder = tmp_path_factory.mktemp("bombs")
    paths = [make(folder / name) for name, (make, _) in BOMBS.items()]
    paths.append(bombs.one_long_text(folder / "one.parquet", 20_000))
    return {one["case"]: one for one in run("bombs", *map(str, paths))}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_it_goes_off(
    name: str, blasts: dict[str, dict[str, Any]]
) -> None:
    assert blasts[name]["said"].startswith(name)
    assert re.search(BOMBS[name][1], blasts[name]["said"])
    assert "\n" not in blasts[name]["said"]
    assert blasts["peak"]["peak"] < 300 << 10


def test_one_long_text_in_every_row_takes_the_room_of_one(
    blasts: dict[str, dict[str, Any]],
) -> None:
    """Twenty thousand million bytes in five hundred, and no reason to refuse them: the
    text stands in memory once.
    """
    assert blasts["one.parquet"]["said"] is None
    assert blasts["peak"]["peak"] < 300 << 10


def test_a_small_file_of_some_rows_is_no_bomb(tmp_path: Path) -> None:
    with open_table(bombs.stated(tmp_path / "small.parquet", rows=1000)) as source:
        assert source.names == ("age",)


def test_the_same_number_is_the_same_file() -> None:
    assert damage.csv(17) == damage.csv(17) != damage.csv(18)
    assert damage.parquet_file(17) == damage.parquet_file(17) != damage.parquet_file(21)
