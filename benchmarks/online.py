"""A list of counts against an estimate (`us.ask_online`) beside the same counts asked
together (`ask([...])`): mean absolute error, on a made-up table.

    python benchmarks/online.py [--rounds 3]

The table has 5,000 rows of age in bins, sex, region and smoker, some of which depend on
each other. A list is 50, 200 or 1,000 counts, drawn with repeats from a pool of 10 or of
100 different ones: ranges of age, alone or with labels. All of a list has ε = 1, with
δ = 1e-9 (GDP) or without (pure), one row added or removed. Asked together, each count is
asked once and answers all of its repeats, as a stored answer does. Online is run with 2,
5, 10 and 20 failures and the threshold that it takes by itself; the best of the four is
shown, which nobody could have chosen beforehand. Noise is
drawn from the operating system, so figures differ from run to run.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import understudy as us
from understudy.toolbox.online_counts import CountBasis
from understudy.workflow.asking.session import Session

ROWS = 5_000
DELTA = "1e-9"
LENGTHS = (50, 200, 1_000)
POOLS = (10, 100)
FAILURES = (2, 5, 10, 20)
REGIONS = ("north", "east", "south", "west")
SCHEMA = us.Schema.parse(
    """
columns:
  age: {type: integer, min: 0, max: 79, nullable: false}
  sex: {type: categorical, values: [F, M], nullable: false}
  region: {type: categorical, values: [north, east, south, west], nullable: false}
  smoker: {type: boolean, nullable: false}
"""
)


def make_people(rng: np.random.Generator) -> pl.DataFrame:
    age = np.clip(np.rint(rng.normal(42, 18, ROWS)), 0, 79).astype(int)
    return pl.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["F", "M"], ROWS, p=[0.52, 0.48]),
            "region": rng.choice(REGIONS, ROWS, p=[0.4, 0.3, 0.2, 0.1]),
            "smoker": rng.random(ROWS) < np.where(age > 40, 0.3, 0.15),
        }
    )


def make_pool(size: int, rng: np.random.Generator) -> list[str]:
    """Different conditions on ranges of age, with a label or two of others or none."""
    found: dict[str, None] = {}
    while len(found) < size:
        low, high = sorted(rng.choice(9, 2, replace=False) * 10)
        parts = [f"age >= {low} and age < {high}"]
        if rng.random() < 0.5:
            parts.append(f"region = '{rng.choice(REGIONS)}'")
        if rng.random() < 0.3:
            parts.append(f"sex = '{rng.choice(['F', 'M'])}'")
        if rng.random() < 0.3:
            parts.append("smoker = true")
        found[" and ".join(parts)] = None
    return list(found)


def count_truly(frame: pl.DataFrame, conditions: list[str]) -> np.ndarray:
    context = pl.SQLContext(people=frame)
    return np.array(
        [
            context.execute(f"SELECT COUNT(*) FROM people WHERE {each}")
            .collect()
            .item()
            for each in conditions
        ]
    )


def open_session(people: Path, accounting: str, name: str) -> Session:
    return us.session(
        people,
        SCHEMA,
        ledger=people.with_name(f"{name}.ledger"),
        budget=1,
        delta=None if accounting == "pure" else DELTA,
        accounting=accounting,
    )


def compare_list(
    people: Path, conditions: list[str], asked: np.ndarray, accounting: str, rounds: int
) -> None:
    queries = [us.count().where(each) for each in conditions]
    true = count_truly(pl.read_csv(people), conditions)
    used = np.unique(asked)
    together = np.zeros(len(queries))
    online: dict[int, list[tuple[float, int, int]]] = {each: [] for each in FAILURES}
    for number in range(rounds):
        name = f"{accounting}-{len(asked)}-{len(queries)}-{number}"
        with open_session(people, accounting, name) as questions:
            answers = questions.ask([queries[i] for i in used], epsilon=1)
            found = np.array([answer.value for answer in answers])
            together[used] += np.abs(found - true[used]) / rounds
        for failures in FAILURES:
            with open_session(people, accounting, f"{name}-{failures}") as questions:
                told = us.ask_online(
                    questions, [queries[i] for i in asked], epsilon=1, failures=failures
                )
            values = np.array([row.value for row in told.rows])
            online[failures].append(
                (
                    float(np.abs(values - true[asked]).mean()),
                    told.count_basis(CountBasis.MEASURED),
                    told.count_basis(CountBasis.UNCHECKED),
                )
            )
    means = {key: np.mean(each, axis=0) for key, each in online.items()}
    best = min(means, key=lambda key: means[key][0])
    error, failed, unchecked = means[best]
    print(
        f"| {accounting} | {len(asked):,} | {len(queries)} | {together[asked].mean():.0f}"
        f" | {error:.0f} | {best} | {failed:.1f} | {unchecked / len(asked):.0%} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    rng = np.random.default_rng(21)
    print(
        "| accounting | counts | different | together | online | c | failed | unchecked |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        people = Path(folder, "people.csv")
        make_people(rng).write_csv(people)
        for size in POOLS:
            conditions = make_pool(size, rng)
            for length in LENGTHS:
                asked = rng.integers(0, size, length)
                for accounting in ("gdp", "pure"):
                    compare_list(people, conditions, asked, accounting, rounds)


if __name__ == "__main__":
    main()
