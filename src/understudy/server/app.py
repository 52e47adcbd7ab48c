"""Addresses on Starlette: they read a request, ask the service, and write JSON.

    GET  /             a page to ask on (page.py)
    GET  /v1/schema    what may be asked about
    POST /v1/price     what a question would cost; nothing is spent
    POST /v1/try       an answer about made-up rows; nothing is spent
    POST /v1/ask       its answer
    GET  /v1/account   the analyst's limit and what is left of it
    GET  /v1/answers   what was charged to the analyst

There are no cookies: whoever sends a token in the header is that analyst, and no browser
sends it by itself. Every error is one of the catalogue.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from understudy.server.catalogue import MAX_QUESTION_BYTES, ServiceError
from understudy.server.messages import QuestionMessage, read_question
from understudy.server.page import list_page_routes
from understudy.server.service import QuestionService

ANSWER_TICK_SECONDS = 0.1
"""Answers leave at multiples of this time, so that how long rows were counted shows in
tenths of a second only.
"""

MAX_BODY_SECONDS = 10.0
"""How long a body may take to arrive: 16 KB at the pace of a bad telephone line."""

RESPONSE_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

Endpoint = Callable[[Request], Awaitable[Response]]
Reading = Callable[[str], object]
Answering = Callable[[str, QuestionMessage], object]


def make_app(service: QuestionService) -> Starlette:
    """The application around a service."""

    def answer_get(read: Reading) -> Endpoint:
        async def respond(request: Request) -> Response:
            analyst = await admit_analyst(service, request)
            return _write_json(await run_in_threadpool(read, analyst))

        return respond

    def answer_post(answer: Answering) -> Endpoint:
        async def respond(request: Request) -> Response:
            analyst = await admit_analyst(service, request)
            message = read_question(await read_body(request))
            return _write_json(await run_in_threadpool(answer, analyst, message))

        return respond

    async def respond_ask(request: Request) -> Response:
        analyst = await admit_analyst(service, request)
        message = read_question(await read_body(request))
        try:
            answer = await run_in_threadpool(service.answer_question, analyst, message)
        finally:
            # Refusals too: a failure behind the charge is to leave like an answer.
            await asyncio.sleep(-time.monotonic() % ANSWER_TICK_SECONDS)
        return _write_json(answer)

    app = Starlette(
        routes=[
            Route("/v1/schema", answer_get(lambda _: service.describe_schema())),
            Route("/v1/account", answer_get(service.describe_account)),
            Route("/v1/answers", answer_get(service.list_answers)),
            Route("/v1/price", answer_post(service.price_question), methods=["POST"]),
            Route("/v1/try", answer_post(service.try_question), methods=["POST"]),
            Route("/v1/ask", respond_ask, methods=["POST"]),
            *list_page_routes(),
        ],
        exception_handlers={
            ServiceError: _write_service_error,
            HTTPException: _write_routing_error,
            Exception: _write_unforeseen_error,
        },
    )
    # A redirection would name the host that the request named.
    app.router.redirect_slashes = False
    return app


async def admit_analyst(service: QuestionService, request: Request) -> str:
    """Who sends this request, before anything else of it is read."""
    sent = request.headers.getlist("authorization")
    scheme, _, token = ",".join(sent).partition(" ")
    # Of two, a proxy may check the one and this server read the other.
    if len(sent) != 1 or scheme.lower() != "bearer":
        raise ServiceError("token")
    return await run_in_threadpool(service.admit_request, token)


async def read_body(request: Request) -> bytes:
    """The body of a request, refused as soon as it is too long or too slow, or where it
    has two lengths: a proxy may believe the other one, and take the rest of this body
    for somebody's next request.
    """
    if {"transfer-encoding", "content-length"} <= set(request.headers):
        raise ServiceError("body")
    body = bytearray()
    try:
        async with asyncio.timeout(MAX_BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > MAX_QUESTION_BYTES:
                    raise ServiceError("size")
    except (TimeoutError, ClientDisconnect):
        raise ServiceError("slow") from None
    return bytes(body)


def _write_json(content: object) -> Response:
    return JSONResponse(content, headers=RESPONSE_HEADERS)


def _write_error(error: ServiceError) -> Response:
    content = {"error": error.code, "message": str(error)}
    return JSONResponse(content, status_code=error.status, headers=RESPONSE_HEADERS)


async def _write_service_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, ServiceError)
    return _write_error(error)


async def _write_routing_error(_: Request, error: Exception) -> Response:
    is_method = isinstance(error, HTTPException) and error.status_code == 405
    return _write_error(ServiceError("method" if is_method else "path"))


async def _write_unforeseen_error(_: Request, __: Exception) -> Response:
    return _write_error(ServiceError("failed"))
