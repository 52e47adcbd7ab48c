"""The application without a socket: requests go to it as a server would hand them on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kit.server.hostile import HostileRequest

App = Callable[..., Awaitable[None]]


@dataclass(frozen=True)
class Received:
    """What came back."""

    status: int
    headers: dict[str, str]
    content: Any


def send_all(app: App, requests: Sequence[HostileRequest]) -> list[Received]:
    """Every request, all at once."""

    async def gather() -> list[Received]:
        return await asyncio.gather(*(send_one(app, request) for request in requests))

    return asyncio.run(gather())


async def send_one(app: App, request: HostileRequest) -> Received:
    path, _, query = request.path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [
            (name.lower().encode(), value.encode("latin-1"))
            for name, value in request.headers
        ],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    events: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": request.body, "more_body": False}

    async def send(event: dict[str, Any]) -> None:
        events.append(event)

    await app(scope, receive, send)
    start = events[0]
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    body = b"".join(event.get("body", b"") for event in events[1:])
    content = json.loads(body) if "json" in headers.get("content-type", "") else body
    return Received(start["status"], headers, content)
