"""Cells of exact noise per second, beside OpenDP in the same run, on one core.

    python benchmarks/noise.py

The goal is ten million cells a second at scales 1 to 1000; the last line says whether
it was met. os.urandom is the physical limit: the bytes a sampler must at least read.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.noise import NoiseBackend, draw_noise, exponential_mechanism, median
from understudy.noise.cdf_table import build_cdf_table, tails_of_law

GOAL = 10_000_000
SCALES = [1, 10, 100, 1000]
OURS, THEIRS = 10_000_000, 20_000


def rate(n: int, work: Callable[[], object], repeats: int = 3) -> float:
    """Best of a few runs, in items per second of processor time."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return n / best


def main() -> int:
    words = rate(OURS, lambda: [os.urandom(1 << 17) for _ in range(OURS * 2 >> 17)])
    print(f"os.urandom, two bytes a cell: {words / 1e6:.0f} M cells/s")
    print(
        f"\n{'law':<18} {'scale':>5} {'build ms':>9} {'entries':>8} {'M cells/s':>10} {'OpenDP M/s':>11} {'ratio':>7}"
    )
    slowest = float("inf")
    for law in Law:
        for scale in map(Fraction, SCALES):
            start = time.perf_counter()
            made = build_cdf_table(tails_of_law(law, scale))
            built = (time.perf_counter() - start) * 1000
            draw_noise(law, scale, 1)  # the table is kept from here on
            ours = rate(OURS, lambda law=law, scale=scale: draw_noise(law, scale, OURS))
            slowest = min(slowest, ours)
            line = f"{law:<18} {int(scale):>5} {built:>9.1f} {made.low.size:>8} {ours / 1e6:>10.1f}"
            if law is Law.ROUNDED_GAUSSIAN:
                print(f"{line} {'none':>11}")
                continue
            theirs = rate(
                THEIRS,
                lambda law=law, scale=scale: draw_noise(
                    law, scale, THEIRS, backend=NoiseBackend.OPENDP
                ),
                2,
            )
            print(f"{line} {theirs / 1e6:>11.3f} {ours / theirs:>6.0f}x")

    print(f"\n{'choice from':<18} {'ms':>9}")
    rng = np.random.default_rng(1)  # scores, not noise
    for n in (100, 10_000, 100_000):
        scores = rng.integers(0, 2**20, n)
        one = 1000 / rate(
            20,
            lambda s=scores: [
                exponential_mechanism(
                    s, epsilon=Fraction(1), sensitivity=Fraction(2**14)
                )
                for _ in range(20)
            ],
        )
        print(f"{n:<18} {one:>9.2f}")
    values = np.sort(rng.integers(0, 10**9, 100_000))
    one = 1000 / rate(
        5,
        lambda: [
            median(
                values,
                lo=0,
                hi=10**9,
                epsilon=Fraction(1),
                neighbours=Neighbours.ADD_REMOVE,
            )
            for _ in range(5)
        ],
    )
    print(f"{'median, 1e5 rows':<18} {one:>9.2f}")

    verdict = "met" if slowest >= GOAL else "MISSED"
    print(
        f"\nslowest {slowest / 1e6:.1f} M cells/s; goal {GOAL / 1e6:.0f} M: {verdict}"
    )
    return 0 if slowest >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
