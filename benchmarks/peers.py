"""Understudy and its peers on the same rows, in one run, with the same scorer: error,
time and memory, and their ratios.

    make bench-peers                                                   installs the peers, then runs everything on a survey
    make bench-peers DATA=DIR                                          the same, and on Adult from DIR; about an hour on two idle cores
    python benchmarks/peers.py --data rows.csv --domain domain.json    codes 0 … size - 1, and {column: size}; --survey adds the survey
    python benchmarks/peers.py --epsilon 0.1 --epsilon 1 --peers mbi   a choice of budgets and peers
    python benchmarks/peers.py --redraw                                the plot and the table of docs/benchmarks.md again

Every peer has an environment of its own in .venv-peers, made by `--install` from what
the package index carries; one that is not there is recorded as "not installed". Every
job is a process of its own. Its seconds are those from codes in memory to synthetic
codes in memory, imports and files not included; processor seconds and the peak of
memory stand beside them, since wall time depends on what else the machine does. A job
that ends in an error is recorded as that, and so is one that has taken `--limit`
seconds by the clock and of the processor. On a machine that is busy otherwise it may
get less: then it is given up after three times as long. δ = 1e-9, one row added or
removed; settings are each peer's own defaults. The scorer is benchmarks/peers/score.py.
Without `--data` the table is the survey `fair` of statsmodels on quantile bins: 6,366
rows, 9 columns. The synthesizer of ours is `adaptive`, unless `--ours` names others.

A table per budget, JSON in `--results` after every job, and after every table the plots
at `--plot` and, for the results kept here, the table of docs/benchmarks.md: a run that
is cut off leaves what it has.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.append(str(HERE / "peers"))

from job import read, write  # noqa: E402
from page import circumstances, fill  # noqa: E402
from picture import Ratios, Series, ratios, scatter, times  # noqa: E402
from score import distances  # noqa: E402

ENVIRONMENTS = ROOT / ".venv-peers"
RESULTS, PLOT = HERE / "results" / "peers.json", ROOT / "docs" / "images" / "peers.svg"
OURS = "understudy"
DELTA = "1e-9"
LIMIT, PATIENCE = 600.0, 3
"""Seconds after which a job is ended if it had a processor for as many, and how many
times as long it may take in any case.
"""


@dataclass(frozen=True)
class Peer:
    """What to install, in order, and what to run."""

    installs: tuple[tuple[str, ...], ...]
    methods: tuple[str, ...]


PEERS = {
    "mbi": Peer((("mbi==2.0.0",),), ("mst", "aim")),
    "dpmm": Peer((("dpmm==0.1.9",),), ("mst", "privbayes", "aim")),
    # A build for processors alone comes first: the default one brings gigabytes for
    # graphics cards.
    "smartnoise": Peer(
        (("torch==2.13.0+cpu",), ("smartnoise-synth==1.0.8", "torch==2.13.0+cpu")),
        ("mst", "mwem"),
    ),
    "datasynthesizer": Peer(
        (("DataSynthesizer==0.1.13", "numpy<2", "pandas<3"),), ("network",)
    ),
    # Questions and no tables: benchmarks/answers.py alone runs these two.
    "smartnoise-sql": Peer((("smartnoise-sql==1.0.10", "pyarrow"),), ()),
    "opendp": Peer((("opendp[polars]==0.16.0",),), ()),
    # Not private: benchmarks/strangers.py alone runs it, as a yardstick of looks.
    "sdv": Peer((("torch==2.13.0+cpu",), ("sdv==2.0.0", "torch==2.13.0+cpu")), ()),
}


COMPARED_PEERS = [name for name, peer in PEERS.items() if peer.methods]


def install(name: str) -> str:
    """An environment with the peer in it, made once; empty, or why there is none."""
    home = ENVIRONMENTS / name
    done, failed = home / "ready", home / "failed"
    if done.exists():
        return ""
    print(f"installing {name} …", flush=True)
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    for wanted in PEERS[name].installs:
        command = [
            python(name),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--prefer-binary",
            *wanted,
        ]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            said = [
                line for line in ran.stderr.splitlines() if line.startswith("ERROR")
            ]
            failed.write_text((said or ["pip failed"])[-1].removeprefix("ERROR: "))
            return failed.read_text()
    failed.unlink(missing_ok=True)
    done.touch()
    return ""


def python(name: str) -> str:
    """The interpreter that runs a peer; ours is this one."""
    return (
        sys.executable if name == OURS else str(ENVIRONMENTS / name / "bin" / "python")
    )


def missing(name: str) -> str:
    """Why a peer cannot be run, if it cannot."""
    if name == OURS or (ENVIRONMENTS / name / "ready").exists():
        return ""
    failed = ENVIRONMENTS / name / "failed"
    return f"not installed: {failed.read_text() if failed.exists() else 'run make bench-peers'}"


@dataclass(frozen=True)
class Table:
    """The rows that everybody gets, as files and in memory."""

    title: str
    data: Path
    domain: Path

    @property
    def sizes(self) -> dict[str, int]:
        """How many codes each column has."""
        return json.loads(self.domain.read_text())


def run(
    name: str, method: str, epsilon: str, table: Table, limit: float
) -> dict[str, object]:
    """One job in a process of its own: what it took and how far off it is, or what
    became of it.
    """
    why = missing(name)
    if why:
        return {"state": why}
    with tempfile.TemporaryDirectory() as folder:
        out, report, log = (
            Path(folder, "synthetic.csv"),
            Path(folder, "report.json"),
            Path(folder, "log"),
        )
        command = [
            python(name),
            HERE / "peers" / f"with_{name}.py",
            method,
            table.data,
            table.domain,
        ]
        start = time.perf_counter()
        with log.open("w") as said:
            child = subprocess.Popen(
                [*map(str, command), epsilon, DELTA, str(out), str(report)],
                stdout=said,
                stderr=said,
                cwd=folder,
                start_new_session=True,
            )
            status, busy, ended = wait(child.pid, start, limit)
        child.returncode = status  # it has been waited for
        spent = {"seconds": time.perf_counter() - start, "busy": busy}
        if ended:
            return {"state": ended, **spent}
        if not report.exists():
            last = (
                log.read_text(errors="replace").strip().splitlines() or ["no message"]
            )[-1]
            brief = re.sub(r"^(\w+[.])+", "", last)  # an exception without its module
            return {"state": f"died: {brief[:100]}", **spent}
        found = json.loads(report.read_text())
        sizes = table.sizes
        return {
            "state": "ran",
            **found,
            **distances(read(table.data, list(sizes)), read(out, list(sizes)), sizes),
        }


def wait(pid: int, start: float, limit: float) -> tuple[int, float, str]:
    """The end of a process and the processor seconds it used. At a limit it is ended,
    with all it started, and the third says at which.
    """
    while True:
        ended, status, used = os.wait4(pid, os.WNOHANG)
        if ended:
            return status, used.ru_utime + used.ru_stime, ""
        took = time.perf_counter() - start
        if took > limit:
            busy = used_so_far(pid)
            if busy > limit or took > PATIENCE * limit:
                os.killpg(pid, signal.SIGKILL)
                _, status, _ = os.wait4(pid, 0)
                return (
                    status,
                    busy,
                    f"over {limit:.0f} s"
                    if busy > limit
                    else f"given up after {PATIENCE * limit:.0f} s",
                )
        time.sleep(0.05 if took < limit else 1.0)


def used_so_far(session: int) -> float:
    """Processor seconds of all processes of a session and of their children that have
    ended; 0 where the system does not tell.
    """
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended since
            continue
        ticks += sum(map(int, fields[11:15])) if int(fields[3]) == session else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def compare(table: Table, options: argparse.Namespace) -> list[dict[str, object]]:
    """Every budget, every peer; ours first, since the ratios are against it."""
    jobs = [(OURS, method) for method in options.ours or ["adaptive"]]
    jobs += [
        (name, method)
        for name in options.peers or COMPARED_PEERS
        for method in PEERS[name].methods
    ]
    jobs = [
        job
        for job in jobs
        if not options.only or f"{job[0]} {job[1]}" in options.only or job[0] == OURS
    ]
    results = []
    for epsilon in options.epsilon or ["1"]:
        print(f"\n{table.title}, ε = {epsilon}, δ = {DELTA}")
        print(HEAD, flush=True)
        first: dict[str, object] | None = None
        for name, method in jobs:
            found = run(name, method, epsilon, table, options.limit)
            first = first or found
            print(line(f"{name} {method}", found, first), flush=True)
            results.append(
                {
                    "table": table.title,
                    "epsilon": epsilon,
                    "peer": name,
                    "method": method,
                    **found,
                    **machine(),
                }
            )
            keep(
                results, options.results
            )  # a long run that is cut off keeps what it has
    return results


def machine() -> dict[str, object]:
    """When this was, on how many cores, and how much else was going on."""
    return {
        "day": date.today().isoformat(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[1], 1),
    }


def keep(results: list[dict[str, object]], path: Path) -> list[dict[str, object]]:
    """Write results down beside those of other tables, budgets and peers that are there
    already.
    """

    def key(found: dict[str, object]) -> tuple[object, ...]:
        return tuple(found[k] for k in ("table", "epsilon", "peer", "method"))

    known = json.loads(path.read_text())["results"] if path.exists() else []
    fresh = {key(found) for found in results}
    everything = [found for found in known if key(found) not in fresh] + results
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(
            {"delta": DELTA, "results": everything}, indent=1, ensure_ascii=False
        )
        + "\n"
    )
    return everything


HEAD = (
    f"{'':<24}{'columns':>8}{'pairs':>8}{'':>7}{'triples':>8}{'':>7}{'worst pair':>12}"
    f"{'seconds':>10}{'':>8}{'processor':>11}{'':>8}{'MB':>7}{'':>7}"
)


def line(name: str, found: dict[str, object], ours: dict[str, object]) -> str:
    """One row of the table; behind each number how many times ours it is."""
    if found["state"] != "ran":
        return f"{name:<24}{found['state']}"

    def ratio(key: str) -> str:
        return (
            times(found[key] / ours[key])
            if ours["state"] == "ran" and found is not ours
            else ""
        )

    return (
        f"{name:<24}{found['columns']:>8.4f}{found['pairs']:>8.4f}{ratio('pairs'):>7}{found['triples']:>8.4f}{ratio('triples'):>7}"
        f"{found['worst']:>12.3f}{found['seconds']:>10.1f}{ratio('seconds'):>8}{found['busy']:>11.1f}{ratio('busy'):>8}"
        f"{found['peak'] / 1e6:>7.0f}{ratio('peak'):>7}"
    )


def survey(folder: Path) -> Table:
    """The table without `--data`: a survey that comes with statsmodels."""
    from coded_tables import statsmodels

    rows = statsmodels("fair")
    data, domain = folder / "fair.csv", folder / "fair.json"
    write(data, rows.codes)
    domain.write_text(json.dumps(rows.sizes))
    return Table("fair", data, domain)


MEASURES = {
    "error of triples": "triples",
    "processor seconds": "busy",
    "memory": "peak",
}


def draw(results: list[dict[str, object]], plot: Path) -> None:
    """Two plots: error, time and memory as ratios to ours; and, with `-scatter` in its
    name, error against time.
    """
    groups: dict[str, list[Ratios]] = {}
    for table, epsilon in dict.fromkeys((r["table"], r["epsilon"]) for r in results):
        some = [r for r in results if (r["table"], r["epsilon"]) == (table, epsilon)]
        ours = next(
            (r for r in some if r["peer"] == OURS and r["state"] == "ran"), None
        )
        rows = [
            Ratios(
                f"{r['peer']} {r['method']}",
                {title: r[key] / ours[key] for title, key in MEASURES.items()},
            )  # type: ignore[operator]
            if r["state"] == "ran"
            else Ratios(f"{r['peer']} {r['method']}", {}, _brief(str(r["state"])))
            for r in sorted(
                some, key=lambda r: (r["state"] != "ran", r.get("triples", 0))
            )  # type: ignore[arg-type, return-value]
            if ours is not None and r["peer"] != OURS
        ]
        if rows:
            groups[f"{table}, ε = {epsilon}"] = rows
    plot.parent.mkdir(parents=True, exist_ok=True)
    title = "Other packages at equal privacy: how many times the error, time and memory of Understudy"
    plot.write_text(
        ratios(groups, list(MEASURES), title=title, ours="Understudy's default")
    )
    panels: dict[str, list[Series]] = {}
    for found in (r for r in results if r["state"] == "ran"):
        series = Series(
            f"{found['peer']} {found['method']}",
            [(found["busy"], found["triples"])],
            bold=found["peer"] == OURS,
        )
        panels.setdefault(f"{found['table']}, ε = {found['epsilon']}", []).append(
            series
        )
    words = {"across": "processor seconds", "up": "distance of triples"}
    plot.with_stem(f"{plot.stem}-scatter").write_text(
        scatter(panels, title="Error against time: lower left is better", **words)
    )


def _brief(words: str, most: int = 40) -> str:
    return words if len(words) <= most else words[:most].rpartition(" ")[0] + " …"


def publish(results: list[dict[str, object]]) -> None:
    """The table of the documentation: every table and budget that was run, ours first."""
    rows = []
    for table, epsilon in dict.fromkeys((r["table"], r["epsilon"]) for r in results):
        some = [r for r in results if (r["table"], r["epsilon"]) == (table, epsilon)]
        some.sort(
            key=lambda r: (r["peer"] != OURS, r["state"] != "ran", r.get("triples", 0))
        )
        ours = some[0]
        for r in some:
            start = [f"{table}, ε = {epsilon}", f"{r['peer']} {r['method']}"]
            if r["state"] != "ran":
                used = f" ({r['busy']:.0f} processor s)" if "busy" in r else ""
                rows.append([*start, f"{r['state']}{used}", *[""] * 6])
                continue
            cells = [
                f"{r['columns']:.4f}",
                *(f"{r[k]:.4f}{beside(r, ours, k)}" for k in ("pairs", "triples")),
            ]
            cells += [
                f"{r['worst']:.3f}",
                *(f"{r[k]:.1f}{beside(r, ours, k)}" for k in ("seconds", "busy")),
            ]
            rows.append(
                [*start, *cells, f"{r['peak'] / 1e6:.0f}{beside(r, ours, 'peak')}"]
            )
    head = [
        "table",
        "",
        "columns",
        "pairs",
        "triples",
        "worst pair",
        "seconds",
        "processor",
        "MB",
    ]
    note = circumstances(results)
    if any(str(r["state"]).startswith("given up") for r in results):
        note += " A job that was given up had only part of a core: its processor seconds say how much it got, and alone it may well finish."
    fill("peers", head, rows, note)


def beside(found: dict[str, object], ours: dict[str, object], key: str) -> str:
    """How many times ours, for a cell of the page."""
    return (
        f" ({times(found[key] / ours[key])})"
        if ours["state"] == "ran" and found["peer"] != OURS
        else ""
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a CSV file of codes")
    parser.add_argument(
        "--domain", type=Path, help="a JSON file: the number of codes of each column"
    )
    parser.add_argument(
        "--survey", action="store_true", help="the survey too, before --data"
    )
    parser.add_argument(
        "--epsilon", action="append", help="this ε; may be repeated (default 1)"
    )
    parser.add_argument(
        "--peers",
        action="append",
        choices=COMPARED_PEERS,
        help="this peer; may be repeated",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="'PEER METHOD'",
        help="this job of theirs; may be repeated",
    )
    parser.add_argument(
        "--ours",
        action="append",
        help="this synthesizer of ours; may be repeated (default adaptive)",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=LIMIT,
        help="seconds, of the clock and of the processor, after which a job is ended",
    )
    parser.add_argument(
        "--install", action="store_true", help="make the environments that are missing"
    )
    parser.add_argument(
        "--redraw", action="store_true", help="only draw, from the numbers there are"
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--plot", type=Path, default=PLOT)
    options = parser.parse_args()
    if options.redraw:
        known = json.loads(options.results.read_text())["results"]
        draw(known, options.plot)
        publish(known)
        return 0
    if (options.data is None) != (options.domain is None):
        parser.error("--data and --domain go together")
    for name in (options.peers or COMPARED_PEERS) if options.install else ():
        why = install(name)
        if why:
            print(f"{name}: not installed: {why}")
    with tempfile.TemporaryDirectory() as folder:
        tables = [survey(Path(folder))] if options.survey or not options.data else []
        if options.data:
            tables.append(
                Table(
                    options.data.stem, options.data.resolve(), options.domain.resolve()
                )
            )
        for table in tables:
            everything = keep(compare(table, options), options.results)
            draw(everything, options.plot)
            if options.results == RESULTS:
                publish(everything)
    print(
        f"\n{os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}. Numbers: {options.results}, plot: {options.plot}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
