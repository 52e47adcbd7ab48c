"""How close released numbers are to the real ones, beside bins of equal width and of
equal counts whose values are spread evenly.

    python benchmarks/shapes.py [--rows 30000] [--epsilon 1] [--rounds 5] [--accounting
    gdp] [--seed 0] [--unseen]

Four columns: skewed, bimodal, heaped on multiples of five, heavy-tailed; with --unseen
five others that nothing was ever tried on. Every way gets the same budget and the same
exact noise. The bins of equal counts get their edges from the real rows, for free and
without privacy: what they could be at best. Kolmogorov–Smirnov and Wasserstein distance
to the real column, means over the rounds; `ratio` is ours over the best other way, and
the goal is one half. The last line says whether it was met.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pyarrow
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import ks_2samp, wasserstein_distance

import understudy as us
from understudy.releases import Release
from understudy.schema import Integer, Schema

BINS = (20, 32)

Column = tuple[NDArray[np.int64], int, int]


def columns(rows: int, rng: Generator) -> dict[str, Column]:
    """Values and public bounds of each column."""
    two = np.where(
        rng.random(rows) < 0.4, rng.normal(300, 40, rows), rng.normal(700, 60, rows)
    )
    hours = rng.normal(40, 12, rows)
    heaped = np.where(rng.random(rows) < 0.6, np.rint(hours / 5) * 5, hours)
    made = {
        "skewed": (rng.lognormal(10, 0.8, rows), 0, 500_000),
        "bimodal": (two, 0, 1000),
        "heaped": (heaped, 0, 99),
        "heavy tail": (rng.pareto(1.5, rows) * 1000, 0, 1_000_000),
    }
    return {
        name: (np.rint(v).clip(low, high).astype(np.int64), low, high)
        for name, (v, low, high) in made.items()
    }


def unseen(rows: int, rng: Generator) -> dict[str, Column]:
    """Other columns of the same four kinds, and one that is none of them: none of these
    was looked at while bins were thought about.
    """
    pay = rng.gamma(3, 900, rows)
    waves = rng.choice(
        [80, 210, 260, 640], rows, p=[0.2, 0.3, 0.15, 0.35]
    ) + rng.gumbel(0, 18, rows)
    spent = np.where(rng.random(rows) < 0.55, 0, rng.weibull(0.6, rows) * 4000)
    rounded = np.where(rng.random(rows) < 0.7, np.rint(pay / 250) * 250, pay)
    made = {
        "mostly zero": (spent, 0, 200_000),
        "four modes": (waves, 0, 999),
        "rounded pay": (rounded, 0, 20_000),
        "t tails": (50_000 + 800 * rng.standard_t(1.8, rows), 0, 100_000),
        "even": (rng.uniform(150, 820, rows), 0, 999),
    }
    return {
        name: (np.rint(v).clip(low, high).astype(np.int64), low, high)
        for name, (v, low, high) in made.items()
    }


def released(
    column: Column, edges: NDArray[np.int64] | None, options: argparse.Namespace
) -> Release:
    """A release of one column; with edges, of these bins."""
    values, low, high = column
    bins = None if edges is None else tuple(int(e) for e in edges)
    schema = Schema(
        columns=(Integer(name="x", min=low, max=high, bins=bins, nullable=False),)
    )
    with tempfile.TemporaryDirectory() as folder:
        frame = pyarrow.table({"x": values})
        return us.synthesize(
            frame,
            schema,
            epsilon=options.epsilon,
            accounting=options.accounting,
            ledger=Path(folder, "ledger"),
        )


def evenly(release: Release, rng: Generator) -> NDArray[np.int64]:
    """Rows of a release, values spread evenly inside their bins."""
    assert release.model is not None
    return (
        release.schema.codecs["x"]
        .decode(release.model.sample(release.rows, rng)["x"], rng)
        .index
    )


def ways(
    column: Column, options: argparse.Namespace, rng: Generator
) -> dict[str, NDArray[np.int64]]:
    """Synthetic values, way by way."""
    values, low, high = column
    found = {
        "ours": np.asarray(
            released(column, None, options).sample(kind="numpy")["x"], np.int64
        )
    }
    for count in BINS:
        wide = np.unique(np.linspace(low, high + 1, count + 1).astype(np.int64))
        inner = np.quantile(values, np.linspace(0, 1, count + 1)[1:-1]).astype(np.int64)
        even = np.unique(np.concatenate([[low], inner, [high + 1]]))
        found[f"{count} equal widths"] = evenly(released(column, wide, options), rng)
        found[f"{count} equal counts"] = evenly(released(column, even, options), rng)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--accounting", default="gdp", choices=("gdp", "pure", "zcdp"))
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first round's columns"
    )
    parser.add_argument(
        "--unseen", action="store_true", help="columns that nothing was ever tried on"
    )
    options = parser.parse_args()
    made_of = unseen if options.unseen else columns
    scores: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for turn in range(options.rounds):
        rng = np.random.default_rng(options.seed + turn)
        for name, column in made_of(options.rows, rng).items():
            for way, made in ways(column, options, rng).items():
                distance = (
                    float(ks_2samp(column[0], made).statistic),
                    float(wasserstein_distance(column[0], made)),
                )
                scores.setdefault((name, way), []).append(distance)
    mean = {key: np.mean(found, axis=0) for key, found in scores.items()}
    met = True
    print(
        f"{options.rows:,} rows, ε = {options.epsilon}, {options.accounting}, means of {options.rounds} rounds\n"
    )
    print(f"{'column':<12}{'way':<18}{'KS':>9}{'Wasserstein':>14}")
    for name in dict.fromkeys(name for name, _ in mean):
        rows = {way: both for (column, way), both in mean.items() if column == name}
        for way, (ks, far) in rows.items():
            print(f"{name:<12}{way:<18}{ks:>9.4f}{far:>14.4g}")
        best = np.min([both for way, both in rows.items() if way != "ours"], axis=0)
        ratio = rows["ours"] / best
        met = met and bool((ratio <= 0.5).all())
        print(f"{'':<12}{'ratio':<18}{ratio[0]:>9.2f}{ratio[1]:>14.2f}\n")
    print("goal (ours at most half of the best other way):", "met" if met else "missed")


if __name__ == "__main__":
    main()
