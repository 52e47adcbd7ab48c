"""Masked copies: processor seconds and memory for tables of the usual sizes.

    python benchmarks/masking.py            5,000 rows of 35 columns
    python benchmarks/masking.py --large    100,000 rows of 20 columns too

The goals, for five copies in which every column is replaced: `cart` below 10 seconds and
`norm+logit` below 3 on the small table, below 120 on the large one, and memory for one
copy at a time.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import pandas as pd

import understudy as us

COPIES = 5


def make_table(rows: int, columns: int, seed: int = 0) -> pd.DataFrame:
    """Numbers, labels of 2 to 10 kinds and columns with holes, all related by one
    latent factor.
    """
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=rows)
    table = {}
    for i in range(columns):
        own = 0.7 * factor + rng.normal(size=rows)
        if i % 3 == 0:
            values = np.rint(1000 * own).astype(float)
            if i % 6 == 3:
                values[rng.random(rows) < 0.05] = np.nan
            table[f"number{i}"] = values
        else:
            kinds = 2 + i % 9
            cuts = np.quantile(own, np.linspace(0, 1, kinds + 1)[1:-1])
            labels = np.array([f"label{k}" for k in range(kinds)])
            table[f"label{i}"] = labels[np.digitize(own, cuts)]
    return pd.DataFrame(table)


def time_method(table: pd.DataFrame, method: str) -> None:
    """Print what five copies take: reading, with the schema that is drafted from the
    rows, and fitting and drawing, which is what other packages' times are.
    """
    began = time.process_time()
    masked = us.mask(table, full=True, method=method, copies=COPIES, seed=1)
    read = time.process_time()
    for i in range(COPIES):
        masked.draw(i)
    done = time.process_time()
    # The largest so far: it only grows, so methods go from small to large.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows, columns = table.shape
    print(
        f"{rows:>7,} × {columns}  {method:<15} {done - began:7.1f} processor seconds,"
        f" {read - began:4.1f} of them reading  {peak:6.0f} MiB at most",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    wanted = parser.parse_args()
    # Libraries are loaded by the first mask; that is no part of any method.
    for method in ("norm+logit", "cart"):
        us.mask(make_table(100, 3), full=True, method=method, copies=1, seed=1).draw(0)
    small = make_table(5_000, 35)
    for method in ("norm+logit", "normrank+logit", "cart"):
        time_method(small, method)
    if wanted.large:
        large = make_table(100_000, 20)
        for method in ("norm+logit", "cart"):
            time_method(large, method)


if __name__ == "__main__":
    main()
