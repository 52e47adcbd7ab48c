"""A table with canaries in it, what is public about it, and how a command on it ended."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy.accounting.ledger import Ledger

CANARY = "canary-7f3a"
"""Stands in three cells of every table here; no message may show it."""

SCHEMA = """\
columns:
  age: {type: integer, min: 18, max: 90}
  sex: {type: categorical, values: [F, M]}
  smoker: {type: boolean}
  note: {type: text}
"""


@dataclass(frozen=True)
class Result:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Shell = Callable[..., Result]


def write_people(folder: Path) -> Path:
    """1,500 rows, with cells that should never be seen again."""
    rng = np.random.default_rng(11)
    rows = [
        f"{a},{s},{k},{t}"
        for a, s, k, t in zip(
            rng.integers(18, 91, 1_500),
            rng.choice(["F", "M"], 1_500),
            rng.choice(["yes", "no"], 1_500),
            rng.choice(["fine", "tired"], 1_500),
            strict=True,
        )
    ]
    rows[3], rows[40], rows[700] = (
        f"{CANARY},F,yes,fine",
        f"33,{CANARY},no,fine",
        f"44,M,{CANARY},{CANARY}",
    )
    path = folder / "people.csv"
    path.write_text("age,sex,smoker,note\n" + "\n".join(rows) + "\n")
    return path


def write_schema(folder: Path) -> Path:
    """What is public about it."""
    path = folder / "people.yaml"
    path.write_text(SCHEMA)
    return path


def spent(path: Path) -> float:
    """ε on an account; 0 where there is none."""
    if not path.exists():
        return 0.0
    with Ledger.open(path) as account:
        return float(account.totals().epsilon)


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, by their columns' names."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
