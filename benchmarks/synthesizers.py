"""Every synthesizer on one table: how close its rows are to the real ones, how long it
takes, how much memory.

    python benchmarks/synthesizers.py                              all of them, ε = 0.1, 1 and 10, three runs each
    python benchmarks/synthesizers.py --only mst --epsilon 1       one of them
    python benchmarks/synthesizers.py --data coded.csv --domain domain.json
    python benchmarks/synthesizers.py --growth rows                processor seconds and memory at 10^4 … 10^7 rows
    python benchmarks/synthesizers.py --growth columns             the same at 10 … 100 columns
    python benchmarks/synthesizers.py --growth columns --at 60     at 60 columns alone

The table is a CSV of codes 0 … size - 1 with a JSON of the sizes; without one
(`--data`, or UNDERSTUDY_ADULT for the folder of adult-coded.csv and
adult-coded-domain.json) a table of the same shape is made up, with columns that depend
on each other along a tree. δ = 1e-9, add/remove, where nothing else is asked for. The
job is timed from rows in memory to synthetic rows in memory, in a process of its own,
imports and scoring not included. Errors are the mean total variation distance over all
single columns, all pairs and all triples. A table, then one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from understudy.schema import Integer, Schema
from understudy.synthesizers import SYNTHESIZER_CLASSES, make
from understudy.tables.counting import Tally
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize

SIZES = (16, 32, 9, 32, 16, 7, 15, 6, 5, 2, 32, 32, 32, 42, 2)
ROWS = 48_842
PATIENCE = 3600
"""Seconds after which a job is given up."""

Codes = dict[str, np.ndarray]


def made_up(
    rows: int, sizes: tuple[int, ...], seed: int = 0
) -> tuple[Codes, dict[str, int]]:
    """Columns that depend on each other along a tree: each is a noisy function of one
    before it.
    """
    rng = np.random.default_rng(seed)
    codes: Codes = {}
    for i, size in enumerate(sizes):
        skew = rng.dirichlet(np.full(size, 0.6))
        own = rng.choice(size, rows, p=skew).astype(np.uint8)
        if i:
            before = codes[f"c{rng.integers(max(0, i - 4), i)}"]
            follows = rng.integers(0, size, 256).astype(np.uint8)[before]
            own = np.where(rng.random(rows) < rng.uniform(0.2, 0.8), follows, own)
        codes[f"c{i}"] = own
    return codes, {f"c{i}": size for i, size in enumerate(sizes)}


def loaded(data: str | None, domain: str | None) -> tuple[Codes, dict[str, int], str]:
    """The rows and sizes, and where they are from."""
    folder = os.environ.get("UNDERSTUDY_ADULT")
    if data is None and folder:
        data, domain = f"{folder}/adult-coded.csv", f"{folder}/adult-coded-domain.json"
    if data is None:
        return *made_up(ROWS, SIZES), "made up"
    sizes: dict[str, int] = json.loads(
        Path(domain or data.replace(".csv", "-domain.json")).read_text()
    )
    table = pyarrow.csv.read_csv(data)
    codes = {
        n: np.clip(table[n].fill_null(0).to_numpy(), 0, size - 1).astype(
            np.uint8 if size <= 256 else np.uint16
        )
        for n, size in sizes.items()
    }
    return codes, sizes, Path(data).stem


def declared(sizes: dict[str, int]) -> Schema:
    """Every column an integer code."""
    return Schema(
        columns=tuple(
            Integer(name=n, min=0, max=size - 1, nullable=False)
            for n, size in sizes.items()
        )
    )


def shares(codes: Codes, sizes: dict[str, int], order: int) -> list[np.ndarray]:
    """All marginals of so many columns, as shares."""
    tally = Tally(list(combinations(sizes, order)), sizes)
    tally.add(codes)
    return [table / max(table.sum(), 1) for table in tally.counts()]


def distances(real: Codes, fake: Codes, sizes: dict[str, int]) -> dict[str, float]:
    """Mean total variation distance over all marginals of one, two and three columns,
    and the worst pair.
    """
    found = {}
    for order in range(1, min(3, len(sizes)) + 1):
        pairs = zip(shares(real, sizes, order), shares(fake, sizes, order), strict=True)
        off = [float(np.abs(a - b).sum()) / 2 for a, b in pairs]
        found[f"tvd{order}"] = float(np.mean(off))
        if order == 2:
            found["worst2"] = max(off)
    return found


def framed(rows: Codes) -> pa.Table:
    """Rows as a frame; each column is taken out of `rows`, so that memory does not hold
    both.
    """
    return pa.table({n: pa.array(rows.pop(n).astype(np.int16)) for n in list(rows)})


def job(
    name: str,
    options: dict[str, object],
    epsilon: str,
    frame: pa.Table,
    sizes: dict[str, int],
    delta: str = "1e-9",
    neighbours: str = "add_remove",
) -> tuple[pa.Table, float, float]:
    """From rows in memory to synthetic rows in memory; the seconds that took, and those
    the processor was busy.
    """
    schema = declared(sizes)
    with tempfile.TemporaryDirectory() as folder:
        start, busy = time.perf_counter(), time.process_time()
        release = synthesize(
            frame,
            schema,
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours,
            synthesizer=make(name, **options),
            ledger=Path(folder) / "bench.ledger",
            run=RunOptions(dataset="bench"),
        )
        sampled = release.sample()
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
    assert isinstance(sampled, pa.Table)
    return sampled, seconds, busy


def work(options: argparse.Namespace) -> None:
    """In a process of its own: one synthesizer, one ε, some runs; a line of JSON."""
    if options.shape:
        count, columns = options.shape
        rows, sizes = made_up(count, tuple(np.resize(SIZES, columns).tolist()))
    else:
        rows, sizes, _ = loaded(options.data, options.domain)
    frame = framed(rows if options.shape else dict(rows))
    runs = []
    for _ in range(options.runs):
        settings = json.loads(options.options)
        made, seconds, busy = job(
            options.only[0],
            settings,
            options.epsilon[0],
            frame,
            sizes,
            options.delta,
            options.neighbours,
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        fake = (
            {}
            if options.shape
            else {n: made[n].to_numpy().astype(rows[n].dtype) for n in sizes}
        )
        scores = {} if options.shape else distances(rows, fake, sizes)
        runs.append({**scores, "seconds": seconds, "cpu": busy, "megabytes": peak})
    mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    print(
        json.dumps(
            {
                **mean,
                "megabytes": runs[0]["megabytes"],
                "seconds_first": runs[0]["seconds"],
            }
        )
    )


def apart(
    options: argparse.Namespace,
    name: str,
    epsilon: str,
    shape: tuple[int, int] | None = None,
) -> dict[str, object]:
    """Run `work` in another process; what it printed, or why it did not."""
    command = [sys.executable, __file__, "--work", "--only", name, "--epsilon", epsilon]
    command += [
        "--runs",
        str(1 if shape else options.runs),
        "--options",
        options.options,
    ]
    command += ["--delta", options.delta, "--neighbours", options.neighbours]
    command += ["--shape", *map(str, shape)] if shape else []
    for flag in ("data", "domain"):
        if getattr(options, flag):
            command += [f"--{flag}", getattr(options, flag)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {PATIENCE} s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(options: argparse.Namespace) -> list[dict[str, object]]:
    """All synthesizers at every ε."""
    rows, sizes, title = loaded(options.data, options.domain)
    count = len(next(iter(rows.values())))
    told = f"{title}: {count:,} rows, {len(sizes)} columns; δ = {options.delta}, {options.neighbours}"
    print(
        f"{told}; means over {options.runs} runs; {options.options if options.options != '{}' else 'defaults'}"
    )
    print(
        f"{'ε':>5} {'synthesizer':<16}{'1-way':>8}{'2-way':>8}{'3-way':>8}{'worst 2':>9}{'seconds':>9}{'cpu s':>8}{'peak MB':>9}"
    )
    results = []
    for epsilon in options.epsilon:
        for name in options.only or SYNTHESIZER_CLASSES:
            found = apart(options, name, epsilon)
            results.append(
                {
                    "synthesizer": name,
                    "epsilon": epsilon,
                    "options": options.options,
                    **found,
                }
            )
            if "failed" in found:
                print(f"{epsilon:>5} {name:<16}{found['failed']}", flush=True)
                continue
            scores = "".join(f"{found[key]:>8.4f}" for key in ("tvd1", "tvd2", "tvd3"))
            rest = f"{found['worst2']:>9.4f}{found['seconds']:>9.2f}{found['cpu']:>8.2f}{found['megabytes']:>9.0f}"
            print(f"{epsilon:>5} {name:<16}{scores}{rest}", flush=True)
    return results


def growth(options: argparse.Namespace) -> list[dict[str, object]]:
    """Processor seconds and memory against rows, or against columns, at the first ε."""
    longer, wider = (
        [(10**k, 15) for k in range(4, 8)],
        [(100_000, columns) for columns in (10, 20, 40, 60, 100)],
    )
    shapes = longer if options.growth == "rows" else wider
    if options.at:
        shapes = [
            (at, 15) if options.growth == "rows" else (100_000, at) for at in options.at
        ]
    print(
        f"processor seconds (peak MB), ε = {options.epsilon[0]}; a dash where the synthesizer refuses so many cells"
    )
    print(f"{'synthesizer':<16}" + "".join(f"{f'{r:,} × {c}':>20}" for r, c in shapes))
    results = []
    for name in options.only or SYNTHESIZER_CLASSES:
        print(f"{name:<16}", end="", flush=True)
        for shape in shapes:
            found = apart(options, name, options.epsilon[0], shape)
            results.append(
                {"synthesizer": name, "rows": shape[0], "columns": shape[1], **found}
            )
            why = str(found.get("failed", ""))
            cell = (
                f"{found['cpu']:.1f} ({found['megabytes']:.0f})"
                if not why
                else "–"
                if "Refused" in why
                else "failed"
            )
            print(
                f"{cell:>20}", end="", flush=True
            )  # the last ones take long: what is there can be read
        print(flush=True)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="a CSV of codes")
    parser.add_argument(
        "--domain",
        help="a JSON of the columns' sizes; default: beside the CSV, NAME-domain.json",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=list(SYNTHESIZER_CLASSES),
        help="this synthesizer; may be repeated",
    )
    parser.add_argument(
        "--epsilon", action="append", help="this ε; may be repeated; default 0.1, 1, 10"
    )
    parser.add_argument("--runs", type=int, default=3, help="runs to take the mean of")
    parser.add_argument(
        "--options", default="{}", help="options of the synthesizer, as JSON"
    )
    parser.add_argument("--delta", default="1e-9", help="0 for a pure ε")
    parser.add_argument(
        "--neighbours", default="add_remove", choices=("add_remove", "replace")
    )
    parser.add_argument(
        "--growth",
        choices=("rows", "columns"),
        help="cost against rows or columns instead of errors",
    )
    parser.add_argument(
        "--at",
        type=int,
        action="append",
        help="with --growth: so many alone; may be repeated",
    )
    parser.add_argument("--json", help="also write the JSON to this file")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--shape", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.epsilon = options.epsilon or (
        ["1"] if options.growth else ["0.1", "1", "10"]
    )
    if options.work:
        work(options)
        return 0
    results = growth(options) if options.growth else compare(options)
    print(json.dumps(results))
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
