"""Files as strangers bring them: real tables of other packages, through the commands a
new user types, scored by how the result looks beside the original.

    python benchmarks/strangers.py                               all tables, three runs; about an hour
    python benchmarks/strangers.py --tables penguins,wage --runs 1 --modes draft
    python benchmarks/strangers.py --max-rows 10000 --findings   also what is wrong with which column
    python benchmarks/strangers.py --files mine.csv              a file of your own
    python benchmarks/strangers.py --install sdv --modes sdv     another package, on the same files
    python benchmarks/strangers.py --redraw                      the table of docs/strangers.md again

Modes: `bare` gives the file alone, `draft` the schema as `understudy describe` writes it,
`public` that of `--public-domains`; ε = 1, δ as the command has it. `datasynthesizer` is
its correlated mode at ε = 1, and `sdv` the Gaussian copula, which is not private: a
yardstick of looks. Every run is a process of its own. What is scored, and how, stands in
benchmarks/looks.py and docs/strangers.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
from looks import IMPOSSIBLE_SHARE, MEAN_ERROR, FileLook, compare_files, read_texts
from peers import install, missing, python
from stranger_report import (
    Run,
    fill_page,
    judge_goals,
    keep_runs,
    print_findings,
    read_runs,
    write_head,
    write_line,
)
from stranger_tables import TABLES, fetch_archives, read_bytes

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "strangers.json"
EPSILON = "1"
MODES = ("bare", "draft")
OTHER_PACKAGES = ("datasynthesizer", "sdv")
EVERY_MODE = (*MODES, "public", *OTHER_PACKAGES)
COMMAND = "import sys; from understudy.cli import main; sys.exit(main())"
WEIGH = """
import json, os, pathlib, subprocess, sys
child = subprocess.Popen(sys.argv[2:])
_, status, used = os.wait4(child.pid, 0)
child.returncode = 0
report = [status, used.ru_utime + used.ru_stime, used.ru_maxrss]
pathlib.Path(sys.argv[1]).write_text(json.dumps(report))
"""
"""A small process that starts the measured one: a peak begins with the memory of whoever
started it, which here holds the largest table.
"""


@dataclass(frozen=True)
class Brought:
    """A file in a folder of its own."""

    name: str
    path: Path
    cells: pd.DataFrame

    @property
    def rows(self) -> int:
        """Rows of the file."""
        return len(self.cells)


def run_process(command: Sequence[str], folder: Path) -> tuple[int, str, float, float]:
    """A process with its status, last words, processor seconds and peak memory in MB."""
    log, used = folder / "log.txt", folder / "used.json"
    with log.open("w") as said:
        weighed = [sys.executable, "-c", WEIGH, used, *command]
        subprocess.run(list(map(str, weighed)), stdout=said, stderr=said, cwd=folder)
    status, busy, peak = json.loads(used.read_text())
    # The peak is in kilobytes, but in bytes on a Mac.
    unit = 1e6 if sys.platform == "darwin" else 1e3
    words = log.read_text(errors="replace").strip().splitlines() or [""]
    return os.waitstatus_to_exitcode(status), words[-1], busy, peak / unit


def _understudy(*words: object) -> list[str]:
    return [sys.executable, "-c", COMMAND, *map(str, words)]


def list_commands(brought: Brought, mode: str, folder: Path) -> list[list[str]]:
    """The commands of one run; the last writes out.csv, and out.release if it is ours."""
    out = folder / "out.csv"
    if mode in OTHER_PACKAGES:
        script = HERE / "peers" / f"file_with_{mode}.py"
        return [[python(mode), str(script), str(brought.path), str(out)]]
    commands = []
    schema: list[object] = []
    if mode != "bare":
        draft = folder / "draft.yaml"
        public = ["--public-domains"] if mode == "public" else []
        commands.append(_understudy("describe", brought.path, "-o", draft, *public))
        schema = ["--schema", draft]
    outputs = ["-o", out, "--release", folder / "out.release", "--keep-formulas"]
    command = ("synthesize", brought.path, *schema, "--epsilon", EPSILON, *outputs)
    return [*commands, _understudy(*command)]


def run_once(brought: Brought, mode: str) -> Run:
    """Run the commands, read the card if there is one, and compare."""
    run = Run(brought.name, mode, brought.rows, brought.cells.shape[1], **_machine())
    why = missing(mode) if mode in OTHER_PACKAGES else ""
    if why:
        run.state = why
        return run
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start = time.perf_counter()
        for command in list_commands(brought, mode, folder):
            status, last_line, busy, peak = run_process(command, folder)
            run.processor += busy
            run.peak = max(run.peak, peak)
            if status:
                run.state = f"stopped: {last_line[:160]}"
                break
        run.seconds = time.perf_counter() - start
        if run.state == "ran":
            if mode not in OTHER_PACKAGES:
                count_usable(run, folder)
            score(run, compare_files(brought.cells, read_texts(folder / "out.csv")))
    return run


def count_usable(run: Run, folder: Path) -> None:
    """Columns that the card calls good or usable."""
    said = subprocess.run(
        _understudy("card", folder / "out.release", "--json"),
        capture_output=True,
        text=True,
        check=True,
    )
    entries = json.loads(said.stdout)["entries"]
    run.has_card = True
    run.usable = sum(
        len(entry["clique"]) == 1 and entry["verdict"] in ("good", "usable")
        for entry in entries
    )


def score(run: Run, look: FileLook) -> None:
    """Sum up the columns of a file."""
    columns = look.columns
    run.scored, run.empty = len(columns), sum(c.is_empty for c in columns)
    run.wrong_type = sum("type" in c.wrong for c in columns)
    run.wrong_spelling = sum("spelling" in c.wrong for c in columns)
    run.wrong_grain = sum("grain" in c.wrong for c in columns)
    run.all_right = sum(not c.wrong and not c.is_empty for c in columns)
    numeric = [c for c in columns if c.kind in ("number", "time") and not c.is_constant]
    run.numeric = len(numeric)
    errors = [c.mean_error for c in numeric if c.mean_error is not None]
    run.means_right = sum(error <= MEAN_ERROR for error in errors)
    spreads = [c.deviation_error for c in numeric if c.deviation_error is not None]
    run.mean_error = float(np.median(errors)) if errors else math.nan
    run.deviation_error = float(np.median(spreads)) if spreads else math.nan
    run.one_way, run.two_way = look.one_way, look.two_way
    run.impossible_cells = float(np.mean([c.impossible for c in columns]))
    run.other_cells = float(np.mean([c.other for c in columns]))
    run.impossible_columns = sum(c.impossible > IMPOSSIBLE_SHARE for c in columns)
    run.findings = {key: said for c in columns for key, said in c.findings.items()}


def _machine() -> dict[str, object]:
    """When this was, on how many cores, and how much else was going on."""
    load = round(os.getloadavg()[1], 1)
    return {"day": date.today().isoformat(), "cores": os.cpu_count(), "load": load}


def bring_tables(options: argparse.Namespace, folder: Path) -> Iterator[Brought]:
    """The tables asked for, each written as a file; a line for one that is not there."""
    for path in options.files or ():
        yield Brought(path.stem, path.resolve(), read_texts(path))
    for name in () if options.files else options.tables or TABLES:
        content = read_bytes(TABLES[name])
        if content is None:
            print(f"{name:<16}not fetched", flush=True)
            continue
        path = folder / f"{name}.csv"
        path.write_bytes(content)
        brought = Brought(name, path, read_texts(path, TABLES[name].delimiter))
        if brought.rows <= options.max_rows:
            yield brought


def run_all(options: argparse.Namespace) -> list[Run]:
    """Every table, every mode, every run; a line as soon as it is known."""
    print(write_head(), flush=True)
    runs: list[Run] = []
    with tempfile.TemporaryDirectory() as name:
        for brought in bring_tables(options, Path(name)):
            for mode in options.modes:
                some = [run_once(brought, mode) for _ in range(options.runs)]
                runs += some
                print(write_line(some), flush=True)
                if options.findings:
                    print_findings(some)
                if options.results:
                    keep_runs(runs, options.results)
    return runs


def parse_options(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--tables", type=_split, metavar="A,B", help="these tables (default: all)")
    add("--files", type=_split_paths, metavar="A,B", help="these CSV files instead")
    add("--modes", type=_split, default=list(MODES), help=", ".join(EVERY_MODE))
    add("--runs", type=int, default=3, help="runs of each mode (default 3)")
    add("--max-rows", type=int, default=10**9, help="leave larger tables out")
    add("--findings", action="store_true", help="say what is wrong with which column")
    add("--results", type=Path, help="also keep the runs in this JSON file")
    add("--install", type=_split, default=[], help="install these packages first")
    add("--redraw", action="store_true", help="only the page, from the runs kept here")
    return parser.parse_args(words)


def _split(words: str) -> list[str]:
    return words.split(",")


def _split_paths(words: str) -> list[Path]:
    return [Path(word) for word in _split(words)]


def main(words: Sequence[str] | None = None) -> list[Run]:
    """Run, print, and say how far from the goals it is."""
    options = parse_options(words)
    if options.redraw:
        runs = read_runs(RESULTS)
        fill_page(runs)
        return runs
    for name in options.install:
        install(name)
    for line in () if options.files else fetch_archives():
        print(line)
    runs = run_all(options)
    print()
    for line in judge_goals(runs):
        print(line)
    return runs


if __name__ == "__main__":
    main()
