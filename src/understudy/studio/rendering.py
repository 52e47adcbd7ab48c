"""Pages from templates, and refusals as one line: JSON for the studio's script, a page
for a person.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from understudy.errors import UnderstudyError
from understudy.studio.asking import run_in_thread
from understudy.studio.job import Jobs
from understudy.studio.workspace import Workspace

PageEndpoint = Callable[[Request], Awaitable[Response]]


class PageRenderer:
    """Renders the pages of one workspace and its runs."""

    def __init__(self, workspace: Workspace, jobs: Jobs) -> None:
        self.workspace = workspace
        self.jobs = jobs

    def render_page(
        self,
        request: Request,
        template: str,
        values: Mapping[str, object],
        *,
        status: int = 200,
    ) -> Response:
        """A page with, at its top, the account of the table that it is about."""
        table = values.get("table")
        account = self.workspace.account(str(table)) if table is not None else None
        page = _load_templates().get_template(template)
        text = page.render(change=request.state.visit.change, account=account, **values)
        return HTMLResponse(text, status_code=status)

    def answer_refusals(self, endpoint: PageEndpoint) -> PageEndpoint:
        """The same endpoint; what the package refuses becomes an answer."""

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
        """The refusal, with the account of the table it was about; if there is none, or
        it cannot be read, with every table's.
        """
        job = self.jobs.find(request.path_params.get("run", ""))
        table = request.path_params.get("table") if job is None else job.table
        # The table may not be there, or its ledger be damaged: the list says so.
        with suppress(UnderstudyError):
            if table is not None:
                values: dict[str, object] = {
                    "message": message,
                    "table": table,
                    "tables": [],
                }
                return self.render_page(request, "refused.html", values, status=400)
        values = {"message": message, "tables": self.workspace.list_accounts()}
        return self.render_page(request, "refused.html", values, status=400)


def read_asset(name: str) -> str:
    """The studio's script or style."""
    return (files("understudy.studio") / "templates" / name).read_text(encoding="utf-8")


@cache
def _load_templates() -> Environment:
    # Figures are `Markup` and go in as they are; every other value is escaped, so no
    # template needs to say which values are safe.
    return Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=PackageLoader("understudy.studio", "templates"),
    )
