"""Many values and many columns: memory and processor time of a whole run, from table to
sampled rows.

    python benchmarks/many.py [--rows 100000] [--synthesizer independent --synthesizer
    mst] [--levels]

A table of 50 mixed columns (numbers, dates, labels, truth values, gaps in all of them),
one of which has 100,000 distinct labels: once listed in the schema and once to be
learned. Each run has a process of its own; its peak memory must stay below 2 GB. The
last line says whether it did.

With --levels something else is measured: 600 made-up diagnoses in 20 chapters, 10,000
rows, and six columns that depend on the chapter, at ε = 0.5, with the chapters declared
as a level and without. Mean total variation distances over two tables.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from datetime import date
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pyarrow

import understudy as us
from understudy.schema import Boolean, Categorical, Column, Date, Integer, Real, Schema

LIMIT = 2 * 1024**3
DISTINCT = 100_000
CODES, CHAPTERS = 600, 20


def table(rows: int, rng: np.random.Generator) -> pyarrow.Table:
    """Fifty columns, every one with gaps."""
    hidden = rng.normal(size=rows)
    words = np.array([f"code {i:06d}" for i in range(DISTINCT)])
    made: dict[str, np.ndarray] = {
        "code": words[np.minimum(rng.zipf(1.3, rows) - 1, DISTINCT - 1)]
    }
    for i in range(15):
        made[f"count{i}"] = rng.poisson(np.exp(hidden + 2)).clip(0, 5000)
        made[f"label{i}"] = np.array([f"l{k}" for k in range(12)])[
            (np.abs(hidden + rng.normal(size=rows)) * 3).astype(int).clip(0, 11)
        ]
    for i in range(9):
        made[f"price{i}"] = np.round(rng.lognormal(3 + hidden / 2, 1), 2).clip(
            0, 10_000
        )
    for i in range(5):
        made[f"day{i}"] = np.datetime64("2015-01-01") + rng.integers(0, 3650, rows)
        made[f"flag{i}"] = hidden + rng.normal(size=rows) > 0
    return pyarrow.table(
        {
            name: pyarrow.array(v, mask=rng.random(rows) < 0.05)
            for name, v in made.items()
        }
    )


def schema(names: list[str], *, listed: bool) -> Schema:
    """What is public: bounds and labels; of the long list only where it is listed."""
    days = {"min": date(2015, 1, 1), "max": date(2024, 12, 31)}
    kinds: dict[str, Column] = {}
    for name in names:
        kind = name.rstrip("0123456789")
        codes = tuple(f"code {i:06d}" for i in range(DISTINCT)) if listed else None
        kinds[name] = {
            "code": lambda n, codes=codes: Categorical(name=n, values=codes),
            "count": lambda n: Integer(name=n, min=0, max=5000),
            "label": lambda n: Categorical(
                name=n, values=tuple(f"l{k}" for k in range(12))
            ),
            "price": lambda n: Real(name=n, min=0, max=10_000),
            "day": lambda n: Date(name=n, **days),
            "flag": lambda n: Boolean(name=n),
        }[kind](name)
    return Schema(columns=tuple(kinds.values()))


def run(rows: int, synthesizer: str, listed: bool, answer: Connection) -> None:
    frame = table(rows, np.random.default_rng(1))
    before, start = (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        time.process_time(),
    )
    with tempfile.TemporaryDirectory() as folder:
        described = schema(frame.column_names, listed=listed)
        release = us.synthesize(
            frame,
            described,
            epsilon=1,
            synthesizer=synthesizer,
            ledger=Path(folder, "ledger"),
        )
        release.write(Path(folder, "rows.parquet"), seed=1)
    found = release.schema["code"]
    assert isinstance(found, Categorical)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer.send(
        (
            before * 1024,
            peak * 1024,
            time.process_time() - start,
            len(found.values or ()),
        )
    )


def hospital(
    levels: bool, rng: np.random.Generator, rows: int = 10_000
) -> tuple[pyarrow.Table, Schema]:
    """Diagnoses by zipf's law, and what depends on their chapter."""
    names = tuple(f"{i % CHAPTERS:02}.{i // CHAPTERS:02}" for i in range(CODES))
    code = rng.permutation(CODES)[(rng.zipf(1.2, rows) - 1) % CODES]
    made = {"code": np.array(names)[code]}
    for i in range(6):
        shares = rng.dirichlet(np.full(8, 0.4), CHAPTERS).cumsum(axis=1)[
            code % CHAPTERS
        ]
        made[f"x{i}"] = np.array(list("abcdefgh"))[
            (rng.random(rows)[:, None] > shares).sum(axis=1).clip(0, 7)
        ]
    groups = {"chapter": tuple(name[:2] for name in names)} if levels else {}
    columns = [Categorical(name="code", values=names, levels=groups, nullable=False)]
    columns += [
        Categorical(name=f"x{i}", values=tuple("abcdefgh"), nullable=False)
        for i in range(6)
    ]
    return pyarrow.table(made), Schema(columns=tuple(columns))


def apart(real: list[np.ndarray], made: list[np.ndarray]) -> float:
    """Total variation distance of columns taken together."""
    words = [
        ["|".join(row) for row in zip(*side, strict=True)] for side in (real, made)
    ]
    _, where = np.unique(np.concatenate(words), return_inverse=True)
    first, second = np.split(where, [len(words[0])])
    shares = [
        np.bincount(side, minlength=where.max() + 1) / len(side)
        for side in (first, second)
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def compare_levels() -> None:
    """Distances with and without levels."""
    print(
        f"{CODES} codes in {CHAPTERS} chapters, 10,000 rows, ε = 0.5, means of two tables\n"
    )
    print(
        f"{'levels':<10}{'code':>8}{'chapter':>9}{'chapter, x':>12}{'code, x':>9}{'x, x':>8}"
    )
    for levels in (False, True):
        found = []
        for seed in (1, 2):
            frame, described = hospital(levels, np.random.default_rng(seed))
            with tempfile.TemporaryDirectory() as folder:
                release = us.synthesize(
                    frame, described, epsilon="0.5", ledger=Path(folder, "ledger")
                )
            sides = []
            for rows in (frame, release.sample(kind="pyarrow", seed=1)):
                side = {
                    name: np.array(rows[name].to_pylist(), str) for name in described
                }
                sides.append(
                    side | {"chapter": np.array([code[:2] for code in side["code"]])}
                )
            wanted = [
                [("code",)],
                [("chapter",)],
                [("chapter", f"x{i}") for i in range(6)],
                [("code", f"x{i}") for i in range(6)],
                [("x0", f"x{i}") for i in range(1, 6)],
            ]
            found.append(
                [
                    np.mean(
                        [
                            apart(*([side[n] for n in names] for side in sides))
                            for names in one
                        ]
                    )
                    for one in wanted
                ]
            )
        means = np.mean(found, axis=0)
        print(
            f"{'yes' if levels else 'no':<10}{means[0]:>8.3f}{means[1]:>9.3f}{means[2]:>12.3f}{means[3]:>9.3f}{means[4]:>8.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--synthesizer", action="append")
    parser.add_argument(
        "--levels", action="store_true", help="what levels of categories gain, instead"
    )
    options = parser.parse_args()
    if options.levels:
        compare_levels()
        return
    context = multiprocessing.get_context("spawn")
    within = True
    print(
        f"{options.rows:,} rows, 50 columns, one with {DISTINCT:,} distinct labels; ε = 1\n"
    )
    print(
        f"{'synthesizer':<14}{'labels':<10}{'shown':>9}{'table MB':>10}{'peak MB':>10}{'cpu s':>8}"
    )
    for synthesizer in options.synthesizer or ["independent", "mst"]:
        for listed in (True, False):
            here, there = context.Pipe()
            worker = context.Process(
                target=run, args=(options.rows, synthesizer, listed, there)
            )
            worker.start()
            there.close()
            try:
                before, peak, seconds, shown = here.recv()
            except EOFError:
                within = False
                print(
                    f"{synthesizer:<14}{'listed' if listed else 'learned':<10} did not finish"
                )
                continue
            finally:
                worker.join()
            within = within and peak < LIMIT
            name = "listed" if listed else "learned"
            print(
                f"{synthesizer:<14}{name:<10}{shown:>9,}{before >> 20:>10}{peak >> 20:>10}{seconds:>8.0f}",
                flush=True,
            )
    print("\nwithin 2 GB:", "yes" if within else "no")


if __name__ == "__main__":
    main()
