"""The quality of `adaptive` is no worse than stored (benchmarks/quality.py).

`python benchmarks/quality.py --refresh` stores that of a new version.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kit.scripts import load_script
from understudy.synthesizers.adaptive.allocation import Allocation, AllocationProblem

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


@pytest.fixture(autouse=True)
def _path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_errors_are_no_larger_than_stored():
    """A false alarm has a probability below 1e-6; a version whose errors are 5 % larger
    on every cell is found nearly always.
    """
    from quality import find_regressions, measure, read_baseline

    assert find_regressions(measure(), read_baseline()) == []


def test_an_even_allocation_is_found(monkeypatch):
    """It has teeth: a twin that gives every question the same part."""
    from quality import find_regressions, measure, read_baseline

    def solve_evenly(problem: AllocationProblem) -> Allocation:
        return problem._certify(np.full(problem.questions, 1 / problem.questions))

    monkeypatch.setattr(AllocationProblem, "solve", solve_evenly)
    runs = {"parity@0.5": 6}  # 34 % worse, which six runs exceed by eight deviations
    assert find_regressions(measure(runs), read_baseline())


def test_five_per_cent_more_everywhere_are_found():
    from quality import RUNS, find_regressions, read_baseline

    baseline = read_baseline()
    rng = np.random.default_rng(1)

    def simulate(loss: float) -> dict[str, list[float]]:
        """Runs of a version whose errors are larger, and the chance of the stored ones."""
        logs = {}
        for cell, stored in baseline.items():
            stored_error = rng.normal(0, stored.deviation / np.sqrt(stored.runs))
            mean = stored.mean + stored_error + np.log1p(loss)
            logs[cell] = rng.normal(mean, stored.deviation, RUNS[cell]).tolist()
        return logs

    assert not any(find_regressions(simulate(0.0), baseline) for _ in range(200))
    found = [bool(find_regressions(simulate(0.05), baseline)) for _ in range(200)]
    # The seed is fixed: nothing here is left to chance.
    assert np.mean(found) > 0.9


def test_the_page_has_what_was_stored():
    page = BENCHMARKS.parent / "docs" / "synthesizers" / "adaptive-results.md"
    script = load_script("adaptive_page")
    text = page.read_text()
    assert script.list_stored_quality() in text, "run scripts/adaptive_page.py"
    assert script.list_adult_results() in text, "run scripts/adaptive_page.py"
