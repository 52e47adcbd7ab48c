"""Tables for the tests of comparisons: mixed types, missing cells, an order, a
constraint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from understudy.schema import (
    Boolean,
    Categorical,
    Integer,
    Real,
    Schema,
    parse_predicate,
)
from understudy.tables import Table, open_table

SCHEMA = Schema(
    columns=(
        Integer(name="age", min=0, max=99),
        Categorical(name="sex", values=("F", "M"), nullable=False),
        Categorical(
            name="school",
            values=("none", "low", "high"),
            ordered=True,
            missing=("refused",),
        ),
        Real(name="income", min=0, max=1000, step=1),
        Boolean(name="married"),
    ),
    impossible=(parse_predicate("age < 15 and married = true"),),
)

Row = tuple[object, ...]


def made(n: int, seed: int, *, related: bool = True) -> list[Row]:
    """Rows in which school, income and marriage go with age; or, not `related`, with
    nothing.
    """
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for _ in range(n):
        age = int(rng.integers(0, 100))
        base = age if related else int(rng.integers(0, 100))
        school = ("none", "low", "high")[
            min(2, max(0, int((base + rng.normal(0, 15)) // 34)))
        ]
        income = float(np.clip(round(5 * base + rng.normal(0, 60)), 0, 1000))
        married = bool(rng.random() < base / 130) and age >= 15
        rows.append(
            (
                None if rng.random() < 0.05 else age,
                str(rng.choice(["F", "M"])),
                "refused" if rng.random() < 0.03 else school,
                income,
                married,
            )
        )
    return rows


def table(rows: Sequence[Row], schema: Schema = SCHEMA) -> Table:
    types = {"integer": pa.int64(), "real": pa.float64(), "boolean": pa.bool_()}
    columns = list(zip(*rows, strict=True)) if rows else [[] for _ in schema.columns]
    arrays = {
        column.name: pa.array(list(cells), types.get(column.type, pa.string()))
        for column, cells in zip(schema.columns, columns, strict=True)
    }
    return Table(open_table(pa.table(arrays)), schema)


@dataclass(frozen=True)
class Counts:
    """A table that is nothing but a joint table of counts, for cases worked out by
    hand.
    """

    names: tuple[str, ...]
    joint: np.ndarray

    def counts(self, cliques: Sequence[tuple[str, ...]]) -> list[np.ndarray]:
        found = []
        for clique in cliques:
            gone = tuple(i for i, name in enumerate(self.names) if name not in clique)
            kept = [name for name in self.names if name in clique]
            found.append(
                self.joint.sum(axis=gone).transpose(
                    [kept.index(name) for name in clique]
                )
            )
        return found

    def sparse_counts(self, clique: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        (dense,) = self.counts([clique])
        return np.argwhere(dense), dense[np.nonzero(dense)]
