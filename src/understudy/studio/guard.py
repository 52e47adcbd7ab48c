"""The guard at the studio's door: only this machine, only this visitor, only from the studio's own pages.

The server listens on 127.0.0.1, but any page in the visitor's browser can reach that address. So each request must carry the cookie that a
random token opened, name the studio's own host (against DNS rebinding), and, where it changes something, come from the studio's own origin
and bring the token again in a header no other page can send. Pages may run the studio's own script and nothing else.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp

COOKIE = "understudy_studio"
HEADER = "x-understudy-token"
HOSTS = ("127.0.0.1", "localhost", "[::1]")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Key:
    """What lets a visitor in: a token nobody can guess, shown once on the custodian's terminal.

    >>> key = Key()
    >>> key.fits(key.token), key.fits("x"), key.fits(None)
    (True, False, False)
    """

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def fits(self, shown: str | None) -> bool:
        """Whether this is the token; takes the same time whatever was shown."""
        return shown is not None and secrets.compare_digest(shown.encode(), self.token.encode())


class Guard(BaseHTTPMiddleware):
    """Lets in what the module's text says, and nothing else."""

    def __init__(self, app: ASGIApp, key: Key, port: int) -> None:
        super().__init__(app)
        self.key = key
        self.port = port

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Check one request, and put the headers on its answer."""
        refusal = self.refusal(request)
        if refusal is not None:
            return self._sealed(refusal)
        if "token" in request.query_params:
            # The token leaves the address bar at once, so that it is in no history and no referrer.
            opened: Response = RedirectResponse("/", status_code=303)
            opened.set_cookie(COOKIE, self.key.token, httponly=True, samesite="strict", path="/")
            return self._sealed(opened)
        return self._sealed(await call_next(request))

    def refusal(self, request: Request) -> Response | None:
        """Why a request is not let in, if it is not."""
        host = request.headers.get("host", "")
        if host not in {f"{name}:{self.port}" for name in HOSTS}:
            return PlainTextResponse("This is no address of the studio.", status_code=421)
        if request.method not in {"GET", "HEAD", "POST"}:
            return PlainTextResponse("The studio does not do that.", status_code=405)
        if request.method != "POST" and "token" in request.query_params:
            if self.key.fits(request.query_params["token"]):
                return None
            return PlainTextResponse("This is not the studio's token.", status_code=403)
        if not self.key.fits(request.cookies.get(COOKIE)):
            return PlainTextResponse(
                "Open the address that `understudy studio` printed: it carries the token that lets you in.",
                status_code=403,
            )
        if request.method == "POST":
            origin = request.headers.get("origin")
            if origin is None or urlsplit(origin).netloc != host or urlsplit(origin).scheme != "http":
                return PlainTextResponse("This did not come from the studio's own page.", status_code=403)
            if not self.key.fits(request.headers.get(HEADER)):
                return PlainTextResponse("This did not come from the studio's own script.", status_code=403)
        return None

    @staticmethod
    def _sealed(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response
