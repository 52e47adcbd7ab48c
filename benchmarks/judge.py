"""An independent judge of the fit: the mbi package on the same measurements.

    pip install 'understudy-dp[bench]' && python benchmarks/judge.py

Both are given the same noisy marginals and the same number of rows. Without shrinkage
both minimise the same loss, so the marginals must agree to 1e-4 of the rows and the
loss must be no worse; the last line says whether they do. Without mbi there is nothing
to compare.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import time
import warnings
from fractions import Fraction
from itertools import combinations

import numpy as np

from understudy.accounting import Accounting, Cost, Law
from understudy.measurements import Clique, Identity, Measurement, Measurements
from understudy.models.fitting.estimate import fit_measurements
from understudy.schema import Categorical, Schema

SIZES = (3, 4, 5, 2, 6)
CLIQUES: list[list[Clique]] = [
    [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")],
    [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), ("e", "b")],
    [("a",), ("b", "c", "d"), ("a", "e"), ("d", "e"), ("a", "b"), ("a", "b")],
]
ROWS, STEPS, GOAL = 20_000, 20_000, 1e-4


def measured(
    schema: Schema, cliques: list[Clique], sigma: int, rng: np.random.Generator
) -> Measurements:
    """Noisy marginals of made-up rows. The noise is for the comparison only: no secret
    is behind it.
    """
    columns = {"a": rng.integers(0, SIZES[0], ROWS)}
    for before, (name, size) in zip(
        "abcd", zip("bcde", SIZES[1:], strict=True), strict=True
    ):
        columns[name] = (columns[before] + rng.geometric(0.5, ROWS) - 1) % size
    looks = []
    for clique in cliques:
        sizes = schema.sizes(clique)
        flat = np.ravel_multi_index(tuple(columns[n] for n in clique), sizes)
        counts = np.bincount(flat, minlength=math.prod(sizes)).reshape(sizes)
        noisy = counts + np.rint(rng.normal(0, sigma, sizes)).astype(np.int64)
        cost = Cost(Accounting.GDP, Fraction(1, sigma**2))
        looks.append(
            Measurement(
                clique,
                tuple(map(Identity, sizes)),
                noisy,
                Law.DISCRETE_GAUSSIAN,
                Fraction(sigma),
                cost,
            )
        )
    return Measurements(tuple(looks))


def main() -> int:
    if importlib.util.find_spec("mbi") is None:
        print("mbi is not installed: no judge. pip install 'understudy-dp[bench]'")
        return 0
    warnings.simplefilter("ignore")
    import jax

    jax.config.update("jax_enable_x64", True)
    import mbi

    columns = [
        Categorical(name=n, values=tuple(map(str, range(k))), nullable=False)
        for n, k in zip("abcde", SIZES, strict=True)
    ]
    schema = Schema(columns=tuple(columns), rows=ROWS)
    fine = True
    print(
        f"{'cliques':>8} {'sigma':>6} {'furthest / rows':>16} {'our loss':>10} {'mbi loss':>10} {'ours s':>7} {'mbi s':>7}"
    )
    for cliques in CLIQUES:
        for sigma in (5, 100):
            looks = measured(schema, cliques, sigma, np.random.default_rng(sigma))
            start = time.perf_counter()
            ours = fit_measurements(schema, looks, shrinkage=0, tolerance=1e-7).model
            middle = time.perf_counter()
            domain = mbi.Domain(tuple("abcde"), SIZES)
            given = [
                mbi.LinearMeasurement(
                    m.values.ravel().astype(float), m.clique, float(sigma)
                )
                for m in looks
            ]
            theirs = mbi.estimation.MirrorDescent().estimate(
                domain, given, known_total=float(ROWS), iters=STEPS
            )
            end = time.perf_counter()

            def loss(
                tables: dict[Clique, np.ndarray],
                looks: Measurements = looks,
                sigma: int = sigma,
            ) -> float:
                return sum(
                    0.5 * float(np.sum((tables[m.clique] - m.values) ** 2)) / sigma**2
                    for m in looks
                )

            asked = list(dict.fromkeys([*cliques, *combinations("abcde", 2)]))
            mine = {c: ours.marginal(c) for c in asked}
            other = {
                c: np.asarray(theirs.project(c).datavector()).reshape(schema.sizes(c))
                for c in asked
            }
            apart = max(float(np.abs(mine[c] - other[c]).max()) for c in asked) / ROWS
            print(
                f"{len(cliques):>8} {sigma:>6} {apart:>16.1e} {loss(mine):>10.4f} {loss(other):>10.4f}"
                f" {middle - start:>7.2f} {end - middle:>7.2f}"
            )
            fine &= apart <= GOAL and loss(mine) <= loss(other) * (1 + 1e-6) + 1e-3
    print(f"within {GOAL:g} of the rows, loss no worse: {'yes' if fine else 'NO'}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
