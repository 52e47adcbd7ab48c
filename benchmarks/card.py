"""How often the card's bounds hold, and how much larger they are than the errors they bound.

    python benchmarks/card.py [--runs 3] [--epsilon 1] [--synthesizers adaptive mst aim privsyn]

The table is statsmodels' `fair` (6,366 rows) unless a file and its domain are given. `hold` is the share of the bounds of columns and pairs
that hold, promised are 95 %, of those that were measured and those of which a distance was bought; `bound/error` how many times the error
a bound is, in the median, promised are 4 for those that were measured. A bound that says nothing, because there is none or because it
reaches 100 % of the rows, is `vacuous` and counts for neither.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

import understudy as us
from understudy.schema import Integer, Schema

COVERAGE, LOOSEST = 0.95, 4.0
"""The share of bounds that hold, and how many times the error a bound may be in the median."""


def table(data: str | None, domain: str | None) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Columns of codes and the size of each."""
    if data is None:
        from statsmodels.datasets import fair

        frame = fair.load_pandas().data
        coded = {name: np.unique(frame[name], return_inverse=True)[1] for name in frame.columns if name != "affairs"}
        coded["affair"] = (frame["affairs"] > 0).to_numpy().astype(int)
        return coded, {name: int(codes.max()) + 1 for name, codes in coded.items()}
    rows = np.loadtxt(data, delimiter=",", skiprows=1, dtype=np.int64)
    names = Path(data).read_text().partition("\n")[0].strip().split(",")
    sizes = json.loads(Path(domain or "").read_text())
    return {name: rows[:, i] for i, name in enumerate(names)}, sizes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1, 3])
    parser.add_argument("--synthesizers", nargs="+", default=["adaptive", "mst", "privsyn", "aim"])
    parser.add_argument("--data")
    parser.add_argument("--domain")
    asked = parser.parse_args()
    coded, sizes = table(asked.data, asked.domain)
    rows = len(next(iter(coded.values())))
    schema = Schema(columns=tuple(Integer(name=n, min=0, max=sizes[n] - 1, nullable=False) for n in coded))
    import pyarrow as pa

    frame = pa.table(coded)
    print(f"{'':<20}{'measured':^29}{'distance bought':^29}")
    head = f"{'bounds':>8}{'hold':>8}{'bound/error':>13}"
    print(f"{'synthesizer':<14}{'ε':>6}{head}{head}{'vacuous':>10}")
    kept = True
    for name in asked.synthesizers:
        for epsilon in asked.epsilon:
            held: dict[bool, list[bool]] = {True: [], False: []}
            ratios: dict[bool, list[float]] = {True: [], False: []}
            silent = 0
            for _ in range(asked.runs):
                with tempfile.TemporaryDirectory() as folder:
                    release = us.synthesize(
                        frame, schema, epsilon=epsilon, synthesizer=name, ledger=Path(folder, "ledger")
                    )
                for entry in release.card:
                    if entry.error is None or entry.error >= 1:
                        silent += 1
                        continue
                    shape = schema.sizes(entry.clique)
                    flat = np.ravel_multi_index([coded[n] for n in entry.clique], shape)
                    real = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)
                    off = float(np.abs(real - release.card.table(entry.clique)).sum()) / (2 * rows)
                    held[entry.supported].append(off <= entry.error)
                    ratios[entry.supported].append(entry.error / max(off, 1e-9))
            cells = "".join(
                f"{len(held[s]):>8}{np.mean(held[s]):>8.1%}{np.median(ratios[s]):>13.2f}"
                if held[s]
                else f"{0:>8}{'':>21}"
                for s in (True, False)
            )
            count = len(held[True]) + len(held[False])
            print(f"{name:<14}{epsilon:>6}{cells}{silent / (silent + count):>10.1%}", flush=True)
            kept &= all(not held[s] or np.mean(held[s]) >= COVERAGE for s in held)
            kept &= not ratios[True] or bool(np.median(ratios[True]) <= LOOSEST)
    print("as promised" if kept else "NOT as promised")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
