"""Generated keys: rows are grouped into generated persons, and each person or row gets a
new number.

A key is a whole number that counts up from a random start of 16 digits: unique in one
sample, and taken from no table.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.models.rules.repair_values import (
    RedrawValues,
    broken_rows,
    repair_broken_values,
)
from understudy.models.sampling.persons import (
    MAX_KEY_START,
    MIN_KEY_START,
    gather_persons,
    representative_rows,
)
from understudy.schema import Column, DecodedCells, Integer, Schema

Codes = Mapping[str, NDArray[np.integer]]


class KeyGenerator:
    """Hands out keys for one sample, chunk after chunk."""

    def __init__(self, schema: Schema, rng: Generator) -> None:
        self.schema = schema
        self._rng = rng
        # Drawn only if there are keys: a draw more would change all rows of a seed.
        start = int(rng.integers(MIN_KEY_START, MAX_KEY_START)) if schema.keys else 0
        self._next_person = self._next_row = start
        self.has_persons = schema.unit.id in schema.keys

    def gather_rows(self, codes: Codes, rows: int) -> tuple[Codes, NDArray[np.int64]]:
        """The rows with each person's together, and the number of the person each
        belongs to.
        """
        sizes = self.schema.unit.sizes or (1,)
        order, person = gather_persons(
            codes, self.schema.constant_columns, sizes, rows, self._rng
        )
        return {name: column[order] for name, column in codes.items()}, person

    def make_constants_agree(
        self,
        codes: Codes,
        rows: Mapping[str, DecodedCells],
        person: NDArray[np.int64],
        redraw: RedrawValues,
    ) -> dict[str, DecodedCells]:
        """The rows with every constant column as one row of the person has it, and
        every rule kept.

        Each row of a person speaks for it in turn, until the others can keep the rules
        with its values. A person for whom no row can is left as it was, and
        `split_persons` makes several persons of it.
        """
        has_rules = bool(self.schema.forbidden_predicates)
        agreed = {
            name: DecodedCells(cells.index.copy(), cells.state.copy())
            for name, cells in rows.items()
        }
        pending = np.arange(person.size)
        # Without rules nothing can break, so the first row may speak for its person.
        for turn in range(self.schema.unit.max_rows if has_rules else 1):
            speakers = representative_rows(person, turn)[pending]
            trial = self._copy_constants(rows, pending, speakers)
            is_broken = np.zeros(pending.size, np.bool_)
            if has_rules:
                trial = self._repair_trial(codes, trial, pending, redraw)
                is_broken = broken_rows(self.schema, trial, pending.size)
            # A person keeps a trial only if all of its rows keep the rules.
            persons = person[pending]
            is_open = np.isin(persons, persons[is_broken])
            settled = pending[~is_open]
            for name, cells in trial.items():
                agreed[name].index[settled] = cells.index[~is_open]
                agreed[name].state[settled] = cells.state[~is_open]
            pending = pending[is_open]
            if not pending.size:
                break
        return agreed

    def _copy_constants(
        self,
        rows: Mapping[str, DecodedCells],
        here: NDArray[np.int64],
        speakers: NDArray[np.int64],
    ) -> dict[str, DecodedCells]:
        """Some rows, with constant columns as the rows that speak for them have them."""
        constants = self.schema.constant_columns
        trial = {}
        for name, cells in rows.items():
            source = speakers if name in constants else here
            trial[name] = DecodedCells(cells.index[source], cells.state[source])
        return trial

    def _repair_trial(
        self,
        codes: Codes,
        trial: dict[str, DecodedCells],
        here: NDArray[np.int64],
        redraw: RedrawValues,
    ) -> dict[str, DecodedCells]:
        """Move values inside their bins, constant ones apart, until rules are kept."""

        def redraw_here(name: str, some: NDArray[np.int64]) -> NDArray[np.int64]:
            return redraw(name, here[some])

        return repair_broken_values(
            self.schema,
            {name: column[here] for name, column in codes.items()},
            trial,
            self._rng,
            redraw=redraw_here,
            pinned=self.schema.constant_columns,
            inside=True,
        )

    def split_persons(
        self, rows: Mapping[str, DecodedCells], person: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The persons again; a row that disagrees with the row before it begins a new
        one.
        """
        # Rows of a person are neighbours, so it is enough to look at the row before.
        fresh = np.diff(person, prepend=-1) != 0
        for name in self.schema.constant_columns:
            for part in (rows[name].index, rows[name].state.astype(np.int64)):
                fresh[1:] |= part[1:] != part[:-1]
        return np.cumsum(fresh) - 1

    def number_rows(
        self, person: NDArray[np.int64] | None, rows: int
    ) -> dict[str, NDArray[np.int64]]:
        """The keys of some rows, by column: one for each person, and one for each row
        if the key is not the unit's.
        """
        keys = {}
        for name in self.schema.keys:
            if name == self.schema.unit.id and person is not None:
                keys[name] = self._next_person + person
            else:
                keys[name] = self._next_row + np.arange(rows, dtype=np.int64)
        if person is not None and person.size:
            self._next_person += int(person[-1]) + 1
        self._next_row += rows
        return keys


def key_column(column: Column) -> Integer:
    """The column of a generated key: whole numbers, in the original's type if that can
    hold them.
    """
    return Integer(name=column.name, dtype=column.dtype, nullable=False)
