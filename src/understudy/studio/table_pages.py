"""The pages about a table: choose it, describe it, open its account, plan a run."""

from __future__ import annotations

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from understudy.accounting.budget import Budget
from understudy.accounting.ledger_files.disk import find_ledgers_beside
from understudy.errors import Refused
from understudy.schema import Schema, dump_schema, schema_from_dict, schema_to_dict
from understudy.schema.predicates.rules import Rule
from understudy.schema.yaml.rules_io import rule_to_plain
from understudy.studio.asking import (
    check_size,
    json_object_of,
    read_body,
    read_chunks,
    row_count_of,
    run_in_thread,
    text_of,
    workload_of_text,
)
from understudy.studio.census_pages import list_censuses
from understudy.studio.rendering import PageRenderer
from understudy.studio.side_by_side import list_modes
from understudy.studio.workspace import MAX_UPLOAD_BYTES, TABLE_ENDINGS
from understudy.synthesizers import SYNTHESIZER_CLASSES, make
from understudy.workflow.planning.plan import Plan
from understudy.workflow.planning.plan import plan as make_plan
from understudy.workflow.planning.plan_text import interval_lines
from understudy.workflow.synthesize import DEFAULT_SYNTHESIZER

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

MAX_LISTED_MARGINALS = 30
"""Marginals of a plan that the page lists; the rest is counted."""


class TablePages:
    """The way from a file to a plan."""

    def __init__(self, renderer: PageRenderer) -> None:
        self.renderer = renderer
        self.workspace = renderer.workspace

    async def show_home(self, request: Request) -> Response:
        """The tables of the workspace, and a place to bring one."""
        tables = await run_in_thread(self.workspace.list_accounts)
        censuses = list_censuses(self.workspace.folder)
        values = {
            "tables": tables,
            "misnamed": self.workspace.misnamed_tables(),
            "endings": TABLE_ENDINGS,
            "censuses": censuses,
            "runs": self.renderer.jobs.all(),
        }
        return self.renderer.render_page(request, "home.html", values)

    async def upload_table(self, request: Request) -> Response:
        """Keep a table that the browser sends."""
        # Before the form is read, which writes all of it to a temporary file.
        check_size(request, MAX_UPLOAD_BYTES)
        async with request.form(max_files=1, max_fields=4) as form:
            sent = form.get("table")
            if not isinstance(sent, UploadFile) or not sent.filename:
                raise Refused("No file came with this. Choose one.")
            name = await self.workspace.add(sent.filename, read_chunks(sent))
        return JSONResponse({"go": f"/t/{name}"})

    async def describe(self, request: Request) -> Response:
        """What was inferred, column by column, to be corrected."""
        name = request.path_params["table"]
        fresh = request.query_params.get("fresh") == "1"
        public = request.query_params.get("public") == "1"
        text = await run_in_thread(
            lambda: self.workspace.schema_text(name, fresh=fresh, public_domains=public)
        )
        schema = Schema.parse(text)
        rules = await run_in_thread(lambda: self._suggest_rules(name, schema, fresh))
        values = {
            "table": name,
            "text": text,
            "facts": schema_to_dict(schema),
            "suggested": [(str(rule), rule_to_plain(rule)) for rule in rules],
            "types": FORM_COLUMN_TYPES,
            "roles": FORM_COLUMN_ROLES,
        }
        return self.renderer.render_page(request, "describe.html", values)

    def _suggest_rules(
        self, name: str, schema: Schema, fresh: bool
    ) -> tuple[Rule, ...]:
        """The rules that all rows of a table keep; none once its owner has decided."""
        if self.workspace.schema_path(name).exists() and not fresh:
            return ()
        return self.workspace.suggest_rules(name, schema).rules

    async def keep_schema(self, request: Request) -> Response:
        """Check and keep what the owner said, as a file's text or as the form's fields."""
        name, body = request.path_params["table"], await read_body(request)
        if "text" in body:
            text = str(body["text"])
        else:
            # Through the schema and back: what is kept is what was understood.
            schema = schema_from_dict(json_object_of(body.get("schema")))
            text = dump_schema(schema)
        self.workspace.keep_schema(name, text)
        return JSONResponse({"go": f"/t/{name}/plan", "text": text})

    async def open_account(self, request: Request) -> Response:
        """Open the table's account with a cap."""
        name, body = request.path_params["table"], await read_body(request)
        budget = Budget.of(text_of(body, "epsilon"), text_of(body, "delta") or None)
        await run_in_thread(lambda: self.workspace.open_account(name, budget))
        return JSONResponse({"go": f"/t/{name}/plan"})

    async def show_plan(self, request: Request) -> Response:
        """The controls of a run, and what it would cost and miss by."""
        name = request.path_params["table"]
        schema = await run_in_thread(lambda: self.workspace.schema(name))
        ledger = self.workspace.ledger_path(name)
        modes = list_modes(schema)
        values = {
            "table": name,
            "synthesizers": _describe_synthesizers(),
            "default": DEFAULT_SYNTHESIZER,
            "columns": list(schema),
            "unit": schema.unit,
            "modes": modes,
            "paid_modes": [m for m in modes if SYNTHESIZER_CLASSES[m].reads_rows],
            "paying": [n for n, kind in SYNTHESIZER_CLASSES.items() if kind.reads_rows],
            "others": [other for other in self.workspace.tables() if other != name],
            "beside": [path.name for path in find_ledgers_beside(ledger)],
        }
        return self.renderer.render_page(request, "plan.html", values)

    async def compute_plan(self, request: Request) -> Response:
        """A plan for the page's controls; reads no rows."""
        body = await read_body(request)
        rows = row_count_of(body.get("rows"))

        def plan_run() -> Plan:
            return make_plan(
                self.workspace.schema(text_of(body, "table")),
                epsilon=text_of(body, "epsilon", "1"),
                delta=text_of(body, "delta") or None,
                rows=rows,
                synthesizer=make(text_of(body, "synthesizer", DEFAULT_SYNTHESIZER)),
                workload=workload_of_text(text_of(body, "workload")),
            )

        plan = await run_in_thread(plan_run)
        return JSONResponse(_plan_facts(plan))


def _describe_synthesizers() -> dict[str, str]:
    """Each synthesizer's name with the first line of what its class says of it."""
    return {
        name: (kind.__doc__ or "").strip().split("\n")[0]
        for name, kind in SYNTHESIZER_CLASSES.items()
    }


def _plan_facts(plan: Plan) -> dict[str, object]:
    """What the page shows of a plan."""
    # The largest tables have the most noise in all, so they come first.
    largest = sorted(plan.marginals, key=lambda marginal: -marginal.cells)
    listed = [
        {
            "name": " × ".join(marginal.clique) or "(total)",
            "cells": marginal.cells,
            "deviation": marginal.deviation,
            "share": float(marginal.share),
            "expected": plan.expected_distance(marginal),
        }
        for marginal in largest[:MAX_LISTED_MARGINALS]
    ]
    forecast = plan.forecast
    return {
        "marginals": listed,
        "more": max(0, len(largest) - MAX_LISTED_MARGINALS),
        "noise": plan.noise,
        "group": plan.smallest_group(1),
        "seconds": None if forecast is None else forecast.total_seconds,
        "memory": None if forecast is None else forecast.memory,
        "imagined": None if forecast is None else forecast.error,
        "intervals": [line for line in interval_lines(plan) if line],
        "assumed": list(plan.assumed),
        "warnings": list(plan.warnings),
        "meaning": plan.meaning.lines(),
        "figure": plan.meaning.to_svg(),
    }
