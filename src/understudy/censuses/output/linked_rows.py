"""Microdata of persons and of households, linked by the household's number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.censuses.controlled_rounding import Integers
from understudy.censuses.household_design import SIZE_COLUMN, HouseholdDesign
from understudy.censuses.output.table_files import write_table
from understudy.censuses.release import CensusRelease
from understudy.releases.output.frames.cells import ColumnCells
from understudy.releases.output.frames.decoding import decode_chunks
from understudy.releases.output.write import write_chunks
from understudy.schema import Integer


def write_linked_rows(
    release: CensusRelease, households: HouseholdDesign, folder: Path, rng: Generator
) -> None:
    """Write `persons.csv`, each row with the number of its household, and
    `households.csv`, one row a household.
    """
    numbers = release.number_households(rng)
    codes = release.microdata()
    chunks = decode_chunks(release.design.schema, codes, rng)
    write_chunks(_add_numbers(chunks, households.key, numbers), folder / "persons.csv")
    write_table(
        list_households(release, households, codes, numbers),
        folder / "households.csv",
    )


def list_households(
    release: CensusRelease,
    households: HouseholdDesign,
    codes: dict[str, Integers],
    numbers: Integers,
) -> dict[str, NDArray[Any]]:
    """One row a household: its number, place, size and columns."""
    inside = np.flatnonzero(numbers)
    listed, first, sizes = np.unique(
        numbers[inside], return_index=True, return_counts=True
    )
    columns: dict[str, NDArray[Any]] = {households.key: listed}
    for name in (*release.design.hierarchy.columns, *households.columns):
        labels = np.array(release.design.schema.codecs[name].labels(), object)
        # All members share these columns, so any of them speaks for the household.
        columns[name] = labels[codes[name][inside[first]]]
    columns[SIZE_COLUMN] = sizes
    return columns


def _add_numbers(
    chunks: Iterator[dict[str, ColumnCells]], key: str, numbers: Integers
) -> Iterator[dict[str, ColumnCells]]:
    """Rows with the number of their household in front, empty outside of households."""
    start = 0
    for chunk in chunks:
        rows = len(next(iter(chunk.values())))
        here = numbers[start : start + rows]
        spelled = np.zeros(rows, np.uint8)
        cells = ColumnCells(Integer(name=key), here, here == 0, spelled)
        yield {key: cells, **chunk}
        start += rows
