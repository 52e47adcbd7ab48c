"""The list of risks, person by person, for the custodian of a table alone. INTERNAL: it
says who can be found.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.atomic import write_file_atomically
from understudy.evaluation.risk.matching import (
    QuasiIdentifiers,
    RiskLevel,
    assign_risk_groups,
    match_radii,
)
from understudy.imputation.masked_table import MaskedTable


@dataclass(frozen=True, eq=False)
class RecordRisks:
    """For each person, in the order of the rows: the number of their row, from 1, how
    exposed they are in the original (`levels`), the `chances` of picking their row in
    the copies together, and whether they are `found` alone and rightly. Nobody can look
    for a value that is missing: people who lack one are not listed.
    """

    rows: NDArray[np.int64]
    levels: NDArray[np.int64]
    chances: NDArray[np.float64]
    found: NDArray[np.bool_]

    def write(self, path: str | Path) -> None:
        """Write the list as CSV, the most exposed first; only its owner can read it."""
        # lexsort sorts by its last key first: found for certain, then by chance.
        order = np.lexsort((-self.chances, ~self.found))
        with (
            write_file_atomically(Path(path), private=True) as draft,
            draft.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["row", "level", "match_chance", "found_for_certain"])
            for i in order.tolist():
                level = RiskLevel(self.levels[i]).name.lower()
                chance = f"{self.chances[i]:.6f}"
                is_found = str(bool(self.found[i])).lower()
                writer.writerow([self.rows[i], level, chance, is_found])


def list_risks(
    masked: MaskedTable, *, radius: Mapping[str, float] | None = None
) -> RecordRisks:
    """The risk of each person whose row was masked, from all copies together."""
    columns = masked.replaced_columns
    matches = masked.match_copies(radius=radius)
    targets = QuasiIdentifiers.of(masked.original, columns)
    radii = match_radii(masked.original.schema, columns, radius)
    levels = assign_risk_groups(targets, radii)
    known = masked.find_known(columns)
    return RecordRisks(
        rows=np.flatnonzero(known) + 1,
        levels=levels[known],
        chances=matches.own if masked.is_aligned else matches.belief,
        found=(matches.ties == 1) & matches.right,
    )
