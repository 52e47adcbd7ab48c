"""Storage types that a library inferred from the rows tell nothing: neighbours whose
types differ are released alike, or refused alike.

The pairs are data (neighbours.py): a column of whole numbers with one empty cell, an
empty column that gets its first value, a decimal of more digits. The harness compares
all that comes out, the footer of the Parquet file included.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from kit.privacy.harness import Setting, Trial
from kit.privacy.neighbours import INFERRED, STORAGE_PAIRS, StoragePair

DATED_COLUMNS = {"born", "seen"}
"""Columns that the complete schema leaves out, and the dated one has."""


def pairs_of(source: str) -> list[StoragePair]:
    return [pair for pair in STORAGE_PAIRS if pair.name.startswith(f"{source}: ")]


def check_storage(
    pairs: Sequence[StoragePair], folder: Path, *, declared: bool
) -> None:
    """No pair can be told apart; a table that several pairs share is run once."""
    trials: dict[object, Trial] = {}
    faults = []
    for pair in pairs:
        known = (
            "none"
            if not declared
            else "dated"
            if pair.column in DATED_COLUMNS
            else "complete"
        )
        key = known, id(pair.here), id(pair.build)
        if key not in trials:
            trials[key] = Trial.begin(
                partial(pair.build, pair.here), Setting(known=known), folder
            )
        faults += [
            f"{pair}, {known}: {fault}"
            for fault in trials[key].replay(partial(pair.build, pair.there)).faults
        ]
    assert not faults


TELLING = {
    "pandas": "the first row of all",
    "pandas, narrowed": "an age of two bytes",
    "pandas, convert_dtypes": "half a year",
    "pandas, category": "an empty smoker",
    "pyarrow": "a weight of more digits",
    "pyarrow, dictionaries": "the first age of all",
    "polars": "half a year",
    "duckdb": "a whole weight",
    "parquet of pandas": "an empty age",
    "parquet of pandas, narrowed": "an age of two bytes",
    "parquet of pyarrow": "the first age of all",
    "parquet of polars": "a weight of more digits",
    "parquet of duckdb": "half a year",
}
"""Of every source one pair whose types differ most."""


def test_every_source_has_a_telling_pair():
    assert TELLING.keys() == INFERRED.keys()


@pytest.mark.parametrize(("source", "what"), TELLING.items())
def test_an_inferred_type_tells_nothing_where_all_is_declared(source, what, tmp_path):
    pair = next(pair for pair in pairs_of(source) if pair.name == f"{source}: {what}")
    check_storage([pair], tmp_path, declared=True)


@pytest.mark.parametrize("source", ["pandas", "parquet of pandas", "polars"])
def test_an_inferred_type_tells_nothing_where_nothing_is_declared(source, tmp_path):
    check_storage(pairs_of(source)[:1], tmp_path, declared=False)


@pytest.mark.slow
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("source", INFERRED)
def test_no_inferred_type_tells_anything(source, declared, tmp_path):
    check_storage(pairs_of(source), tmp_path, declared=declared)
