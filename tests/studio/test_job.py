"""A run of the studio: what becomes of it when it is stopped, early or late, and what
its comparison holds.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from kit.permissions import PRIVATE, PRIVATE_FOLDER, PUBLIC, modes
from kit.studio.jobs import job_of
from kit.studio.server import people
from understudy.accounting.budget import Budget
from understudy.accounting.ledger import Ledger
from understudy.studio.job import MAX_REMEMBERED_RUNS, Job, Jobs
from understudy.studio.workspace import Workspace


class Impatient(Job):
    """Stopped as soon as the comparison has begun."""

    def _note_progress(self, stage: str, done: float) -> None:
        if stage.startswith("comparing: "):
            self.cancel()
        super()._note_progress(stage, done)


class Hasty(Job):
    """Stopped before anything was reserved."""

    def _note_progress(self, stage: str, done: float) -> None:
        self.cancel()
        super()._note_progress(stage, done)


def test_the_comparison_holds_attacks_and_their_control(tmp_path: Path) -> None:
    job = job_of(tmp_path, control=people(tmp_path / "others.csv", rows=300))
    stages: list[str] = []
    keep = job._note_progress
    job._note_progress = lambda stage, done: (stages.append(stage), keep(stage, done))[
        1
    ]  # type: ignore[method-assign,func-returns-value]
    job.run()
    assert job.state == "done", job.message
    assert job.report is not None
    assert job.report.risk is not None
    assert job.report.risk["attribute_inference"].is_computed
    assert job.report.risk["membership_measurements"].is_computed
    assert "comparing: Linkability" in stages, (
        "each attack is told as it begins, and can be stopped there"
    )
    twin = json.loads((job.folder / "report.json").read_text())
    assert twin["risk"]["facts"]["holdout"] is True


async def _bytes_of(path: Path) -> AsyncIterator[bytes]:
    yield path.read_bytes()


def test_only_its_owner_can_read_what_a_studio_keeps_of_the_rows(
    tmp_path: Path, permissive: None
) -> None:
    (tmp_path / "w").mkdir()
    workspace = Workspace(tmp_path / "w")
    asyncio.run(workspace.add("people.csv", _bytes_of(people(tmp_path / "sent.csv"))))
    workspace.keep_schema("people.csv", workspace.schema_text("people.csv"))
    workspace.open_account("people.csv", Budget.of(2))
    job = job_of(
        tmp_path,
        source=workspace.path("people.csv"),
        schema=workspace.schema_path("people.csv"),
        ledger=workspace.ledger_path("people.csv"),
        risk=False,
    )
    job.folder = workspace.run_folder("people.csv")
    job.run()
    assert job.state == "done", job.message
    assert modes(workspace.folder) == {
        "people.csv": PRIVATE,
        "people.csv.yaml": PRIVATE,
        "people.csv.ledger": PRIVATE,
        "people.csv.runs": PRIVATE_FOLDER,
        "people.csv.runs/1": PRIVATE_FOLDER,
        "people.csv.runs/1/release.understudy": PUBLIC,
        "people.csv.runs/1/synthetic.csv": PUBLIC,
        "people.csv.runs/1/public.html": PUBLIC,
        "people.csv.runs/1/public.json": PUBLIC,
        "people.csv.runs/1/report.html": PRIVATE,
        "people.csv.runs/1/report.json": PRIVATE,
    }


def test_attacks_can_be_left_out(tmp_path: Path) -> None:
    job = job_of(tmp_path, risk=False)
    job.run()
    assert job.report is not None
    assert job.report.risk is None
    assert job.report.utility is not None


def test_without_a_control_what_needs_one_is_listed(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    job.run()
    assert job.report is not None
    assert any("needs a holdout" in reason for _, reason in job.report.not_computed)
    assert job.report.risk is not None
    assert job.report.risk["match_risk"].is_computed


def test_stopping_the_comparison_leaves_the_release_whole(tmp_path: Path) -> None:
    job = job_of(tmp_path, Impatient)
    job.run()
    assert job.state == "done"
    assert job.release is not None
    assert job.report is None
    assert job.notes[0].startswith(
        "A new account, without a cap, is made for people.csv: "
    )
    assert job.notes[1:] == [
        "The comparison with the real rows was stopped. The release is whole."
    ]
    assert sorted(p.name for p in job.folder.iterdir()) == [
        "public.html",
        "public.json",
        "release.understudy",
        "synthetic.csv",
    ]


def test_a_control_that_fits_not_costs_the_comparison_alone(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("x\n1\n2\n")
    job = job_of(tmp_path, control=tmp_path / "other.csv")
    job.run()
    assert job.state == "done"
    assert job.release is not None
    assert job.notes[-1].startswith("There is no comparison with the real rows: ")


def test_an_account_that_the_command_line_opened_is_charged(tmp_path: Path) -> None:
    job = job_of(tmp_path, look=False)
    Ledger.create(job.ledger, dataset="people.csv", cap=Budget.of(1)).close()
    job.run()
    assert (job.state, job.message) == ("done", "")


def test_stopped_before_it_reserved_nothing_is_spent(tmp_path: Path) -> None:
    job = job_of(tmp_path, Hasty)
    job.run()
    assert (job.state, job.message) == ("cancelled", "Stopped. Nothing was spent.")
    assert list(job.folder.iterdir()) == []


@pytest.mark.parametrize("synthesizer", ["histogram", "no such"])
def test_whatever_fails_is_one_line(tmp_path: Path, synthesizer: str) -> None:
    job = job_of(tmp_path, synthesizer=synthesizer, delta="0", epsilon="1")
    job.run()
    assert job.state == "failed"
    assert "\n" not in job.message
    assert job.message


def test_runs_wait_for_each_other_and_one_that_waits_can_be_stopped(
    tmp_path: Path,
) -> None:
    jobs = Jobs()
    job = job_of(tmp_path)
    job.cancel()
    ended: list[Job] = []
    jobs.start(job, ended.append)
    while not ended:
        pass
    assert job.message == "Stopped before it began. Nothing was spent."
    assert jobs.find(job.id) is job
    assert jobs.all() == [job]


def test_a_run_that_goes_on_is_never_forgotten(tmp_path: Path) -> None:
    """However many come after it, it can be found and stopped."""
    jobs = Jobs()
    waiting = job_of(tmp_path)
    with jobs._turn:  # nothing begins
        jobs.start(waiting)
        for _ in range(2 * MAX_REMEMBERED_RUNS):
            jobs._jobs[f"ended {len(jobs._jobs)}"] = replace(waiting, state="done")
        waiting.cancel()
        later = replace(waiting, id="later")
        later.cancel()
        jobs.start(later)
        assert jobs.find(waiting.id) is waiting
        assert len(jobs.all()) <= MAX_REMEMBERED_RUNS
    jobs.close()


def test_a_table_that_seems_renamed_gets_no_second_account(tmp_path: Path) -> None:
    job = job_of(tmp_path, look=False)
    Ledger.create(tmp_path / "earlier.csv.ledger", dataset="earlier").close()
    job.run()
    assert job.state == "failed"
    assert (
        "earlier.csv.ledger is the account of earlier.csv, which is not there any more"
        in job.message
    )
    assert not job.ledger.exists()


def test_a_table_too_small_to_learn_from_stops_with_the_reason(tmp_path):
    """Five rows of twenty columns: the noise of the count passes that once in 10⁷."""
    job = job_of(tmp_path, anyway=False)
    names = [f"c{i}" for i in range(20)]
    lines = [",".join(names), *[",".join("3" * 20)] * 5]
    job.source.write_text("\n".join(lines) + "\n")
    job.run()
    assert job.state == "failed"
    assert "too small to learn its 20 open columns" in job.message
    assert "Counting the rows cost ε = 0.02" in job.message


def test_a_run_is_good_at_what_the_page_says(tmp_path: Path) -> None:
    job = job_of(tmp_path, workload=("columns", "pairs"), look=False)
    job.run()
    assert job.state == "done", job.message
    assert job.release is not None
    assert job.release.options["workload"] == "columns; pairs"
    (tmp_path / "wrong").mkdir()
    wrong = job_of(tmp_path / "wrong", workload=("model=nothing",), look=False)
    wrong.run()
    assert wrong.state == "failed"
    assert "Nothing was spent" in wrong.message
