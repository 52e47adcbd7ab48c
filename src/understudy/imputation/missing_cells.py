"""Missing cells, imputed before a table is masked.

Each incomplete column is drawn given all the others, in turn and several times over
(chained equations: van Buuren, Groothuis-Oudshoorn, "mice", 2011). Parameters are drawn
too, so that m imputations differ by as much as is unknown. Copies masked from each of
them are combined by the nested rule: Reiter, "Simultaneous use of multiple imputation
for missing data and disclosure limitation", 2004.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.imputation.sequence import (
    TABLE_METHODS,
    ColumnPlan,
    fit_part,
    put_labels,
    put_numbers,
)
from understudy.imputation.tree import DonorLeaves
from understudy.schema import Lattice
from understudy.tables import ABSENT_PLACE, Records

IMPUTATION_SWEEPS = 5
"""Visits of each incomplete column: the default of the literature; missing cells forget
their start in two or three.
"""


def find_missing(records: Records, name: str) -> NDArray[np.bool_]:
    """Which cells of a column are missing."""
    if isinstance(records.schema[name], Lattice):
        return np.asarray(records.places[name] == ABSENT_PLACE)
    return records.absent(name)


def impute_cells(
    records: Records, method: str, leaves: DonorLeaves, rng: Generator
) -> Records:
    """The records with every missing cell drawn given the other columns."""
    missing = {name: find_missing(records, name) for name in records.codes}
    incomplete = {name: cells for name, cells in missing.items() if cells.any()}
    filled = records
    for name, cells in incomplete.items():
        if cells.all():
            raise Refused(
                f'mask: column "{name}" has no value at all, so none can be imputed.'
                " Leave it out"
            )
        # A first guess from the column alone, since predictors must be complete.
        known = _column_values(records, name)[~cells]
        filled = _put_cells(filled, name, cells, rng.choice(known, int(cells.sum())))
    for _ in range(IMPUTATION_SWEEPS):
        for name, cells in incomplete.items():
            drawn = _draw_cells(filled, name, cells, method, leaves, rng)
            filled = _put_cells(filled, name, cells, drawn)
    return filled


def _draw_cells(
    filled: Records,
    name: str,
    cells: NDArray[np.bool_],
    method: str,
    leaves: DonorLeaves,
    rng: Generator,
) -> NDArray[np.generic]:
    """A column's missing cells, by a model of those that are known."""
    is_number = isinstance(filled.schema[name], Lattice)
    numbers, labels = TABLE_METHODS[method]
    others = tuple(other for other in filled.codes if other != name)
    plan = ColumnPlan(
        name=name, method=numbers if is_number else labels, predictors=others
    )
    # Imputed cells must not teach the model that imputes them.
    known = filled.take(~cells)
    values = _column_values(known, name)
    part = fit_part(plan, known, values, is_number=is_number, leaves=leaves)
    drawn = part.draw_parameters(rng).draw(filled.take(cells), rng)
    return np.asarray(drawn)


def _column_values(records: Records, name: str) -> NDArray[np.float64 | np.int64]:
    if isinstance(records.schema[name], Lattice):
        return records.places[name].astype(np.float64)
    return records.codes[name].astype(np.int64)


def _put_cells(
    records: Records, name: str, cells: NDArray[np.bool_], drawn: NDArray[np.generic]
) -> Records:
    values = _column_values(records, name)
    values[cells] = drawn
    if not isinstance(records.schema[name], Lattice):
        return put_labels(records, name, values)
    # Cells that are still missing in this column are all being filled here.
    return put_numbers(records, name, values.astype(np.float64))
