"""A run of the studio: it goes on whether or not a page watches it, and can be stopped
without harm.

Each runs in a thread of its own. It stops at the next report of progress after somebody
asked it to: what was reserved stays spent, as the ledger says, and no file is left
half-written.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from understudy.accounting.aftermath import (
    account_for_failure,
    describe_spending,
    find_spent_note,
)
from understudy.errors import UnderstudyError
from understudy.notices import Notice
from understudy.releases import Release
from understudy.reports.evaluate import evaluate, publishable_report
from understudy.reports.report import Report
from understudy.synthesizers import make
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize

MAX_REMEMBERED_RUNS = 200
"""Runs that the studio lists; the files of older ones stay."""


class RunCancelled(Exception):
    """Somebody asked the run to stop."""


@dataclass(kw_only=True)
class Job:
    """One run and how far it is. Written by its thread, read by pages."""

    table: str
    source: Path
    folder: Path
    schema: Path | None
    ledger: Path
    epsilon: str
    delta: str | None
    synthesizer: str
    options: dict[str, str] = field(default_factory=dict)
    workload: tuple[str, ...] = ()
    seed: int | None = None
    look: bool = True
    risk: bool = True
    anyway: bool = False
    control: Path | None = None
    target: str | None = None
    analyst: str = ""
    purpose: str = ""
    # Random, because the id is all that names a run in an address.
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    run_id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: str = "waiting"
    stage: str = "waiting"
    done: float = 0.0
    spent: float = 0.0
    message: str = ""
    notes: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    seconds: float | None = None
    release: Release | None = None
    report: Report | None = None
    rows: int = 0
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)

    def cancel(self) -> None:
        """Ask it to stop."""
        self._stop.set()

    @property
    def over(self) -> bool:
        """Whether it has ended, one way or the other."""
        return self.state in {"done", "failed", "cancelled"}

    def facts(self) -> dict[str, object]:
        """What a page asks for while it waits."""
        return {
            "id": self.id,
            "table": self.table,
            "synthesizer": self.synthesizer,
            "epsilon": self.epsilon,
            "state": self.state,
            "stage": self.stage,
            "done": round(self.done, 4),
            "spent": round(self.spent, 4),
            "message": self.message,
            "released": self.release is not None,
            "notes": list(self.notes),
            "seconds": round(self._elapsed_seconds(), 1),
        }

    def _elapsed_seconds(self) -> float:
        if self.seconds is not None:
            return self.seconds
        return time.monotonic() - self.began

    def run(self) -> None:
        """All of it: reserve, measure, fit, write, compare."""
        self.state = "running"
        try:
            release = self._synthesize()
            self._write_files(release)
            self.release = release
            if self.look:
                self._compare_with_real(release)
            self.state, self.stage, self.done = "done", "done", 1.0
        except RunCancelled:
            self.state = "cancelled"
            self.message = f"Stopped. {describe_spending(self.ledger, self.run_id)}"
        except UnderstudyError as error:
            self.state, self.message = "failed", str(error)
        except Exception as error:
            # A traceback may quote a cell; a page shows only what kind of error it was.
            kind, spent = type(error).__name__, find_spent_note(error)
            message = f"stopped by an unexpected {kind}. {spent}"
            self.state, self.message = "failed", message.rstrip(". ")
        finally:
            self.seconds = time.monotonic() - self.began

    def _synthesize(self) -> Release:
        self._note_progress("reading", 0.0)
        has_ledger = self.ledger.exists()
        return synthesize(
            self.source,
            self.schema,
            epsilon=self.epsilon,
            delta=self.delta,
            synthesizer=make(self.synthesizer, **self.options),
            workload=self.workload,
            # Without one, an account is opened beside the table, under its name.
            ledger=self.ledger if has_ledger else None,
            anyway=self.anyway,
            seed=self.seed,
            progress=self._note_progress,
            run=RunOptions(
                dataset=None if has_ledger else Path(self.table).stem,
                analyst=self.analyst,
                purpose=self.purpose,
                run_id=self.run_id,
                spending=self._note_spending,
                notify=self._keep_notice,
            ),
        )

    def _write_files(self, release: Release) -> None:
        """The files that may be handed out; an error says that the budget is spent."""
        title = f"{Path(self.table).stem}: a synthetic table"
        with account_for_failure(self.ledger, release.statement.run):
            self._note_progress("writing", 0.0)
            release.save(self.folder / "release.understudy")
            self.rows = release.write(self.folder / "synthetic.csv", seed=self.seed)
            report = publishable_report(release, title=title)
            report.save(self.folder / "public.html")

    def _compare_with_real(self, release: Release) -> None:
        """Compare with the real rows, for the custodian. Whatever becomes of it, the
        release is there.
        """
        try:
            self._note_progress("comparing with the real rows", 0.0)
            self.report = evaluate(
                self.source,
                self.folder / "synthetic.csv",
                release=release,
                risk=self.risk,
                holdout=self.control,
                targets=None if self.target is None else [self.target],
                ledger=self.ledger if release.statement.run else None,
                progress=lambda stage, done: self._note_progress(
                    f"comparing: {stage}", done
                ),
            )
            self.report.save(self.folder / "report.html")
        # The release is written by now, so nothing that goes wrong here may undo it.
        except RunCancelled:
            self.notes.append(
                "The comparison with the real rows was stopped. The release is whole."
            )
        except UnderstudyError as error:
            self.notes.append(f"There is no comparison with the real rows: {error}")
        except Exception as error:
            self.notes.append(
                f"The comparison was stopped by an unexpected {type(error).__name__}."
                " The release is whole."
            )

    def _note_progress(self, stage: str, done: float) -> None:
        if self._stop.is_set():
            raise RunCancelled
        self.stage, self.done = stage, float(done)

    def _keep_notice(self, notice: Notice) -> None:
        self.notes.append(notice.text)

    def _note_spending(self, share: float) -> None:
        self.spent = share


class Jobs:
    """The runs of one studio; they wait for each other, because two fits at once are
    slower than one after the other.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._turn = threading.Lock()
        self._threads: list[threading.Thread] = []

    def start(self, job: Job, then: Callable[[Job], None] | None = None) -> Job:
        """Queue a run."""
        self._forget_oldest()
        self._jobs[job.id] = job

        def run_in_turn() -> None:
            with self._turn:
                if job._stop.is_set():
                    job.state = "cancelled"
                    job.message = "Stopped before it began. Nothing was spent."
                else:
                    job.run()
            if then is not None:
                then(job)

        # A daemon: a studio that is killed does not wait for a fit.
        thread = threading.Thread(target=run_in_turn, name=f"run {job.id}", daemon=True)
        self._threads = [t for t in self._threads if t.is_alive()] + [thread]
        thread.start()
        return job

    def _forget_oldest(self) -> None:
        """Forget ended runs beyond the limit; one that goes on must stay stoppable."""
        ended = [key for key, job in self._jobs.items() if job.over]
        excess = len(self._jobs) + 1 - MAX_REMEMBERED_RUNS
        for key in ended[: max(0, excess)]:
            del self._jobs[key]

    def close(self, patience: float = 10.0) -> int:
        """Stop everything that still runs, wait for it a little, and say how many runs
        were cut off.
        """
        cut = [job for job in self._jobs.values() if not job.over]
        for job in cut:
            job.cancel()
        until = time.monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        return len(cut)

    def find(self, key: str) -> Job | None:
        """A run by its id."""
        return self._jobs.get(key)

    def all(self) -> list[Job]:
        """Every run, the newest first."""
        return list(reversed(self._jobs.values()))
