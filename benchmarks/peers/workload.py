"""Fifty questions as an office asks them, in a form that every peer's script translates,
and the table that they are about.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BOUNDS = {"age": (0, 99), "children": (0, 9), "income": (0, 100_000), "visits": (0, 50)}
"""The public bounds of columns of numbers."""

LABELS = {
    "sex": ["F", "M"],
    "region": ["North", "South", "East", "West"],
    "work": ["none", "part", "full"],
}
"""The public labels of the others."""


@dataclass(frozen=True)
class Question:
    """A count, or the sum, mean or median of a column, by groups, where conditions
    `(column, sign, constant)` hold.
    """

    kind: str
    column: str = ""
    by: tuple[str, ...] = ()
    where: tuple[tuple[str, str, int | str], ...] = ()

    def to_sql(self, table: str) -> str:
        """It in SQL; the number is called x."""
        name = {"count": "COUNT(*)", "sum": "SUM", "mean": "AVG", "median": "MEDIAN"}
        number = name[self.kind] + (f"({self.column})" if self.column else "")
        text = f"SELECT {', '.join([*self.by, number])} AS x FROM {table}"
        tests = [
            f"{column} {sign} {constant!r}" for column, sign, constant in self.where
        ]
        if tests:
            text += f" WHERE {' AND '.join(tests)}"
        return text + (f" GROUP BY {', '.join(self.by)}" if self.by else "")


def list_questions() -> list[Question]:
    """The workload: 24 counts, 10 sums, 12 means, 4 medians."""
    asked = [Question("count")]
    asked += [Question("count", by=(name,)) for name in LABELS]
    asked += [
        Question("count", by=pair)
        for pair in (("sex", "region"), ("sex", "work"), ("region", "work"))
    ]
    asked += [
        Question("count", where=(("age", ">=", age),)) for age in (18, 40, 65, 80)
    ]
    asked += [
        Question("count", where=(("income", "<", limit),))
        for limit in (10_000, 20_000, 40_000, 80_000)
    ]
    asked += [
        Question("count", by=("sex",), where=(("age", ">=", age),)) for age in (40, 65)
    ]
    asked += [
        Question("count", where=(("region", "=", label), ("age", ">=", 65)))
        for label in LABELS["region"]
    ]
    asked += [
        Question("count", by=("work",), where=(("children", ">=", 1),)),
        Question("count", by=("region",), where=(("income", "<", 20_000),)),
        Question("count", where=(("visits", ">", 20), ("age", "<", 40))),
    ]
    for kind in ("sum", "mean"):
        asked += [Question(kind, name) for name in ("income", "visits", "children")]
        asked += [Question(kind, "income", by=(name,)) for name in LABELS]
        asked += [Question(kind, "visits", by=("sex",))]
        asked += [Question(kind, "visits", where=(("age", ">=", 65),))]
        asked += [Question(kind, "income", where=(("work", "=", "full"),))]
        asked += [Question(kind, "children", by=("region",))]
    asked += [Question("mean", "age"), Question("mean", "age", by=("region",))]
    asked += [Question("median", name) for name in ("age", "income", "visits")]
    asked += [Question("median", "age", where=(("sex", "=", "F"),))]
    return asked


def make_rows(rows: int, seed: int = 1) -> dict[str, np.ndarray]:
    """People whose columns depend on each other a little."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(5.0, 8.5, rows), 0, 99).astype(np.int64)
    labels = {
        name: np.array(labels)[rng.choice(len(labels), rows, p=_shares(len(labels)))]
        for name, labels in LABELS.items()
    }
    is_full = labels["work"] == "full"
    income = rng.lognormal(10.0 + 0.5 * is_full, 0.6, rows)
    return {
        **labels,
        "age": age,
        "children": np.clip(rng.poisson(1.1, rows), 0, 9).astype(np.int64),
        "income": np.clip(income, 0, 100_000).astype(np.int64),
        "visits": np.clip(rng.poisson(2 + age / 12), 0, 50).astype(np.int64),
    }


def _shares(size: int) -> np.ndarray:
    weights = 1.0 / np.arange(1, size + 1) ** 0.5
    return weights / weights.sum()
