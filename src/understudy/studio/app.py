"""The studio's pages: choose a table, say what is public about it, plan, run, look,
take away. A thin layer over the same verbs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from understudy.accounting.budget import Budget
from understudy.accounting.ledger import find_ledgers_beside
from understudy.errors import Refused, UnderstudyError
from understudy.releases.summary import RunSummary
from understudy.schema import Schema, dump_schema, schema_from_dict, schema_to_dict
from understudy.studio.asking import (
    check_size,
    json_object_of,
    read_body,
    read_chunks,
    row_count_of,
    run_in_thread,
)
from understudy.studio.graph import draw_network, find_measured_pairs
from understudy.studio.guard import Door, Guard
from understudy.studio.job import Job, Jobs
from understudy.studio.marginal import draw_marginal
from understudy.studio.views import (
    column_charts,
    draw_heatmap,
    draw_trade_off,
    equivalent_command,
    list_compared_findings,
)
from understudy.studio.workspace import MAX_UPLOAD_BYTES, Workspace
from understudy.synthesizers import SYNTHESIZER_CLASSES, make
from understudy.workflow.plan import Plan
from understudy.workflow.plan import plan as make_plan
from understudy.workflow.synthesize import DEFAULT_SYNTHESIZER

SIDE_BY_SIDE_MODES = ("random", "independent", "privbayes", DEFAULT_SYNTHESIZER)
"""What "several modes side by side" means: nothing learned, columns alone, a network,
and the default.
"""

FORM_COLUMN_TYPES = (
    "integer",
    "real",
    "categorical",
    "boolean",
    "date",
    "datetime",
    "time",
    "text",
    "identifier",
    "learn",
)
FORM_COLUMN_ROLES = ("other", "quasi_identifier", "sensitive", "direct_identifier")
DOWNLOAD_FILES = {
    "rows": ("synthetic.csv", "text/csv"),
    "release": ("release.understudy", "application/octet-stream"),
    "report": ("report.html", "text/html"),
    "report-json": ("report.json", "application/json"),
    "public": ("public.html", "text/html"),
}

PageEndpoint = Callable[[Request], Awaitable[Response]]


class Studio:
    """One workspace, its runs, and the pages about them."""

    def __init__(
        self, workspace: Workspace, door: Door, port: int, owner: int | None = None
    ) -> None:
        self.workspace = workspace
        self.jobs = Jobs()
        self.app = Starlette(
            routes=[
                Route("/", self._told(self.home)),
                Route("/static/{name}", self._told(self.static_file)),
                Route("/upload", self._told(self.upload_table), methods=["POST"]),
                Route("/t/{table}", self._told(self.describe)),
                Route("/t/{table}/schema", self._told(self.keep), methods=["POST"]),
                Route("/t/{table}/account", self._told(self.account), methods=["POST"]),
                Route("/t/{table}/plan", self._told(self.plan_page)),
                Route("/api/plan", self._told(self.plan), methods=["POST"]),
                Route("/api/run", self._told(self.start), methods=["POST"]),
                Route("/api/run/{run}", self._told(self.progress)),
                Route(
                    "/api/run/{run}/cancel", self._told(self.cancel), methods=["POST"]
                ),
                Route("/api/run/{run}/marginal", self._told(self.marginal)),
                Route("/run/{run}", self._told(self.run_page)),
                Route("/run/{run}/file/{kind}", self._told(self.download_file)),
                Route("/compare", self._told(self.compare)),
            ],
            middleware=[Middleware(Guard, door=door, port=port, owner=owner)],
        )

    # -- choose
    # -------------------------------------------------------------------------------------------------------------

    async def home(self, request: Request) -> Response:
        """The tables of the workspace, and a place to bring one."""
        tables = await run_in_thread(self.workspace.list_accounts)
        return self._render_page(
            request, "home.html", tables=tables, runs=self.jobs.all()
        )

    async def upload_table(self, request: Request) -> Response:
        """Keep a table that the browser sends."""
        check_size(request, MAX_UPLOAD_BYTES)
        async with request.form(max_files=1, max_fields=4) as form:
            sent = form.get("table")
            if not isinstance(sent, UploadFile) or not sent.filename:
                raise Refused("No file came with this. Choose one.")
            name = await self.workspace.add(sent.filename, read_chunks(sent))
        return JSONResponse({"go": f"/t/{name}"})

    # -- describe
    # -----------------------------------------------------------------------------------------------------------

    async def describe(self, request: Request) -> Response:
        """What was inferred, column by column, to be corrected."""
        name = request.path_params["table"]
        fresh = request.query_params.get("fresh") == "1"
        public = request.query_params.get("public") == "1"
        text = await run_in_thread(
            lambda: self.workspace.schema_text(name, fresh=fresh, public_domains=public)
        )
        facts = schema_to_dict(Schema.parse(text))
        return self._render_page(
            request,
            "describe.html",
            table=name,
            text=text,
            facts=facts,
            types=FORM_COLUMN_TYPES,
            roles=FORM_COLUMN_ROLES,
        )

    async def keep(self, request: Request) -> Response:
        """Check and keep what the owner said, as a file's text or as the form's fields."""
        name, body = request.path_params["table"], await read_body(request)
        if "text" in body:
            text = str(body["text"])
        else:
            schema = schema_from_dict(json_object_of(body.get("schema")))
            text = dump_schema(schema)
        self.workspace.keep_schema(name, text)
        return JSONResponse({"go": f"/t/{name}/plan", "text": text})

    # -- plan
    # ---------------------------------------------------------------------------------------------------------------

    async def plan_page(self, request: Request) -> Response:
        """Sliders, and what a run would cost and miss by."""
        name = request.path_params["table"]
        schema = await run_in_thread(lambda: self.workspace.schema(name))
        about = {
            key: (kind.__doc__ or "").strip().split("\n")[0]
            for key, kind in SYNTHESIZER_CLASSES.items()
        }
        return self._render_page(
            request,
            "plan.html",
            table=name,
            synthesizers=about,
            default=DEFAULT_SYNTHESIZER,
            columns=list(schema),
            modes=_runnable_modes(schema),
            others=[other for other in self.workspace.tables() if other != name],
            beside=[
                path.name
                for path in find_ledgers_beside(self.workspace.ledger_path(name))
            ],
        )

    async def plan(self, request: Request) -> Response:
        """A plan for the page's sliders; reads no rows."""
        body = await read_body(request)
        name = str(body.get("table", ""))
        rows = row_count_of(body.get("rows"))

        def compute_plan() -> Plan:
            return make_plan(
                self.workspace.schema(name),
                epsilon=str(body.get("epsilon", "1")),
                delta=str(body["delta"]) if body.get("delta") else None,
                rows=rows,
                synthesizer=make(str(body.get("synthesizer", DEFAULT_SYNTHESIZER))),
            )

        found = await run_in_thread(compute_plan)
        marginals = sorted(found.marginals, key=lambda m: -m.cells)
        return JSONResponse(
            {
                "marginals": [
                    {
                        "name": " × ".join(m.clique) or "(total)",
                        "cells": m.cells,
                        "deviation": m.deviation,
                        "share": float(m.share),
                        "expected": found.expected_distance(m),
                    }
                    for m in marginals[:30]
                ],
                "more": max(0, len(marginals) - 30),
                "noise": found.noise,
                "group": found.smallest_group(1),
                "seconds": (
                    None if found.forecast is None else found.forecast.total_seconds
                ),
                "memory": None if found.forecast is None else found.forecast.memory,
                "imagined": None if found.forecast is None else found.forecast.error,
                "assumed": list(found.assumed),
                "warnings": list(found.warnings),
                "meaning": found.meaning.lines(),
                "figure": found.meaning.to_svg(),
            }
        )

    async def account(self, request: Request) -> Response:
        """Open the table's account with a cap."""
        name, body = request.path_params["table"], await read_body(request)
        budget = Budget.of(
            str(body.get("epsilon", "")),
            str(body["delta"]) if body.get("delta") else None,
        )
        await run_in_thread(lambda: self.workspace.open_account(name, budget))
        return JSONResponse({"go": f"/t/{name}/plan"})

    # -- run
    # ----------------------------------------------------------------------------------------------------------------

    async def start(self, request: Request) -> Response:
        """Start one run, or one of each mode; whatever would overdraw the account is
        refused before it starts.
        """
        body = await read_body(request)
        name, epsilon = str(body.get("table", "")), str(body.get("epsilon", ""))
        delta = str(body["delta"]) if body.get("delta") else None
        budget = Budget.of(epsilon, delta)
        if body.get("modes"):
            chosen = _runnable_modes(
                await run_in_thread(lambda: self.workspace.schema(name))
            )
        else:
            chosen = [str(body.get("synthesizer", DEFAULT_SYNTHESIZER))]
        methods = [make(mode) for mode in chosen]
        asked = sum(method.reads_rows for method in methods)
        account = await run_in_thread(lambda: self.workspace.account(name))
        refusal = account.explain_refusal(
            asked * float(budget.epsilon), asked * float(budget.delta)
        )
        if refusal:
            raise Refused(refusal)
        started = []
        for mode in chosen:
            schema = self.workspace.schema_path(name)
            job = Job(
                table=name,
                source=self.workspace.path(name),
                folder=await run_in_thread(lambda: self.workspace.run_folder(name)),
                schema=schema if schema.exists() else None,
                ledger=self.workspace.ledger_path(name),
                epsilon=epsilon,
                delta=delta,
                synthesizer=mode,
                look=body.get("look", True) is not False,
                risk=body.get("risk", True) is not False,
                control=(
                    self.workspace.path(str(body["control"]))
                    if body.get("control")
                    else None
                ),
                target=str(body["target"]) if body.get("target") else None,
            )
            started.append(self.jobs.start(job).id)
        go = (
            f"/run/{started[0]}"
            if len(started) == 1
            else f"/compare?runs={','.join(started)}"
        )
        return JSONResponse({"go": go, "runs": started})

    async def progress(self, request: Request) -> Response:
        """How far a run is, and what its table's account says by now."""
        job = self._find_job(request)
        facts = job.facts()
        with suppress(
            UnderstudyError
        ):  # an account that cannot be read just now is asked for again
            account = await run_in_thread(lambda: self.workspace.account(job.table))
            facts |= {"account": account.sentence(), "total": account.epsilon}
        return JSONResponse(facts)

    async def cancel(self, request: Request) -> Response:
        """Stop a run at its next step."""
        job = self._find_job(request)
        job.cancel()
        return JSONResponse(job.facts())

    # -- inspect
    # ------------------------------------------------------------------------------------------------------------

    async def run_page(self, request: Request) -> Response:
        """A run: its progress while it lasts, and what came of it."""
        job = self._find_job(request)
        made = job.release
        if made is None:
            return self._render_page(
                request,
                "run.html",
                table=job.table,
                job=job,
                release=None,
                command=equivalent_command(job),
            )
        edges = await run_in_thread(lambda: find_measured_pairs(made))
        names = list(made.schema)
        return self._render_page(
            request,
            "run.html",
            table=job.table,
            job=job,
            release=made,
            command=equivalent_command(job),
            yaml=dump_schema(made.schema),
            columns=column_charts(job, made),
            network=draw_network(names, edges),
            heat=draw_heatmap(job),
            card=sorted(
                made.card,
                key=lambda e: (len(e.clique), 2.0 if e.error is None else e.error),
            ),
            names=names,
            summary=await run_in_thread(lambda: RunSummary.of(made)),
            assessments=() if job.report is None else job.report.assessments,
        )

    async def marginal(self, request: Request) -> Response:
        """Any table of one or two columns, as the release has it."""
        job = self._find_job(request)
        columns = [c for c in request.query_params.getlist("column") if c]
        if job.release is None:
            raise Refused("This run has no release yet.")
        made = job.release
        return JSONResponse(
            {"svg": await run_in_thread(lambda: draw_marginal(made, columns))}
        )

    async def download_file(self, request: Request) -> Response:
        """The run's files."""
        job, kind = self._find_job(request), request.path_params["kind"]
        if kind == "schema":
            text = (
                self.workspace.schema_text(job.table)
                if job.release is None
                else dump_schema(job.release.schema)
            )
            return PlainTextResponse(
                text,
                headers={"Content-Disposition": 'attachment; filename="schema.yaml"'},
            )
        if kind not in DOWNLOAD_FILES:
            return PlainTextResponse("There is no such file.", status_code=404)
        name, media = DOWNLOAD_FILES[kind]
        path = job.folder / name
        if not path.is_file():
            return PlainTextResponse("This run has no such file.", status_code=404)
        if kind in {"report", "public"} and request.query_params.get("show") == "1":
            # The page brings its own policy, which is stricter than the studio's but
            # for its one script and its own style.
            return FileResponse(
                path,
                media_type=media,
                headers={"Content-Security-Policy": "sandbox allow-scripts"},
            )
        stem = Path(job.table).stem
        return FileResponse(
            path, media_type=media, filename=f"{stem}-{job.synthesizer}-{name}"
        )

    async def compare(self, request: Request) -> Response:
        """Several runs side by side."""
        wanted = request.query_params.get("runs", "").split(",")
        jobs = [
            job
            for job in (self.jobs.find(key) for key in wanted[:8])
            if job is not None
        ]
        if not jobs:
            return RedirectResponse("/", status_code=303)
        views = [
            {"job": job, "heat": draw_heatmap(job), "told": list_compared_findings(job)}
            for job in jobs
        ]
        return self._render_page(
            request,
            "compare.html",
            table=jobs[0].table,
            views=views,
            trade=draw_trade_off(jobs),
        )

    # -- the rest
    # -----------------------------------------------------------------------------------------------------------

    async def static_file(self, request: Request) -> Response:
        """The studio's own script and style."""
        kinds = {"studio.js": "text/javascript", "studio.css": "text/css"}
        name = request.path_params["name"]
        if name not in kinds:
            return PlainTextResponse("There is no such file.", status_code=404)
        return Response(_read_asset(name), media_type=kinds[name])

    def _find_job(self, request: Request) -> Job:
        job = self.jobs.find(request.path_params["run"])
        if job is None:
            raise Refused(
                "There is no such run. It may have been made before the studio was"
                " started anew; its files are kept."
            )
        return job

    def _render_page(
        self, request: Request, template: str, *, status: int = 200, **values: object
    ) -> Response:
        table = values.get("table")
        account = self.workspace.account(str(table)) if table is not None else None
        page = _load_templates().get_template(template)
        text = page.render(change=request.state.visit.change, account=account, **values)
        return HTMLResponse(text, status_code=status)

    def _told(self, endpoint: PageEndpoint) -> PageEndpoint:
        """The same, with refusals as one line: JSON for the script, a page for a
        person.
        """

        async def answer_request(request: Request) -> Response:
            try:
                return await endpoint(request)
            except UnderstudyError as error:
                message = str(error)
            if request.method == "POST" or request.url.path.startswith("/api/"):
                return JSONResponse({"error": message}, status_code=400)
            return await run_in_thread(lambda: self._refusal_page(request, message))

        return answer_request

    def _refusal_page(self, request: Request, message: str) -> Response:
        """Why not, with the account of the table it was about; where that is none, or
        cannot be read, with every table's.
        """
        job = self.jobs.find(request.path_params.get("run", ""))
        table = job.table if job is not None else request.path_params.get("table")
        with suppress(
            UnderstudyError
        ):  # the table may not be there, or its ledger be damaged: the list says so
            if table is not None:
                return self._render_page(
                    request,
                    "refused.html",
                    status=400,
                    table=table,
                    message=message,
                    tables=[],
                )
        return self._render_page(
            request,
            "refused.html",
            status=400,
            message=message,
            tables=self.workspace.list_accounts(),
        )


def _runnable_modes(schema: Schema) -> list[str]:
    """The modes that can be run; what reads no rows needs every domain declared.

    >>> from understudy.schema import Boolean
    >>> _runnable_modes(Schema(columns=(Boolean(name="smoker"),)))[0]
    'random'
    """
    return [
        mode
        for mode in dict.fromkeys(SIDE_BY_SIDE_MODES)
        if schema.is_closed or SYNTHESIZER_CLASSES[mode].reads_rows
    ]


def _read_asset(name: str) -> str:
    return (files("understudy.studio") / "templates" / name).read_text(encoding="utf-8")


@cache
def _load_templates() -> Environment:
    loader = PackageLoader("understudy.studio", "templates")
    return Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=loader,
    )
