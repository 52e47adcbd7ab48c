"""What a browser asks, read with care: sizes bounded, types checked, and long work kept
off the event loop that serves pages.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TypeVar

from starlette.datastructures import UploadFile
from starlette.requests import Request

from understudy.errors import Refused

MAX_BODY_BYTES = 4 * 2**20
"""Bytes of a request that is not an upload."""

T = TypeVar("T")


async def run_in_thread(work: Callable[[], T]) -> T:
    """Work that takes a while, off the loop that serves pages."""
    return await asyncio.get_running_loop().run_in_executor(None, work)


async def read_body(request: Request) -> dict[str, object]:
    """The JSON object a request brings, of a size a form has."""
    # Counted as it arrives: a header may say less than what comes.
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_BODY_BYTES:
            raise Refused("This is more than the studio takes at once.")
    try:
        return json_object_of(json.loads(data or b"{}"))
    except (ValueError, RecursionError):
        raise Refused("The studio could not read this.") from None


def check_size(request: Request, most: int) -> None:
    """Refuse what says that it is too large, or does not say how large it is, before
    any of it is read.
    """
    size = request.headers.get("content-length", "")
    # `isdigit` alone takes digits of other scripts, which `int` may refuse.
    if not size.isascii() or not size.isdigit() or int(size) > most:
        raise Refused(
            f"A table of up to {most // 2**30} GiB, and its size, are needed. Nothing"
            " was kept."
        )


def json_object_of(found: object) -> dict[str, object]:
    """The JSON object it should be.

    >>> json_object_of({"a": 1})
    {'a': 1}
    """
    if not isinstance(found, dict):
        raise Refused("The studio could not read this.")
    return found


def text_of(body: Mapping[str, object], key: str, default: str = "") -> str:
    """A field of a form as text; the default if it is missing or null.

    >>> text_of({"epsilon": 1}, "epsilon"), text_of({"delta": None}, "delta")
    ('1', '')
    """
    value = body.get(key)
    return default if value is None else str(value)


def workload_of_text(text: str) -> tuple[str, ...]:
    """The targets of a workload as the page's field has them, separated by semicolons.

    >>> workload_of_text("label=ill; model=ill~age")
    ('label=ill', 'model=ill~age')
    """
    return tuple(target.strip() for target in text.split(";") if target.strip())


def row_count_of(found: object) -> int | None:
    """The whole number somebody typed, or none.

    >>> row_count_of("5000"), row_count_of("")
    (5000, None)
    """
    if found in (None, ""):
        return None
    try:
        count = int(str(found))
    except ValueError:
        raise Refused("The number of rows is a whole number.") from None
    if not 0 <= count <= 10**12:
        raise Refused("The number of rows is between 0 and a trillion.")
    return count


async def read_chunks(sent: UploadFile) -> AsyncIterator[bytes]:
    """An upload, piece by piece."""
    while chunk := await sent.read(1 << 20):
        yield chunk
