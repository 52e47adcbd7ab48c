"""Files written before modules and classes got the field's names load, sample and
verify as they did then.

The files in `tests/fixtures/before_renames` were written once, by every synthesizer,
and are not made again.
"""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import understudy as us
from understudy.schema import Schema, dump_schema

FOLDER = Path(__file__).parent.parent / "fixtures" / "before_renames"
KNOWN = json.loads((FOLDER / "known.json").read_text())
ACCOUNT = KNOWN.pop("ledger")
SAMPLED_ROWS = 200
MOVED_ROWS = 10
"""Rows of a column that may lie elsewhere: libraries may change how they round, never
what a model says.
"""


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_release_loads_and_samples_as_before(name: str, tmp_path: Path) -> None:
    release = us.load_release(FOLDER / f"{name}.understudy")
    assert release.guarantee.sentence() == KNOWN[name]["sentence"]
    assert release.kind.value == KNOWN[name]["kind"]
    frame = release.sample(SAMPLED_ROWS, seed=1, kind="numpy")
    for column, before in KNOWN[name]["counts"].items():
        labels, counts = np.unique(
            [str(cell) for cell in frame[column]], return_counts=True
        )
        now = dict(zip(labels.tolist(), counts.tolist(), strict=True))
        moved = sum(
            abs(now.get(label, 0) - before.get(label, 0))
            for label in now.keys() | before.keys()
        )
        assert moved <= 2 * MOVED_ROWS, column
    release.save(tmp_path / "again.understudy")
    assert us.load_release(tmp_path / "again.understudy").guarantee == release.guarantee


def test_a_ledger_verifies_and_adds_up_as_before(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "people.ledger", tmp_path / "people.ledger")
    with us.Ledger.open(tmp_path / "people.ledger") as ledger:
        ledger.verify(anchor=ACCOUNT["head"])
        totals = ledger.totals()
    assert (totals.epsilon, totals.delta) == (
        Fraction(ACCOUNT["epsilon"]),
        Fraction(ACCOUNT["delta"]),
    )
    assert totals.runs == ACCOUNT["runs"]


def test_a_schema_file_means_what_it_meant() -> None:
    schema = Schema.load(FOLDER / "people.yaml")
    assert [column.type for column in schema.columns] == [
        "categorical", "categorical", "integer", "integer", "boolean", "date",
    ]  # fmt: skip
    assert len(schema.rules) == 1
    assert Schema.parse(dump_schema(schema)) == schema
