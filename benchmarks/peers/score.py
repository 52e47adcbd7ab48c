"""How far synthetic rows are from real ones: the mean total variation distance over all
columns, all pairs and all triples.

    python benchmarks/peers/score.py REAL.csv SYNTHETIC.csv DOMAIN.json

Both tables hold codes 0 … size - 1; a code beyond is taken as the last, an empty cell
as the first. The distance of two tables of shares is half the sum of absolute
differences: 0 where they agree, 1 where they have nothing in common. The rows' own
sampling error counts, as it does for somebody who uses them.
"""

from __future__ import annotations

import json
import math
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
from job import read


def shares(
    codes: dict[str, np.ndarray], sizes: dict[str, int], clique: tuple[str, ...]
) -> np.ndarray:
    """A marginal as shares of all rows."""
    shape = [sizes[name] for name in clique]
    cell = np.zeros(len(codes[clique[0]]), np.int64)
    for name in clique:
        cell = cell * sizes[name] + codes[name]
    return np.bincount(cell, minlength=math.prod(shape)) / max(len(cell), 1)


def distances(
    real: dict[str, np.ndarray], fake: dict[str, np.ndarray], sizes: dict[str, int]
) -> dict[str, float]:
    """Means over columns, pairs and triples, and the worst pair."""
    real, fake = (
        {n: np.clip(codes[n], 0, size - 1) for n, size in sizes.items()}
        for codes in (real, fake)
    )
    off = {
        order: [
            float(np.abs(shares(real, sizes, c) - shares(fake, sizes, c)).sum()) / 2
            for c in combinations(sizes, order)
        ]
        for order in (1, 2, 3)
    }
    found = {
        name: float(np.mean(off[order]))
        for order, name in enumerate(("columns", "pairs", "triples"), 1)
        if off[order]
    }
    return found | {"worst": max(off[2], default=0.0)}


if __name__ == "__main__":
    real, fake, domain = sys.argv[1:]
    sizes = json.loads(Path(domain).read_text())
    found = distances(read(real, list(sizes)), read(fake, list(sizes)), sizes)
    print(" ".join(f"{value:.4f}" for value in found.values()))
