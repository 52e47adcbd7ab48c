"""Parents fitted by processes of this machine: the same tables, and an end that is told."""

from __future__ import annotations

from multiprocessing import Pipe

import numpy as np
import pytest

from kit.censuses import make_design, make_truth, measure
from understudy.censuses import top_down
from understudy.censuses.release import estimate_census
from understudy.censuses.workers.process_families import (
    answer_tasks,
    check_workers,
    fit_on_processes,
)
from understudy.errors import Refused, ReleaseError

DESIGN = make_design({"hierarchy": {"columns": ["state", "county"]}})


def test_processes_fit_the_same_tables(monkeypatch):
    """More tasks than wait at once, in their order; and a worker that dies is told."""
    monkeypatch.setattr(top_down, "TASK_CELLS", 1)
    monkeypatch.setattr("understudy.censuses.workers.process_families.TASKS_AHEAD", 1)
    rng = np.random.default_rng(1)
    measured = measure(DESIGN, make_truth(DESIGN, rng, 3.0), rng, 3.0)
    alone = estimate_census(DESIGN, measured, {})
    with fit_on_processes(2) as map_families:
        spread = estimate_census(DESIGN, measured, {}, map_families=map_families)
        for one, other in zip(alone.fitted.tables, spread.fitted.tables, strict=True):
            assert (one == other).all()
        with pytest.raises(ReleaseError, match="fewer workers"):
            list(map_families(top_down.fit_families, [object()]))


def test_a_worker_ends_when_its_socket_is_closed():
    ours, theirs = Pipe()
    ours.close()
    answer_tasks(theirs)


@pytest.mark.parametrize("workers", [0, -1, 257])
def test_what_is_no_number_of_workers_is_refused(workers):
    with pytest.raises(Refused, match="Nothing was spent"):
        check_workers(workers)
