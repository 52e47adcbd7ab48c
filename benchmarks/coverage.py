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
    acs           seven coarse columns of adults in the American Community Survey,
                  likewise: needs --data DIR with acs-ma2019.csv
    sparse        of the same people race, sex and a disability: in the group that
                  others are compared with, 16 of 10,000 people have it

Releases are made with the workload `model=FORMULA` for each formula. Printed for each
setting: the share of 95 % intervals that hold the population's coefficient with its
standard error over runs, the same of the intercept of the logistic model and of the
coefficient that is held least often, the share called measured, how often intervals
called so hold, and the least held of the coefficients that mostly are, naive intervals, the mean width beside naive, and the largest median
width of a coefficient called measured beside an oracle's: 2 · 1.96 standard deviations
of the estimates over runs.

    python benchmarks/coverage.py --napsu --runs 200

prints the problem on which NAPSU-MQ was shown (Räisä, Jälkö, Kaski, Honkela 2023): two
fair coins x1 and x2, y by a logistic model of x1, 2,000 rows, δ = 1/2,000², all three
columns measured together under replace, and beside it what its package twinify gave.

With --keep DIR releases stay in a folder, run by run over all settings, and are read
from there the next time: a long table can be stopped, taken up, and made again after a
change of the estimates.
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
ACS_SCHEMA = us.Schema.parse(
    """
columns:
  age: {type: integer, min: 0, max: 3, nullable: false}
  school: {type: integer, min: 0, max: 3, nullable: false}
  married: {type: integer, min: 0, max: 1, nullable: false}
  sex: {type: integer, min: 0, max: 1, nullable: false}
  owner: {type: integer, min: 0, max: 1, nullable: false}
  disabled: {type: integer, min: 0, max: 1, nullable: false}
  rich: {type: integer, min: 0, max: 1, nullable: false}
"""
)
SPARSE_SCHEMA = us.Schema.parse(
    """
columns:
  race: {type: categorical, values: [asian, black, other, white], nullable: false}
  sex: {type: integer, min: 0, max: 1, nullable: false}
  disabled: {type: integer, min: 0, max: 1, nullable: false}
"""
)
SPARSE_FORMULAS: Formulas = (("disabled ~ race + sex", "binomial"),)
ACS_FORMULAS: Formulas = (
    ("rich ~ age + school + married + sex + owner + disabled", "binomial"),
    ("school ~ age + sex + owner", "gaussian"),
)
COIN_SCHEMA = us.Schema.parse(
    """
columns:
  x1: {type: integer, min: 0, max: 1, nullable: false}
  x2: {type: integer, min: 0, max: 1, nullable: false}
  y: {type: integer, min: 0, max: 1, nullable: false}
"""
)
COIN_ROWS = 2_000
COIN_TRUTH = np.array([1.0, 0.0])
NAPSU_COVERAGE = {0.25: (0.94, 0.96), 0.5: (0.98, 0.94), 1.0: (0.95, 0.91)}
NAPSU_WIDTHS = {0.25: (0.77, 0.63), 0.5: (0.49, 0.42), 1.0: (0.38, 0.33)}
"""Of x1 and x2 over 100 runs of the authors' program, with 100 synthetic tables each."""

FULL_ROWS = (2_000, 10_000, 50_000)
FULL_EPSILONS = (0.3, 1.0, 3.0)


@dataclass(frozen=True, eq=False)
class Case:
    """A population: how rows are drawn from it, and what is asked of it."""

    name: str
    schema: us.Schema
    formulas: Formulas
    draw: Callable[[np.random.Generator, int], pd.DataFrame]
    everyone: Callable[[], pd.DataFrame]

    def find_truths(self) -> list[pd.Series]:
        """The coefficients of the whole population."""
        return _find_truths(self)


@cache
def _find_truths(case: Case) -> list[pd.Series]:
    people = case.everyone()
    return [fit_regression(f, people, family).params for f, family in case.formulas]


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


def read_adult(path: Path) -> pd.DataFrame:
    coded = pd.read_csv(path)
    return pd.DataFrame(
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


def read_acs(path: Path) -> pd.DataFrame:
    survey = pd.read_csv(path, na_values="N")
    adults = survey[(survey["AGEP"] >= 18) & survey["PINCP"].notna()]
    return pd.DataFrame(
        {
            "age": ((adults["AGEP"] - 18) // 20).clip(upper=3),
            "school": np.digitize(adults["EDU"], [5, 7, 9]),
            "married": (adults["MSP"] == 1).astype(int),
            "sex": adults["SEX"] - 1,
            "owner": (adults["OWN_RENT"] == 1).astype(int),
            "disabled": (adults["DPHY"] == 1).astype(int),
            "rich": (adults["PINCP"] >= 50_000).astype(int),
        }
    ).reset_index(drop=True)


def read_sparse(path: Path) -> pd.DataFrame:
    survey = pd.read_csv(path, na_values="N")
    adults = survey[(survey["AGEP"] >= 18) & survey["PINCP"].notna()]
    races = adults["RAC1P"].map({1: "white", 2: "black", 6: "asian"})
    return pd.DataFrame(
        {
            "race": races.fillna("other"),
            "sex": adults["SEX"] - 1,
            "disabled": (adults["DPHY"] == 1).astype(int),
        }
    ).reset_index(drop=True)


def make_file_case(
    path: Path,
    name: str,
    schema: us.Schema,
    formulas: Formulas,
    read: Callable[[Path], pd.DataFrame],
) -> Case | None:
    """A population that is a file; its rows are drawn with replacement."""
    if not path.is_file():
        print(f"{name}: left out, because --data has no {path.name}")
        return None
    people = read(path)

    def draw(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        return people.iloc[rng.integers(len(people), size=rows)].reset_index(drop=True)

    return Case(name, schema, formulas, draw, lambda: people)


def list_cases(folder: Path | None) -> Iterator[Case]:
    yield make_case("pairs", MAIN_FORMULAS)
    yield make_case("triple", MAIN_FORMULAS, triple=0.3)
    yield make_case("interactions", INTERACTION_FORMULAS, joint=0.2)
    data = folder or Path()
    adult = data / "adult-coded.csv", "adult", ADULT_SCHEMA, ADULT_FORMULAS, read_adult
    acs = data / "acs-ma2019.csv", "acs", ACS_SCHEMA, ACS_FORMULAS, read_acs
    sparse = acs[0], "sparse", SPARSE_SCHEMA, SPARSE_FORMULAS, read_sparse
    for case in map(make_file_case, *zip(adult, acs, sparse, strict=True)):
        if case is not None:
            yield case


@dataclass(frozen=True)
class Setting:
    """A population, a number of rows and a budget."""

    case: Case
    rows: int
    epsilon: float
    synthesizer: str = "gaussian"

    def make_release(self, run: int, folder: Path) -> us.Release:
        """The release of one run, from the folder if it is there."""
        name = f"{self.case.name}-{self.rows}-{self.epsilon:g}-{self.synthesizer}-{run}"
        path = folder / f"{name}.understudy"
        if path.is_file():
            return us.load_release(path)
        release = us.synthesize(
            self.case.draw(np.random.default_rng(1000 + run), self.rows),
            schema=self.case.schema,
            epsilon=self.epsilon,
            delta=1e-9,
            synthesizer=self.synthesizer,
            workload=[f"model={formula}" for formula, _ in self.case.formulas],
            ledger=folder / "runs" / f"{name}.ledger",
        )
        release.save(path)
        return release

    def find_intervals(self, run: int, folder: Path) -> Iterator[pd.DataFrame]:
        """One row a coefficient: its interval, the naive one, and the truth."""
        release = self.make_release(run, folder)
        truths = self.case.find_truths()
        for (formula, family), truth in zip(self.case.formulas, truths, strict=True):
            began = time.process_time()
            found = release.infer(formula, family=family).to_frame()
            facts = {"run": run, "family": family, "truth": truth}
            seconds = time.process_time() - began
            yield found.assign(**facts, seconds=seconds).reset_index(
                names="coefficient"
            )


def run_setting(
    case: Case, rows: int, epsilon: float, runs: int, synthesizer: str
) -> pd.DataFrame:
    """One row a run and coefficient of a setting."""
    setting = Setting(case, rows, epsilon, synthesizer)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "runs").mkdir()
        return pd.concat(
            found
            for run in range(runs)
            for found in setting.find_intervals(run, Path(folder))
        )


def describe_setting(found: pd.DataFrame) -> dict[str, object]:
    """Shares of intervals that hold, with standard errors over runs."""
    is_held = (found.low <= found.truth) & (found.truth <= found.high)
    naive = (found.naive_low <= found.truth) & (found.truth <= found.naive_high)
    by_run = is_held.groupby(found.run).mean()
    names = [found.family, found.coefficient]
    by_name = is_held.groupby(names).mean()
    is_measured = (found.basis == "measured").groupby(names).mean() > 0.5
    width = found.high - found.low
    error = (found.estimate - found.truth) / found.std_error
    bias = error.groupby(names).mean()
    # An oracle knows how the estimates vary from release to release.
    oracle = 2 * 1.96 * found.estimate.groupby(names).std()
    beside_oracle = width.groupby(names).median() / oracle
    return {
        "hold": round(by_run.mean(), 3),
        "±": round(by_run.std() / np.sqrt(len(by_run)), 3),
        "measured": round((found.basis == "measured").mean(), 2),
        "measured hold": round(is_held[found.basis == "measured"].mean(), 3),
        "intercept": round(by_name["binomial"]["Intercept"], 3),
        "least": round(by_name.min(), 3),
        "least measured": round(by_name[is_measured].min(), 3),
        "most measured": round(by_name[is_measured].max(), 3),
        "bias / error": round(float(bias.abs().max()), 2),
        "naive": round(naive.mean(), 3),
        "width / naive": round(
            (width / (found.naive_high - found.naive_low)).mean(), 2
        ),
        "width / oracle": round(float(beside_oracle[is_measured].max()), 2),
        "seconds": round(found.seconds.mean(), 3),
    }


def draw_coins(rng: np.random.Generator) -> pd.DataFrame:
    x1, x2 = rng.integers(2, size=(2, COIN_ROWS))
    y = (rng.random(COIN_ROWS) < 1 / (1 + np.exp(-x1))).astype(int)
    return pd.DataFrame({"x1": x1, "x2": x2, "y": y})


def find_coin_intervals(run: int, epsilon: float, folder: Path) -> pd.DataFrame:
    release = us.synthesize(
        draw_coins(np.random.default_rng(5000 + run)),
        schema=COIN_SCHEMA,
        epsilon=epsilon,
        delta=COIN_ROWS**-2,
        neighbours="replace",
        synthesizer="gaussian",
        workload="group=x1,x2,y",
        ledger=folder / f"{epsilon:g}-{run}.ledger",
    )
    return release.infer("y ~ x1 + x2 - 1", family="binomial").to_frame()


def print_napsu(runs: int) -> None:
    for epsilon, published in NAPSU_COVERAGE.items():
        with tempfile.TemporaryDirectory() as folder:
            found = [
                find_coin_intervals(run, epsilon, Path(folder)) for run in range(runs)
            ]
        low = np.array([each["low"] for each in found])
        high = np.array([each["high"] for each in found])
        naive_low = np.array([each["naive_low"] for each in found])
        naive_high = np.array([each["naive_high"] for each in found])
        held = ((low <= COIN_TRUTH) & (high >= COIN_TRUTH)).mean(axis=0)
        naive = ((naive_low <= COIN_TRUTH) & (naive_high >= COIN_TRUTH)).mean(axis=0)
        widths = np.median(high - low, axis=0)
        print(
            f"coins, ε = {epsilon:g}, {runs} runs: hold {held.round(3)}, naive"
            f" {naive.round(3)}, median width {widths.round(3)}; twinify hold"
            f" {published}, median width {NAPSU_WIDTHS[epsilon]}",
            flush=True,
        )


def list_settings(options: argparse.Namespace) -> list[Setting]:
    return [
        Setting(case, rows, epsilon, options.synthesizer)
        for case in list_cases(options.data)
        if not options.population or case.name in options.population
        for rows in options.rows or FULL_ROWS
        for epsilon in options.epsilon or FULL_EPSILONS
    ]


def print_table(settings: list[Setting], runs: int, folder: Path) -> None:
    for setting in settings:
        found = pd.concat(
            part for run in range(runs) for part in setting.find_intervals(run, folder)
        )
        facts = describe_setting(found)
        words = ", ".join(f"{key} {value}" for key, value in facts.items())
        print(
            f"{setting.case.name}, {setting.rows:,} rows, ε = {setting.epsilon:g},"
            f" {runs} runs: {words}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--population", action="append", help="one of them; default all"
    )
    parser.add_argument("--rows", type=int, action="append")
    parser.add_argument("--epsilon", type=float, action="append")
    parser.add_argument("--synthesizer", default="gaussian")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument(
        "--data", type=Path, help="a folder with the files of adult, acs"
    )
    parser.add_argument(
        "--napsu", action="store_true", help="the problem of NAPSU-MQ alone"
    )
    parser.add_argument("--keep", type=Path, help="a folder for the releases")
    options = parser.parse_args()
    if options.napsu:
        print_napsu(options.runs)
        return
    settings = list_settings(options)
    with tempfile.TemporaryDirectory() as passing:
        folder = options.keep or Path(passing)
        (folder / "runs").mkdir(parents=True, exist_ok=True)
        if options.keep is not None:
            for run in range(options.runs):
                for setting in settings:
                    setting.make_release(run, folder)
        print_table(settings, options.runs, folder)


if __name__ == "__main__":
    main()
