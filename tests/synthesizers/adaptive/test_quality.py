"""The quality of `adaptive` is no worse than stored (benchmarks/quality.py).

`python benchmarks/quality.py --refresh` stores that of a new version.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from understudy.synthesizers.adaptive.allocation import Allocation, AllocationProblem

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


@pytest.fixture(autouse=True)
def _path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_errors_are_no_larger_than_stored():
    """Three runs of each cell. A false alarm has a probability below 1e-6; a version
    whose errors are a tenth larger on every cell is found nearly always.
    """
    from quality import find_regressions, measure, read_baseline

    assert find_regressions(measure(3), read_baseline()) == []


def test_an_even_allocation_is_found(monkeypatch):
    """It has teeth: a twin that gives every question the same part."""
    from quality import find_regressions, measure, read_baseline

    def solve_evenly(problem: AllocationProblem) -> Allocation:
        return problem._certify(np.full(problem.questions, 1 / problem.questions))

    monkeypatch.setattr(AllocationProblem, "solve", solve_evenly)
    assert find_regressions(
        measure(4, only=("chain", "clique", "parity")), read_baseline()
    )


def test_a_tenth_more_everywhere_is_found():
    from quality import find_regressions, read_baseline

    baseline = read_baseline()
    rng = np.random.default_rng(1)

    def simulate(worse: float) -> dict[str, list[float]]:
        return {
            cell: (rng.normal(s.mean + worse, s.deviation, 3)).tolist()
            for cell, s in baseline.items()
        }

    assert not any(find_regressions(simulate(0.0), baseline) for _ in range(200))
    found = [bool(find_regressions(simulate(0.1), baseline)) for _ in range(200)]
    assert np.mean(found) > 0.8
