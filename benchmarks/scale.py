"""How time and memory grow with rows, columns and domain sizes, from a Parquet file to
the fitted model.

    python benchmarks/scale.py                         rows 1e4 … 1e6, columns 10 … 50, domains of 2 … 1,000 codes
    python benchmarks/scale.py --rows 1e8              rows up to 100,000,000, and nothing else
    python benchmarks/scale.py --columns 200           columns up to 200, and nothing else
    python benchmarks/scale.py --domain 10000          domain sizes up to 10,000, and nothing else
    python benchmarks/scale.py --only mst              another synthesizer; may be repeated
    python benchmarks/scale.py --redraw                the plot and the table of docs/benchmarks.md, which every run writes, again

Each point is a process of its own on a file made for it in a temporary folder: columns
that depend on each other through a hidden one. Per point: seconds spent reading and
counting rows (`scan`), those from the last of it to the model (`after`), the whole,
processor seconds, the peak of memory when the model is there, and rows per second
sampled from it, as codes and as a frame. ε = 1, δ = 1e-9.

For the rows, another process lets DuckDB count the same marginals from the same file,
by one GROUP BY for each and, for files below 50 MB, by one query with all of them as
grouping sets; the faster one counts, and the ratio of our whole run to it is printed.
The last line says whether the promise was kept at the largest number of rows: below 3
GB, 500,000 rows sampled in a processor second and, from ten million rows on, at most
twice DuckDB's time.
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
from collections.abc import Callable
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
from page import circumstances, fill
from picture import Series, scatter

from understudy.schema import Integer, Schema
from understudy.synthesizers import SYNTHESIZER_CLASSES
from understudy.tables.table import Table
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PLOT = (
    ROOT / "benchmarks" / "results" / "scale.json",
    ROOT / "docs" / "images" / "scale.svg",
)
SURVEY = (2, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 33, 33, 42)
ROWS = (10**4, 10**5, 10**6, 10**7, 10**8)
COLUMNS = (10, 20, 50, 100, 200)
DOMAINS = (2, 10, 100, 1_000, 10_000)
FEW = 100_000
"""Rows where something else grows."""

COLOURS = {"mst": "#0072B2"}

HIDDEN = 64
MOST_MEMORY, MOST_RATIO, LEAST_RATE, LARGE = 3e9, 2.0, 500_000, 10**7
LARGE_FILE = 50_000_000
PATIENCE = 1800.0
"""Seconds after which a point is given up."""

Point = dict[str, object]


def generate(path: Path, rows: int, sizes: tuple[int, ...]) -> None:
    """A file of codes; in half of the cells of a column the hidden one decides."""

    def column(i: int, size: int) -> str:
        kind = "UTINYINT" if size <= 256 else "USMALLINT"
        follows = f"(hash(z * 1000 + {i}) % {size})"
        return f"(CASE WHEN hash(range * 7 + {i}) % 2 = 0 THEN {follows} ELSE hash(range * 1009 + {i}) % {size} END)::{kind} AS c{i}"

    select = ", ".join(column(i, size) for i, size in enumerate(sizes))
    query = f"SELECT {select} FROM (SELECT range, hash(range) % {HIDDEN} AS z FROM range({rows}))"
    config = {"preserve_insertion_order": False, "memory_limit": "1GB"}
    duckdb.connect(config=config).execute(
        f"COPY ({query}) TO '{path}' (FORMAT parquet)"
    )


class Watch:
    """What a run asks of its table, and when: the table's own methods, timed."""

    def __init__(self) -> None:
        self.cliques: dict[tuple[str, ...], None] = {}
        self.scan, self.last, self.busy, self._depth = 0.0, 0.0, 0.0, 0
        for name in ("rows", "encode", "counts", "sparse_counts"):
            setattr(Table, name, self._timed(getattr(Table, name), name == "counts"))

    def _timed(
        self, method: Callable[..., object], counts: bool
    ) -> Callable[..., object]:
        def timed(table: Table, *given: object, **named: object) -> object:
            if counts:
                self.cliques.update(dict.fromkeys(map(tuple, given[0])))  # type: ignore[arg-type, call-overload]
            start, self._depth = time.perf_counter(), self._depth + 1
            try:
                return method(table, *given, **named)
            finally:
                self._depth, self.last, self.busy = (
                    self._depth - 1,
                    time.perf_counter(),
                    time.process_time(),
                )
                self.scan += self.last - start if self._depth == 0 else 0.0

        return timed


def fit(path: str, sizes: list[int], name: str) -> Point:
    """One point, in this process."""
    schema = Schema(
        columns=tuple(
            Integer(name=f"c{i}", min=0, max=n - 1, nullable=False)
            for i, n in enumerate(sizes)
        )
    )
    watch = Watch()
    start, busy = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        release = synthesize(
            path,
            schema,
            epsilon=1,
            delta="1e-9",
            synthesizer=name,
            ledger=Path(folder, "bench.ledger"),
            run=RunOptions(dataset="bench"),
        )
    done = time.perf_counter()
    found: Point = {
        "scan": watch.scan,
        "after": done - watch.last,
        "after busy": time.process_time() - watch.busy,
        "seconds": done - start,
        "busy": time.process_time() - busy,
        "peak": peak(),
        "cliques": [list(clique) for clique in watch.cliques if clique],
    }
    drawn = (
        4_000_000 if len(sizes) <= 20 else 200_000
    )  # the first of them also prepare how rows meet their aims
    start, busy = time.perf_counter(), time.process_time()
    release.model.sample(drawn, np.random.default_rng(0))
    found["codes/s"], found["codes/busy s"] = (
        drawn / (time.perf_counter() - start),
        drawn / (time.process_time() - busy),
    )
    start = time.perf_counter()
    release.sample(drawn)
    found["rows/s"] = drawn / (time.perf_counter() - start)
    return found


def database(path: str, cliques: list[list[str]]) -> Point:
    """The same marginals by DuckDB alone, the faster of two ways; of a large file the
    one that is faster from a million rows on.
    """
    times = []
    sets = ", ".join(f"({', '.join(clique)})" for clique in cliques)
    every = ", ".join(dict.fromkeys(name for clique in cliques for name in clique))
    ways = [
        [f"SELECT {', '.join(c)}, count(*) FROM '{path}' GROUP BY ALL" for c in cliques]
    ]
    if Path(path).stat().st_size < LARGE_FILE:
        ways.append(
            [f"SELECT {every}, count(*) FROM '{path}' GROUP BY GROUPING SETS ({sets})"]
        )
    for queries in ways:
        connection = duckdb.connect(
            config={"memory_limit": "2GB", "preserve_insertion_order": False}
        )
        start = time.perf_counter()
        for query in queries:
            connection.execute(query).fetchnumpy()
        times.append(time.perf_counter() - start)
    return {
        "duckdb": min(times),
        "ways": times,
        "duckdb busy": time.process_time(),
        "duckdb peak": peak(),
    }


def peak() -> int:
    """Bytes this process has held at most. The usage the system keeps starts from what
    the parent held, so it is the second choice.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(
            next(
                line
                for line in status.read_text().splitlines()
                if line.startswith("VmHWM")
            ).split()[1]
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def apart(job: str, *given: object) -> Point:
    """A job in a process of its own."""
    command = [sys.executable, __file__, "--job", json.dumps([job, *given])]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return {"state": f"over {PATIENCE:.0f} s"}
    if ran.returncode:
        return {"state": (ran.stderr.strip().splitlines() or ["no message"])[-1][:120]}
    return {"state": "ran", **json.loads(ran.stdout)}


def measured(
    what: str, value: int, sizes: tuple[int, ...], rows: int, names: list[str]
) -> list[Point]:
    """One file, and every synthesizer on it."""
    points = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        start = time.perf_counter()
        generate(path, rows, sizes)
        made = time.perf_counter() - start
        for name in names:
            found = apart("fit", str(path), list(sizes), name)
            cliques = found.pop("cliques", [])
            found |= {
                "what": what,
                "value": value,
                "synthesizer": name,
                "marginals": len(cliques),
                "made": made,
            }  # type: ignore[arg-type]
            if what == "rows" and cliques:
                found |= {
                    k: v
                    for k, v in apart("database", str(path), cliques).items()
                    if k != "state"
                }
            print(line(found), flush=True)
            load = {
                "day": date.today().isoformat(),
                "cores": os.cpu_count(),
                "load": round(os.getloadavg()[1], 1),
            }
            points.append(found | load)
    return points


HEAD = (
    f"{'':<22}{'':<10}{'scan s':>8}{'after s':>9}{'whole s':>9}{'busy s':>9}{'peak MB':>9}{'codes/s':>12}{'rows/s':>12}"
    f"{'marginals':>11}{'DuckDB s':>10}{'ratio':>7}"
)


def line(found: Point) -> str:
    """One row of the table."""
    head = f"{found['what'] + ' ' + format(found['value'], ','):<22}{found['synthesizer']:<10}"  # type: ignore[operator]
    if found["state"] != "ran":
        return f"{head}{found['state']}"
    counted = (
        f"{found['duckdb']:>10.2f}{found['seconds'] / found['duckdb']:>7.2f}"
        if "duckdb" in found
        else ""
    )  # type: ignore[operator]
    return (
        f"{head}{found['scan']:>8.2f}{found['after']:>9.2f}{found['seconds']:>9.2f}{found['busy']:>9.2f}{found['peak'] / 1e6:>9.0f}"  # type: ignore[operator]
        f"{found['codes/s']:>12,.0f}{found['rows/s']:>12,.0f}{found['marginals']:>11,}{counted}"
    )


def keep(points: list[Point], path: Path) -> list[Point]:
    """Write points down beside those that are there already."""

    def key(point: Point) -> tuple[object, ...]:
        return point["what"], point["synthesizer"], point["value"]

    known = json.loads(path.read_text()) if path.exists() else []
    fresh = {key(point) for point in points}
    everything = sorted([p for p in known if key(p) not in fresh] + points, key=key)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(everything, indent=1) + "\n")
    return everything


def promised(points: list[Point]) -> bool:
    """Whether memory, ratio and sampling are as promised at the largest number of rows."""
    ran = [
        p
        for p in points
        if p["what"] == "rows"
        and p["state"] == "ran"
        and p["synthesizer"] == "adaptive"
    ]
    if not ran:
        return True
    last = max(ran, key=lambda p: p["value"])  # type: ignore[arg-type, return-value]
    fine = last["peak"] <= MOST_MEMORY and last["codes/busy s"] >= LEAST_RATE  # type: ignore[operator]
    if last["value"] >= LARGE:  # type: ignore[operator]
        fine = fine and last["seconds"] <= MOST_RATIO * last["duckdb"]  # type: ignore[operator]
    return bool(fine)


def draw(points: list[Point], plot: Path) -> None:
    """Seconds, memory and what comes after the scan, against rows, columns and domain
    sizes.
    """
    panels: dict[str, list[Series]] = {}
    ups = []
    for what, titled in (
        ("rows", "rows (15 columns)"),
        ("columns", "columns (100,000 rows)"),
        ("domain", "codes of each column"),
    ):
        ran = [p for p in points if p["what"] == what and p["state"] == "ran"]
        for key, title in (("seconds", "seconds"), ("peak", "MB")):
            series = []
            for name in dict.fromkeys(p["synthesizer"] for p in ran):
                mine = [p for p in ran if p["synthesizer"] == name]
                scaled = 1e-6 if key == "peak" else 1
                bold = name == "adaptive"
                colour = COLOURS.get(str(name), "")
                series.append(
                    Series(
                        str(name),
                        [(p["value"], p[key] * scaled) for p in mine],
                        bold=bold,
                        colour=colour,
                    )
                )  # type: ignore[misc, operator]
                if what == "rows" and key == "seconds" and bold:
                    series.append(
                        Series(
                            "after the scan",
                            [(p["value"], p["after"]) for p in mine],
                            colour="#E69F00",
                        )
                    )  # type: ignore[misc]
                    counted = [(p["value"], p["duckdb"]) for p in mine if "duckdb" in p]
                    series += (
                        [Series("DuckDB", counted, colour="#000000")] if counted else []
                    )  # type: ignore[list-item]
            if series and what == "rows":
                panels[f"{title}, by {titled}"] = series
                ups.append(title)
            elif series and key == "seconds":
                panels[f"{title}, by {titled}"] = series
                ups.append(f"{title} ")
    across = [
        "rows" if "by rows" in name else "columns" if "by columns" in name else "codes"
        for name in panels
    ]
    plot.parent.mkdir(parents=True, exist_ok=True)
    plot.write_text(
        scatter(
            panels,
            title="From a Parquet file to the fitted model, both axes logarithmic",
            across=across,
            up=ups,
        )
    )


def publish(points: list[Point]) -> None:
    """The table of the documentation."""
    rows = []
    for what in ("rows", "columns", "domain"):
        for p in sorted(
            (p for p in points if p["what"] == what),
            key=lambda p: (p["value"], p["synthesizer"]),
        ):  # type: ignore[arg-type, return-value]
            start = [f"{what} {p['value']:,}", str(p["synthesizer"])]
            if p["state"] != "ran":
                rows.append([*start, str(p["state"]), *[""] * 8])
                continue
            cells = [f"{p[key]:.2f}" for key in ("scan", "after", "seconds", "busy")]
            cells += [
                f"{p['peak'] / 1e6:.0f}",
                *(f"{p[key]:,.0f}" for key in ("codes/s", "rows/s")),
            ]  # type: ignore[operator]
            counted = (
                [f"{p['duckdb']:.2f}", f"{p['seconds'] / p['duckdb']:.2f}"]
                if "duckdb" in p
                else ["", ""]
            )  # type: ignore[operator]
            rows.append([*start, *cells, *counted])
    head = [
        "",
        "",
        "scan s",
        "after s",
        "whole s",
        "processor s",
        "peak MB",
        "codes/s",
        "rows/s",
        "DuckDB s",
        "ratio",
    ]
    fill("scale", head, rows, circumstances(points))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, help="up to so many rows")
    parser.add_argument("--columns", type=int, help="up to so many columns")
    parser.add_argument("--domain", type=int, help="domain sizes up to this")
    parser.add_argument(
        "--least", type=float, default=0, help="leave out smaller points"
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=list(SYNTHESIZER_CLASSES),
        help="this one; may be repeated",
    )
    parser.add_argument(
        "--redraw", action="store_true", help="only draw, from the numbers there are"
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--plot", type=Path, default=PLOT)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job, *given = json.loads(options.job)
        print(json.dumps({"fit": fit, "database": database}[job](*given)))
        return 0
    if options.redraw:
        known = json.loads(options.results.read_text())
        draw(known, options.plot)
        publish(known)
        return 0
    asked = (options.rows, options.columns, options.domain)
    most = asked if any(asked) else (10**6, 50, 1_000)
    names = options.only or ["adaptive", "mst"]
    points = []
    print(HEAD)
    for what, values, limit in zip(
        ("rows", "columns", "domain"), (ROWS, COLUMNS, DOMAINS), most, strict=True
    ):
        for value in (v for v in values if options.least <= v <= (limit or 0)):
            rows = value if what == "rows" else FEW
            sizes = (
                SURVEY
                if what == "rows"
                else (8,) * value
                if what == "columns"
                else (value,) * 5
            )
            points += measured(what, value, sizes, rows, names)
            keep(
                points, options.results
            )  # a long run that is cut off keeps what it has
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[1]:.1f} over five minutes")
    everything = keep(points, options.results)
    draw(everything, options.plot)
    if options.results == RESULTS:
        publish(everything)
    fine = promised(points)
    print("as promised" if fine else "NOT as promised")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
