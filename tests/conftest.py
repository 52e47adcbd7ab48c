"""What tests of several rooms need."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

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
