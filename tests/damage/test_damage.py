"""Damaged files, thousands of them: one clear line without a cell's value, no traceback, no hang, bounded memory, nothing left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.damage import damage

from understudy.errors import TableError
from understudy.tables import open_table

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = {"csv": 10_000, "parquet": 2_000, "schema": 2_500, "release": 2_500}
PEAK = 1 << 20
"""Kilobytes that a worker may have in memory."""

PATIENCE = 3_000
"""Seconds of waiting for a worker, which counts its own: a safety net, on a machine however slow."""


def results(kind: str, first: int, step: int) -> list[dict[str, Any]]:
    words = [sys.executable, "-m", "tests.damage.worker", kind, str(first), str(NUMBERS[kind]), str(step)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    at = lines[-1] if lines else "the first case"
    assert done.returncode == 0, f"the worker ended ({done.returncode}) after {at}: {done.stderr[-500:]}"
    return lines


def check(kind: str, first: int, step: int) -> None:
    *cases, last = results(kind, first, step)
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


@pytest.mark.parametrize("rows", [10**9, 10**12, 10**15])
def test_a_small_file_of_very_many_rows_is_refused(rows: int, tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    path.write_bytes(damage.bomb(rows))
    with pytest.raises(TableError, match=r"bomb\.parquet: .*far more cells than its size"):
        open_table(path)


def test_a_small_file_of_some_rows_is_not(tmp_path: Path) -> None:
    path = tmp_path / "small.parquet"
    path.write_bytes(damage.bomb(1000))
    with open_table(path) as source:
        assert source.names == ("age",)


def test_the_same_number_is_the_same_file() -> None:
    assert damage.csv(17) == damage.csv(17) != damage.csv(18)
    assert damage.parquet_file(17) == damage.parquet_file(17) != damage.parquet_file(21)
