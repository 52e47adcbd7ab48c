"""Five addresses on Starlette: they read a request, ask the service, and write JSON.

    GET  /v1/schema    what may be asked about
    POST /v1/price     what a question would cost; nothing is spent
    POST /v1/ask       its answer
    GET  /v1/account   the analyst's limit and what is left of it
    GET  /v1/answers   what was charged to the analyst

There are no cookies and no pages: whoever sends a token in the header is that analyst,
and no browser sends it by itself. Every error is one of the catalogue.
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
from understudy.server.messages import read_question
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


def make_app(service: QuestionService) -> Starlette:
    """The application around a service."""

    def answer_get(read: Reading) -> Endpoint:
        async def respond(request: Request) -> Response:
            analyst = await admit_analyst(service, request)
            return _write_json(await run_in_threadpool(read, analyst))

        return respond

    async def respond_price(request: Request) -> Response:
        analyst = await admit_analyst(service, request)
        message = read_question(await read_body(request))
        price = await run_in_threadpool(service.price_question, analyst, message)
        return _write_json(price)

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
            Route("/v1/price", respond_price, methods=["POST"]),
            Route("/v1/ask", respond_ask, methods=["POST"]),
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
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        raise ServiceError("token")
    return await run_in_threadpool(service.admit_request, token)


async def read_body(request: Request) -> bytes:
    """The body of a request, refused as soon as it is too long or too slow."""
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
