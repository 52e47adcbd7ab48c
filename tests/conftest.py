"""What tests of several rooms need."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Twelve thousand tests are millions of objects. To look through them for garbage, again
# and again while more are made, is half of the time that finding the tests takes.
gc.disable()

# Neither a deadline nor a complaint about slow input: a slow moment of a shared machine
# is not a failure.
settings.register_profile(
    "shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared-machine")

# Tests send their own processes signals that nohup, or a shell in the background,
# ignores. What is ignored is inherited; a handler is not.
for _number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)


MEMORY = Path("/dev/shm")
MIN_FREE_BYTES = 4 << 30
"""Of memory beneath which tests write to the disk as any program does."""

# Ledgers wait for the disk at every step of theirs: a third of the time of some rooms.
# What survives a kill is the same in memory, and no test pulls the plug.
if (
    "TMPDIR" not in os.environ
    and os.access(MEMORY, os.W_OK | os.X_OK)
    and shutil.disk_usage(MEMORY).free >= MIN_FREE_BYTES
):
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None

LONG_TESTS = Path(__file__).parent / "long.txt"
"""What `make test-fast` leaves out, by name (scripts/long_tests.py)."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark long tests, and all that open a browser."""
    lines = LONG_TESTS.read_text().splitlines()
    names = {line.split()[0] for line in lines if not line.startswith("#")}
    for item in items:
        opens_browser = "browser" in getattr(item, "fixturenames", ())
        if item.nodeid.partition("[")[0] in names or opens_browser:
            item.add_marker(pytest.mark.long)


def pytest_collection_finish() -> None:
    """From here on there is garbage, but not among what was collected."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Everything may go: libraries count what is left when a process ends."""
    gc.unfreeze()


@pytest.fixture
def permissive() -> Iterator[None]:
    """A system that withholds nothing from anybody: what is private was made so."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser, without a window."""
    from playwright.sync_api import sync_playwright

    chromium = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    assert chromium, "the tests need a browser: apt-get install chromium"
    with sync_playwright() as driver:
        opened = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        yield opened
        opened.close()
