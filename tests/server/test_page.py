"""The page of the server, as an analyst uses it, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, expect

import understudy as us
from kit.server.running import (
    RunningServer,
    add_analyst,
    start_server,
    sum_spent,
    write_office,
)
from understudy.server.page import PAGE_FILES, PAGE_HEADERS

PATIENCE = 60_000
"""Milliseconds; a loaded machine is slow, and this is no benchmark."""

BY_SEX = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    ledger = write_office(tmp_path_factory.mktemp("page"), epsilon=5)
    running = start_server(ledger)
    yield running
    assert "Traceback" not in running.stop()


@pytest.fixture
def page(browser: Browser, server: RunningServer) -> Iterator[Page]:
    """A telephone in the dark. Whatever the page loads from elsewhere, or a script
    that fails, is trouble.
    """
    context = browser.new_context(
        viewport={"width": 390, "height": 800}, color_scheme="dark"
    )
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    opened = context.new_page()
    troubles: list[str] = []
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    opened.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((server.url, "data:"))
            else troubles.append(request.url)
        ),
    )
    # A status of 4xx is in the console too; the policy's refusals must not be.
    opened.on(
        "console",
        lambda m: troubles.append(m.text) if "Policy" in m.text else None,
    )
    opened.goto(server.url)
    yield opened
    context.close()
    assert troubles == []


def enter(page: Page, token: str) -> None:
    page.fill("#token", token)
    page.click("text=Enter")


def test_a_question_goes_the_whole_way(page: Page, server: RunningServer) -> None:
    enter(page, add_analyst(server.ledger, "ada", epsilon=2))
    expect(page.locator("#account")).to_contain_text("ada: answered ε = 0 of ε = 2")
    expect(page.locator("#columns")).to_contain_text("North, South, East, West")
    page.fill("#question", BY_SEX)
    page.fill("#amount", "60")
    page.click("#price")
    expect(page.locator("#price-lines")).to_contain_text("n: ±60 in each of 3 groups")
    page.click("#try")
    expect(page.locator("#warning")).to_be_visible()
    expect(page.locator("#account-line")).to_contain_text("mean nothing")
    assert sum_spent(server.ledger) == 0, "a price and made-up rows are free"
    page.fill("#purpose", "a first look")
    page.click("#ask")
    expect(page.locator("#account-line")).to_contain_text("Charged: μ² = ")
    expect(page.locator("#warning")).to_be_hidden()
    with us.Ledger.open(server.ledger) as account:
        (statement,) = [one for one in account.statements() if one.analyst == "ada"]
    assert statement.epsilon > 0
    expect(page.locator("#account")).to_contain_text("Questions charged: 1")
    rows = page.locator("#answer tbody tr")
    assert [rows.nth(i).locator("td").first.inner_text() for i in range(3)] == [
        "F",
        "M",
        "X",
    ]
    stored = us.connect(server.url, add_analyst(server.ledger, "grace")).ask(
        BY_SEX, within=60
    )
    shown = [cell.strip() for cell in rows.first.locator("td").all_inner_texts()]
    assert shown[1:] == stored.lines()[1].split()[1:]
    check_picture(page)
    page.click("#charges summary")
    expect(page.locator("#charges")).to_contain_text("a first look")


def check_picture(page: Page) -> None:
    """It is drawn, within the width of a telephone, and so is the page."""
    image = page.locator("#pictures img")
    assert image.count() == 1
    image.scroll_into_view_if_needed()
    assert image.evaluate("(i) => i.complete && i.naturalWidth > 100")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_dark_is_dark(page: Page) -> None:
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
    assert red + green + blue < 3 * 60


def test_a_refusal_is_shown_and_costs_nothing(
    page: Page, server: RunningServer
) -> None:
    before = sum_spent(server.ledger)
    enter(page, "wrong")
    expect(page.locator("#error")).to_contain_text("valid token")
    enter(page, "tökén")
    expect(page.locator("#error")).to_contain_text("no token")
    enter(page, add_analyst(server.ledger, "poor", epsilon=0.01))
    page.fill(
        "#question", "SELECT MAX(<img src=x onerror=window.hacked=1>) FROM people"
    )
    page.click("#price")
    expect(page.locator("#error")).to_be_visible()
    page.fill("#question", "SELECT COUNT(*) FROM people WHERE age > 7")
    page.fill("#amount", "5")
    page.click("#ask")
    expect(page.locator("#error")).to_contain_text("left of your limit")
    page.fill("#amount", "-1")
    page.click("#ask")
    expect(page.locator("#error")).to_contain_text("above 0")
    assert page.evaluate("window.hacked") is None
    assert sum_spent(server.ledger) == before


def test_the_token_is_kept_nowhere(page: Page, server: RunningServer) -> None:
    token = add_analyst(server.ledger, "hedy")
    enter(page, token)
    expect(page.locator("#desk")).to_be_visible()
    kept = page.evaluate(
        "JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage},"
        " location.href, history.state, document.documentElement.outerHTML,"
        " document.getElementById('token').value])"
    )
    assert token not in kept
    assert page.context.cookies() == []


def test_no_other_page_can_frame_or_ask_it(browser: Browser, page: Page) -> None:
    """A page of another origin gets neither a frame nor an answer, even with a token."""
    address = page.url
    context = browser.new_context()
    other = context.new_page()
    other.route(
        "http://127.0.0.1:1/",
        lambda route: route.fulfill(content_type="text/html", body="<p>other</p>"),
    )
    other.goto("http://127.0.0.1:1/")
    taken = other.evaluate(
        """async (url) => {
            const frame = document.createElement("iframe");
            frame.src = url;
            document.body.append(frame);
            await new Promise((done) => { frame.onload = done; setTimeout(done, 3000); });
            let inside = "";
            try { inside = frame.contentDocument.body.innerText; } catch { inside = ""; }
            const headers = { Authorization: "Bearer x" };
            const asked = await fetch(url + "v1/schema", { headers }).then((a) => a.text()).catch(() => "");
            const read = await fetch(url).then((a) => a.text()).catch(() => "");
            return inside + asked + read;
        }""",
        address,
    )
    assert taken == ""
    context.close()


def test_every_file_has_the_policy(server: RunningServer) -> None:
    for path, (_, media_type) in PAGE_FILES.items():
        with urlopen(server.url + path) as response:
            headers, text = response.headers, response.read().decode()
        assert headers["Content-Type"].startswith(media_type)
        for name, value in PAGE_HEADERS.items():
            assert headers[name] == value
        assert "://" not in text, "nothing is loaded from elsewhere"
