"""The page on which an analyst asks: three files that are the same for everybody.

They hold no question and no number: the script sends the token that is typed in, which
it keeps in memory alone, and shows what the addresses answer. Nothing is loaded from
elsewhere, and the policy lets the browser load, frame or submit nothing else.
"""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self';"
        " img-src data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

PAGE_FILES = {
    "/": ("ask.html", "text/html"),
    "/ask.css": ("ask.css", "text/css"),
    "/ask.js": ("ask.js", "text/javascript"),
}


def list_page_routes() -> list[Route]:
    """The addresses of the page and of its script and style."""
    return [_make_route(path, *file) for path, file in PAGE_FILES.items()]


def _make_route(path: str, name: str, media_type: str) -> Route:
    text = (files("understudy.server") / "assets" / name).read_text(encoding="utf-8")

    async def send_file(_: Request) -> Response:
        return Response(text, media_type=media_type, headers=PAGE_HEADERS)

    return Route(path, send_file)
