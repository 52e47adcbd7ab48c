"""The pages about runs: start them, watch them, look at what came of them, download."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)

from understudy.accounting.budget import Budget
from understudy.errors import Refused, UnderstudyError
from understudy.releases import Release
from understudy.releases.card.rendering import STATISTICS_TITLES, statistics_cells
from understudy.releases.explanation.picture import draw_gains
from understudy.releases.summary import RunSummary
from understudy.reports.signoff import sign_off
from understudy.schema import dump_schema
from understudy.studio.asking import read_body, run_in_thread, text_of, workload_of_text
from understudy.studio.graph import draw_network, find_measured_pairs
from understudy.studio.job import Job
from understudy.studio.marginal import draw_marginal
from understudy.studio.rendering import PageRenderer
from understudy.studio.side_by_side import check_agreed_total, list_modes
from understudy.studio.views import (
    column_charts,
    draw_heatmap,
    draw_trade_off,
    equivalent_command,
    list_compared_findings,
    preview_rows,
)
from understudy.synthesizers import make
from understudy.workflow.synthesize import DEFAULT_SYNTHESIZER

MAX_COMPARED_RUNS = 8

DOWNLOAD_FILES = {
    "rows": ("synthetic.csv", "text/csv"),
    "release": ("release.understudy", "application/octet-stream"),
    "report": ("report.html", "text/html"),
    "report-json": ("report.json", "application/json"),
    "public": ("public.html", "text/html"),
}
HANDED_FILES = ("release.understudy", "synthetic.csv", "public.html")
"""What a run makes to be handed out; the sign-off has their digests."""

SHOWN_REPORTS = {"report", "public"}
"""Downloads that the browser may also show."""


class RunPages:
    """The way from a plan to the files of a release."""

    def __init__(self, renderer: PageRenderer) -> None:
        self.renderer = renderer
        self.workspace = renderer.workspace
        self.jobs = renderer.jobs

    async def start_runs(self, request: Request) -> Response:
        """Start one run, or one of each mode; what would overdraw the account is
        refused before it starts.
        """
        body = await read_body(request)
        name = text_of(body, "table")
        budget = Budget.of(text_of(body, "epsilon"), text_of(body, "delta") or None)
        # Refused before any folder is made, so that nothing is left behind.
        modes = [text_of(body, "synthesizer", DEFAULT_SYNTHESIZER)]
        if body.get("modes"):
            modes = list_modes(await run_in_thread(lambda: self.workspace.schema(name)))
        paying = sum(make(mode).reads_rows for mode in modes)
        if body.get("modes"):
            check_agreed_total(budget, paying, text_of(body, "agreed"))
        account = await run_in_thread(lambda: self.workspace.account(name))
        refusal = account.explain_refusal(
            paying * float(budget.epsilon), paying * float(budget.delta)
        )
        if refusal:
            raise Refused(refusal)
        started = []
        for mode in modes:
            job = await run_in_thread(partial(self._make_job, name, mode, body))
            started.append(self.jobs.start(job).id)
        go = f"/run/{started[0]}"
        if len(started) > 1:
            go = f"/compare?runs={','.join(started)}"
        return JSONResponse({"go": go, "runs": started})

    def _make_job(self, name: str, mode: str, body: Mapping[str, object]) -> Job:
        """A run with its own folder, set as the page says."""
        schema = self.workspace.schema_path(name)
        control = text_of(body, "control")
        return Job(
            table=name,
            source=self.workspace.path(name),
            folder=self.workspace.run_folder(name),
            schema=schema if schema.exists() else None,
            ledger=self.workspace.ledger_path(name),
            epsilon=text_of(body, "epsilon"),
            delta=text_of(body, "delta") or None,
            synthesizer=mode,
            workload=workload_of_text(text_of(body, "workload")),
            look=body.get("look", True) is not False,
            risk=body.get("risk", True) is not False,
            anyway=body.get("anyway", False) is True,
            control=self.workspace.path(control) if control else None,
            target=text_of(body, "target") or None,
            analyst=text_of(body, "analyst").strip(),
            purpose=text_of(body, "purpose").strip(),
        )

    async def tell_progress(self, request: Request) -> Response:
        """How far a run is, and what its table's account says by now."""
        job = self._find_job(request)
        facts = job.facts()
        # An account that cannot be read just now is asked for again.
        with suppress(UnderstudyError):
            account = await run_in_thread(lambda: self.workspace.account(job.table))
            facts |= {"account": account.sentence(), "total": account.epsilon}
        return JSONResponse(facts)

    async def cancel_run(self, request: Request) -> Response:
        """Stop a run at its next step."""
        job = self._find_job(request)
        job.cancel()
        return JSONResponse(job.facts())

    async def show_run(self, request: Request) -> Response:
        """A run: its progress while it lasts, and what came of it."""
        job = self._find_job(request)
        release = job.release
        shared: dict[str, object] = {
            "table": job.table,
            "job": job,
            "release": release,
            "command": equivalent_command(job),
            "pays": make(job.synthesizer).reads_rows,
        }
        if release is None:
            return self.renderer.render_page(request, "run.html", shared)
        details = await run_in_thread(lambda: _inspect_release(job, release))
        return self.renderer.render_page(request, "run.html", shared | details)

    async def show_marginal(self, request: Request) -> Response:
        """Any table of one or two columns, as the release has it."""
        job = self._find_job(request)
        columns = [name for name in request.query_params.getlist("column") if name]
        release = job.release
        if release is None:
            raise Refused("This run has no release yet.")
        figure = await run_in_thread(lambda: draw_marginal(release, columns))
        return JSONResponse({"svg": figure})

    async def download_file(self, request: Request) -> Response:
        """The run's files."""
        job, kind = self._find_job(request), request.path_params["kind"]
        if kind == "schema":
            return self._download_schema(job)
        if kind not in DOWNLOAD_FILES:
            return PlainTextResponse("There is no such file.", status_code=404)
        name, media = DOWNLOAD_FILES[kind]
        path = job.folder / name
        if not path.is_file():
            return PlainTextResponse("This run has no such file.", status_code=404)
        if kind in SHOWN_REPORTS and request.query_params.get("show") == "1":
            # The page brings its own policy, which is stricter than the studio's but
            # for its one script and its own style. In the sandbox it has no origin: its
            # script can send nothing in the studio's name.
            policy = {"Content-Security-Policy": "sandbox allow-scripts"}
            return FileResponse(path, media_type=media, headers=policy)
        saved_as = f"{Path(job.table).stem}-{job.synthesizer}-{name}"
        return FileResponse(path, media_type=media, filename=saved_as)

    async def show_sign_off(self, request: Request) -> Response:
        """The sheet on which this run's release is signed off, or its JSON twin."""
        job, asked = self._find_job(request), request.query_params
        release = job.release
        if release is None:
            raise Refused("This run has no release yet.")
        sheet = await run_in_thread(
            lambda: sign_off(
                release,
                [job.folder / name for name in HANDED_FILES],
                ledger=job.ledger if release.statement.run else None,
                analyst=asked.get("analyst", "").strip(),
                purpose=asked.get("purpose", "").strip(),
                until=asked.get("until", "").strip() or None,
            )
        )
        if asked.get("as") == "json":
            saved_as = f"{Path(job.table).stem}-sign-off.json"
            # Names of tables hold plain characters alone, but letters of any script.
            quoted = f"attachment; filename*=UTF-8''{quote(saved_as)}"
            headers = {"Content-Disposition": quoted}
            return JSONResponse(sheet.to_dict(), headers=headers)
        # In the sandbox the page has no origin: nothing in it acts in the studio's name.
        policy = {"Content-Security-Policy": "sandbox"}
        return HTMLResponse(sheet.to_html(), headers=policy)

    def _download_schema(self, job: Job) -> Response:
        if job.release is None:
            text = self.workspace.schema_text(job.table)
        else:
            text = dump_schema(job.release.schema)
        headers = {"Content-Disposition": 'attachment; filename="schema.yaml"'}
        return PlainTextResponse(text, headers=headers)

    async def compare_runs(self, request: Request) -> Response:
        """Several runs side by side."""
        keys = request.query_params.get("runs", "").split(",")[:MAX_COMPARED_RUNS]
        jobs = [job for job in map(self.jobs.find, keys) if job is not None]
        if not jobs:
            return RedirectResponse("/", status_code=303)
        views = [
            {
                "job": job,
                "heat": draw_heatmap(job),
                "findings": list_compared_findings(job),
            }
            for job in jobs
        ]
        values = {
            "table": jobs[0].table,
            "views": views,
            "trade": draw_trade_off(jobs),
        }
        return self.renderer.render_page(request, "compare.html", values)

    def _find_job(self, request: Request) -> Job:
        job = self.jobs.find(request.path_params["run"])
        if job is None:
            raise Refused(
                "There is no such run. It may have been made before the studio was"
                " started anew; its files are kept."
            )
        return job


def _inspect_release(job: Job, release: Release) -> dict[str, object]:
    """Everything that the page of a finished run shows of its release."""
    names = list(release.schema)
    ledger = job.ledger if job.ledger.exists() else None
    card = sorted(
        release.card,
        # Tables without a bound come last among those of their size.
        key=lambda entry: (
            len(entry.clique),
            2.0 if entry.error is None else entry.error,
        ),
    )
    return {
        "columns": column_charts(job, release),
        "network": draw_network(names, find_measured_pairs(release)),
        "heat": draw_heatmap(job),
        "gains": draw_gains(release.explanation.decisions),
        "card": card,
        "statistics": [
            statistics_cells(column) for column in release.card.statistics.values()
        ],
        "statistics_titles": STATISTICS_TITLES,
        "names": names,
        "summary": RunSummary.of(release, ledger=ledger),
        "preview": preview_rows(job),
        "assessments": () if job.report is None else job.report.assessments,
    }
