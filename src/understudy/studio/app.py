"""The studio's pages behind their guard: choose a table, say what is public about it,
plan, run, look, download. A thin layer over the same verbs as the command line.
"""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from understudy.studio.census_pages import CensusPages
from understudy.studio.guard import Door, Guard
from understudy.studio.job import Jobs
from understudy.studio.mask_pages import MaskPages
from understudy.studio.rendering import PageEndpoint, PageRenderer, read_asset
from understudy.studio.run_pages import RunPages
from understudy.studio.table_pages import TablePages
from understudy.studio.workspace import Workspace

STATIC_FILES = {"studio.js": "text/javascript", "studio.css": "text/css"}


class Studio:
    """One workspace, its runs, and the pages about them."""

    def __init__(
        self, workspace: Workspace, door: Door, port: int, owner: int | None = None
    ) -> None:
        self.workspace = workspace
        self.jobs = Jobs()
        renderer = PageRenderer(workspace, self.jobs)
        # Every route is behind the guard; only what changes nothing is open to GET.
        self.app = Starlette(
            routes=_list_routes(renderer),
            middleware=[Middleware(Guard, door=door, port=port, owner=owner)],
        )


def _list_routes(renderer: PageRenderer) -> list[Route]:
    tables, runs = TablePages(renderer), RunPages(renderer)
    masks, censuses = MaskPages(renderer), CensusPages(renderer)

    def get(path: str, endpoint: PageEndpoint) -> Route:
        return Route(path, renderer.answer_refusals(endpoint))

    def post(path: str, endpoint: PageEndpoint) -> Route:
        return Route(path, renderer.answer_refusals(endpoint), methods=["POST"])

    return [
        get("/", tables.show_home),
        get("/static/{name}", serve_static_file),
        post("/upload", tables.upload_table),
        get("/t/{table}", tables.describe),
        post("/t/{table}/schema", tables.keep_schema),
        post("/t/{table}/account", tables.open_account),
        get("/t/{table}/plan", tables.show_plan),
        get("/t/{table}/mask", masks.show_form),
        post("/t/{table}/mask/tune", masks.tune_masks),
        post("/t/{table}/mask/write", masks.write_copies),
        post("/api/plan", tables.compute_plan),
        post("/api/run", runs.start_runs),
        get("/api/run/{run}", runs.tell_progress),
        post("/api/run/{run}/cancel", runs.cancel_run),
        get("/api/run/{run}/marginal", runs.show_marginal),
        get("/run/{run}", runs.show_run),
        get("/run/{run}/file/{kind}", runs.download_file),
        get("/run/{run}/signoff", runs.show_sign_off),
        get("/compare", runs.compare_runs),
        get("/census/{census}", censuses.show_census),
    ]


async def serve_static_file(request: Request) -> Response:
    """The studio's own script and style."""
    name = request.path_params["name"]
    if name not in STATIC_FILES:
        return PlainTextResponse("There is no such file.", status_code=404)
    return Response(read_asset(name), media_type=STATIC_FILES[name])
