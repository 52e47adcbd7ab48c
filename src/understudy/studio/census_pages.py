"""Census releases in the studio's folder: their guarantee, and the tree of their places
to walk through. Everything on these pages is released already.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from understudy.censuses.hierarchy import UnitPath
from understudy.censuses.output.place_figure import draw_places
from understudy.censuses.places import PlaceTree
from understudy.errors import Refused
from understudy.studio.asking import run_in_thread
from understudy.studio.rendering import PageRenderer
from understudy.workflow.censuses.census_reading import MAX_CENSUS_CARD_BYTES

CENSUS_CARD_FILE = "census.json"

MAX_LISTED_PLACES = 200
"""Places that the page lists below the picture."""


class CensusPages:
    """The census releases of a workspace."""

    def __init__(self, renderer: PageRenderer) -> None:
        self.renderer = renderer

    async def show_census(self, request: Request) -> Response:
        """One release: its promise, the tree from one place down, and the places in it."""
        name = request.path_params["census"]
        at = tuple(request.query_params.getlist("at"))
        folder = self.renderer.workspace.folder
        values = await run_in_thread(lambda: _describe_census(folder, name, at))
        return self.renderer.render_page(request, "census.html", values)


def list_censuses(folder: Path) -> list[str]:
    """The folders in the workspace that hold a census release."""
    names = [
        entry.name
        for entry in os.scandir(folder)
        # A link could lead out of the folder.
        if entry.is_dir(follow_symlinks=False)
        and _is_plain_file(Path(entry.path, CENSUS_CARD_FILE))
    ]
    return sorted(names, key=str.lower)


def _describe_census(folder: Path, name: str, at: UnitPath) -> dict[str, object]:
    card = _read_card(folder, name)
    tree = PlaceTree.from_dict(card.get("tree"))
    address = f"/census/{quote(name)}"

    def link(path: UnitPath) -> str:
        return f"{address}?{urlencode([('at', label) for label in path])}"

    place = tree.find(at)
    inside = tree.find_children(at)
    return {
        "name": name,
        "guarantee": str(card.get("guarantee", "")),
        "place": place,
        "trail": [(tree.levels[0], link(()))]
        + [(at[i], link(at[: i + 1])) for i in range(len(at))],
        "figure": draw_places(tree, at, link=link),
        "places": [(each, link(each.path)) for each in inside[:MAX_LISTED_PLACES]],
        "more_places": max(len(inside) - MAX_LISTED_PLACES, 0),
    }


def _read_card(folder: Path, name: str) -> Mapping[str, object]:
    # Only a name that the folder lists is one: no path, no link, no encoded dots.
    if name not in list_censuses(folder):
        raise Refused("There is no such census here. Choose one from the list.")
    path = folder / name / CENSUS_CARD_FILE
    if path.stat().st_size > MAX_CENSUS_CARD_BYTES:
        raise Refused("The card of this census is too large to be shown.")
    try:
        card = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        card = None
    if not isinstance(card, dict):
        raise Refused("The card of this census cannot be read.")
    return card


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
