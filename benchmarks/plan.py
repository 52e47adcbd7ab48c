"""Whether plans come true: forecast seconds, memory and noise beside what a run then took.

    python benchmarks/plan.py [--synthesizers mst adaptive] [--epsilon 1] [--data table.csv --domain domain.json]

The table is statsmodels' `randhie` (20,190 rows) unless one is given. Each run is a process of its own; memory is its peak. Noise is the
median, over all marginals that are measured, of the share of rows that noise moves; several looks at one are taken as one. Columns are less
noisy than pairs, so that the median of both jumps with how many pairs are chosen: the last two ratios are for each of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

RUN = """
import json, resource, sys, time
import numpy as np
import pyarrow.parquet as pq
import understudy as us
from understudy.models.variance import cell_variance
from understudy.schema import load_schema
folder, name, epsilon = sys.argv[1], sys.argv[2], sys.argv[3]
rows = pq.read_table(f"{folder}/table.parquet")
schema = load_schema(f"{folder}/schema.yaml")
us.plan(schema, epsilon=epsilon, synthesizer="independent")  # everything is imported before the clock starts
began = time.perf_counter()
release = us.synthesize(rows, schema, epsilon=epsilon, synthesizer=name, ledger=f"{folder}/{name}.ledger")
release.sample(kind="pyarrow")
seconds = time.perf_counter() - began
looks, noise = {}, []
for m in release.measurements:
    if m.clique:
        looks.setdefault((m.clique, m.maps), []).append(m)
for (clique, maps), some in looks.items():  # several looks at one marginal are one, taken together
    weights = [1 / cell_variance(m) for m in some]
    seen = sum(w * m.values for w, m in zip(weights, some)) / sum(weights)
    codes = np.ravel_multi_index([rows[c].to_numpy() for c in clique], schema.sizes(clique))
    true = np.bincount(codes, minlength=int(np.prod(schema.sizes(clique)))).reshape(schema.sizes(clique))
    for axis, m in enumerate(maps):
        true = np.moveaxis(np.tensordot(m.matrix(), true, axes=(1, axis)), 0, axis)
    noise.append((len(clique), float(np.abs(seen - true).sum()) / 2 / len(rows)))
print(json.dumps({"seconds": seconds, "memory": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "noise": noise}))
"""


def table(data: str | None, domain: str | None) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Columns of codes and the size of each."""
    if data is not None:
        rows = np.loadtxt(data, delimiter=",", skiprows=1, dtype=np.int64)
        names = Path(data).read_text().partition("\n")[0].strip().split(",")
        return {name: rows[:, i] for i, name in enumerate(names)}, json.loads(Path(domain or "").read_text())
    from statsmodels.datasets import randhie

    frame = randhie.load_pandas().data
    coded = {}
    for name in frame.columns:
        values = frame[name].to_numpy()
        distinct = np.unique(values)
        cuts = distinct if len(distinct) <= 32 else np.unique(np.quantile(values, np.linspace(0, 1, 33)))[1:-1]
        coded[name] = np.unique(np.digitize(values, cuts), return_inverse=True)[1]
    return coded, {name: int(codes.max()) + 1 for name, codes in coded.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--synthesizers", nargs="+", default=["independent", "mst", "privsyn", "adaptive"])
    parser.add_argument("--epsilon", nargs="+", default=["1"])
    parser.add_argument("--data")
    parser.add_argument("--domain")
    asked = parser.parse_args()
    import pyarrow as pa
    import pyarrow.parquet as pq

    import understudy as us
    from understudy.schema import Integer, Schema, save_schema

    coded, sizes = table(asked.data, asked.domain)
    rows = len(next(iter(coded.values())))
    columns = tuple(
        Integer(name=n, min=0, max=sizes[n] - 1, nullable=False, bins=tuple(range(sizes[n] + 1))) for n in coded
    )
    schema = Schema(columns=columns)
    head = (
        "synthesizer",
        "ε",
        "seconds",
        "forecast",
        "ratio",
        "MiB",
        "forecast",
        "ratio",
        "noise",
        "forecast",
        "ratio",
        "columns",
        "pairs",
    )
    print("{:<12}{:>6}{:>9}{:>9}{:>7}{:>8}{:>9}{:>7}{:>9}{:>9}{:>7}{:>9}{:>9}".format(*head))
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(pa.table(coded), Path(folder, "table.parquet"))
        save_schema(schema, Path(folder, "schema.yaml"))
        us.plan(schema, epsilon=1, rows=1000, synthesizer="mst")  # warm up
        for name in asked.synthesizers:
            for epsilon in asked.epsilon:
                made = us.plan(schema, epsilon=epsilon, rows=rows, synthesizer=name)
                command = [sys.executable, "-c", RUN, folder, name, epsilon]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                took = json.loads(done.stdout.splitlines()[-1])
                assert made.forecast is not None
                assert made.noise is not None
                real = median(off for _, off in took["noise"])
                by = [
                    (expected, median(found))
                    for k in (1, 2)
                    if (found := [off for columns, off in took["noise"] if columns == k])
                    and (expected := made.noise_of(k)) is not None
                ]
                mib = 2.0**20
                print(
                    f"{name:<12}{epsilon:>6}{took['seconds']:>9.2f}{made.forecast.total_seconds:>9.2f}"
                    f"{made.forecast.total_seconds / took['seconds']:>7.2f}{took['memory'] / mib:>8.0f}{made.forecast.memory / mib:>9.0f}"
                    f"{made.forecast.memory / took['memory']:>7.2f}{real:>9.4f}{made.noise:>9.4f}{made.noise / real:>7.2f}"
                    + "".join(f"{expected / off:>9.2f}" for expected, off in by),
                    flush=True,
                )


if __name__ == "__main__":
    main()
