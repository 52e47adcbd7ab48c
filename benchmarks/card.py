"""How often the card's bounds hold, and how much larger they are than the errors they bound.

    python benchmarks/card.py [--runs 3] [--epsilon 1] [--synthesizers mst aim privsyn]

The table is statsmodels' `fair` (6,366 rows) unless a file and its domain are given. Coverage is over all columns and pairs with a bound.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

import understudy as us
from understudy.schema import Integer, Schema


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1, 3])
    parser.add_argument("--synthesizers", nargs="+", default=["mst", "privsyn", "aim"])
    parser.add_argument("--data")
    parser.add_argument("--domain")
    asked = parser.parse_args()
    coded, sizes = table(asked.data, asked.domain)
    rows = len(next(iter(coded.values())))
    schema = Schema(columns=tuple(Integer(name=n, min=0, max=sizes[n] - 1, nullable=False) for n in coded))
    import pyarrow as pa

    frame = pa.table(coded)
    print(f"{'synthesizer':<14}{'ε':>6}{'bounds':>8}{'hold':>8}{'bound/error':>13}{'unsupported':>13}{'no bound':>10}")
    for name in asked.synthesizers:
        for epsilon in asked.epsilon:
            held, ratios, loose, silent, count = 0, [], [], 0, 0
            for _ in range(asked.runs):
                with tempfile.TemporaryDirectory() as folder:
                    release = us.synthesize(
                        frame, schema, epsilon=epsilon, synthesizer=name, ledger=Path(folder, "ledger")
                    )
                for entry in release.card:
                    if entry.error is None:
                        silent += 1
                        continue
                    shape = schema.sizes(entry.clique)
                    flat = np.ravel_multi_index([coded[n] for n in entry.clique], shape)
                    real = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)
                    off = float(np.abs(real - release.card.table(entry.clique)).sum()) / (2 * rows)
                    held += off <= entry.error
                    count += 1
                    (ratios if entry.supported else loose).append(entry.error / max(off, 1e-9))
            print(
                f"{name:<14}{epsilon:>6}{count:>8}{held / max(count, 1):>8.1%}"
                f"{np.median(ratios) if ratios else float('nan'):>13.2f}{np.median(loose) if loose else float('nan'):>13.2f}"
                f"{silent / (silent + count):>10.1%}"
            )


if __name__ == "__main__":
    main()
