"""How often intervals from a private release hold: `release.infer` beside reading one
synthetic table as real rows.

    python benchmarks/coverage.py --rows 2000 --epsilon 1 --synthesizer gaussian --runs 60

A made population: five ages, two sexes, five schools, a yes or no by a logistic model
of all three. Seven coefficients (a logistic and a linear regression), 95 % intervals.
Printed: the share of intervals that hold the population's coefficient, for each of
them and together, the same for naive intervals, and the mean width beside the naive one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

import understudy as us

SCHEMA = us.Schema.parse(
    """
columns:
  age: {type: integer, min: 0, max: 5, nullable: false}
  sex: {type: categorical, values: [F, M], nullable: false}
  school: {type: integer, min: 0, max: 4, nullable: false}
  rich: {type: integer, min: 0, max: 1, nullable: false}
"""
)
POPULATION_ROWS = 1_000_000
MODELS = (("rich ~ age + sex + school", "binomial"), ("school ~ age + sex", "gaussian"))


def draw_people(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    age = rng.choice(6, rows, p=[0.1, 0.2, 0.25, 0.2, 0.15, 0.1])
    sex = rng.integers(2, size=rows)
    school = np.clip(np.rint(1 + 0.3 * age + rng.normal(0, 1, rows)), 0, 4).astype(int)
    odds = -2 + 0.3 * age + 0.6 * sex + 0.3 * school
    rich = (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(int)
    labels = np.where(sex == 1, "M", "F")
    return pd.DataFrame({"age": age, "sex": labels, "school": school, "rich": rich})


def find_truths() -> list[pd.Series]:
    people = draw_people(np.random.default_rng(0), POPULATION_ROWS)
    rich, school = (formula for formula, _ in MODELS)
    return [
        smf.logit(rich, people).fit(disp=0).params,
        smf.ols(school, people).fit().params,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--synthesizer", default="gaussian")
    parser.add_argument("--runs", type=int, default=60)
    options = parser.parse_args()
    truths = find_truths()
    frames, refused, seconds = [], 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for run in range(options.runs):
            people = draw_people(np.random.default_rng(1000 + run), options.rows)
            release = us.synthesize(
                people,
                schema=SCHEMA,
                epsilon=options.epsilon,
                delta=1e-9,
                synthesizer=options.synthesizer,
                workload="pairs",
                ledger=Path(folder) / f"{run}.ledger",
            )
            start = time.process_time()
            try:
                found = [
                    release.infer(formula, family=family).to_frame()
                    for formula, family in MODELS
                ]
            except us.UnderstudyError:
                refused += 1
                continue
            seconds += time.process_time() - start
            for frame, truth in zip(found, truths, strict=True):
                frames.append(frame.assign(truth=truth))
    together = pd.concat(frames)
    holds = (together.low <= together.truth) & (together.truth <= together.high)
    naive = (together.naive_low <= together.truth) & (
        together.truth <= together.naive_high
    )
    width = (together.high - together.low) / (together.naive_high - together.naive_low)
    error = np.sqrt(0.95 * 0.05 / len(together))
    print(holds.groupby(level=0).mean().round(3).to_string())
    print(
        f"{options.synthesizer}, {options.rows:,} rows, ε = {options.epsilon:g}: hold"
        f" {holds.mean():.3f} ± {error:.3f}, naive {naive.mean():.3f}, {width.mean():.2f}"
        f" times as wide, {refused} of {options.runs} refused,"
        f" {seconds / max(options.runs - refused, 1):.2f} s a release"
    )


if __name__ == "__main__":
    main()
