"""Keys: rows gathered under generated persons, and the fresh numbers these are known
by.

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
        self._next = (
            int(rng.integers(MIN_KEY_START, MAX_KEY_START)) if schema.keys else 0
        )
        self._rows = self._next
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
        beside what it says. A person for whom none can is left as it was, and `split_persons`
        makes several of it.
        """
        constants, forbidden = (
            self.schema.constant_columns,
            self.schema.forbidden_predicates,
        )
        made = {
            name: DecodedCells(cells.index.copy(), cells.state.copy())
            for name, cells in rows.items()
        }
        open_ = np.arange(person.size)
        for turn in range(self.schema.unit.max_rows if forbidden else 1):
            speaks = representative_rows(person, turn)[open_]
            trial = {
                name: DecodedCells(cells.index[open_], cells.state[open_])
                for name, cells in rows.items()
            }
            for name in constants:
                trial[name] = DecodedCells(
                    rows[name].index[speaks], rows[name].state[speaks]
                )
            bad = np.zeros(open_.size, np.bool_)
            if forbidden:
                here = open_
                trial = repair_broken_values(
                    self.schema,
                    {name: column[here] for name, column in codes.items()},
                    trial,
                    self._rng,
                    redraw=lambda name, some, here=here: redraw(name, here[some]),  # type: ignore[misc]
                    pinned=constants,
                    inside=True,
                )
                bad = broken_rows(self.schema, trial, open_.size)
            lost = np.isin(person[open_], person[open_][bad])
            for name, cells in trial.items():
                made[name].index[open_[~lost]] = cells.index[~lost]
                made[name].state[open_[~lost]] = cells.state[~lost]
            open_ = open_[lost]
            if not open_.size:
                break
        return made

    def split_persons(
        self, rows: Mapping[str, DecodedCells], person: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The persons again, where a row that no longer agrees with its neighbour
        begins a new one.
        """
        fresh = np.diff(person, prepend=-1) != 0
        for name in self.schema.constant_columns:
            for part in (rows[name].index, rows[name].state.astype(np.int64)):
                fresh[1:] |= part[1:] != part[:-1]
        return np.cumsum(fresh) - 1

    def number_rows(
        self, person: NDArray[np.int64] | None, rows: int
    ) -> dict[str, NDArray[np.int64]]:
        """The keys of some rows, by column: one for each person, and one for each row
        where the key is not the unit's.
        """
        found = {}
        for name in self.schema.keys:
            if name == self.schema.unit.id and person is not None:
                found[name] = self._next + person
            else:
                found[name] = self._rows + np.arange(rows, dtype=np.int64)
        self._next += int(person[-1]) + 1 if person is not None and person.size else 0
        self._rows += rows
        return found


def key_column(column: Column) -> Integer:
    """What a generated key is: a whole number, in the type the original had where that
    can hold it.
    """
    return Integer(name=column.name, dtype=column.dtype, nullable=False)
