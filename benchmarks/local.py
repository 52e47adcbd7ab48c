"""Local privacy: reports counted a second, and errors beside theory and pure-LDP.

    python benchmarks/local.py                     speed and errors
    python benchmarks/local.py --peer PYTHON       and pure-LDP, with a Python that has it
    python benchmarks/local.py --frequent          how many of twenty frequent texts are found

The goals: ten million reports in less than 60 seconds, mean squared errors within 2 %
of theory. Errors are those of real clients, with coins of the operating system: they
differ from run to run by the standard error that is printed beside them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from string import ascii_letters

import numpy as np

from understudy import local
from understudy.local.numeric import mean_variance
from understudy.local.rappor import bit_probabilities, design_matrix
from understudy.local.sketches import sketch_variance
from understudy.local.support import PURE_PROTOCOLS, support_probabilities
from understudy_client import draw_answer, write_report

GOAL_SECONDS = 60
VALUES = 64
RESPONDENTS = 20
MEAN_RESPONDENTS = 5
"""A run tells as much of the error over theory whatever its size: many small ones are
the fastest. A mean has one error a run, where shares have one for each value.
"""

MEANS = ("duchi", "piecewise", "square_wave")
RUNS_FACTOR = dict.fromkeys(MEANS, 20.0)
"""Runs of a mechanism, in units of --runs, so that all ratios are about as sure."""

SMALL_SIZES = {
    "cms": {"rows": 16, "width": 32},
    "hcms": {"rows": 16, "width": 32},
    "rappor": {"rows": 8, "width": 32, "hashes": 2},
}
"""Errors of sketches and Bloom filters are measured on these sizes: a report of a planned
sketch has 1,024 bits, each with a coin of its own.
"""

FILE_LINES = 200_000
REPORTS = 10_000_000
PEER = Path(__file__).parent / "peers" / "local_with_pure_ldp.py"


def zipf_values(n: int) -> np.ndarray:
    """The same n values in every run: shares fall as 1/rank."""
    weights = 1 / np.arange(1, VALUES + 1)
    ends = np.rint(np.cumsum(weights / weights.sum()) * n).astype(int)
    return np.repeat(np.arange(VALUES), np.diff(ends, prepend=0))


def plan_for(mechanism: str, epsilon: float) -> local.CollectionPlan:
    if mechanism in MEANS:
        bounds: tuple[object, object] = (0, VALUES - 1)
        if mechanism == "square_wave":
            # So that the middle of a level is a value, without a rounding error.
            bounds = ("-0.5", f"{VALUES - 1}.5")
        return local.plan_collection(
            "t", bounds=bounds, epsilon=epsilon, mechanism=mechanism
        )
    return local.plan_collection(
        "t", values=range(VALUES), epsilon=epsilon, mechanism=mechanism
    )


def time_counting(mechanism: str) -> float:
    """Processor seconds for ten million reports, read from a file again and again."""
    plan = plan_for(mechanism, 1)
    values = zipf_values(20_000)
    lines = [write_report(plan, draw_answer(plan, str(v))) for v in values]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.jsonl"
        path.write_text("\n".join(lines * (FILE_LINES // len(lines))) + "\n")
        collector = local.Collector(plan)
        start = time.process_time()
        for _ in range(REPORTS // FILE_LINES):
            collector.add_file(path)
        seconds = time.process_time() - start
    assert collector.reports == REPORTS
    return seconds


def measure_error(
    mechanism: str, epsilon: float, runs: int
) -> tuple[float, float, float]:
    """Mean squared error of real clients, its theory, and the measured ratio's error."""
    values = zipf_values(MEAN_RESPONDENTS if mechanism in MEANS else RESPONDENTS)
    respondents = len(values)
    shares = np.bincount(values, minlength=VALUES) / respondents
    squares: list[float] = []
    for _ in range(runs):
        # A seed of its own each time: the error of a sketch is over hash functions too.
        if not squares or mechanism in ("cms", "hcms"):
            plan = plan_for(mechanism, epsilon)
            if mechanism in SMALL_SIZES:
                plan = replace(plan, sizes=SMALL_SIZES[mechanism])
        collector = local.Collector(plan)
        collector.add(local.simulate_reports(plan, values))
        found = collector.estimate()
        if mechanism in MEANS:
            if mechanism == "square_wave":
                found = found.mean
            squares.append(((found.mean - values.mean()) / (VALUES - 1)) ** 2)
        else:
            squares.append(((found.shares - shares) ** 2).mean())
    theory = expected_error(plan, values, shares)
    measured = float(np.mean(squares))
    return measured, theory, float(np.std(squares) / runs**0.5 / theory)


def expected_error(
    plan: local.CollectionPlan, values: np.ndarray, shares: np.ndarray
) -> float:
    """Of fixed respondents: the randomisation alone."""
    if plan.mechanism in MEANS:
        each = [mean_variance(plan, v / (VALUES - 1)) for v in values]
        return float(np.mean(each) / len(values))
    if plan.mechanism == "rappor":
        return expected_rappor_error(plan, shares, len(values))
    if plan.mechanism in PURE_PROTOCOLS:
        support = support_probabilities(plan)
        each = [support.noise_variance(s, len(values)) for s in shares]
        return float(np.mean(each))
    return float(sketch_variance(plan, shares, len(values)).mean())


def expected_rappor_error(
    plan: local.CollectionPlan, shares: np.ndarray, respondents: int
) -> float:
    """Under these hash functions: of the coins, and of who is in which cohort."""
    rows = plan.sizes["rows"]
    zero, one = bit_probabilities(plan)
    design = design_matrix(plan, plan.values)
    decoder = np.linalg.pinv(design / rows).reshape(len(shares), rows, -1)
    bits = design.reshape(rows, -1, len(shares))
    # Of one respondent, for each estimate, cohort and true value.
    added = np.einsum("cjb,jbv->cvj", decoder, bits)
    spread = zero * (1 - zero) + bits * (one * (1 - one) - zero * (1 - zero))
    coins = np.einsum("cjb,jbv->cvj", decoder**2, spread) / (one - zero) ** 2
    variance = (coins.mean(axis=2) + added.var(axis=2)) @ shares
    return float(variance.mean() / respondents)


def count_found_texts(epsilon: float, respondents: int) -> int:
    """Of the twenty most frequent among 1,500 two-letter texts, with shares that fall as
    rank^-1.5, how many are among the twenty that prefix extension finds.
    """
    rng = np.random.default_rng(1)
    pairs = [a + b for a in ascii_letters for b in ascii_letters]
    texts = rng.choice(pairs, 1_500, replace=False)
    weights = np.arange(1.0, 1_501) ** -1.5
    typed = rng.choice(texts, respondents, p=weights / weights.sum())
    plan = local.plan_collection("t", max_bytes=2, epsilon=epsilon)
    collector = local.Collector(plan)
    collector.add(local.simulate_reports(plan, typed))
    # The texts are in the order of their shares.
    return len(set(collector.find_heavy_hitters(20).values) & set(texts[:20]))


def print_found_texts(runs: int) -> None:
    print("| epsilon | respondents | found of 20 |\n|---|---|---|")
    for epsilon in (2, 4):
        found = [count_found_texts(epsilon, 100_000) for _ in range(runs)]
        print(f"| {epsilon} | 100,000 | {np.mean(found):.1f} |", flush=True)


def run_peer(python: str, epsilon: float, runs: int) -> dict[str, float]:
    """Mean squared errors of pure-LDP on the same values."""
    job = {
        "values": zipf_values(RESPONDENTS).tolist(),
        "size": VALUES,
        "epsilon": epsilon,
        "runs": runs,
        **SMALL_SIZES["cms"],
    }
    done = subprocess.run(
        [python, str(PEER)],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--only", nargs="+", help="errors of these mechanisms alone")
    parser.add_argument("--peer", help="a Python that has pure-LDP")
    parser.add_argument("--frequent", action="store_true")
    options = parser.parse_args()
    if options.frequent:
        print_found_texts(5)
        return 0
    slowest = 0.0
    timed = () if options.only else ("krr", "oue", "subset", "olh", "hadamard", "hcms")
    for mechanism in timed:
        seconds = time_counting(mechanism)
        slowest = max(slowest, seconds)
        print(f"{mechanism:<10} 10 million reports, {VALUES} values: {seconds:6.1f} s")
    print(
        f"\n{'mechanism':<10} {'epsilon':>7} {'MSE':>9} {'theory':>9} {'ratio':>6} {'±':>5} {'pure-LDP':>9}"
    )
    for epsilon in (1, 3):
        peers = run_peer(options.peer, epsilon, options.runs) if options.peer else {}
        for mechanism in (
            "krr",
            "sue",
            "oue",
            "subset",
            "olh",
            "hadamard",
            "duchi",
            "piecewise",
            "square_wave",
            "cms",
            "hcms",
            "rappor",
        ):
            if options.only and mechanism not in options.only:
                continue
            runs = round(options.runs * RUNS_FACTOR.get(mechanism, 1))
            measured, theory, error = measure_error(mechanism, epsilon, runs)
            beside = f"{peers[mechanism]:9.2e}" if mechanism in peers else f"{'':>9}"
            print(
                f"{mechanism:<10} {epsilon:>7} {measured:9.2e} {theory:9.2e} {measured / theory:6.3f} {error:5.3f} {beside}"
            )
    print(
        f"\ngoal of {GOAL_SECONDS} s: {'met' if slowest < GOAL_SECONDS else 'missed'}"
    )
    return 0 if slowest < GOAL_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
