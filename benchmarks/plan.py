"""Whether plans come true: forecast seconds, memory and noise beside what a run then
took.

    python benchmarks/plan.py                                          randhie and fair, ε = 1
    python benchmarks/plan.py --tables all --data DIR --epsilon 0.1 1 10 --synthesizers adaptive
    python benchmarks/plan.py --tables chain --noise                   noise alone: nothing is fitted at the end or sampled

Tables are those of benchmarks/coded_tables.py. Each run is a process of its own; memory is
its peak. Noise is the share of rows that noise alone moves, in the median over the
columns and pairs of which everything was measured, all answers about one taken
together: the estimate of least squares against the truth. Beside it stand the ratios
for columns and for pairs alone, and how many pairs were forecast to be measured and
were. The last line says how many forecasts are as promised: time and memory within a
factor of two, noise within 30 %.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import coded_tables as tables

APART, CLOSE = 2.0, 0.3
"""How many times as much time or memory a run may take as forecast, or the other way
round; and the same for noise.
"""

RUN = """
import json, resource, sys, time
from pathlib import Path
import numpy as np
import pyarrow.parquet as pq
import understudy as us
from understudy.models.estimates.residuals import Residuals
from understudy.schema import Schema
from understudy.workflow.planning.precision import known
folder, name, epsilon, sampled = sys.argv[1:]
rows = pq.read_table(f"{folder}/table.parquet")
schema = Schema.load(f"{folder}/schema.yaml")
us.plan(schema, epsilon=epsilon, synthesizer="independent")  # everything is imported before the clock starts
began = time.perf_counter()
release = us.synthesize(rows, schema, epsilon=epsilon, synthesizer=name, ledger=f"{folder}/{name}-{epsilon}.ledger")
if sampled == "yes":
    release.sample(kind="pyarrow")
seconds = time.perf_counter() - began
status = Path("/proc/self/status")  # what the system keeps of usage starts from what the parent held, so it is the second choice
lines = status.read_text().splitlines() if status.exists() else []
peak = 1024 * int(next((x.split()[1] for x in lines if x.startswith("VmHWM")), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
pooled, noise = Residuals.of(schema, release.measurements), []
codes = {c: rows[c].to_numpy().astype(np.int64) for c in schema}
for k in (k for k in known(schema, release.measurements) if len(k.clique) < 3):
    shape = schema.sizes(k.clique)
    flat = np.ravel_multi_index([codes[c] for c in k.clique], shape)
    true = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)
    noise.append((len(k.clique), float(np.abs(pooled.marginal(k.clique) - true).sum()) / 2 / len(rows)))
print(json.dumps({"seconds": seconds, "memory": peak, "noise": noise}))
"""

HEAD = (
    f"{'table':<9}{'synthesizer':<13}{'ε':>5}{'seconds':>9}{'forecast':>9}{'ratio':>7}{'MiB':>7}{'forecast':>9}{'ratio':>7}"
    f"{'noise':>9}{'forecast':>9}{'ratio':>7}{'columns':>9}{'pairs':>7}{'pairs':>7}{'forecast':>9}"
)


def compared(
    table: tables.Coded, title: str, names: list[str], epsilons: list[str], whole: bool
) -> list[bool]:
    """A line for every synthesizer and ε; whether each is as promised."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import understudy as us
    from understudy.schema import Integer, Schema

    schema = Schema(
        columns=tuple(
            Integer(
                name=n, min=0, max=size - 1, nullable=False, bins=tuple(range(size + 1))
            )
            for n, size in table.sizes.items()
        )
    )
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(pa.table(table.codes), Path(folder, "table.parquet"))
        schema.save(Path(folder, "schema.yaml"))
        us.plan(schema, epsilon=1, rows=1000, synthesizer="mst")  # warm up
        for name in names:
            for epsilon in epsilons:
                made = us.plan(
                    schema,
                    epsilon=epsilon,
                    rows=table.rows,
                    synthesizer=name,
                    outlook=whole,
                )
                command = [
                    sys.executable,
                    "-c",
                    RUN,
                    folder,
                    name,
                    epsilon,
                    "yes" if whole else "no",
                ]
                done = subprocess.run(
                    command, capture_output=True, text=True, check=True
                )
                took = json.loads(done.stdout.splitlines()[-1])
                assert made.noise is not None
                found = {
                    k: [off for columns, off in took["noise"] if columns == k]
                    for k in (1, 2)
                }
                real = median([*found[1], *found[2]])
                ratios = [made.noise / min(real, 1.0)]
                cells = [f"{title:<9}{name:<13}{epsilon:>5}"]
                if made.forecast is not None:
                    time, memory = (
                        made.forecast.total_seconds / took["seconds"],
                        made.forecast.memory / took["memory"],
                    )
                    cells.append(
                        f"{took['seconds']:>9.2f}{made.forecast.total_seconds:>9.2f}{time:>7.2f}"
                    )
                    cells.append(
                        f"{took['memory'] / 2**20:>7.0f}{made.forecast.memory / 2**20:>9.0f}{memory:>7.2f}"
                    )
                    near = 1 / APART <= time <= APART and 1 / APART <= memory <= APART
                else:
                    cells.append(" " * 48)
                    near = True
                cells.append(f"{real:>9.4f}{made.noise:>9.4f}{ratios[0]:>7.2f}")
                for k, width in ((1, 9), (2, 7)):
                    expected = made.noise_of(k)
                    both = expected is not None and bool(found[k])
                    cells.append(
                        f"{expected / min(median(found[k]), 1.0):>{width}.2f}"
                        if both and expected
                        else " " * width
                    )
                cells.append(
                    f"{len(found[2]):>7}{sum(len(k.clique) == 2 for k in made.known):>9}"
                )
                near = near and abs(ratios[0] - 1) <= CLOSE
                print("".join(cells) + ("" if near else "  !"), flush=True)
                kept.append(near)
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument(
        "--synthesizers",
        nargs="+",
        default=["independent", "mst", "privsyn", "adaptive"],
    )
    parser.add_argument("--epsilon", nargs="+", default=["1"])
    parser.add_argument(
        "--tables", nargs="+", default=["randhie", "fair"], help="names, or `all`"
    )
    parser.add_argument(
        "--data", type=Path, help="a folder with adult-coded.csv and acs-ma2019.csv"
    )
    parser.add_argument(
        "--noise", action="store_true", help="noise alone, not how long a run takes"
    )
    asked = parser.parse_args()
    print(HEAD)
    kept: list[bool] = []
    for title in tables.names(asked.data) if asked.tables == ["all"] else asked.tables:
        table = tables.load(title, asked.data)
        kept += compared(
            table, title, asked.synthesizers, asked.epsilon, not asked.noise
        )
    print(f"as promised: {sum(kept)} of {len(kept)} (load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
