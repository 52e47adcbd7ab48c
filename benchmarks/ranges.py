"""Where released numbers lie when nothing is declared: the share of released values
beyond the range of the real ones, and the share of real values that learned bounds clip.

    python benchmarks/ranges.py [--rows 300 1000 5000] [--epsilon 1] [--runs 3]

Ten made-up columns of kinds that most tables have: months, ratings with one decimal,
ages, years, dates over three years, counts, times as HHMM, an answer from 1 to 5 with
the missing code -99, another with 9, and amounts. Types, bounds and bins are learned
within ε by `adaptive`, small tables too (`anyway`). A column that comes back empty is
printed as "lost". Means over the runs, in percent: beyond / clipped.
"""

from __future__ import annotations

import argparse
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import pandas
from numpy.random import Generator

import understudy as us
from understudy.releases import Release
from understudy.schema import Lattice

FIRST_DAY = "2021-03-01"
DAYS = 3 * 365


def make_table(rows: int, rng: Generator) -> pandas.DataFrame:
    """One column of each kind."""
    answers = rng.integers(1, 6, rows)
    age = np.clip(rng.gamma(4, 11, rows), 0, 95).astype(int)
    minutes = np.clip(rng.normal(13 * 60, 240, rows), 0, 1439).astype(int)
    day = pandas.Timestamp(FIRST_DAY)
    return pandas.DataFrame(
        {
            "month": rng.integers(1, 13, rows),
            "rating": np.clip(rng.normal(6.5, 1.8, rows), 0, 10).round(1),
            "age": age,
            "year": rng.integers(1950, 2025, rows),
            "date": [
                (day + pandas.Timedelta(days=int(d))).date().isoformat()
                for d in rng.integers(0, DAYS, rows)
            ],
            "count": rng.negative_binomial(1, 0.25, rows),
            "hhmm": 100 * (minutes // 60) + minutes % 60,
            "minus99": np.where(rng.random(rows) < 0.08, -99, answers),
            "nine": np.where(rng.random(rows) < 0.08, 9, answers),
            "amount": np.exp(rng.normal(4, 1, rows)).round(2),
        }
    )


def number(values: pandas.Series) -> pandas.Series:
    """Values as numbers; dates as days."""
    if values.name == "date":
        dates = pandas.to_datetime(values, errors="coerce")
        return (dates - pandas.Timestamp(FIRST_DAY)).dt.days
    return pandas.to_numeric(values, errors="coerce")


def compare(
    real: pandas.DataFrame, release: Release, seed: int
) -> dict[str, tuple[float, float] | None]:
    """For each column the shares beyond the real range and clipped; None where the
    column is lost.
    """
    synthetic = release.sample(len(real), seed=seed).to_pandas()
    found: dict[str, tuple[float, float] | None] = {}
    for name in real:
        column = release.schema[name]
        if column.is_lost:
            found[name] = None
            continue
        mine = number(real[name])
        theirs = number(synthetic[name]).dropna()
        beyond = float(((theirs < mine.min()) | (theirs > mine.max())).mean())
        found[name] = beyond, clipped_share(mine, column)
    return found


def bound_number(bound: object) -> float:
    """A bound as a number; a date as days."""
    if isinstance(bound, date):
        return float((bound - date.fromisoformat(FIRST_DAY)).days)
    return float(bound)  # type: ignore[arg-type]


def clipped_share(values: pandas.Series, column: object) -> float:
    """The share of real values beyond learned bounds; missing codes are not clipped."""
    if not isinstance(column, Lattice):
        return 0.0
    low, high = (bound_number(bound) for bound in (column.min, column.max))
    coded = values.isin([float(code) for code in column.missing])
    return float((((values < low) | (values > high)) & ~coded).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000, 5000])
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    table: dict[str, dict[str, str]] = {}
    for rows in options.rows:
        results: dict[str, list[tuple[float, float] | None]] = {}
        for seed in range(options.runs):
            real = make_table(rows, np.random.default_rng(seed))
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "made.csv")
                real.to_csv(path, index=False)
                release = us.synthesize(
                    path, epsilon=options.epsilon, anyway=True, seed=seed
                )
            for name, shares in compare(real, release, seed).items():
                results.setdefault(name, []).append(shares)
        table[f"{rows:,} rows"] = {
            name: summarise(found) for name, found in results.items()
        }
    print(pandas.DataFrame(table).to_string())


def summarise(found: list[tuple[float, float] | None]) -> str:
    known = [shares for shares in found if shares is not None]
    lost = len(found) - len(known)
    if not known:
        return "lost"
    beyond, clipped = 100 * np.mean(known, axis=0)
    note = f" ({lost} lost)" if lost else ""
    return f"{beyond:.1f} / {clipped:.1f}{note}"


if __name__ == "__main__":
    main()
