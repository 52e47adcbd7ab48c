"""Forty noisy pairs of a census table, fitted: passes, seconds, and the error of
sampled rows.

    python benchmarks/fitting.py [TABLE.csv DOMAIN.json]

Without a table, one of the same shape is made up: 48,842 rows, 15 columns. Pairs are
picked by their true dependence under a cap of 200,000 cells, and get Gaussian noise for
(ε, δ = 1e-9) in all: what is measured here is the fit, not the picking. Errors are
total variation distances of as many sampled rows, averaged over all marginals of one,
two and three columns.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from understudy.accounting import Accounting, Cost, Law
from understudy.measurements import Clique, Identity, Measurement, Measurements
from understudy.models.fitting.estimate import fit_measurements
from understudy.models.inference.junction_tree import forecast_cells
from understudy.schema import Categorical, Schema

BUDGETS = {1: 2 * 0.016557, 10: 2 * 1.182533}
"""μ² of exactly (ε, 1e-9)."""

PAIRS, CAP, SINGLES = 40, 200_000, 0.15
Columns = dict[str, np.ndarray]


def load(table: str, domain: str) -> tuple[Columns, dict[str, int]]:
    sizes = json.loads(Path(domain).read_text())
    with Path(table).open() as file:
        head, *rows = csv.reader(file)
    codes = np.array(rows, np.int64)
    return {
        name: np.clip(codes[:, head.index(name)], 0, n - 1) for name, n in sizes.items()
    }, sizes


def made_up(rows: int = 48_842) -> tuple[Columns, dict[str, int]]:
    """A chain with side branches: each column leans on two earlier ones."""
    rng = np.random.default_rng(0)
    widths = (32, 9, 32, 16, 16, 7, 15, 6, 5, 2, 32, 32, 32, 42, 2)
    columns: Columns = {}
    for i, n in enumerate(widths):
        drift = rng.geometric(0.35, rows) - 1
        for j in {max(i - 1, 0), i // 2} - {i}:
            drift = drift + columns[f"c{j}"] * n // (2 * widths[j])
        columns[f"c{i}"] = drift % n
    return columns, {f"c{i}": n for i, n in enumerate(widths)}


def counts(columns: Columns, sizes: dict[str, int], clique: Clique) -> np.ndarray:
    shape = [sizes[n] for n in clique]
    flat = np.ravel_multi_index(tuple(columns[n] for n in clique), shape)
    return np.bincount(flat, minlength=math.prod(shape)).reshape(shape)


def picked(columns: Columns, sizes: dict[str, int]) -> list[Clique]:
    """The most dependent pairs that one junction tree under the cap can hold."""
    rows = len(next(iter(columns.values())))
    single = {n: counts(columns, sizes, (n,)) / rows for n in sizes}
    score = {}
    for a, b in itertools.combinations(sizes, 2):
        product = np.outer(single[a], single[b])
        off = np.abs(counts(columns, sizes, (a, b)) / rows - product).sum()
        score[a, b] = (
            off - 0.8 * np.sqrt(product / rows).sum() - 10 * product.size / rows
        )
    chosen: list[Clique] = []
    for pair in sorted(score, key=score.__getitem__, reverse=True):
        if len(chosen) < PAIRS and forecast_cells([*chosen, pair], sizes) <= CAP:
            chosen.append(pair)
    return chosen


def measured(
    columns: Columns,
    sizes: dict[str, int],
    pairs: list[Clique],
    budget: float,
    seed: int,
) -> Measurements:
    """Noise by the sizes of the tables, n^(2/3). It is for the comparison only: no
    secret is behind it.
    """
    rng = np.random.default_rng(seed)
    looks = []
    for group, share in (([(n,) for n in sizes], SINGLES), (pairs, 1 - SINGLES)):
        weights = np.array([math.prod(sizes[n] for n in c) ** (2 / 3) for c in group])
        for clique, part in zip(
            group, weights / weights.sum() * share * budget, strict=True
        ):
            table = counts(columns, sizes, clique)
            scale = Fraction(math.ceil(2**20 / math.sqrt(part)), 2**20)
            noisy = table + np.rint(rng.normal(0, float(scale), table.shape)).astype(
                np.int64
            )
            maps = tuple(map(Identity, table.shape))
            cost = Cost(Accounting.GDP, 1 / scale**2)
            looks.append(
                Measurement(clique, maps, noisy, Law.ROUNDED_GAUSSIAN, scale, cost)
            )
    return Measurements(tuple(looks))


def distance(one: Columns, two: Columns, sizes: dict[str, int], k: int) -> float:
    found = []
    for clique in itertools.combinations(sizes, k):
        a, b = counts(one, sizes, clique), counts(two, sizes, clique)
        found.append(0.5 * float(np.abs(a / a.sum() - b / b.sum()).sum()))
    return float(np.mean(found))


def main(arguments: list[str]) -> int:
    columns, sizes = load(*arguments) if arguments else made_up()
    rows = len(next(iter(columns.values())))
    schema = Schema(
        columns=tuple(
            Categorical(name=n, values=tuple(map(str, range(k))), nullable=False)
            for n, k in sizes.items()
        )
    )
    pairs = picked(columns, sizes)
    print(
        f"{rows:,} rows, {len(sizes)} columns, {len(pairs)} pairs, a tree of {forecast_cells(pairs, sizes):,} cells\n"
    )
    print(
        f"{'ε':>3} {'lean':>5} {'tolerance':>9} {'passes':>7} {'seconds':>8} {'of CPU':>7} {'1-way':>7} {'2-way':>7} {'3-way':>7}"
    )
    for epsilon, budget in BUDGETS.items():
        looks = measured(columns, sizes, pairs, budget, epsilon)
        for lean, tolerance in ((0.8, 1e-1), (0.8, 1e-2), (0.8, 1e-4), (0.3, 1e-2)):
            start, work = time.perf_counter(), time.process_time()
            found = fit_measurements(schema, looks, shrinkage=lean, tolerance=tolerance)
            took, worked = time.perf_counter() - start, time.process_time() - work
            sample = found.model.sample(rows, np.random.default_rng(0))
            errors = [distance(columns, sample, sizes, k) for k in (1, 2, 3)]
            print(
                f"{epsilon:>3} {lean:>5.2f} {tolerance:>9.0e} {found.passes:>7} {took:>8.2f} {worked:>7.2f}"
                + "".join(f" {e:>7.4f}" for e in errors),
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
