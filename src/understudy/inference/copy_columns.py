"""What the columns of a CSV file of copies hold, so that it is read as it was written.

A file alone does not say that the label `NA` is no missing cell, that the postcode 00501
is no number, or that `nein` means no: a fit would lose rows or take labels for numbers,
and differ from one on the copies in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from understudy.inference.libraries import import_pandas
from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Integer,
    Lattice,
    Real,
    Schema,
)
from understudy.schema.formula import unguard_formula

TEXT_KIND, NUMBER_KIND, MOMENT_KIND = "text", "number", "moment"


def describe_columns(schema: Schema) -> dict[str, object]:
    """The kind of each column, and of yes and no the words; nothing of what occurs.

    >>> describe_columns(Schema(columns=(Integer(name="age", min=0, max=99),)))
    {'age': 'number'}
    """
    found: dict[str, object] = {}
    for column in schema.columns:
        match column:
            case Boolean():
                found[column.name] = column.truth_by_spelling
            case Integer() | Real():
                found[column.name] = NUMBER_KIND
            case Date() | Datetime():
                found[column.name] = MOMENT_KIND
            case Categorical() | Lattice():
                found[column.name] = TEXT_KIND
    return found


def read_typed_csv(path: Path, kinds: Mapping[str, object]) -> Any:
    """A CSV file as a pandas frame, its columns as described."""
    pandas = import_pandas()
    texts = pandas.read_csv(path, dtype="str", keep_default_na=False, na_values=[""])
    # A text that a spreadsheet would run was written with an apostrophe before it.
    frame = texts.rename(columns=unguard_formula)
    for name, kind in kinds.items():
        if name in frame:
            frame[name] = _read_column(frame[name], kind)
    return frame


def _read_column(texts: Any, kind: object) -> Any:
    pandas = import_pandas()
    if isinstance(kind, Mapping):
        truths = texts.str.lower().map(kind)
        # Without a missing cell they are plain truth values, as in memory.
        return truths.astype("boolean" if truths.isna().any() else "bool")
    if kind == NUMBER_KIND:
        # A word for a missing number is missing, as in memory.
        return pandas.to_numeric(texts, errors="coerce")
    if kind == MOMENT_KIND:
        return pandas.to_datetime(texts, errors="coerce", format="ISO8601")
    return texts.map(unguard_formula, na_action="ignore").astype("str")
