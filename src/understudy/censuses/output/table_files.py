"""A table of columns as a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.atomic import write_file_atomically
from understudy.schema.formula import guard_formula

TableColumns = Mapping[str, NDArray[Any]]
"""Columns of labels and numbers, by their titles."""


def write_table(table: TableColumns, path: Path) -> None:
    """Write a table whole or not at all."""
    columns = [_spell_column(values) for values in table.values()]
    with (
        write_file_atomically(path, private=False) as draft,
        draft.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file)
        writer.writerow([guard_formula(title) for title in table])
        writer.writerows(zip(*columns, strict=True))


def _spell_column(values: NDArray[Any]) -> list[Any]:
    """The cells of a column: labels guarded, numbers with three decimals at most."""
    if values.dtype == object:
        return [guard_formula(str(label)) for label in values]
    if values.dtype.kind == "f":
        return ["" if not np.isfinite(v) else f"{v:.3f}" for v in values]
    return list(values.tolist())
