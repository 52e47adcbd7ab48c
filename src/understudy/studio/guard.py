"""The guard at the studio's door: only this machine, only this user and visitor, only
from the studio's own pages.

The server listens on 127.0.0.1, but any user of this machine, and any page in the
visitor's browser, can reach that address. If the system says who opened a connection,
only the studio's own user and root are answered, whatever the request carries. Three
secrets, none of which reveals another:

launch   in the address on the custodian's terminal; it opens the door once and is worth
         nothing afterwards, for addresses end up in histories. The next one is printed
         on the terminal alone.
session  in a cookie that no script can read and no other site can send, under a name of
         this port's own.
change   in the studio's own pages; every request that changes something brings it in a
         header that no other page can send.

Each request must also name the studio's own host (against DNS rebinding) and, if its
browser says who asks, come from the studio. Pages may run the studio's own script and
nothing else.

Written by hand and not with a library, because each rule is a line or two on top of
Starlette, and the usual libraries are made for users with passwords on a public host,
which is another threat.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp

from understudy.studio.peer import is_other_user

CHANGE_HEADER = "x-understudy-change"
OWN_HOST_NAMES = ("127.0.0.1", "localhost", "[::1]")

MAX_OPEN_VISITS = 20
"""Browsers that may be in at once; the oldest has to open the door again."""

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri"
        " 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_FORWARDING_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh"'
    ' content="0; url=/"><title>Understudy studio</title><p><a href="/">Go on to the'
    " studio</a></p></html>"
)


def make_secret() -> str:
    """256 random bits, too many to guess."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, kw_only=True)
class Visit:
    """A browser that was let in."""

    session: str = field(default_factory=make_secret, repr=False)
    change: str = field(default_factory=make_secret, repr=False)


def is_same_secret(shown: str | None, kept: str) -> bool:
    """Whether this is the secret; takes the same time whatever was shown.

    >>> (
    ...     is_same_secret("abc", "abc"),
    ...     is_same_secret("abd", "abc"),
    ...     is_same_secret(None, "abc"),
    ... )
    (True, False, False)
    """
    return shown is not None and secrets.compare_digest(shown.encode(), kept.encode())


class Door:
    """Who was let in, and what lets the next one in. `used` is called with the next
    launch token whenever one is used up.

    >>> door = Door()
    >>> token = door.launch
    >>> visit = door.open(token)
    >>> (
    ...     door.open(token) is None,
    ...     door.visit(visit.session) is visit,
    ...     token in (visit.session, visit.change, door.launch),
    ... )
    (True, True, False)
    """

    def __init__(self, used: Callable[[str], None] | None = None) -> None:
        self.launch = make_secret()
        self._used = used
        self._visits: list[Visit] = []

    def open(self, shown: str | None) -> Visit | None:
        """Let a browser in that shows the launch token, which is then used up."""
        if not is_same_secret(shown, self.launch):
            return None
        self.launch = make_secret()
        visit = Visit()
        self._visits = [*self._visits, visit][-MAX_OPEN_VISITS:]
        if self._used is not None:
            self._used(self.launch)
        return visit

    def visit(self, shown: str | None) -> Visit | None:
        """The visit that a cookie belongs to."""
        for visit in self._visits:
            if is_same_secret(shown, visit.session):
                return visit
        return None


class Guard(BaseHTTPMiddleware):
    """Lets in what the module's text says, and nothing else. `owner` is the user id of
    the studio, on systems where users have one.
    """

    def __init__(
        self, app: ASGIApp, door: Door, port: int, owner: int | None = None
    ) -> None:
        super().__init__(app)
        self.door = door
        self.port = port
        self.owner = owner
        self.cookie = f"understudy_studio_{port}"

    async def dispatch(
        self, request: Request, call_next: RequestResponseEndpoint
    ) -> Response:
        """Check one request, and put the headers on its answer."""
        response = self._refuse(request)
        if response is None and _brings_token(request):
            response = self._open_session(request)
        if response is None:
            visit = self.door.visit(request.cookies.get(self.cookie))
            response = self._refuse_visit(request, visit)
            request.state.visit = visit
        if response is None:
            response = await call_next(request)
        for name, value in SECURITY_HEADERS.items():
            # The one page with a policy of its own, a report in its sandbox, keeps it.
            response.headers.setdefault(name, value)
        return response

    def _refuse(self, request: Request) -> Response | None:
        """Why a request is from nobody who could be let in; None if it may be."""
        if self._comes_from_other_user(request):
            return _forbid("The studio belongs to another user of this machine.")
        own_hosts = {f"{name}:{self.port}" for name in OWN_HOST_NAMES}
        if request.headers.get("host", "") not in own_hosts:
            # A site whose name was made to point here (DNS rebinding) names itself.
            return PlainTextResponse(
                "This is no address of the studio.", status_code=421
            )
        if request.method not in {"GET", "HEAD", "POST"}:
            return PlainTextResponse("The studio does not do that.", status_code=405)
        # Other servers of this machine are the same site to a browser, whatever their
        # port: only the same origin will do. Whoever has the token may come from
        # anywhere, but only to open the door.
        asker = request.headers.get("sec-fetch-site", "none")
        if asker not in {"none", "same-origin"} and not _brings_token(request):
            return _forbid("This was asked for by another page.")
        return None

    def _refuse_visit(self, request: Request, visit: Visit | None) -> Response | None:
        """Why a request is refused that comes from a browser; None if it is not."""
        if visit is None:
            return _forbid(
                "Open the address that `understudy studio` printed last: it carries the"
                " token that lets you in."
            )
        if request.method != "POST":
            return None
        if not self._has_own_origin(request):
            return _forbid("This did not come from the studio's own page.")
        if not is_same_secret(request.headers.get(CHANGE_HEADER), visit.change):
            return _forbid("This did not come from the studio's own script.")
        return None

    def _open_session(self, request: Request) -> Response:
        visit = None
        # Whoever only looks at a link (HEAD) does not use it up.
        if request.method == "GET":
            visit = self.door.open(request.query_params["token"])
        if visit is None:
            return _forbid(
                "This address was used already, or never was one. The terminal shows"
                " the one that opens the studio."
            )
        # A page that goes on by itself, and no redirection: only so does the browser
        # take the next step for the studio's own, and send the cookie, when the address
        # was clicked in a page, such as a terminal in the browser.
        answer = HTMLResponse(_FORWARDING_PAGE)
        answer.set_cookie(
            self.cookie, visit.session, httponly=True, samesite="strict", path="/"
        )
        return answer

    def _comes_from_other_user(self, request: Request) -> bool:
        """Whether the connection is known to be another user's; the secrets are not
        even looked at then, and none is used up.
        """
        client, server = request.scope.get("client"), request.scope.get("server")
        if self.owner is None or client is None or server is None:
            return False
        return is_other_user(tuple(client), tuple(server), self.owner)

    @staticmethod
    def _has_own_origin(request: Request) -> bool:
        scheme, _, place = request.headers.get("origin", "").partition("://")
        return scheme == "http" and place == request.headers.get("host")


def _brings_token(request: Request) -> bool:
    """Whether a request is there to open the door; a change never is."""
    return request.method != "POST" and "token" in request.query_params


def _forbid(reason: str) -> Response:
    return PlainTextResponse(reason, status_code=403)
