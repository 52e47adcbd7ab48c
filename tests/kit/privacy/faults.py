"""Failure on demand: an exception at the first call of a chosen function, from the
moment a run reserves its budget.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

import understudy
from understudy.accounting.ledger import Ledger

PACKAGE = str(Path(understudy.__file__).parent)
RESERVE = Ledger.reserve.__code__


class Fault(Exception):
    """What is raised."""


@cache
def site(code: CodeType) -> str | None:
    """A name for a function of the package, the same in every process."""
    if not code.co_filename.startswith(PACKAGE):
        return None
    return f"{Path(code.co_filename).relative_to(PACKAGE)}:{code.co_firstlineno}:{code.co_qualname}"


@contextmanager
def calls() -> Iterator[list[str]]:
    """Notes every function of the package that is called from the reservation on, in
    the order of first calls.
    """
    seen: dict[str, None] = {}
    begun = False

    def trace(frame: FrameType, event: str, arg: object) -> object:
        nonlocal begun
        code = frame.f_code
        if code is RESERVE:
            begun = True
        elif begun and (name := site(code)) and not code.co_name.startswith("__"):
            seen.setdefault(name)
        return None

    found: list[str] = []
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield found
    finally:
        sys.settrace(before)
        found.extend(seen)


@contextmanager
def fault_at(where: str) -> Iterator[None]:
    """Raises at the first call of that function from the reservation on."""
    begun = raised = False

    def trace(frame: FrameType, event: str, arg: object) -> object:
        nonlocal begun, raised
        code = frame.f_code
        if code is RESERVE:
            begun = True
        elif begun and not raised and site(code) == where:
            raised = True
            sys.settrace(before)
            raise Fault(where)
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
