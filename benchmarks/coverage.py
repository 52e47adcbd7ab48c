"""How often intervals from a private release hold: `release.infer` beside reading one
synthetic table as real rows.

    python benchmarks/coverage.py --population pairs --rows 2000 --epsilon 1 --runs 60
    python benchmarks/coverage.py --data DIR --runs 20    every population, rows and ε

Populations with known coefficients:

    pairs         six ages, two sexes, five schools, a yes or no by a logistic model
    triple        the same with a term of three columns that the formula leaves out
    interactions  a logistic model with age:sex, which the formula has
    adult         seven coarse columns of Adult, drawn from the file with replacement:
                  needs --data DIR with adult-coded.csv

Releases are made with the workload `model=FORMULA` for each formula. Printed for each
setting: the share of 95 % intervals that hold the population's coefficient with its
standard error over runs, the same of the intercept of the logistic model and of the
coefficient that is held least often, the share called measured, naive intervals, and the mean width beside naive.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import understudy as us
from understudy.inference.regression import fit_regression

MADE_SCHEMA = us.Schema.parse(
    """
columns:
  age: {type: integer, min: 0, max: 5, nullable: false}
  sex: {type: categorical, values: [F, M], nullable: false}
  school: {type: integer, min: 0, max: 4, nullable: false}
  rich: {type: integer, min: 0, max: 1, nullable: false}
"""
)
ADULT_SCHEMA = us.Schema.parse(
    """
columns:
  age: {type: integer, min: 0, max: 3, nullable: false}
  school: {type: integer, min: 0, max: 3, nullable: false}
  married: {type: integer, min: 0, max: 1, nullable: false}
  race: {type: integer, min: 0, max: 1, nullable: false}
  sex: {type: integer, min: 0, max: 1, nullable: false}
  hours: {type: integer, min: 0, max: 3, nullable: false}
  rich: {type: integer, min: 0, max: 1, nullable: false}
"""
)
POPULATION_ROWS = 1_000_000
Formulas = tuple[tuple[str, str], ...]
MAIN_FORMULAS: Formulas = (
    ("rich ~ age + sex + school", "binomial"),
    ("school ~ age + sex", "gaussian"),
)
INTERACTION_FORMULAS: Formulas = (("rich ~ age * sex + school", "binomial"),)
ADULT_FORMULAS: Formulas = (
    ("rich ~ age + school + married + race + sex + hours", "binomial"),
    ("hours ~ age + sex + married", "gaussian"),
)
FULL_ROWS = (2_000, 10_000, 50_000)
FULL_EPSILONS = (0.3, 1.0, 3.0)


@dataclass(frozen=True)
class Case:
    """A population: how rows are drawn from it, and what is asked of it."""

    name: str
    schema: us.Schema
    formulas: Formulas
    draw: Callable[[np.random.Generator, int], pd.DataFrame]
    everyone: Callable[[], pd.DataFrame]

    def find_truths(self) -> list[pd.Series]:
        """The coefficients of the whole population."""
        people = self.everyone()
        return [fit_regression(f, people, family).params for f, family in self.formulas]


def draw_people(
    rng: np.random.Generator, rows: int, *, triple: float = 0.0, joint: float = 0.0
) -> pd.DataFrame:
    age = rng.choice(6, rows, p=[0.1, 0.2, 0.25, 0.2, 0.15, 0.1])
    sex = rng.integers(2, size=rows)
    school = np.clip(np.rint(1 + 0.3 * age + rng.normal(0, 1, rows)), 0, 4).astype(int)
    odds = -2 + 0.3 * age + 0.6 * sex + 0.3 * school
    odds = odds + joint * age * sex + triple * (age - 2.5) * (sex - 0.5) * (school - 2)
    rich = (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(int)
    labels = np.where(sex == 1, "M", "F")
    return pd.DataFrame({"age": age, "sex": labels, "school": school, "rich": rich})


def make_case(name: str, formulas: Formulas, **terms: float) -> Case:
    @cache
    def everyone() -> pd.DataFrame:
        return draw_people(np.random.default_rng(0), POPULATION_ROWS, **terms)

    def draw(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        return draw_people(rng, rows, **terms)

    return Case(name, MADE_SCHEMA, formulas, draw, everyone)


def make_adult_case(folder: Path | None) -> Case | None:
    path = None if folder is None else folder / "adult-coded.csv"
    if path is None or not path.is_file():
        print("adult: left out, because --data has no adult-coded.csv")
        return None
    coded = pd.read_csv(path)
    people = pd.DataFrame(
        {
            "age": coded["age"] // 8,
            "school": coded["education-num"] // 4,
            "married": (coded["marital-status"] == 2).astype(int),
            "race": (coded["race"] == 0).astype(int),
            "sex": coded["sex"],
            "hours": coded["hours-per-week"] // 8,
            "rich": coded["income>50K"],
        }
    )

    def draw(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        return people.iloc[rng.integers(len(people), size=rows)].reset_index(drop=True)

    return Case("adult", ADULT_SCHEMA, ADULT_FORMULAS, draw, lambda: people)


def list_cases(folder: Path | None) -> Iterator[Case]:
    yield make_case("pairs", MAIN_FORMULAS)
    yield make_case("triple", MAIN_FORMULAS, triple=0.3)
    yield make_case("interactions", INTERACTION_FORMULAS, joint=0.2)
    adult = make_adult_case(folder)
    if adult is not None:
        yield adult


def run_setting(
    case: Case, rows: int, epsilon: float, runs: int, synthesizer: str
) -> pd.DataFrame:
    """One row a run and coefficient: its interval, the naive one, and the truth."""
    truths = case.find_truths()
    frames = []
    with tempfile.TemporaryDirectory() as folder:
        for run in range(runs):
            release = us.synthesize(
                case.draw(np.random.default_rng(1000 + run), rows),
                schema=case.schema,
                epsilon=epsilon,
                delta=1e-9,
                synthesizer=synthesizer,
                workload=[f"model={formula}" for formula, _ in case.formulas],
                ledger=Path(folder) / f"{run}.ledger",
            )
            for (formula, family), truth in zip(case.formulas, truths, strict=True):
                began = time.process_time()
                found = release.infer(formula, family=family).to_frame()
                seconds = time.process_time() - began
                frames.append(
                    found.assign(
                        truth=truth, run=run, family=family, seconds=seconds
                    ).reset_index(names="coefficient")
                )
    return pd.concat(frames)


def describe_setting(found: pd.DataFrame) -> dict[str, object]:
    """Shares of intervals that hold, with standard errors over runs."""
    is_held = (found.low <= found.truth) & (found.truth <= found.high)
    naive = (found.naive_low <= found.truth) & (found.truth <= found.naive_high)
    by_run = is_held.groupby(found.run).mean()
    by_name = is_held.groupby([found.family, found.coefficient]).mean()
    width = (found.high - found.low) / (found.naive_high - found.naive_low)
    error = (found.estimate - found.truth) / found.std_error
    bias = error.groupby([found.family, found.coefficient]).mean()
    return {
        "hold": round(by_run.mean(), 3),
        "±": round(by_run.std() / np.sqrt(len(by_run)), 3),
        "measured": round((found.basis == "measured").mean(), 2),
        "intercept": round(by_name["binomial"]["Intercept"], 3),
        "least": round(by_name.min(), 3),
        "bias / error": round(float(bias.abs().max()), 2),
        "naive": round(naive.mean(), 3),
        "width / naive": round(width.mean(), 2),
        "seconds": round(found.seconds.mean(), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--population", action="append", help="one of them; default all"
    )
    parser.add_argument("--rows", type=int, action="append")
    parser.add_argument("--epsilon", type=float, action="append")
    parser.add_argument("--synthesizer", default="gaussian")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--data", type=Path, help="a folder with adult-coded.csv")
    options = parser.parse_args()
    for case in list_cases(options.data):
        if options.population and case.name not in options.population:
            continue
        for rows in options.rows or FULL_ROWS:
            for epsilon in options.epsilon or FULL_EPSILONS:
                found = run_setting(
                    case, rows, epsilon, options.runs, options.synthesizer
                )
                facts = describe_setting(found)
                words = ", ".join(f"{key} {value}" for key, value in facts.items())
                print(
                    f"{case.name}, {rows:,} rows, ε = {epsilon:g}, {options.runs} runs:"
                    f" {words}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
